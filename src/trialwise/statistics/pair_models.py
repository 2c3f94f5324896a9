"""The regression of one treatment on its predecessors, beside position, drift and the level of the round."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from trialwise.statistics.checks import Array, Indices
from trialwise.statistics.predecessors import FIRST, Trials

Flags = NDArray[np.bool_]

NOBODY: Mapping[tuple[int, int], float] = MappingProxyType({})
_FEWEST_FREEDOM = 3
_FREEDOM_FOR_LEVEL = 10
_NEGLIGIBLE = 1e-9
_CLIPPED = 3.0
_OWN_POSITION = 0.5
"""A treatment has a slope of its own where so much of the variance of its positions is within predecessors."""


class Design:
    """One treatment's trials; a cell is a predecessor, and those that are `named` are in the model.

    The first trials of rounds are a cell that always is in the model: they tell of the variance alone.
    """

    def __init__(
        self,
        treatment: int,
        values: Array,
        predecessors: Indices,
        nuisance: Array,
        named: Sequence[int] = (),
    ) -> None:
        self.treatment = treatment
        self.values = values
        self.cells, self._cell, self.counts = np.unique(predecessors, return_inverse=True, return_counts=True)
        self._nuisance = self._affordable(nuisance)
        self._within = _basis(self._nuisance - self._means(self._nuisance))
        self.freedom = values.size - self.cells.size - self._within.shape[1]
        self.after = self.cells != FIRST
        self.testable = int(self.after.sum()) >= 2 and self.freedom >= _FEWEST_FREEDOM
        self.shortage = max(0, self.cells.size + _FEWEST_FREEDOM - values.size)
        self._indicators = np.equal.outer(self._cell, np.arange(self.cells.size)).astype(np.float64)
        self._sums = np.bincount(self._cell, values)
        self._named: list[int] = np.flatnonzero(~self.after | np.isin(self.cells, named)).tolist()
        self._fit()

    def _affordable(self, nuisance: Array) -> Array:
        """The terms that leave enough degrees of freedom; drift, which comes first, with fewest."""
        spare = self.values.size - self.cells.size
        if spare - nuisance.shape[1] < _FREEDOM_FOR_LEVEL:
            nuisance = nuisance[:, :1]
        return nuisance[:, : max(0, min(nuisance.shape[1], spare - _FEWEST_FREEDOM))]

    def _means(self, columns: Array) -> Array:
        """The mean of each cell, at each of its trials."""
        sums = np.zeros((self.cells.size, columns.shape[1]))
        np.add.at(sums, self._cell, columns)
        return (sums / self.counts[:, None])[self._cell]

    def _fit(self) -> None:
        """Residuals without the cells that are not named, and the statistic of each of these."""
        self._basis = self._basis_without(-1)
        self._residuals = self.values - self._basis @ (self._basis.T @ self.values)
        self._shares = self._basis.T @ self._indicators
        self._sizes = self.counts - (self._shares**2).sum(axis=0)
        self.estimable = self._sizes > _NEGLIGIBLE * self.counts
        self.estimable[self._named] = False
        self._scale = np.sqrt(np.where(self.estimable, self._sizes, np.nan))
        self._variance = self._within_variance(self._residuals[None, :])
        rest = self._residuals - self._means(self._residuals[:, None])[:, 0]
        self._unexplained = rest - self._within @ (self._within.T @ rest)
        self.statistics = (
            self._of(self._residuals[None, :])[0] if self.testable else np.full(self.cells.size, np.nan)
        )

    def _basis_without(self, at: int) -> Array:
        """Orthonormal columns of mean, nuisance and the named cells except one."""
        named = [cell for cell in self._named if cell != at]
        columns = [np.ones((self.values.size, 1)), self._nuisance, self._indicators[:, named]]
        return _basis(np.hstack(columns))

    def _within_variance(self, rows: Array) -> Array:
        """Residual variance of each row with all cells in the model."""
        sums = rows @ self._indicators
        rest = (
            (rows**2).sum(axis=1)
            - (sums**2 / self.counts).sum(axis=1)
            - ((rows @ self._within) ** 2).sum(axis=1)
        )
        return np.maximum(rest, 0.0) / max(self.freedom, 1)

    def _of(self, rows: Array) -> Array:
        """The t statistic of each cell in each row of residuals; NaN for cells that are named or inestimable."""
        parts = rows @ self._indicators - (rows @ self._basis) @ self._shares
        deviation = np.sqrt(self._within_variance(rows))[:, None]
        floor = 1e-12 * (np.abs(self.values).max() or 1.0)
        return parts / (self._scale * np.maximum(deviation, floor))

    def permuted_maxima(self, orders: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Array:
        """The largest |t| among cells that are not named, for the residuals of all cells in each of these orders."""
        if not self.estimable.any() or not len(orders):
            return np.zeros(len(orders))
        return np.abs(self._of(self._unexplained[orders])[:, self.estimable]).max(axis=1)

    @property
    def strongest(self) -> int | None:
        """The cell with the largest |t|; None where two or fewer are left, which mirror each other."""
        if not self.testable or int(self.estimable.sum()) <= 2:
            return None
        return int(np.nanargmax(np.abs(self.statistics)))

    def effect(self, at: int) -> tuple[float, float]:
        """Effect of a cell beside the named ones, and its standard error; NaN where it cannot be estimated."""
        if not self.testable:
            return float("nan"), float("nan")
        residuals, size = self._residuals, float(self._sizes[at])
        if at in self._named:
            basis = self._basis_without(at)
            residuals = self.values - basis @ (basis.T @ self.values)
            share = basis.T @ self._indicators[:, at]
            size = float(self.counts[at] - share @ share)
        if size <= _NEGLIGIBLE * self.counts[at]:
            return float("nan"), float("nan")
        effect = float(residuals[self._cell == at].sum()) / size
        return effect, float(np.sqrt(self._variance[0] / size))

    def base(self, at: int) -> float:
        """The mean after the predecessors that are neither this one nor named."""
        left = [*self._named, *([] if at in self._named else [at])]
        count = self.values.size - int(self.counts[left].sum())
        return float(self.values.sum() - self._sums[left].sum()) / count if count else float("nan")


def designs(trials: Trials, named: Mapping[tuple[int, int], float] = NOBODY) -> list[Design]:
    """A design for each treatment that has trials whose predecessor, or its absence, is known.

    `named` are the pairs (treatment, predecessor) that are in the models, with their effects: what is common to all
    treatments is estimated without these.
    """
    known = trials.measured & (trials.predecessor >= FIRST)
    clean = without(trials, named)
    return list(_designs(trials, known, _levels(clean), _position_slope(clean, known), tuple(named)))


def without(trials: Trials, named: Mapping[tuple[int, int], float]) -> Trials:
    """The trials with the effects of pairs (treatment, predecessor) taken off."""
    clean = trials.values.copy()
    for (treatment, predecessor), effect in named.items():
        clean[(trials.treatment == treatment) & (trials.predecessor == predecessor)] -= effect
    return dataclasses.replace(trials, values=clean)


def _designs(
    trials: Trials, known: Flags, levels: Array, slope: float, named: Sequence[tuple[int, int]]
) -> Iterator[Design]:
    order = np.argsort(trials.treatment, kind="stable")
    order = order[known[order]]
    codes, begins = np.unique(trials.treatment[order], return_index=True)
    for code, rows in zip(codes, np.split(order, begins[1:]), strict=True):
        position = _centred(trials.position[rows])
        values = trials.values[rows]
        # What does not vary has no position's share to take off, and its scale is 1 for division alone.
        if np.ptp(values) > 0:
            values = values - _scale(values) * slope * position
        terms = [_centred(trials.round[rows]), levels[rows], position]
        if _share_within(position, trials.predecessor[rows]) < _OWN_POSITION:
            terms.pop()
        own = [predecessor for treatment, predecessor in named if treatment == code]
        yield Design(int(code), values, trials.predecessor[rows], np.column_stack(terms), own)


def _position_slope(trials: Trials, known: Flags) -> float:
    """Slope over positions in standard deviations, common to all treatments, hardly moved by a few pairs.

    Weighted least squares through the trimmed mean of the standardised values at each position. In a square that is
    balanced for carry-over each pair has one position, so that a slope of each treatment would be part of its pairs.
    """
    rows = np.flatnonzero(known & (trials.predecessor != FIRST))
    if not rows.size:
        return 0.0
    scores = np.empty(rows.size)
    for group in _groups(trials.treatment[rows]):
        scores[group] = _standardised(trials.values[rows[group]])
    groups = _groups(np.unique(trials.position[rows], return_inverse=True)[1].astype(np.int64))
    counts = np.array([group.size for group in groups], dtype=np.float64)
    means = np.array([stats.trim_mean(scores[group], 0.25) for group in groups])
    places = np.array([trials.position[rows[group[0]]] for group in groups])
    places = places - np.average(places, weights=counts)
    spread = float((counts * places**2).sum())
    return float((counts * places * means).sum()) / spread if spread else 0.0


def _share_within(numbers: Array, groups: Indices) -> float:
    """Share of the variance that is within groups."""
    inverse = np.unique(groups, return_inverse=True)[1]
    within = numbers - (np.bincount(inverse, numbers) / np.bincount(inverse))[inverse]
    whole = float(numbers @ numbers)
    return float(within @ within) / whole if whole else 0.0


def _levels(trials: Trials) -> Array:
    """How the other treatments did in the round of each trial: the mean of their clipped standardised values."""
    scores = np.zeros(trials.values.size)
    for rows in _groups(trials.treatment):
        scores[rows] = _standardised(trials.values[rows])
    known = trials.measured.astype(np.float64)
    sums = np.bincount(trials.round, scores)[trials.round] - scores
    others = np.bincount(trials.round, known)[trials.round] - known
    return np.where(others >= 2, sums / np.maximum(others, 1), 0.0)


def _groups(codes: Indices) -> list[Indices]:
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _standardised(values: Array) -> Array:
    known = values[~np.isnan(values)]
    if not known.size:
        return np.zeros(values.size)
    return np.nan_to_num(np.clip((values - np.median(known)) / _scale(known), -_CLIPPED, _CLIPPED))


def _scale(known: Array) -> float:
    """Standard deviation by the median absolute deviation, which a few pairs hardly move; 1 where nothing varies."""
    spread = 1.4826 * float(np.median(np.abs(known - np.median(known))))
    return spread or float(known.std()) or 1.0


def _centred(values: Array | Indices) -> Array:
    numbers = np.asarray(values, dtype=np.float64)
    return numbers - numbers.mean()


def _basis(columns: Array) -> Array:
    """Orthonormal columns that span the same space; those that depend on others are left out."""
    if not columns.shape[1]:
        return columns
    lengths = np.sqrt((columns**2).sum(axis=0))
    left, sizes, _ = np.linalg.svd(columns / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    return left[:, sizes > _NEGLIGIBLE * max(float(sizes.max()), _NEGLIGIBLE)]
