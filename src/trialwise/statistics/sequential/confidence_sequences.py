"""Intervals that hold after every value together, so that one may look and stop at any time."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush, heappushpop
from math import inf, log
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import betaln

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, Indices, as_percent, as_values, one_of, percent
from trialwise.statistics.sequential.share_sequences import bounds_of_two

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_TUNING = 8
"""A prior worth r values gives its narrowest bounds at about this many times r."""
_START = 50
"""From so many values on the bounds for a mean are given; see `mean_confidence_sequence`."""


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceSequence:
    """Bounds after each value; with the probability of the confidence all of them hold together."""

    low: Array
    """low[t - 1] is the lower bound after t values; -inf (0 on the scale "log") where there is none yet."""
    high: Array
    """Upper bounds, likewise; inf where there is none yet."""
    estimand: str
    """What is bounded."""
    n: int
    """Number of values."""
    confidence: float
    """In percent, of all bounds together."""
    tuned_for: int
    """Number of values at which the bounds are about the narrowest for their kind."""
    intersected: bool
    """Whether each bound is the narrowest so far."""
    method: str
    note: str
    """What the bounds rest on, or that none is finite and how many values the first takes."""


def median_confidence_sequence(
    values: ArrayLike,
    *,
    percentile: float = 50,
    confidence: float = 95,
    tuned_for: int = 50,
    intersect: bool = False,
) -> ConfidenceSequence:
    """Bounds on the median, or another percentile, that hold after every value together.

    The number s of the first t values below the p-quantile is Bin(t, p), and its likelihood ratio against a
    beta-binomial mixture, B(a + s, b + t - s) / (B(a, b) p^s (1 - p)^(t - s)) with a = rp and b = r(1 - p), is a
    martingale: at any time it exceeds 1/(1 - C) with probability at most 1 - C (Ville 1939; Robbins 1970; for
    quantiles Howard and Ramdas 2022). The counts that are not rejected, s_min to s_max, give the bounds x_(s_min)
    and x_(s_max + 1). They are closed, so that they hold on tied values too, and need independent values only.

    Parameters
    ----------
    values
        In the order of time.
    percentile
        In percent.
    confidence
        In percent, of all bounds together.
    tuned_for
        Number of values at which to be about the narrowest: the mixture's r is an eighth of it, at least 1.
    intersect
        Give the narrowest bounds so far (running maximum and minimum). They hold as well; where they cross, the values
        are not from one distribution (or the 1 - C has happened).

    Raises
    ------
    StatisticsError
        Values that are none or not finite, or an option out of range.
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
    """The r of the mixture.

    Raises
    ------
    StatisticsError
        `tuned_for` is no whole number from 1.
    """
    if tuned_for < 1 or tuned_for != int(tuned_for):
        raise StatisticsError(f"tuned_for is {tuned_for!r}; a whole number from 1 is wanted")
    return max(1, round(tuned_for / _TUNING))


def accepted_counts(n: int, p: Fraction, level: Fraction, r: int) -> tuple[Indices, Indices]:
    """After 1 … n values the fewest and the most of them below the p-quantile that are not rejected."""
    times = np.arange(1, n + 1)
    return _fewest(times, float(p), float(level), r), times - _fewest(times, float(1 - p), float(level), r)


def _fewest(times: Indices, p: float, level: float, r: int) -> Indices:
    """By halving: the ratio falls in s up to the count that is likeliest, which never is rejected."""
    rejected = np.full(times.size, -1)
    accepted = np.floor(times * p).astype(np.int64)
    limit = -log(1 - level)
    # Just below t p the ratio may be over the limit where p is near 1: the next count is then the first.
    accepted += log_ratio(accepted, times, p, r) >= limit
    while (open_ := accepted - rejected > 1).any():
        middle = np.where(open_, (accepted + rejected) // 2, accepted)
        kept = log_ratio(middle, times, p, r) < limit
        accepted = np.where(kept, middle, accepted)
        rejected = np.where(kept, rejected, middle)
    return accepted


def log_ratio(counts: Indices, times: Indices, p: float, r: float) -> Array:
    """Logarithm of the mixture's likelihood over that of p, for `counts` of `times` values below the quantile."""
    a, b = r * p, r * (1 - p)
    others = times - counts
    mixture = betaln(a + counts, b + others) - betaln(a, b)
    return np.asarray(mixture - counts * log(p) - others * log(1 - p), dtype=np.float64)


def running_order_statistics(values: Array, ranks: Indices) -> Array:
    """Of the first t values the one with rank ranks[t - 1], from 1; -inf where the rank is 0.

    The values up to the rank are kept in one heap, the others in a second, so that a rank which moves by one step at a
    time costs O(log t) for each value.
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
    """How many values both bounds take at least."""
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
    """Bounds on the mean that hold after every value together, for large numbers of values.

    The mean of the first t values ± s sqrt(2 (t rho² + 1) / (t rho)² log(sqrt(t rho² + 1) / alpha)) with their
    standard deviation s (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, Theorem 2.2, "asymptotic"): the level
    holds in the limit only. For as long as the values are two numbers, such as 0 and 1, the bounds reach as far as those of a
    share (`bounds_of_two`) do, which hold always; while all are equal there is no spread and bounds have no width, which says
    nothing of values that differ. Of skewed values the large ones come late and the first bounds miss: of lognormal(1) values
    some bound is wrong in one run of eight although none is given before 50 values. Where the values are
    positive and skewed, use the scale "log", which bounds the geometric mean, or a percentile, whose bounds rest on
    nothing but independence.

    Parameters
    ----------
    values
        In the order of time.
    confidence
        In percent.
    tuned_for
        Number of values at which the bounds are about the narrowest.
    scale
        "linear": the mean; "log": the geometric mean, of positive values.
    start
        The first number of values with bounds, 2 or more.
    intersect
        Give the narrowest bounds so far.

    Raises
    ------
    StatisticsError
        Values that are none, not finite or, on the scale "log", not positive; or an option out of range.
    """
    logs = one_of(scale, "scale", ("linear", "log")) == "log"
    array, level = as_values(values), as_percent(confidence, "confidence")
    if logs and array.min() <= 0:
        raise StatisticsError("values has a number that is not positive; the scale log has none for it")
    if start < 2:
        raise StatisticsError(f"start is {start!r}; a whole number from 2 is wanted")
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
    """Mean and standard deviation (divisor t - 1; NaN first) of the first t values; exactly 0 for as long as these are equal."""
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
    """Reach of the bounds of a mean in standard deviations; rho minimises it at `tuned_for` values, nearly (their Appendix B.2)."""
    wide = -2 * log(alpha)
    rho_squared = (wide + log(wide + 1)) / tuned_for
    grown = times * rho_squared + 1
    return np.asarray(
        np.sqrt(2 * grown / (times**2 * rho_squared) * np.log(np.sqrt(grown) / alpha)), dtype=np.float64
    )
