"""Bounds on percentiles from ranks of independent values, and bands of the whole distribution."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.checks import Array, Bound, as_percent, as_values, one_of, percent
from trialwise.statistics.estimates.measures import percentile_of
from trialwise.statistics.sizing.sizing import needed, needed_for_equal_tails
from trialwise.statistics.tests.binomial import lower_rank, miss, upper_rank

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class PercentileInterval:
    """A confidence interval for a percentile of the distribution that the values come from."""

    low: float | None
    """Lower bound, a value of the sample; None if not requested or not attainable."""
    high: float | None
    """Upper bound, likewise."""
    low_rank: int | None
    """Rank of `low` among the sorted values, from 1."""
    high_rank: int | None
    """Rank of `high`, from 1."""
    attained: float | None
    """Exact coverage of the interval returned, in percent (at least this on tied data); None if nothing is returned."""
    n: int
    """Number of values."""
    needed: int
    """Smallest number of values that yields all requested bounds."""
    percentile: float
    """In percent."""
    confidence: float
    """Nominal, in percent."""
    bound: Bound
    """The bounds requested."""
    method: str
    """How the ranks were found."""
    note: str
    """What is missing and the remedy; empty if nothing is."""


def percentile_interval(
    values: ArrayLike, percentile: float, confidence: float, *, bound: Bound = "both"
) -> PercentileInterval:
    """Estimate a percentile's confidence interval from exact binomial ranks (Thompson 1936; TriScale Eq. 1-3).

    A single bound is the largest x_(m) with P(Bin(n, p) >= m) >= C, or its mirror image. Two bounds each miss with probability at
    most (1-C)/2 (equal tails). Ranks are exact, even where probability and confidence are equal. The interval is closed: with
    ties it covers at least at its level. The values must be independent and identically distributed.

    Parameters
    ----------
    values
        Numbers, in any order.
    percentile
        In percent, between 0 and 100, exclusive.
    confidence
        In percent, between 0 and 100, exclusive.
    bound
        "lower", "upper" or "both".

    Returns
    -------
    PercentileInterval
        Bounds in the unit of the values, and their ranks.

    Raises
    ------
    StatisticsError
        The values are empty, not finite, masked or not one-dimensional, or an option is out of range.
    """
    one_of(bound, "bound", ("lower", "upper", "both"))
    array = as_values(values)
    p, level = as_percent(percentile, "percentile"), as_percent(confidence, "confidence")
    low, high = ranks(array.size, p, level, bound)
    wanted = needed_for_equal_tails(p, level) if bound == "both" else needed(p, level, 0, bound)
    low_value, high_value = at_ranks(array, low, high)
    return PercentileInterval(
        low=low_value,
        high=high_value,
        low_rank=low,
        high_rank=high,
        attained=attained(array.size, low, high, p),
        n=array.size,
        needed=wanted,
        percentile=float(percentile),
        confidence=float(confidence),
        bound=bound,
        method="exact binomial ranks",
        note="" if array.size >= wanted else _shortage(array.size, wanted, p, level, bound),
    )


def ranks(n: int, p: Fraction, level: Fraction, bound: Bound) -> tuple[int | None, int | None]:
    """Return the ranks of the requested bounds, from 1."""
    each = (1 + level) / 2 if bound == "both" else level
    low = None if bound == "upper" else lower_rank(n, p, each)
    high = None if bound == "lower" else upper_rank(n, p, each)
    return low, high


def at_ranks(array: Array, low: int | None, high: int | None) -> tuple[float | None, float | None]:
    """Return the values at two ranks, without a full sort."""
    places = [rank - 1 for rank in (low, high) if rank is not None]
    ordered = np.partition(array, places) if places else array
    return (
        None if low is None else float(ordered[low - 1]),
        None if high is None else float(ordered[high - 1]),
    )


def attained(n: int, low: int | None, high: int | None, p: Fraction) -> float | None:
    """Return the coverage, in percent, of the interval between two ranks; an absent rank leaves that side open."""
    if low is None and high is None:
        return None
    return 100 * (1 - miss(n, low or 0, n + 1 if high is None else high, p))


def _shortage(n: int, wanted: int, p: Fraction, level: Fraction, bound: Bound) -> str:
    what = "two-sided interval" if bound == "both" else f"{bound} bound"
    return f"the {percent(level)} {what} of p{float(p) * 100:g} needs {wanted} values; there are {n}"


@dataclass(frozen=True, slots=True)
class CdfBand:
    """An empirical distribution with confidence bounds on many percentiles (TriScale Fig. 7)."""

    percentiles: Array
    """In percent: 2, 4 … 98."""
    estimate: Array
    """Percentiles of the sample (linear, type 7)."""
    low: Array
    """Lower bound of each percentile separately, one-sided at the confidence; NaN if not attainable."""
    high: Array
    """Upper bound of each percentile separately, likewise."""
    simultaneous_low: Array
    """Lower bounds that hold for all percentiles together with `simultaneous_high`; NaN if not attainable."""
    simultaneous_high: Array
    """Upper bounds that hold for all percentiles together."""
    epsilon: float
    """Half-width of the simultaneous band of the distribution function, as a share."""
    n: int
    """Number of values."""
    confidence: float
    """In percent."""
    method: str
    """How the bands were computed."""
    note: str
    """What is missing and the remedy; empty if nothing is."""


def cdf_band(values: ArrayLike, confidence: float) -> CdfBand:
    """Estimate bands of the distribution function, as bounds of its percentiles 2, 4 … 98.

    `low` and `high` are the paper's bounds (section 5.4, Fig. 7): one-sided, for each percentile separately, from exact ranks.
    They do not hold jointly. The simultaneous band does: F lies within epsilon = sqrt(log(2/(1-C)) / 2n) of the empirical
    distribution everywhere (Dvoretzky, Kiefer and Wolfowitz 1956, constant of Massart 1990).

    Parameters
    ----------
    values
        Numbers, in any order.
    confidence
        In percent, between 0 and 100, exclusive.

    Returns
    -------
    CdfBand
        Arrays of length 49, in the unit of the values.

    Raises
    ------
    StatisticsError
        As for `percentile_interval`.
    """
    array = np.sort(as_values(values))
    level, n = as_percent(confidence, "confidence"), array.size
    shares = [Fraction(share, 100) for share in range(2, 100, 2)]
    epsilon = sqrt(log(2 / float(1 - level)) / (2 * n))
    positions = n * np.array([float(share) for share in shares])
    wanted = max(
        needed(share, level, 0, side) for share in (shares[0], shares[-1]) for side in ("lower", "upper")
    )
    return CdfBand(
        percentiles=np.arange(2.0, 100.0, 2.0),
        estimate=np.array([percentile_of(array, float(share)) for share in shares]),
        low=_picked(array, np.array([lower_rank(n, share, level) or 0 for share in shares])),
        high=_picked(array, np.array([upper_rank(n, share, level) or 0 for share in shares])),
        simultaneous_low=_picked(array, np.ceil(positions - n * epsilon)),
        simultaneous_high=_picked(array, np.ceil(positions + n * epsilon)),
        epsilon=epsilon,
        n=n,
        confidence=float(confidence),
        method="exact binomial ranks; simultaneous: Dvoretzky-Kiefer-Wolfowitz-Massart",
        note="" if n >= wanted else f"all bounds need {wanted} values; there are {n}",
    )


def _picked(ordered: Array, chosen: np.ndarray[tuple[int], np.dtype[np.number]]) -> Array:
    """Return the values at ranks from 1; NaN for ranks that do not exist."""
    exists = (chosen >= 1) & (chosen <= ordered.size)
    places = np.where(exists, chosen, 1).astype(np.int64) - 1
    return np.where(exists, ordered[places], np.nan)
