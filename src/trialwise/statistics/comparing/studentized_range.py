"""The studentized range distribution for many degrees of freedom at once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from trialwise.late import special

if TYPE_CHECKING:
    from collections.abc import Callable

    from trialwise.statistics.checks import Array

_WIDEST = 40.0
"""Beyond this width, the range of normal values has a probability below 1e-170."""
_KNOTS = 1001
_NODES = 256
_AT_ONCE = 2000
_SEARCH_STEPS = 60


def upper_tail(q: Array, groups: int, freedom: Array) -> Array:
    """Return P(Q > q) for the range of `groups` values over a standard deviation with `freedom` degrees of freedom.

    The integral of Copenhaver and Holland (1988) over s = √(χ²/ν): P = ∫ f_ν(s) W(q s) ds, with W the upper tail of the range of
    standard normal values; its logarithm is interpolated by cubic splines. Agrees with SciPy's `studentized_range` within 1e-8.
    """
    parts = range(0, q.size, _AT_ONCE)
    found = [_tail(q[i : i + _AT_ONCE], groups, *_deviations(freedom[i : i + _AT_ONCE])) for i in parts]
    return np.concatenate(found) if found else np.zeros(0)


def critical(tail: float, groups: int, freedom: Array) -> Array:
    """Return the q that is exceeded with this probability."""
    different, places = np.unique(freedom, return_inverse=True)
    parts = range(0, different.size, _AT_ONCE)
    found = [_critical(tail, groups, different[i : i + _AT_ONCE]) for i in parts]
    return (np.concatenate(found) if found else np.zeros(0))[places]


def _critical(tail: float, groups: int, freedom: Array) -> Array:
    """Solve by false position in log q (Illinois), because the logarithm of the tail is nearly linear there."""
    s, weights = _deviations(freedom)

    def excess(x: Array) -> Array:
        return np.log(np.maximum(_tail(np.exp(x), groups, s, weights), 1e-300) / tail)

    low, high = np.zeros(freedom.size), np.full(freedom.size, 2.0)
    over, under = excess(low), excess(high)
    while (short := under > 0).any():
        low, over = np.where(short, high, low), np.where(short, under, over)
        high = np.where(short, high + 2.0, high)
        under = excess(high)
    while (wide := over < 0).any():
        low = np.where(wide, low - 2.0, low)
        over = excess(low)
    middle, side = low, np.zeros(freedom.size)
    for _ in range(_SEARCH_STEPS):
        before, middle = middle, low + (high - low) * over / np.where(over > under, over - under, 1.0)
        found = excess(middle)
        above = found > 0
        # Halve the function value at an end that stays twice; otherwise it could stay for ever.
        under = np.where(above, np.where(side > 0, under / 2, under), found)
        over = np.where(above, found, np.where(side < 0, over / 2, over))
        side = np.where(above, 1.0, -1.0)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
        if np.abs(middle - before).max() < 1e-11:
            break
    return np.exp(middle)


def _tail(q: Array, groups: int, s: Array, weights: Array) -> Array:
    widths = q[:, None] * s
    tails = np.exp(_log_range_tail(groups)(np.minimum(widths, _WIDEST)))
    return np.clip((weights * np.where(widths < _WIDEST, tails, 0.0)).sum(axis=1), 0.0, 1.0)


def _deviations(freedom: Array) -> tuple[Array, Array]:
    """Return nodes and weights of an integral over the density of s, one row per number of degrees of freedom.

    Gauss-Legendre in log s, between the quantiles 1e-15 and 1 - 1e-15.
    """
    half = freedom[:, None] / 2
    low = np.log(special.gammaincinv(half, 1e-15) / half) / 2
    high = np.log(special.gammainccinv(half, 1e-15) / half) / 2
    nodes, weights = _legendre()
    x = low + (high - low) * (nodes + 1) / 2
    density = np.exp(half * np.log(half) - special.gammaln(half) + 2 * half * x - half * np.exp(2 * x)) * 2
    return np.exp(x), density * weights * (high - low) / 2


@lru_cache(maxsize=1)
def _legendre() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(_NODES)


@lru_cache(maxsize=64)
def _log_range_tail(groups: int) -> Callable[[Array], Array]:
    """Return log P(range of `groups` standard normal values > w) as a function of w, from 0 to `_WIDEST`.

    P = k ∫ φ(z) {Φ(z)ᵐ - [Φ(z) - Φ(z - w)]ᵐ} dz with m = k - 1, evaluated without cancellation.
    """
    from scipy.interpolate import CubicSpline

    w = np.linspace(0, _WIDEST, _KNOTS)[:, None]
    # The integrand peaks around half of a wide range; steps are short relative to its width of 0.7 or more.
    z, step = np.linspace(-9.0, _WIDEST / 2 + 10.0, 500, retstep=True)
    with np.errstate(divide="ignore", under="ignore"):
        share = np.minimum(special.ndtr(z - w) / special.ndtr(z), 1.0)
        missing = -np.expm1((groups - 1) * np.log1p(-share))
        tails = (np.exp(-(z**2) / 2) * special.ndtr(z) ** (groups - 1) * missing).sum(axis=1)
    logs = np.log(groups * step / np.sqrt(2 * np.pi) * tails)
    logs[0] = 0.0
    return CubicSpline(w[:, 0], logs)
