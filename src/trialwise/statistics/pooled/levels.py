"""Means of controls that are known from unequal numbers of lists, the dearer ones by the cheaper ones (Giles 2008, 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, as_values
from trialwise.statistics.pooled.control_variates import Design, as_controls, independent_controls

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, eq=False)
class LevelMeans:
    """Means of controls, with their covariance; `lists` is the smallest number of lists behind one of them.

    `own` is the part of the covariance that falls with more lists of the dearest controls; None without any.
    """

    means: Array
    covariance: Array
    lists: int
    own: Array | None = None

    @classmethod
    def of(cls, means: ArrayLike, lists: int, spread: ArrayLike) -> LevelMeans:
        """Return the cheapest level: means over `lists` lists of controls with the covariance `spread`, shape (k, k)."""
        known = as_values(np.atleast_1d(np.asarray(means)), "means")
        return cls(known, np.atleast_2d(np.asarray(spread, dtype=np.float64)) / lists, lists)

    def extended(self, cheap: ArrayLike, dear: ArrayLike) -> LevelMeans:
        """Return these means and those of dearer controls, of which lists of their own have the cheaper ones too.

        The mean of each dear control is its mean over these lists, less what a regression on the cheap ones says of how far their
        means are from the known ones: the difference between two levels, with fitted coefficients instead of 1.

        Parameters
        ----------
        cheap, dear
            Controls of the same lists, none of which is behind the known means: shapes (lists, k) and (lists,) or (lists, d).

        Raises
        ------
        StatisticsError
            As for `control_variates`.
        """
        table = np.asarray(dear, dtype=np.float64)
        table = table[:, None] if table.ndim == 1 else table
        beside = np.asarray(cheap, dtype=np.float64).reshape(len(table), -1)
        kept = independent_controls(beside)
        x, means = as_controls(beside[:, kept], self.means[kept], len(table))
        shift, slopes = np.zeros(table.shape[1]), np.zeros((self.means.size, table.shape[1]))
        rest, away = table - table.mean(axis=0), 0.0
        if kept:
            design = Design.of(x, means)
            along = design.left.T @ table
            shift, slopes[kept] = along.T @ design.away, design.back @ along
            rest, away = rest - design.left @ along, float(np.sum(design.away**2))
        noise = rest.T @ rest / (len(table) - len(kept) - 1) * (1 / len(table) + away)
        across = self.covariance @ slopes
        covariance = np.block([[self.covariance, across], [across.T, noise + slopes.T @ across]])
        means = np.append(self.means, table.mean(axis=0) - shift)
        own = np.zeros_like(covariance)
        own[self.means.size :, self.means.size :] = noise
        return LevelMeans(means, covariance, min(self.lists, len(table)), own)


@dataclass(frozen=True, slots=True)
class Level:
    """A level of an allocation: what it computes, the variance of the difference that it makes, seconds of a list, and lists.

    `variance` is of the difference to the cheaper levels by regression; `share` are its lists for each list of the dearest level.
    """

    name: str
    variance: float
    seconds: float
    share: float


@dataclass(frozen=True, slots=True)
class LevelAllocation:
    """Levels from the dearest to the cheapest, and what they gain.

    `gain` is the time that the dearest level alone takes for a variance, over that of all levels for the same one. `dropped` are names
    of levels that would only make it dearer.
    """

    levels: tuple[Level, ...]
    gain: float
    dropped: tuple[str, ...]


def allocate(
    y: ArrayLike, controls: Sequence[ArrayLike], names: Sequence[str], seconds: Sequence[float]
) -> LevelAllocation:
    """Choose levels and how many lists each gets, by their variances and costs in a pilot (Giles 2008, section 2).

    With n_l lists of level l, that cost C_l and whose difference to the cheaper levels has the variance V_l, the time for a variance
    of the estimate is least at n_l ∝ √(V_l / C_l), namely (Σ √(V_l C_l))² over that variance. A list of a level has all cheaper
    levels too, so that its cost is theirs together. Of all sets of levels with the dearest one, that with the least time is taken.
    Differences are residuals of regressions, whose variances are on their degrees of freedom.

    Parameters
    ----------
    y
        What the dearest level gives for each list of the pilot.
    controls
        What the cheaper levels give for the same lists, from the dearest of them to the cheapest: each (lists,) or (lists, columns).
    names, seconds
        Of all levels, the dearest first; seconds of one list, which cost nothing if they are 0.

    Raises
    ------
    StatisticsError
        There are too few lists for the regressions, or costs are negative or unequal in number.
    """
    values = as_values(y, "y", minimum=2)
    tables = [np.asarray(each, dtype=np.float64).reshape(values.size, -1) for each in controls]
    costs = as_values(seconds, "seconds")
    if not len(names) == costs.size == len(tables) + 1 or float(costs.min()) < 0:
        raise StatisticsError(f"{len(tables) + 1} levels take as many names and seconds, none below 0")
    cheaper = range(1, len(names))
    best: tuple[float, tuple[Level, ...]] | None = None
    for number in range(len(names)):
        for chosen in combinations(cheaper, number):
            found = _levels(values, [(place, tables[place - 1]) for place in chosen], names, costs)
            time = sum(sqrt(level.variance * level.seconds) for level in found) ** 2
            if best is None or time < best[0]:
                best = time, found
    if best is None:
        raise StatisticsError("there are no levels")
    time, levels = best
    alone = float(values.var(ddof=1)) * float(costs[0])
    kept = {level.name for level in levels}
    return LevelAllocation(
        levels, alone / time if time else inf, tuple(each for each in names if each not in kept)
    )


def _levels(
    y: Array, chosen: Sequence[tuple[int, Array]], names: Sequence[str], costs: Array
) -> tuple[Level, ...]:
    """Return the dearest level and the chosen ones; chosen ones are from the dearest to the cheapest."""
    tables = [table for _, table in chosen]
    cost = [float(costs[0]), *(float(costs[place]) for place, _ in chosen)]
    called = [names[0], *(names[place] for place, _ in chosen)]
    left, variances = y, list[float]()
    for place in range(len(tables) + 1):
        beside = np.hstack(tables[place:]) if place < len(tables) else np.empty((y.size, 0))
        fitted, variance = _fitted(left, beside)
        variances.append(variance)
        left = fitted
    first = variances[0]
    seconds = [sum(cost[place:]) for place in range(len(cost))]
    return tuple(
        Level(name, variance, spent, _share(variance, spent, first, seconds[0]))
        for name, variance, spent in zip(called, variances, seconds, strict=True)
    )


def _share(variance: float, seconds: float, first: float, first_seconds: float) -> float:
    if not seconds or not first:
        return inf if variance else 0.0
    return sqrt(variance / first * first_seconds / seconds)


def _fitted(y: Array, x: Array) -> tuple[Array, float]:
    """Return what a regression on x explains of y, and the variance of the rest."""
    kept = independent_controls(x) if x.size else []
    degrees = y.size - len(kept) - 1
    if degrees < 2:
        raise StatisticsError(
            f"{len(kept)} controls take at least {len(kept) + 3} lists in the pilot; there are {y.size}"
        )
    centred = y - y.mean()
    if not kept:
        return np.zeros(y.size), float(centred @ centred) / degrees
    left = Design.of(x[:, kept], x[:, kept].mean(axis=0)).left
    explained: Array = left @ (left.T @ centred)
    rest = centred - explained
    return explained, float(rest @ rest) / degrees
