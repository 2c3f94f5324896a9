"""Confidence sequences: intervals that hold jointly after every value, so that one may look and stop at any time."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush, heappushpop
from math import inf, log
from typing import TYPE_CHECKING, Literal

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import Array, Indices, as_percent, as_values, one_of, percent
from trialwise.statistics.sequential.share_sequences import bounds_of_two

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_TUNING = 8
"""A mixture with r prior values gives its narrowest bounds at about this many times r."""
_START = 50
"""Number of values from which bounds for a mean are given; see `mean_confidence_sequence`."""


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceSequence:
    """Bounds after each value that hold jointly at the confidence."""

    low: Array
    """low[t - 1] is the lower bound after t values; -inf (0 on the scale "log") before the first bound."""
    high: Array
    """Upper bounds, likewise; inf before the first bound."""
    estimand: str
    """The quantity that is bounded."""
    n: int
    """Number of values."""
    confidence: float
    """In percent, of all bounds jointly."""
    tuned_for: int
    """Number of values at which the bounds are about the narrowest for this method."""
    intersected: bool
    """True if each bound is the narrowest so far."""
    method: str
    note: str
    """Assumptions of the bounds, or that none is finite and how many values the first one takes."""


def median_confidence_sequence(
    values: ArrayLike,
    *,
    percentile: float = 50,
    confidence: float = 95,
    tuned_for: int = 50,
    intersect: bool = False,
) -> ConfidenceSequence:
    """Bound the median, or another percentile, jointly after every value.

    The number s of the first t values below the p-quantile is Bin(t, p), and its likelihood ratio against a beta-binomial mixture,
    B(a + s, b + t - s) / (B(a, b) p^s (1 - p)^(t - s)) with a = rp and b = r(1 - p), is a martingale: the probability that it ever
    exceeds 1/(1 - C) is at most 1 - C (Ville 1939; Robbins 1970; for quantiles Howard and Ramdas 2022). The counts that are not
    rejected, s_min to s_max, give the bounds x_(s_min) and x_(s_max + 1). The interval is closed, so it holds for tied values too,
    and requires only independent values.

    Parameters
    ----------
    values
        In time order.
    percentile
        In percent.
    confidence
        In percent, of all bounds jointly.
    tuned_for
        Number of values at which the bounds should be about the narrowest: the mixture's r is an eighth of it, at least 1.
    intersect
        Return the narrowest bounds so far (running maximum and minimum). They hold as well; if they cross, the values are not from
        one distribution (or the event of probability 1 - C occurred).

    Raises
    ------
    StatisticsError
        No values, values that are not finite, or an option out of range.
    """
    array = as_values(values)
    p, level = as_percent(percentile, "percentile"), as_percent(confidence, "confidence")
    fewest, most = accepted_counts(array.size, p, level, as_tuned_for(tuned_for))
    times = np.arange(1, array.size + 1)
    low = running_order_statistics(array, fewest)
    high = -running_order_statistics(-array, times - most)
    return ConfidenceSequence(
        *_intersected(low, high, intersect=intersect),
        estimand=f"p{float(percentile):g}",
        n=array.size,
        confidence=float(confidence),
        tuned_for=tuned_for,
        intersected=intersect,
        method="beta-binomial mixture",
        note="" if fewest[-1] > 0 and most[-1] < array.size else _none_yet(p, level, tuned_for),
    )


def as_tuned_for(tuned_for: int) -> int:
    """Return the r of the mixture.

    Raises
    ------
    StatisticsError
        `tuned_for` is not an integer of at least 1.
    """
    if tuned_for < 1 or tuned_for != int(tuned_for):
        raise StatisticsError(f"tuned_for is {tuned_for!r}; expected an integer ≥ 1")
    return max(1, round(tuned_for / _TUNING))


def accepted_counts(n: int, p: Fraction, level: Fraction, r: int) -> tuple[Indices, Indices]:
    """Return, for 1 … n values, the smallest and the largest number of them below the p-quantile that is not rejected."""
    times = np.arange(1, n + 1)
    return _fewest(times, float(p), float(level), r), times - _fewest(times, float(1 - p), float(level), r)


def _fewest(times: Indices, p: float, level: float, r: int) -> Indices:
    """Find the smallest by bisection: the ratio falls in s up to the likeliest count, which is never rejected."""
    rejected = np.full(times.size, -1)
    accepted = np.floor(times * p).astype(np.int64)
    limit = -log(1 - level)
    # Just below t p the ratio may exceed the limit if p is near 1: the next count is then the first.
    accepted += log_ratio(accepted, times, p, r) >= limit
    while (open_ := accepted - rejected > 1).any():
        middle = np.where(open_, (accepted + rejected) // 2, accepted)
        kept = log_ratio(middle, times, p, r) < limit
        accepted = np.where(kept, middle, accepted)
        rejected = np.where(kept, rejected, middle)
    return accepted


def log_ratio(counts: Indices, times: Indices, p: float, r: float) -> Array:
    """Return the log likelihood ratio of the mixture to p, for `counts` of `times` values below the quantile."""
    a, b = r * p, r * (1 - p)
    others = times - counts
    mixture = special.betaln(a + counts, b + others) - special.betaln(a, b)
    return np.asarray(mixture - counts * log(p) - others * log(1 - p), dtype=np.float64)


def running_order_statistics(values: Array, ranks: Indices) -> Array:
    """Return, for each t, the value with rank ranks[t - 1], from 1, among the first t; -inf if the rank is 0.

    One heap holds the values up to the rank, another the rest, so that a rank that moves by one step costs O(log t) per value.
    """
    upto: list[float] = []
    beyond: list[float] = []
    found = np.full(values.size, -inf)
    for at, (value, rank) in enumerate(zip(values.tolist(), ranks.tolist(), strict=True)):
        heappush(beyond, -heappushpop(upto, -value))
        while len(upto) < rank:
            heappush(upto, -heappop(beyond))
        while len(upto) > rank:
            heappush(beyond, -heappop(upto))
        if rank:
            found[at] = -upto[0]
    return found


def _intersected(low: Array, high: Array, *, intersect: bool) -> tuple[Array, Array]:
    if not intersect:
        return low, high
    return np.maximum.accumulate(low), np.minimum.accumulate(high)


def _none_yet(p: Fraction, level: Fraction, tuned_for: int) -> str:
    first = values_until_finite(p, level, as_tuned_for(tuned_for))
    return f"both {percent(level)} bounds on p{float(p) * 100:g} take {first} values"


def values_until_finite(p: Fraction, level: Fraction, r: int) -> int:
    """Return the smallest number of values at which both bounds are finite."""
    limit = -log(1 - float(level))

    def finite(times: int) -> bool:
        ends = log_ratio(np.array([0, times]), np.array([times, times]), float(p), r)
        return bool((ends >= limit).all())

    ample = 1
    while not finite(ample):
        ample *= 2
    short = ample // 2
    while ample - short > 1:
        middle = (short + ample) // 2
        short, ample = (short, middle) if finite(middle) else (middle, ample)
    return ample


def mean_confidence_sequence(
    values: ArrayLike,
    *,
    confidence: float = 95,
    tuned_for: int = 50,
    scale: Literal["linear", "log"] = "linear",
    start: int = _START,
    intersect: bool = False,
) -> ConfidenceSequence:
    """Bound the mean jointly after every value, for large numbers of values.

    The bounds are the mean of the first t values ± s sqrt(2 (t rho² + 1) / (t rho)² log(sqrt(t rho² + 1) / alpha)) with their
    standard deviation s (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, Theorem 2.2, "asymptotic"); the level holds only in
    the limit. While the values take only two numbers, such as 0 and 1, the bounds are widened to those of a proportion
    (`bounds_of_two`), which always hold. While all values are equal, the bounds have no width, which says nothing about other
    values. In skewed data large values come late and early bounds miss: with lognormal(1) values some bound is wrong in one run of
    eight, although none is given before 50 values. For positive, skewed values use the scale "log", which bounds the geometric mean,
    or a percentile, whose bounds assume only independence.

    Parameters
    ----------
    values
        In time order.
    confidence
        In percent.
    tuned_for
        Number of values at which the bounds are about the narrowest.
    scale
        "linear": the mean; "log": the geometric mean, of positive values.
    start
        Smallest number of values with bounds, at least 2.
    intersect
        Return the narrowest bounds so far.

    Raises
    ------
    StatisticsError
        No values, values that are not finite or, on the scale "log", not positive; or an option out of range.
    """
    logs = one_of(scale, "scale", ("linear", "log")) == "log"
    array, level = as_values(values), as_percent(confidence, "confidence")
    if logs and array.min() <= 0:
        raise StatisticsError("values has a number that is not positive; the scale log has none for it")
    if start < 2:
        raise StatisticsError(f"start is {start!r}; expected an integer ≥ 2")
    as_tuned_for(tuned_for)
    scored = np.log(array) if logs else array
    centres, deviations = running_moments(scored)
    least, most = bounds_of_two(scored, float(1 - level))
    with np.errstate(over="ignore"):
        reach = deviations * asymptotic_reach(np.arange(1, array.size + 1), float(1 - level), tuned_for)
        reach[: start - 1] = inf
        low, high = np.minimum(centres - reach, least), np.maximum(centres + reach, most)
        if logs:
            low, high = np.exp(low), np.exp(high)
    return ConfidenceSequence(
        *_intersected(low, high, intersect=intersect),
        estimand="geometric mean" if logs else "mean",
        n=array.size,
        confidence=float(confidence),
        tuned_for=tuned_for,
        intersected=intersect,
        method=f"asymptotic confidence sequence from {start} values on",
        note=(
            f"there are no bounds before {start} values"
            if array.size < start
            else "holds for many values; fails where rare large values carry the mean"
        ),
    )


def running_moments(values: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation (divisor t - 1; NaN first) of the first t values; exactly 0 while these are equal."""
    times = np.arange(1, values.size + 1)
    scale = float(np.abs(values).max()) or 1.0
    scaled = values / scale
    middle = float(scaled.mean())
    centred = scaled - middle
    sums, squares = np.cumsum(centred), np.cumsum(centred**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.maximum(squares - sums**2 / times, 0.0) / (times - 1)
    variance[1:] *= np.logical_or.accumulate(values != values[0])[1:]
    with np.errstate(over="ignore"):
        return scale * (middle + sums / times), scale * np.sqrt(variance)


def asymptotic_reach(times: Indices | Array, alpha: float, tuned_for: int) -> Array:
    """Return the half-width of a mean's bounds in standard deviations; rho nearly minimises it at `tuned_for` (Appendix B.2)."""
    wide = -2 * log(alpha)
    rho_squared = (wide + log(wide + 1)) / tuned_for
    grown = times * rho_squared + 1
    return np.asarray(
        np.sqrt(2 * grown / (times**2 * rho_squared) * np.log(np.sqrt(grown) / alpha)), dtype=np.float64
    )
