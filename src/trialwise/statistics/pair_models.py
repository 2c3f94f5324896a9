"""The regression of one treatment on its predecessors, beside position, drift and the level of the round."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trialwise.statistics.checks import Array, Indices
from trialwise.statistics.groups import Groups
from trialwise.statistics.predecessors import FIRST, History, Trials

Flags = NDArray[np.bool_]
Orders = NDArray[np.int64]

Effects = dict[tuple[int, int], float]
_FEWEST_FREEDOM = 3
_FREEDOM_FOR_LEVEL = 10
_NEGLIGIBLE = 1e-9
_FEW_ROWS = 64
"""Up to so many rows are summed over cells one by one, which needs less memory than a product of matrices."""
_CLIPPED = 3.0
_OWN_POSITION = 0.5
"""A treatment has a slope of its own where so much of the variance of its positions is within predecessors."""


@dataclass(frozen=True, slots=True)
class Named:
    """What is in the models: pairs (treatment, predecessor) and lasting ones (treatment, earlier), with their effects."""

    pairs: Effects = field(default_factory=Effects)
    lasting: Effects = field(default_factory=Effects)


@dataclass(frozen=True, slots=True)
class Cells:
    """The trials of one treatment by predecessor: what stays as it is when pairs are named."""

    treatment: int
    rows: Indices
    """Of the trials."""
    predecessors: Indices
    """One for each cell."""
    cell: Indices
    """Of each of the rows."""
    counts: Indices
    round: Array
    position: Array
    own_position: bool
    """Whether the treatment has a slope over positions of its own."""

    @property
    def after(self) -> Flags:
        """Which cells have a predecessor: not that of the first trials of rounds."""
        return self.predecessors != FIRST


class Design:
    """One treatment's trials; a cell is a predecessor, and those that are `named` are in the model.

    The first trials of rounds are a cell that always is in the model: they tell of the variance alone. `beside` are columns
    of what had run earlier in the round, which always are in it too.
    """

    def __init__(
        self, cells: Cells, values: Array, nuisance: Array, named: Sequence[int], beside: Array
    ) -> None:
        self.treatment, self.cells, self.counts = cells.treatment, cells.predecessors, cells.counts
        self.values = values
        self._cell = cells.cell
        self._nuisance = np.hstack([beside, self._affordable(nuisance)])
        self._within = basis(self._nuisance - self._means(self._nuisance))
        self.freedom = values.size - self.cells.size - self._within.shape[1]
        self.after = cells.after
        self.testable = int(self.after.sum()) >= 2 and self.freedom >= _FEWEST_FREEDOM
        self.shortage = max(0, self.cells.size + _FEWEST_FREEDOM - values.size)
        self._value_sums = np.bincount(self._cell, values)
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
        return (self._sums(columns.T) / self.counts).T[self._cell]

    def _sums(self, rows: Array) -> Array:
        """The sum over each cell in each row."""
        if len(rows) <= _FEW_ROWS:
            sums = np.zeros((len(rows), self.cells.size))
            for place, row in enumerate(rows):
                sums[place] = np.bincount(self._cell, row, self.cells.size)
            return sums
        return np.asarray(rows @ self._indicator(range(self.cells.size)))

    def _indicator(self, cells: Sequence[int]) -> Array:
        return np.equal.outer(self._cell, np.asarray(cells, dtype=np.int64)).astype(np.float64)

    def _fit(self) -> None:
        """Residuals without the cells that are not named, and the statistic of each of these."""
        self._basis = self._basis_without(-1)
        self._residuals = self.values - self._basis @ (self._basis.T @ self.values)
        self._shares = self._sums(self._basis.T)
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
        columns = [np.ones((self.values.size, 1)), self._nuisance, self._indicator(named)]
        return basis(np.hstack(columns))

    def _within_variance(self, rows: Array) -> Array:
        """Residual variance of each row with all cells in the model."""
        sums = self._sums(rows)
        rest = (
            (rows**2).sum(axis=1)
            - (sums**2 / self.counts).sum(axis=1)
            - ((rows @ self._within) ** 2).sum(axis=1)
        )
        return np.maximum(rest, 0.0) / max(self.freedom, 1)

    def _of(self, rows: Array) -> Array:
        """The t statistic of each cell in each row of residuals; NaN for cells that are named or inestimable."""
        parts = self._sums(rows) - (rows @ self._basis) @ self._shares
        deviation = np.sqrt(self._within_variance(rows))[:, None]
        floor = 1e-12 * (np.abs(self.values).max() or 1.0)
        return parts / (self._scale * np.maximum(deviation, floor))

    def permuted_maxima(self, orders: Orders) -> Array:
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

    def effects(self) -> tuple[Array, Array]:
        """Effect of each cell beside the named ones, and its standard error; NaN where it cannot be estimated."""
        if not self.testable:
            return np.full(self.cells.size, np.nan), np.full(self.cells.size, np.nan)
        parts, sizes = self._sums(self._residuals[None, :])[0], self._sizes.copy()
        for at in self._named:
            basis = self._basis_without(at)
            own = self._cell == at
            share = basis[own].sum(axis=0)
            parts[at] = (self.values - basis @ (basis.T @ self.values))[own].sum()
            sizes[at] = self.counts[at] - share @ share
        sizes = np.where(sizes > _NEGLIGIBLE * self.counts, sizes, np.nan)
        return parts / sizes, np.sqrt(self._variance[0] / sizes)

    def bases(self) -> Array:
        """For each cell the mean after the predecessors that are neither it nor named; NaN where there is none."""
        others = np.ones(self.cells.size)
        others[self._named] = 0.0
        counts = others @ self.counts - others * self.counts
        sums = others @ self._value_sums - others * self._value_sums
        return np.divide(sums, counts, out=np.full(self.cells.size, np.nan), where=counts > 0)


class Layout:
    """The trials of all treatments by predecessor, position and round, for designs with different pairs named."""

    def __init__(self, trials: Trials, past: History | None) -> None:
        self._trials, self._past = trials, past
        known = trials.measured & (trials.predecessor >= FIRST)
        self._cells = list(_cells(trials, known))
        self._measured = np.flatnonzero(trials.measured)
        self._by_treatment = Groups(trials.treatment[self._measured])
        self._after = np.flatnonzero(known & (trials.predecessor != FIRST))
        self._after_by_treatment = Groups(trials.treatment[self._after])
        places, codes = np.unique(trials.position[self._after], return_inverse=True)
        self._places, self._by_position = places, Groups(codes.astype(np.int64))

    def designs(self, named: Named) -> list[Design]:
        """A design for each treatment that has trials whose predecessor, or its absence, is known.

        `named` is in the models: what is common to all treatments is estimated without it.
        """
        clean = self.without(named).values
        levels, slope = self._levels(clean), self._position_slope(clean)
        return [self._design(cells, levels, slope, named) for cells in self._cells]

    def levels(self, named: Named) -> Array:
        """How the other treatments did in the round of each trial, what is named taken off."""
        return self._levels(self.without(named).values)

    def _design(self, cells: Cells, levels: Array, slope: float, named: Named) -> Design:
        values = self._trials.values[cells.rows]
        # What does not vary has no position's share to take off, and its scale is 1 for division alone.
        if np.ptp(values) > 0:
            values = values - float(Groups.of_one(values.size).scales(values)[0]) * slope * cells.position
        terms = [cells.round, levels[cells.rows], *([cells.position] if cells.own_position else [])]
        own = [predecessor for treatment, predecessor in named.pairs if treatment == cells.treatment]
        earlier = [earlier for treatment, earlier in named.lasting if treatment == cells.treatment]
        beside = np.empty((values.size, 0))
        if earlier and self._past is not None:
            beside = self._past.ran[cells.rows][:, earlier].astype(np.float64)
        return Design(cells, values, np.column_stack(terms), own, beside)

    def without(self, named: Named) -> Trials:
        """The trials with the effects of what is named taken off."""
        trials, clean = self._trials, self._trials.values.copy()
        for (treatment, predecessor), effect in named.pairs.items():
            clean[(trials.treatment == treatment) & (trials.predecessor == predecessor)] -= effect
        if self._past is not None:
            for (treatment, earlier), effect in named.lasting.items():
                clean[(trials.treatment == treatment) & self._past.ran[:, earlier]] -= effect
        return dataclasses.replace(trials, values=clean)

    def _position_slope(self, clean: Array) -> float:
        """Slope over positions in standard deviations, common to all treatments, hardly moved by a few pairs.

        Weighted least squares through the trimmed mean of the standardised values at each position. In a square that is
        balanced for carry-over each pair has one position, so that a slope of each treatment would be part of its pairs.
        """
        if not self._after.size:
            return 0.0
        scores = _standardised(clean[self._after], self._after_by_treatment)
        means, counts = self._by_position.trimmed_means(scores, 0.25), self._by_position.counts
        places = self._places - np.average(self._places, weights=counts)
        spread = float((counts * places**2).sum())
        return float((counts * places * means).sum()) / spread if spread else 0.0

    def _levels(self, clean: Array) -> Array:
        """How the other treatments did in the round of each trial: the mean of their clipped standardised values."""
        rounds = self._trials.round
        scores = np.zeros(clean.size)
        scores[self._measured] = _standardised(clean[self._measured], self._by_treatment)
        known = self._trials.measured.astype(np.float64)
        sums = np.bincount(rounds, scores)[rounds] - scores
        others = np.bincount(rounds, known)[rounds] - known
        return np.where(others >= 2, sums / np.maximum(others, 1), 0.0)


def _cells(trials: Trials, known: Flags) -> Iterator[Cells]:
    order = np.argsort(trials.treatment, kind="stable")
    order = order[known[order]]
    codes, begins = np.unique(trials.treatment[order], return_index=True)
    for code, rows in zip(codes, np.split(order, begins[1:]), strict=True):
        predecessors, cell, counts = np.unique(
            trials.predecessor[rows], return_inverse=True, return_counts=True
        )
        position = centred(trials.position[rows])
        own_position = _share_within(position, cell) >= _OWN_POSITION
        yield Cells(
            int(code), rows, predecessors, cell, counts, centred(trials.round[rows]), position, own_position
        )


def _share_within(numbers: Array, groups: Indices) -> float:
    """Share of the variance that is within groups."""
    within = numbers - (np.bincount(groups, numbers) / np.bincount(groups))[groups]
    whole = float(numbers @ numbers)
    return float(within @ within) / whole if whole else 0.0


def _standardised(values: Array, groups: Groups) -> Array:
    """Values less their group's median, in its standard deviation, clipped."""
    scores = (values - groups.medians(values)[groups.codes]) / groups.scales(values)[groups.codes]
    return np.clip(scores, -_CLIPPED, _CLIPPED)


def centred(values: Array | Indices) -> Array:
    """Numbers less their mean."""
    numbers = np.asarray(values, dtype=np.float64)
    return numbers - numbers.mean()


def basis(columns: Array) -> Array:
    """Orthonormal columns that span the same space; those that depend on others are left out."""
    if not columns.shape[1]:
        return columns
    lengths = np.sqrt((columns**2).sum(axis=0))
    left, sizes, _ = np.linalg.svd(columns / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    return left[:, sizes > _NEGLIGIBLE * max(float(sizes.max()), _NEGLIGIBLE)]
