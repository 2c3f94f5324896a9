"""The distribution of a statistic of normal values that a clock or a counter rounded."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array

_SAMPLES = 1999
_MAX_VALUES = 2_000_000
_MIN_SAMPLES = 399
_SEED = 19_650_611
_SAME = 1e-9
"""Relative to the range: closer values are equal up to rounding of sums."""
_FINE = 1e-3
"""Relative to the standard deviation: rounding to this adds a ten-millionth to the variance."""
_SETTLED = 1e-4
_ROUNDS = 60
_NARROWEST = 0.05
"""In steps: a narrower normal distribution is rounded to one value or two, whose shares determine its mean."""


def step_of(ordered: Array) -> float:
    """Estimate the step to which values in ascending order were rounded: the smallest difference between distinct ones.

    Return 0 without ties, or if the step is so small that rounding does not matter: ties then have another cause, such as drawing
    with replacement.
    """
    gaps = np.diff(ordered)
    apart = gaps > _SAME * (ordered[-1] - ordered[0])
    if (gaps > 0).all() or not apart.any():
        return 0.0
    step = float(gaps[apart].min())
    return step if step > _FINE * float(ordered.std()) else 0.0


def rounded_tail(
    ordered: Array, step: float, statistic: float, statistics: Callable[[Array], Array]
) -> float:
    """Return P(statistic at most this) for normal values rounded to multiples of a step.

    Samples of the same size are drawn with a seed from the maximum likelihood fit to the rounded values, and rounded alike.
    `statistics` computes the statistic of each row in ascending order.
    """
    mean, deviation = _fitted(ordered, step)
    count = min(_SAMPLES, max(_MIN_SAMPLES, _MAX_VALUES // ordered.size))
    random = np.random.Generator(np.random.PCG64DXSM(_SEED))
    drawn = random.normal(mean, deviation, (count, ordered.size))
    rows = np.sort(np.rint((drawn - ordered[0]) / step), axis=1)
    reached = int((statistics(rows) <= statistic * (1 + _SAME)).sum())
    return (reached + 1) / (count + 1)


def _fitted(ordered: Array, step: float) -> tuple[float, float]:
    """Fit mean and standard deviation of the normal distribution by maximum likelihood for these rounded values.

    Uses the moments within each rounding interval (EM algorithm; Dempster, Laird and Rubin 1977).
    """
    values, times = np.unique(ordered, return_counts=True)
    mean, deviation = float(ordered.mean()), max(float(ordered.std()), _NARROWEST * step)
    for _ in range(_ROUNDS):
        first, second = _within((values - mean) / deviation, step / deviation)
        moved = mean + deviation * float(times @ first) / ordered.size
        square = deviation**2 * float(times @ second) / ordered.size - (moved - mean) ** 2
        before, mean, deviation = (mean, deviation), moved, max(sqrt(max(square, 0.0)), _NARROWEST * step)
        if abs(mean - before[0]) + abs(deviation - before[1]) < _SETTLED * step:
            break
    return mean, deviation


def _within(middles: Array, step: float) -> tuple[Array, Array]:
    """Return mean and mean square of standard normal values within half a step of each middle."""
    low, high = middles - step / 2, middles + step / 2
    # On the side of the smaller tail, so that no difference of shares cancels.
    mirrored = middles > 0
    low, high = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    share = np.maximum(special.ndtr(high) - special.ndtr(low), 1e-300)
    at_low, at_high = (np.exp(-(end**2) / 2) / sqrt(2 * np.pi) for end in (low, high))
    first = np.clip((at_low - at_high) / share, low, high)
    second = 1 + (low * at_low - high * at_high) / share
    second = np.clip(second, first**2, np.maximum(low**2, high**2))
    return np.where(mirrored, -first, first), second
