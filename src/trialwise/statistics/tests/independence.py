"""Tests of independence for values in time order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import asin, pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise import _core
from trialwise.late import special
from trialwise.numbers import p_equals
from trialwise.statistics.checks import Array, Limits, Method, as_limits, as_method, as_percent, as_values
from trialwise.statistics.estimates.convergence import slope_test
from trialwise.statistics.scaling import centred, is_constant
from trialwise.statistics.sizing.steady_state import Requirement
from trialwise.statistics.tests.slopes import tie_counts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_SIGNIFICANCE = 0.05
_FEWEST = 5
_EVERY_ORDER = 7
_SHUFFLED_LAG = 100
_EXACT_TREND = 60
_SHUFFLED_TREND = 40
_SHUFFLES = 9999
_SEED = 20_190_821
_ROUNDING = 1e-10
_FEW_LAGS = 256
_SUPPOSED = (0.3, 0.5)
_PAPER_QUANTILE = 1.95
_PAPER_CONFIDENCE, _PAPER_TOLERANCE = as_percent(50, "confidence"), 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Independence:
    """Evidence on the serial dependence of a series."""

    independent: bool | None
    """False if dependence was found; None if there are too few values for any test to find it."""
    autocorrelation: Array
    """Biased sample autocorrelation at lags 1 … n-1; NaN for constant values."""
    threshold: float
    """1.95 / sqrt(n)."""
    stationary: bool | None
    """False if a trend was found; None if no test can find one."""
    p_value: float | None
    """Of both tests together (Holm); None in paper mode and for too few values."""
    p_lag1: float | None
    """Of lag-1 correlation, by permutation."""
    p_trend: float | None
    """Of a trend, by Kendall's test."""
    lag1_low: float | None
    """Approximate 95 % interval of the lag-1 correlation, corrected for bias."""
    lag1_high: float | None
    """Upper bound of that interval."""
    coverage_if: tuple[tuple[float, float], ...]
    """Pairs of a lag-1 correlation and the actual coverage (percent) that a 95 % interval of the median would have under it."""
    n: int
    """Number of values."""
    confidence: float
    """Of the tests, in percent."""
    method: str
    """The tests."""
    reason: str
    """What was found, or why nothing can be found, and the remedy."""


def independence(values: ArrayLike, *, limits: Limits = None, method: Method = "default") -> Independence:
    """Test whether values in time order can be treated as independent.

    Default: the permutation distribution of the lag-1 correlation (all orders up to 7 values, 9 999 seeded shuffles up to 100,
    beyond that the normal approximation with exact mean and variance) and Kendall's test of trend (exact up to 60 values without
    ties), combined by Holm at 5 %. With 4 values or fewer no such test exists.

    Paper (TriScale section 4.5): |rho_k| <= 1.95 / sqrt(n) at every lag, and the values, scaled to [-1, 1] by the limits or their
    own extremes, pass the convergence test at confidence 50 % and tolerance 10 % (read as in `convergence`). Up to 7 values this
    cannot detect positive lag-1 correlation, and with 30 it rejects one independent series in four.

    Independence comes from randomised and spaced trials, not from a test. Intervals of series that pass are no better than of
    series that fail, so nothing is excluded because of it.

    Parameters
    ----------
    values
        Numbers in time order.
    limits
        Expected extremes, in the unit of the values; used by the paper's test of stationarity only.
    method
        "default" or "paper".

    Returns
    -------
    Independence
        Autocorrelation: array of length n-1.

    Raises
    ------
    StatisticsError
        The values are empty, not finite, masked or not one-dimensional, or the limits are not two ascending
        numbers.
    """
    paper, array, extremes = as_method(method), as_values(values), as_limits(limits)
    return _paper_test(array, extremes) if paper else _default_test(array)


def _default_test(values: Array) -> Independence:
    base = _untested(
        values, "permutation of lag-1 correlation and Kendall trend, Holm", 100 * (1 - _SIGNIFICANCE)
    )
    if is_constant(values):
        return replace(base, reason="the values are constant: there is nothing to correlate")
    if values.size < _FEWEST:
        return replace(
            base,
            reason=f"no 5 % test of independence exists with n = {values.size}; {_FEWEST} values are needed",
        )
    deviations = centred(values)
    p_lag1, p_trend = _lag1_p(deviations), _trend_p(values)
    p_value = min(1.0, 2 * min(p_lag1, p_trend))
    trending = (p_value if p_trend <= p_lag1 else max(p_value, p_trend)) <= _SIGNIFICANCE
    low, high = _lag1_interval(float(base.autocorrelation[0]), values.size)
    return replace(
        base,
        independent=p_value > _SIGNIFICANCE,
        stationary=not trending,
        p_value=p_value,
        p_lag1=p_lag1,
        p_trend=p_trend,
        lag1_low=low,
        lag1_high=high,
        coverage_if=tuple((rho, median_coverage(values.size, rho)) for rho in _SUPPOSED),
        reason="" if p_value > _SIGNIFICANCE else _finding(p_value, trending=trending),
    )


def _finding(p_value: float, *, trending: bool) -> str:
    what = "a trend" if trending else "dependence between neighbours"
    return f"{what} was found ({p_equals(p_value)}); randomise and space the trials further apart"


def _untested(values: Array, method: str, confidence: float) -> Independence:
    return Independence(
        independent=None,
        autocorrelation=autocorrelation(values),
        threshold=_PAPER_QUANTILE / sqrt(values.size),
        stationary=None,
        p_value=None,
        p_lag1=None,
        p_trend=None,
        lag1_low=None,
        lag1_high=None,
        coverage_if=(),
        n=values.size,
        confidence=confidence,
        method=method,
        reason="",
    )


