"""The regression of one treatment on its predecessors, beside position, drift and the level of the round."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trialwise.statistics.checks import Array, Indices
from trialwise.statistics.predecessors import Trials

_FEWEST_FREEDOM = 3
_FREEDOM_FOR_LEVEL = 10
_NEGLIGIBLE = 1e-9
_CLIPPED = 3.0


class Design:
    """One treatment's trials with a known predecessor; `name` puts a cell (a predecessor) into the model."""

    def __init__(
        self, treatment: int, values: Array, predecessors: Indices, nuisance: Array
    ) -> None:
        self.treatment = treatment
        self.values = values
        self.cells, self._cell, self.counts = np.unique(
            predecessors, return_inverse=True, return_counts=True
        )
        self._nuisance = self._affordable(nuisance)
        self._within = _basis(self._nuisance - self._means(self._nuisance))
        self.freedom = values.size - self.cells.size - self._within.shape[1]
        self.testable = self.cells.size >= 2 and self.freedom >= _FEWEST_FREEDOM
        self.shortage = max(0, self.cells.size + _FEWEST_FREEDOM - values.size)
        self._indicators = np.equal.outer(self._cell, np.arange(self.cells.size)).astype(np.float64)
        self._named: list[int] = []
        self._fit()

    def name(self, at: int) -> None:
        """Put a cell into the model."""
        self._named.append(at)
        self._fit()

    def _affordable(self, nuisance: Array) -> Array:
        """The terms that leave enough degrees of freedom, of level, position and drift the last first."""
        spare = self.values.size - self.cells.size
        if spare - nuisance.shape[1] < _FREEDOM_FOR_LEVEL:
            nuisance = nuisance[:, :2]
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
        self.statistics = self._of(self._residuals[None, :])[0] if self.testable else np.full(self.cells.size, np.nan)

    def _basis_without(self, at: int) -> Array:
        """Orthonormal columns of mean, nuisance and the named cells except one."""
        named = [cell for cell in self._named if cell != at]
        columns = [np.ones((self.values.size, 1)), self._nuisance, self._indicators[:, named]]
        return _basis(np.hstack(columns))

    def _within_variance(self, rows: Array) -> Array:
        """Residual variance of each row with all cells in the model."""
        sums = rows @ self._indicators
        rest = (rows**2).sum(axis=1) - (sums**2 / self.counts).sum(axis=1) - ((rows @ self._within) ** 2).sum(axis=1)
        return np.maximum(rest, 0.0) / max(self.freedom, 1)

    def _of(self, rows: Array) -> Array:
        """The t statistic of each cell in each row of residuals; NaN for cells that are named or inestimable."""
        parts = rows @ self._indicators - (rows @ self._basis) @ self._shares
        deviation = np.sqrt(self._within_variance(rows))[:, None]
        floor = 1e-12 * (np.abs(self.values).max() or 1.0)
        return parts / (self._scale * np.maximum(deviation, floor))

    def permuted_maxima(self, orders: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Array:
        """The largest |t| among cells that are not named, for residuals in each of these orders."""
        if not self.estimable.any() or not len(orders):
            return np.zeros(len(orders))
        return np.abs(self._of(self._residuals[orders])[:, self.estimable]).max(axis=1)

    @property
    def strongest(self) -> int | None:
        """The cell with the largest |t|; None where two or fewer are left, which mirror each other."""
        if not self.testable or int(self.estimable.sum()) <= 2:
            return None
        return int(np.nanargmax(np.abs(self.statistics)))

    def effect(self, at: int) -> tuple[float, float]:
        """Effect of a cell beside the named ones, and its standard error; NaN where it cannot be estimated."""
        basis = self._basis_without(at)
        column = self._indicators[:, at]
        column = column - basis @ (basis.T @ column)
        size = float(column @ column)
        if not self.testable or size <= _NEGLIGIBLE * self.counts[at]:
            return float("nan"), float("nan")
        return float(column @ self.values) / size, float(np.sqrt(self._variance[0] / size))

    def base(self, at: int) -> float:
        """The mean after the predecessors that are neither this one nor named."""
        others = ~np.isin(self._cell, [at, *self._named])
        return float(self.values[others].mean()) if others.any() else float("nan")


def designs(trials: Trials) -> list[Design]:
    """A design for each treatment that has trials with a known predecessor."""
    levels = _levels(trials)
    return list(_designs(trials, levels))


def _designs(trials: Trials, levels: Array) -> Iterator[Design]:
    usable = trials.measured & (trials.predecessor >= 0)
    order = np.argsort(trials.treatment, kind="stable")
    order = order[usable[order]]
    codes, begins = np.unique(trials.treatment[order], return_index=True)
    for code, rows in zip(codes, np.split(order, begins[1:]), strict=True):
        nuisance = np.column_stack([_centred(trials.round[rows]), _centred(trials.position[rows]), levels[rows]])
        yield Design(int(code), trials.values[rows], trials.predecessor[rows], nuisance)


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
    centre = np.median(known)
    spread = 1.4826 * np.median(np.abs(known - centre)) or known.std() or 1.0
    return np.nan_to_num(np.clip((values - centre) / spread, -_CLIPPED, _CLIPPED))


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
