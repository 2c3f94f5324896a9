"""The periods of a series of values, and what is to be done about them: frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trialwise.statistics.correlogram import Correlogram

if TYPE_CHECKING:
    pass


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
class Seasonality:
    """Seasonal components of a time series.

    Attributes
    ----------
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
    note
        What the reader must know: what could not be tested, what was averaged, how the span came about.
    """

    periods: tuple[Period, ...]
    autocorrelation: Correlogram
    span: float | None
    n: int
    missing: int
    tested: tuple[str, ...]
    confidence: float
    method: Literal["default", "paper"]
    note: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What a method finds, before it is told as a `Seasonality`."""

    periods: tuple[Period, ...]
    autocorrelation: Correlogram
    span: float | None
    tested: tuple[str, ...]
    remarks: tuple[str, ...]
