"""What `trialwise tilt --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class FitDocument:
    """A family of distributions fitted to the sizes by non-linear least squares on the distribution function.

    `parameters` are those of ln S (lognormal) or S: mean and standard deviation; for exponential and poisson, the mean. `mean_ratio`
    is the mean divided by the true one, `rmse` and `largest_error` are differences of the distribution functions, `beyond` is the
    probability of a size larger than the largest in the data.
    """

    family: str
    parameters: tuple[float, ...]
    mean_ratio: float
    rmse: float
    largest_error: float
    beyond: float


@dataclass(frozen=True, slots=True)
class EpochDocument:
    """The tilt after an epoch of the search, and its threshold in seconds."""

    tilted_mu: float
    tilted_sigma: float
    threshold: float


@dataclass(frozen=True, slots=True)
class TiltChoice:
    """The tilt of one name: `tilt` as in [tilts.NAME], null if none is better.

    `load` was requested, `true_load` is what the trials' untilted sizes offer, which differs if those come from a fit.
    `surrogate_gain` is the tail variance of a trial without the tilt divided by that with it, on the fluid model: above 1 it helps.
    """

    name: str
    tilt: Mapping[str, object] | None
    method: str
    percentile: float
    expected_flows: float
    load: float
    true_load: float
    fits: tuple[FitDocument, ...]
    epochs: tuple[EpochDocument, ...]
    surrogate_gain: float
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TiltDocument:
    """The tilts of an experiment for one metric; `seconds` is the duration of the search, `left_out` names metrics without a tilt."""

    experiment: str
    metric: str
    seed: int
    seconds: float
    choices: tuple[TiltChoice, ...]
    left_out: tuple[str, ...]
    format: Literal["trialwise.tilt/1"] = "trialwise.tilt/1"
