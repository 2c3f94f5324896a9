"""Bounds on a share that hold after every outcome together, for values that are two numbers."""

from __future__ import annotations

from math import inf, log

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

from trialwise.statistics.checks import Array, Indices

_HALVINGS = 50
_PRIOR = 0.5


def bounds_of_two(values: Array, alpha: float) -> tuple[Array, Array]:
    """Bounds on the mean after each value, for as long as the values so far are two numbers.

    Shape (n,) each: inf as the lower and -inf as the upper bound stand where the values so far are one number, or more than two,
    so that these bounds can be joined with others by minimum and maximum.
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
    """The smallest share that is not rejected after so many outcomes, by halving.

    With hits s of t outcomes B(1/2 + s, 1/2 + t - s) / (B(1/2, 1/2) p^s (1 - p)^(t - s)) is a martingale, where p is the share: at
    any time it is 1/alpha or more with probability at most alpha (Ville 1939; Robbins 1970).
    """
    mixture = betaln(_PRIOR + hits, _PRIOR + times - hits) - betaln(_PRIOR, _PRIOR)
    rejected, kept = np.zeros(hits.size), hits / times
    for _ in range(_HALVINGS):
        middle = (rejected + kept) / 2
        accepted = mixture - xlogy(hits, middle) - xlog1py(times - hits, -middle) < -log(alpha)
        rejected, kept = np.where(accepted, rejected, middle), np.where(accepted, middle, kept)
    return kept
