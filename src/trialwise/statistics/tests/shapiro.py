"""Shapiro and Wilk's test of normality, fast for many samples of one size."""

from __future__ import annotations

from functools import lru_cache
from math import asin, exp, log, pi, sqrt

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array
from trialwise.statistics.rounded import rounded_tail, step_of

FEWEST, MOST = 3, 5000
"""The range of sample sizes that the approximation is valid for."""
# Royston 1995, "Remark AS R94", Applied Statistics 44: polynomials, constant term first.
_LAST = (0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)
_LAST_BUT_ONE = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)
_SMALL_BOUND = (-2.273, 0.459)
_SMALL_MEAN = (0.544, -0.39978, 0.025054, -6.714e-4)
_SMALL_DEVIATION = (1.3822, -0.77857, 0.062767, -0.0020322)
_LARGE_MEAN = (-1.5861, -0.31082, -0.083751, 0.0038915)
_LARGE_DEVIATION = (-0.4803, -0.082676, 0.0030302)
_MAX_SMALL = 11


def shapiro_wilk(ordered: Array, *, ties: bool = True) -> float:
    """Return the p-value of finite values in ascending order; NaN if they are too few, too many, or all equal.

    Shapiro and Wilk 1965, by the approximation of Royston 1995. Tied values are treated as normal values that were rounded, by a
    clock or a counter (`rounded_tail`), unless `ties` is false: then ties are ignored.
    """
    n = ordered.size
    if not FEWEST <= n <= MOST or ordered[0] == ordered[-1]:
        return float("nan")
    scaled = (ordered - ordered[n // 2]) / (ordered[-1] - ordered[0])
    w = float(_statistics(scaled[None, :])[0])
    if ties and (step := step_of(scaled)):
        return rounded_tail(scaled, step, w, _statistics)
    return _tail(min(w, 1.0), n)


def _statistics(rows: Array) -> Array:
    """Compute W of each row in ascending order; 1 if all its values are equal."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    squares = (centred**2).sum(axis=1)
    alike = rows[:, 0] == rows[:, -1]
    return np.where(alike, 1.0, (centred @ _weights(rows.shape[1])) ** 2 / np.where(alike, 1.0, squares))


@lru_cache(maxsize=256)
def _weights(n: int) -> Array:
    """Return antisymmetric weights of length 1 for values in ascending order."""
    if n == FEWEST:
        return np.array([-sqrt(0.5), 0.0, sqrt(0.5)])
    scores = special.ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    squares = float(scores @ scores)
    ends = [_polynomial(_LAST, n**-0.5) + scores[-1] / sqrt(squares)]
    if n > 5:
        ends.append(_polynomial(_LAST_BUT_ONE, n**-0.5) + scores[-2] / sqrt(squares))
    k = len(ends)
    rest = (squares - 2 * float((scores[-k:] ** 2).sum())) / (1 - 2 * sum(end**2 for end in ends))
    weights = scores / sqrt(rest)
    weights[:k], weights[-k:] = -np.array(ends), ends[::-1]
    return weights


def _tail(w: float, n: int) -> float:
    if n == FEWEST:
        return max(0.0, 6 / pi * (asin(sqrt(w)) - asin(sqrt(0.75))))
    if w == 1:
        return 1.0
    y = log(1 - w)
    if n <= _MAX_SMALL:
        bound = _polynomial(_SMALL_BOUND, n)
        if y >= bound:
            return 0.0
        y = -log(bound - y)
        mean, deviation = _polynomial(_SMALL_MEAN, n), exp(_polynomial(_SMALL_DEVIATION, n))
    else:
        mean, deviation = _polynomial(_LARGE_MEAN, log(n)), exp(_polynomial(_LARGE_DEVIATION, log(n)))
    return float(special.ndtr(-(y - mean) / deviation))


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    value = 0.0
    for coefficient in reversed(coefficients):
        value = value * x + coefficient
    return value
