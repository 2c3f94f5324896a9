"""What `trialwise tilt --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class FitDocument:
    """A family of distributions fitted to the sizes by non-linear least squares on the distribution function.

    `parameters` are those of ln S (lognormal) or S: mean and standard deviation, of exponential and poisson the mean. `mean_ratio` is
    the mean over the true one, `rmse` and `largest_error` differences of the distribution functions, `beyond` the probability of a
    size larger than the largest there is.
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
    """The tilt of one name: `tilt` as [tilts.NAME] has it, null where none is better.

    `load` was asked for, `true_load` is what the untilted sizes of the trials offer: another one where they are those of a fit.
    `surrogate_gain` is the variance of the tail of a trial without over with the tilt, on the fluid model: above 1 it helps.
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
    """The tilts of an experiment for one metric; `seconds` is how long the search took, `left_out` names metrics without a tilt."""

    experiment: str
    metric: str
    seed: int
    seconds: float
    choices: tuple[TiltChoice, ...]
    left_out: tuple[str, ...]
    format: Literal["trialwise.tilt/1"] = "trialwise.tilt/1"
