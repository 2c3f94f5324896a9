"""Frozen records of the periods of a series of values, and the advice that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.statistics.tests.correlogram import Correlogram


@dataclass(frozen=True, slots=True)
class Period:
    """A seasonal component.

    Attributes
    ----------
    seconds
        Length of the period.
    strength
        Default: partial R² of the period with its harmonics in the rank-normal scores, adjusted for trend and the other periods.
        Paper: the autocorrelation at the peak.
    p_value
        Corrected by `correction`. None for the paper's method, which has no test.
    name
        "minute", "hour", "day", "week", "year", or None.
    correction
        "holm" over the candidates specified in advance, "maximum" over all frequencies of the blind search,
        "none" for the paper's method.
    """

    seconds: float
    strength: float
    p_value: float | None
    name: str | None
    correction: Literal["holm", "maximum", "none"]


@dataclass(frozen=True, slots=True)
class LevelShift:
    """A time at which the level changes and stays changed.

    Attributes
    ----------
    seconds
        From the first value to the first one at the new level.
    before, after
        Medians of the values between the neighbouring shifts, in the unit of the values.
    p_value
        Of a shift or block with this likelihood ratio, under red plus white noise.
    """

    seconds: float
    before: float
    after: float
    p_value: float


@dataclass(frozen=True, slots=True)
class LevelDrift:
    """A slow change of level over the whole record, adjusted for its shifts.

    Attributes
    ----------
    change
        From the first to the last value, in the unit of the values: the Theil-Sen slope within levels, times the duration. For a
        bent drift, the difference of the last tenth of the record from the first.
    bent
        True if a bend was found, that is, if the drift is not linear.
    p_value
        As for a shift.
    """

    change: float
    bent: bool
    p_value: float


@dataclass(frozen=True, slots=True)
class Seasonality:
    """Seasonal components of a time series.

    Attributes
    ----------
    shifts
        Level shifts, in time order; a block consists of two. Periods are adjusted for them.
    drift
        A drift, for which periods are adjusted; None if none was found.
    periods
        The periods found, shortest first.
    autocorrelation
        Coefficients by lag, with the number of pairs behind each and the threshold 1.95/√N.
    span
        Seconds that a series should cover, or None if nothing requires a span.
    n
        Number of distinct times with a value.
    missing
        Values that were NaN.
    tested
        Names of the calendar periods that the data could show or exclude.
    confidence
        Level in percent, for the calendar periods together and for the blind search.
    method
        "default" or "paper".
    level_tested
        True if shifts and drift were searched for.
    note
        Caveats: what could not be tested, what was averaged, the origin of the span.
    """

    shifts: tuple[LevelShift, ...]
    drift: LevelDrift | None
    periods: tuple[Period, ...]
    autocorrelation: Correlogram
    span: float | None
    n: int
    missing: int
    tested: tuple[str, ...]
    confidence: float
    method: Literal["default", "paper"]
    level_tested: bool
    note: str


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a method, before conversion to a `Seasonality`."""

    periods: tuple[Period, ...]
    autocorrelation: Correlogram
    span: float | None
    tested: tuple[str, ...]
    remarks: tuple[str, ...]
    shifts: tuple[LevelShift, ...] = ()
    drift: LevelDrift | None = None
    level_tested: bool = False