def autocorrelation(values: Array) -> Array:
    """Compute the biased sample autocorrelation at lags 1 … n-1: sums of n-k products over the sum of squares, NaN if that is 0."""
    if is_constant(values):
        return np.full(values.size - 1, np.nan)
    deviations = centred(values)
    if values.size <= _FEW_LAGS:
        sums = np.correlate(deviations, deviations, "full")[values.size - 1 :]
    else:
        length = 1 << (2 * values.size - 1).bit_length()
        spectrum = np.fft.rfft(deviations, length)
        sums = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, length)[: values.size]
    return sums[1:] / sums[0]


def _lag1_p(deviations: Array) -> float:
    """Return the permutation p-value of |rho_1 + 1/n|, whose mean over all orders is exactly 0."""
    n, squares = deviations.size, float(deviations @ deviations)
    observed = abs(float(deviations[1:] @ deviations[:-1]) + squares / n)
    if n > _SHUFFLED_LAG:
        return _two_sided(observed / sqrt(_product_variance(deviations)))
    found, total = _core.lag_product_exceedances(
        deviations,
        squares / n,
        observed - _ROUNDING * squares,
        shuffles=None if n <= _EVERY_ORDER else _SHUFFLES,
        seed=_SEED,
    )
    return found / total if n <= _EVERY_ORDER else (found + 1) / (total + 1)


def _product_variance(deviations: Array) -> float:
    """Return the variance, over all orders of numbers with sum 0, of the sum of products of neighbours.

    From the moments of sampling without replacement (Wald and Wolfowitz 1943, for the non-circular series).
    """
    n = deviations.size
    second, fourth = float(np.sum(deviations**2)), float(np.sum(deviations**4))
    pairs = (second**2 - fourth) / (n * (n - 1))
    triples = (2 * fourth - second**2) / (n * (n - 1) * (n - 2))
    quadruples = 3 * (second**2 - 2 * fourth) / (n * (n - 1) * (n - 2) * (n - 3))
    mean = -second / n
    variance = (n - 1) * pairs + 2 * (n - 2) * triples + (n - 2) * (n - 3) * quadruples - mean**2
    return max(variance, 1e-15 * second**2)  # one huge value among very many leaves nothing but rounding


def _trend_p(values: Array) -> float:
    """Return the two-sided p-value of Kendall's score against time."""
    n, ties = values.size, tie_counts(values)
    comparable = n * (n - 1) // 2 - sum(count * (count - 1) // 2 for count in ties)
    score = comparable - 2 * _core.inversions(values)
    if not ties and n <= _EXACT_TREND:
        return _exact_score_p(n, abs(score))
    if ties and n <= _SHUFFLED_TREND:
        every = n <= _EVERY_ORDER
        found, total = _core.score_exceedances(
            values, abs(score), shuffles=None if every else _SHUFFLES, seed=_SEED
        )
        return found / total if every else (found + 1) / (total + 1)
    tied = sum(count * (count - 1) * (2 * count + 5) for count in ties)
    variance = (n * (n - 1) * (2 * n + 5) - tied) / 18
    return _two_sided(max(abs(score) - 1, 0) / sqrt(variance))


@lru_cache(maxsize=256)
def _exact_score_p(n: int, score: int) -> float:
    """Return P(|S| >= score) over all orders of n distinct values, from the distribution of inversions."""
    most = n * (n - 1) // 2
    share = np.zeros(most + 1)
    share[0] = 1.0
    for size in range(2, n + 1):
        sums = np.cumsum(share)
        sums[size:] -= sums[:-size].copy()
        share = sums / size
    inversions = (most - score) // 2
    return min(1.0, 2 * float(np.sum(share[: inversions + 1]))) if score > 0 else 1.0


def _two_sided(deviation: float) -> float:
    return float(2 * special.ndtr(-deviation))


def _lag1_interval(raw: float, n: int) -> tuple[float, float]:
    """Return the interval of the lag-1 correlation: corrected for bias by (1+4r)/n, with 1.96 standard errors on either side."""
    middle = raw + (1 + 4 * raw) / n
    half = 1.96 * sqrt(max(1 - middle**2, 0.0) / n + 1 / n**2)
    return max(middle - half, -1.0), min(middle + half, 1.0)


def median_coverage(n: int, rho: float) -> float:
    """Approximate the coverage, in percent, of a 95 % interval of the median for n values of a normal AR(1).

    The signs of the deviations correlate by (2/pi) asin(rho^k) at lag k, which widens their sum's
    distribution. Agrees with simulation within 4 points for correlations up to 0.5.
    """
    inflation = 1 + 2 * sum((1 - lag / n) * 2 / pi * asin(rho**lag) for lag in range(1, min(n, 200)))
    return 100 * float(2 * special.ndtr(special.ndtri(0.975) / sqrt(inflation)) - 1)


def _paper_test(values: Array, limits: Limits) -> Independence:
    base = _untested(values, "TriScale 4.5: all autocorrelations within 1.95/sqrt(n), and stationarity", 95.0)
    if values.size < 2:
        return replace(base, reason="one value has no neighbours; 2 are needed")
    uncorrelated = not bool((np.abs(base.autocorrelation) > base.threshold).any())
    requirement = Requirement(_PAPER_CONFIDENCE, _PAPER_TOLERANCE, limits)
    stationary = slope_test(values, np.arange(float(values.size)), values.size, requirement).converged
    found = [] if uncorrelated else ["an autocorrelation is beyond 1.95/sqrt(n)"]
    found += [] if stationary else ["the values are not stationary (Theil-Sen, 50 %, 10 %)"]
    reason = "; ".join(found) + ("; randomise and space the trials further apart" if found else "")
    if is_constant(values):
        reason = "the values are constant: there is nothing to correlate"
    return replace(base, independent=uncorrelated and stationary, stationary=stationary, reason=reason)
