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
    """A bound, at a confidence, on a percentile of the metric over a series."""

    value: float | None
    """The bound, in the unit of the values; None when there are too few."""
    rank: int | None
    """Its rank among the sorted values, from 1."""
    bound: Side
    """Which side it bounds."""
    attained: float | None
    """Exact probability, in percent, with which such a bound holds for independent values."""
    interval: PercentileInterval
    """Two-sided interval of the same percentile at the same confidence."""
    independent: bool | None
    """Result of the independence test; False makes the value descriptive only."""
    independence: Independence
    """The test itself."""
    n: int
    """Number of values."""
    needed: int
    """Number of values from which the bound can be had."""
    percentile: float
    """In percent."""
    confidence: float
    """In percent, as asked for."""
    method: str
    """How the bound was found."""
    note: str
    """What is missing or weakens it, and what would lift that."""


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

    The bound is Thompson's, from exact ranks, as the paper has it; `method` chooses the independence test.
    The value does not depend on that test.

    Parameters
    ----------
    values
        One metric for each trial, in the order of time.
    percentile
        In percent, 0 to 100, both excluded.
    confidence
        In percent, 0 to 100, both excluded.
    bound
        "lower" or "upper"; by default lower below the 50th percentile, upper from it on.
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
        The values are none, not finite, masked or not one-dimensional, or an option is out of range.
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
    """Choose the side on which a percentile is bounded unless another is asked for."""
    return "lower" if p < Fraction(1, 2) else "upper"


def caution(test: Independence) -> str:
    """Say what a failed independence test means for a bound."""
    return f"descriptive only: {test.reason}" if test.independent is False else ""


def joined(*parts: str) -> str:
    """Join the parts that say something into one text."""
    return "; ".join(part for part in parts if part)
