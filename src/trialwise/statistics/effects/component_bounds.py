"""Intervals of variance components: chi square, and the modified large-sample interval of a difference of mean squares."""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.late import special

if TYPE_CHECKING:
    from trialwise.statistics.checks import Array
    from trialwise.statistics.effects.nesting import NestedAnova


def component_bounds(anova: NestedAnova, weights: Array, level: float) -> tuple[float, float]:
    """Return equal-tailed bounds on a variance that is a weighted sum of mean squares."""
    terms = weights * anova.mean_squares
    added, added_df = _together(terms[weights > 0], anova.df[weights > 0])
    taken, taken_df = _together(-terms[weights < 0], anova.df[weights < 0])
    tail = (1 - level) / 2
    if taken > 0:
        return difference_bounds(added, added_df, taken, taken_df, tail)
    low, high = special.chdtri(added_df, [tail, 1 - tail])
    return added * added_df / float(low), added * added_df / float(high)


def _together(terms: Array, df: Array) -> tuple[float, float]:
    """Return the sum of mean squares and its degrees of freedom (Satterthwaite 1946)."""
    total, squares = float(terms.sum()), float(np.sum(terms**2 / df))
    return total, total**2 / squares if squares > 0 else float(df.sum())


def difference_bounds(
    first: float, first_df: float, second: float, second_df: float, tail: float
) -> tuple[float, float]:
    """Return bounds, each missing with `tail`, on the difference of two expected mean squares (Ting et al. 1990)."""
    g1, h1 = 1 - 1 / _f(tail, first_df, inf), 1 / _f(1 - tail, first_df, inf) - 1
    g2, h2 = 1 - 1 / _f(tail, second_df, inf), 1 / _f(1 - tail, second_df, inf) - 1
    upper, lower = _f(tail, first_df, second_df), _f(1 - tail, first_df, second_df)
    g12 = ((upper - 1) ** 2 - (g1 * upper) ** 2 - h2**2) / upper
    h12 = ((1 - lower) ** 2 - (h1 * lower) ** 2 - g2**2) / lower
    below = (g1 * first) ** 2 + (h2 * second) ** 2 + g12 * first * second
    above = (h1 * first) ** 2 + (g2 * second) ** 2 + h12 * first * second
    return first - second - sqrt(max(below, 0.0)), first - second + sqrt(max(above, 0.0))


def _f(tail: float, df: float, other: float) -> float:
    """Return the value that F exceeds with probability `tail`."""
    if other == inf:
        return float(special.chdtri(df, tail)) / df
    return float(special.fdtri(df, other, 1 - tail))
