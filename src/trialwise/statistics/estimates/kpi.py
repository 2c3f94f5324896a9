"""Key performance indicators: a bound on a percentile of the metric over a series (TriScale section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

from trialwise.statistics.checks import Limits, Method, as_percent, as_values, one_of, percent
from trialwise.statistics.estimates.percentiles import PercentileInterval, percentile_interval
from trialwise.statistics.sizing.sizing import needed
from trialwise.statistics.tests.independence import Independence, independence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Side: TypeAlias = Literal["lower", "upper"]


@dataclass(frozen=True, slots=True, eq=False)
class Kpi:
    """A confidence bound on a percentile of the metric over a series."""

    value: float | None
    """The bound, in the unit of the values; None if there are too few."""
    rank: int | None
    """Its rank among the sorted values, from 1."""
    bound: Side
    """The side that it bounds."""
    attained: float | None
    """Exact coverage of the bound for independent values, in percent."""
    interval: PercentileInterval
    """Two-sided interval of the same percentile at the same confidence."""
    independent: bool | None
    """Result of the independence test; False makes the value descriptive only."""
    independence: Independence
    """The independence test."""
    n: int
    """Number of values."""
    needed: int
    """Smallest number of values that yields the bound."""
    percentile: float
    """In percent."""
    confidence: float
    """Nominal, in percent."""
    method: str
    """How the bound was computed."""
    note: str
    """What is missing or weakens the bound, and the remedy."""


def kpi(
    values: ArrayLike,
    percentile: float,
    confidence: float,
    *,
    bound: Side | None = None,
    limits: Limits = None,
    method: Method = "default",
) -> Kpi:
    """Bound a percentile of the metric over a series of trials.

    The bound is Thompson's, from exact ranks, as in the paper. `method` selects the independence test, which does not affect the
    value.

    Parameters
    ----------
    values
        One metric per trial, in time order.
    percentile
        In percent, between 0 and 100, exclusive.
    confidence
        In percent, between 0 and 100, exclusive.
    bound
        "lower" or "upper"; by default "lower" below the 50th percentile, otherwise "upper".
    limits
        Expected extremes of the metric, for the paper's test of stationarity.
    method
        "default" or "paper".

    Returns
    -------
    Kpi
        In the unit of the values.

    Raises
    ------
    StatisticsError
        The values are empty, not finite, masked or not one-dimensional, or an option is out of range.
    """
    array = as_values(values)
    p, level = as_percent(percentile, "percentile"), as_percent(confidence, "confidence")
    side = own_side(p) if bound is None else bound
    one_of(side, "bound", ("lower", "upper"))
    test = independence(array, limits=limits, method=method)
    one_sided = percentile_interval(array, percentile, confidence, bound=side)
    wanted = needed(p, level, 0, side)
    what = f"the {percent(level)} {side} bound on p{float(p) * 100:g}"
    shortage = f"{what} needs {wanted} trials; there are {array.size}"
    return Kpi(
        value=one_sided.low if side == "lower" else one_sided.high,
        rank=one_sided.low_rank if side == "lower" else one_sided.high_rank,
        bound=side,
        attained=one_sided.attained,
        interval=percentile_interval(array, percentile, confidence),
        independent=test.independent,
        independence=test,
        n=array.size,
        needed=wanted,
        percentile=float(percentile),
        confidence=float(confidence),
        method="exact binomial ranks",
        note=joined(shortage if array.size < wanted else "", caution(test)),
    )


def own_side(p: Fraction) -> Side:
    """Return the side on which a percentile is bounded by default."""
    return "lower" if p < Fraction(1, 2) else "upper"


def caution(test: Independence) -> str:
    """Say what a failed independence test means for a bound."""
    return f"descriptive only: {test.reason}" if test.independent is False else ""


def joined(*parts: str) -> str:
    """Join the non-empty parts into one text."""
    return "; ".join(part for part in parts if part)
