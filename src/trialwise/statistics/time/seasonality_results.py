"""The periods of a series of values, and what is to be done about them: frozen records."""

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
        Its length.
    strength
        Default: partial R² of the period with its harmonics in the rank-normal scores, beside trend and
        the other periods. Paper: the autocorrelation at the peak.
    p_value
        Corrected as `correction` says. None for the paper's method, which has no test.
    name
        "minute", "hour", "day", "week", "year", or None.
    correction
        "holm" over the candidates named beforehand, "maximum" over all frequencies of the blind search,
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
        Of a shift or block that makes the record so much likelier, among red noise beside white noise.
    """

    seconds: float
    before: float
    after: float
    p_value: float


@dataclass(frozen=True, slots=True)
class LevelDrift:
    """A slow change of level over the whole record, beside its shifts.

    Attributes
    ----------
    change
        From the first to the last value in the unit of the values: Theil and Sen's slope beside the shifts, times the
        duration. Of a drift that bends, how far the last tenth of the record lies from the first.
    bent
        Whether a bend was found, that is, whether the drift is not along a line.
    p_value
        As of a shift.
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
        Shifts of level, in order of time; a block is two of them. Periods are tested beside them.
    drift
        A drift, beside which periods are tested; None where none was found.
    periods
        Those found, shortest first.
    autocorrelation
        Coefficients against the lag, with the pairs behind each and the threshold 1.95/√N.
    span
        Seconds that a series should cover, or None where nothing asks for a span.
    n
        Different times with a value.
    missing
        Values that were NaN.
    tested
        Names of the calendar periods that the data could show or exclude.
    confidence
        Level in percent, for the calendar periods together and for the blind search.
    method
        "default" or "paper".
    level_tested
        Whether shifts and drift were looked for.
    note
        What the reader must know: what could not be tested, what was averaged, how the span came about.
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
    """What a method finds, before it is told as a `Seasonality`."""

    periods: tuple[Period, ...]
    autocorrelation: Correlogram
    span: float | None
    tested: tuple[str, ...]
    remarks: tuple[str, ...]
    shifts: tuple[LevelShift, ...] = ()
    drift: LevelDrift | None = None
    level_tested: bool = False
