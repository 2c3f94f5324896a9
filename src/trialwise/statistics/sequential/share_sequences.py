"""Bounds on a proportion that hold jointly after every outcome, for values that take two numbers."""

from __future__ import annotations

from math import inf, log

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array, Indices

_HALVINGS = 50
_PRIOR = 0.5


def bounds_of_two(values: Array, alpha: float) -> tuple[Array, Array]:
    """Bound the mean after each value, while the values so far take exactly two numbers.

    Shape (n,) each. While the values so far take one number or more than two, the lower bound is inf and the upper -inf, so that
    these bounds can be combined with others by minimum and maximum.
    """
    low, high = np.full(values.size, inf), np.full(values.size, -inf)
    others = values != values[0]
    if not others.any():
        return low, high
    begin = int(np.argmax(others))
    third = others & (values != values[begin])
    end = int(np.argmax(third)) if third.any() else values.size
    least, most = sorted((float(values[0]), float(values[begin])))
    times = np.arange(begin + 1, end + 1)
    hits = np.cumsum(values[:end] == most)[begin:]
    low[begin:end] = least + (most - least) * _lower_share(hits, times, alpha)
    high[begin:end] = most - (most - least) * _lower_share(times - hits, times, alpha)
    return low, high


def _lower_share(hits: Indices, times: Indices, alpha: float) -> Array:
    """Find the smallest proportion that is not rejected after each number of outcomes, by bisection.

    For s hits in t outcomes B(1/2 + s, 1/2 + t - s) / (B(1/2, 1/2) p^s (1 - p)^(t - s)) is a martingale under the proportion p: the
    probability that it ever reaches 1/alpha is at most alpha (Ville 1939; Robbins 1970).
    """
    mixture = special.betaln(_PRIOR + hits, _PRIOR + times - hits) - special.betaln(_PRIOR, _PRIOR)
    rejected, kept = np.zeros(hits.size), hits / times
    for _ in range(_HALVINGS):
        middle = (rejected + kept) / 2
        accepted = mixture - special.xlogy(hits, middle) - special.xlog1py(times - hits, -middle) < -log(
            alpha
        )
        rejected, kept = np.where(accepted, rejected, middle), np.where(accepted, middle, kept)
    return kept
