"""CCEval's stopping rule, only as a mode of its paper: add trials until a normal interval of the mean is narrow enough."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.rules import CCEVAL
from trialwise.statistics.checks import as_percent, as_tolerance, as_values
from trialwise.statistics.online_moments import RunningMoments, tail_warnings
from trialwise.statistics.sequential.confidence_sequences import running_moments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class RelativeMarginStop:
    """Where CCEval's rule stops in a sequence of trials, and what it then reports."""

    stopped: bool
    """Whether the rule has stopped."""
    n: int
    """Trials until the rule stopped, or all trials."""
    mean: float
    low: float
    high: float
    forecast: int | None
    """Total trials that the rule expects to need, from the trials so far; None if the mean is 0."""
    margin: float
    """In percent of the mean."""
    confidence: float
    """Nominal, in percent."""
    method: str
    warning: str
    """Never empty: the known faults of this rule, and what makes them worse in these trials."""


def relative_margin_stop(
    values: ArrayLike, *, margin: float, confidence: float = 95, start: int = 20
) -> RelativeMarginStop:
    """Apply CCEval's sequential rule to trials in order (its section 4.2, model-free).

    From trial `start` on, it stops as soon as v s <= margin |mean| sqrt(N), with v the normal quantile and s the standard
    deviation, and reports mean ± v s / sqrt(N). The forecast is v² s² / (margin² mean²).

    Parameters
    ----------
    values
        One number per trial, in time order.
    margin
        Desired half-width, in percent of the mean.
    confidence
        In percent.
    start
        Trials before the first look, 2 or more.

    Raises
    ------
    StatisticsError
        Fewer than two values, values that are not finite, or an option out of range.
    """
    array = as_values(values, minimum=2)
    share, level = as_tolerance(margin), float(as_percent(confidence, "confidence"))
    if start < 2 or start != int(start):
        raise StatisticsError(f"start is {start!r}; expected an integer ≥ 2")
    v = float(special.ndtri((1 + level) / 2))
    means, deviations = running_moments(array)
    times = np.arange(1, array.size + 1)
    narrow = np.flatnonzero((v * deviations <= share * np.abs(means) * np.sqrt(times))[start - 1 :])
    count = int(narrow[0]) + start if narrow.size else array.size
    scaled: list[float] = (array / (float(np.abs(array).max()) or 1.0)).tolist()
    mean, deviation = float(means[count - 1]), float(deviations[count - 1])
    reach = v * deviation / sqrt(count)
    return RelativeMarginStop(
        stopped=narrow.size > 0,
        n=count,
        mean=mean,
        low=mean - reach,
        high=mean + reach,
        forecast=max(start, ceil((v * deviation / (share * mean)) ** 2)) if mean else None,
        margin=float(margin),
        confidence=float(confidence),
        method=f"CCEval: normal quantile, a look after every trial from {start} on",
        warning="; ".join([CCEVAL.warning, *tail_warnings(RunningMoments.of(np.array(scaled[:count])))]),
    )
