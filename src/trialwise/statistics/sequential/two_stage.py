"""Two-stage sampling: a pilot, then once the number of fresh trials that it forecasts for a narrow enough interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import Array, as_percent, as_values, one_of
from trialwise.statistics.estimates.measures import Measure, mean_of, percentile_of
from trialwise.statistics.estimates.percentiles import percentile_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PILOT = 20
"""Trials of the pilot."""
_RESERVE = 1.15
"""Safety factor on the forecast, since the pilot's width is itself an estimate."""
_FEWEST = 10
"""Fewest fresh trials for an interval of a mean: with fewer, skewed values would be covered too seldom."""
_MOST = 10**9


class TooManyTrialsError(StatisticsError):
    """More trials would be needed than anyone can run."""


@dataclass(frozen=True, slots=True)
class TwoStageInterval:
    """An interval from a number of values that was fixed before they were seen."""

    estimate: float
    low: float
    high: float
    half_width: float
    """(high - low) / 2, in the unit of the values."""
    target: float
    """Desired half-width, in the unit of the values."""
    reached: bool
    """True if the half-width is at most the target. If not, adding trials until it is breaks the level."""
    estimand: str
    n: int
    confidence: float
    """In percent."""
    method: str


@dataclass(frozen=True, slots=True)
class TwoStageSize:
    """The number of fresh trials that a pilot forecasts."""

    size: int
    """Fresh trials to run, all of them, before looking; the pilot's trials are not reused."""
    half_width: float
    """Half-width of the pilot's interval, in the unit of the values."""
    target: float
    """Desired half-width, in the unit of the values."""
    estimand: str
    n: int
    """Number of trials of the pilot."""
    confidence: float
    """In percent."""
    method: str
    note: str
    """Limits of the forecast; empty if there are none to mention."""


def two_stage_size(
    pilot: ArrayLike,
    precision: float,
    *,
    relative: bool = False,
    confidence: float = 95,
    estimand: Measure = "mean",
) -> TwoStageSize:
    """Forecast the number of fresh trials from a pilot: N = 1.15 n0 (w0/w)² (after Stein 1945, and Cox 1952).

    w0 is the half-width of the pilot's interval, w the desired precision. The interval comes from fresh trials, whose number was
    fixed before they ran (`two_stage_interval`), so it holds like any other. It may be wider than desired and is reported as it is.

    Parameters
    ----------
    pilot
        One number per trial; 20 are usual.
    precision
        Desired half-width, in the unit of the values, or in percent of the pilot's estimate if `relative`.
    relative
        Whether the precision is in percent.
    confidence
        In percent.
    estimand
        "mean", "median", or a percentile in percent; for a KPI its percentile.

    Raises
    ------
    StatisticsError
        The pilot is too short for an interval (says how many are needed), or an option is out of range.
    TooManyTrialsError
        A StatisticsError: more than a billion trials would be needed.
    """
    first = two_stage_interval(pilot, precision, relative=relative, confidence=confidence, estimand=estimand)
    fewest = _fewest(estimand, confidence)
    wanted = _RESERVE * first.n * (first.half_width / first.target) ** 2
    if wanted > _MOST:
        raise TooManyTrialsError(f"{wanted:.3g} trials would be needed; ask for a wider interval")
    size = max(ceil(wanted), fewest)
    constant = first.half_width == 0
    return TwoStageSize(
        size=max(size, first.n) if constant else size,
        half_width=first.half_width,
        target=first.target,
        estimand=first.estimand,
        n=first.n,
        confidence=first.confidence,
        method="two stages: N = 1.15 n0 (w0/w)^2 fresh trials",
        note="the pilot's interval has no width and forecasts nothing; as many trials again"
        if constant
        else "",
    )


def two_stage_interval(
    values: ArrayLike,
    precision: float,
    *,
    relative: bool = False,
    confidence: float = 95,
    estimand: Measure = "mean",
) -> TwoStageInterval:
    """Compute the interval of the second stage: Student's t for the mean, exact binomial ranks for a percentile.

    Parameters
    ----------
    values
        The fresh trials only, all that were requested.
    precision, relative, confidence, estimand
        As in `two_stage_size`; a relative precision is a percentage of these values' estimate.

    Raises
    ------
    StatisticsError
        Too few values for an interval (says how many are needed), an estimate of 0 with a relative precision, or an option out of
        range.
    """
    if not 0 < precision < float("inf"):
        raise StatisticsError(f"the precision is {precision!r}; expected a number above 0")
    array, level = as_values(values), float(as_percent(confidence, "confidence"))
    what, share = _as_estimand(estimand)
    if share is None:
        estimate, low, high = _of_mean(array, level)
    else:
        estimate, low, high = _of_percentile(array, share, confidence)
    if relative and estimate == 0:
        raise StatisticsError(
            "the estimate is 0, so a percentage of it is undefined; give the precision in its unit"
        )
    target = precision / 100 * abs(estimate) if relative else float(precision)
    return TwoStageInterval(
        estimate=estimate,
        low=low,
        high=high,
        half_width=(high - low) / 2,
        target=target,
        reached=(high - low) / 2 <= target,
        estimand=what,
        n=array.size,
        confidence=float(confidence),
        method="Student's t" if share is None else "exact binomial ranks",
    )


def _as_estimand(estimand: Measure) -> tuple[str, float | None]:
    """Return its name, and its percentile in percent (None for the mean)."""
    if estimand == "mean":
        return "mean", None
    if isinstance(estimand, str):
        return one_of(estimand, "estimand", ("mean", "median"), "or a percentile as a number"), 50.0
    return f"p{float(as_percent(estimand, 'percentile')) * 100:g}", float(estimand)


def _fewest(estimand: Measure, confidence: float) -> int:
    share = _as_estimand(estimand)[1]
    return _FEWEST if share is None else percentile_interval([0.0], share, confidence).needed


def _of_mean(array: Array, level: float) -> tuple[float, float, float]:
    if array.size < 2:
        raise StatisticsError(f"values has {array.size} numbers; an interval of the mean needs at least 2")
    centre, scale = mean_of(array), float(np.abs(array).max()) or 1.0
    deviation = float((array / scale).std(ddof=1)) * scale
    reach = float(special.stdtrit(array.size - 1, (1 + level) / 2)) * deviation / sqrt(array.size)
    return centre, centre - reach, centre + reach


def _of_percentile(array: Array, share: float, confidence: float) -> tuple[float, float, float]:
    found = percentile_interval(array, share, confidence)
    if found.low is None or found.high is None:
        raise StatisticsError(found.note)
    return percentile_of(array, share / 100), found.low, found.high
