"""The regression of one treatment on its predecessors, beside position, drift and the level of the round."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trialwise.statistics.checks import Array, Indices
from trialwise.statistics.groups import Groups
from trialwise.statistics.order.positions import (
    PositionLevels,
    exchangeable,
    indicators,
    own_levels,
    position_blocks,
    span,
)
from trialwise.statistics.order.predecessors import FIRST, History, Trials

Flags = NDArray[np.bool_]
Orders = NDArray[np.int64]

Effects = dict[tuple[int, int], float]
_MIN_FREEDOM = 3
_FREEDOM_FOR_LEVEL = 10
_NEGLIGIBLE = 1e-9
_FEW_ROWS = 64
"""Up to so many rows are summed over cells one by one, which needs less memory than a product of matrices."""
_CLIPPED = 3.0
_SAME = 1e-6
"""Two columns cannot be told apart where less of the one is left beside the other."""
_OWN_POSITION = 0.5
"""A treatment has levels of its own where so much of the variance of its positions is within predecessors."""


@dataclass(frozen=True, slots=True)
class Named:
    """What is in the models: pairs (treatment, predecessor) and lasting ones (treatment, earlier), with their effects."""

    pairs: Effects = field(default_factory=Effects)
    lasting: Effects = field(default_factory=Effects)


@dataclass(frozen=True, slots=True)
class Shared:
    """What is common to all treatments, at each trial."""

    values: Array
    """With the level of the position taken off."""
    levels: Array
    """How the other treatments did in the round."""
    places: Array
    """The level of the position, which a treatment without levels of its own has in a size of its own; of no columns where
    positions do not differ."""
    later_places: Array
    """The same, of no columns where the positions after the first do not differ."""


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
    block: Indices
    """Of each of the rows: its position, or what that is put together with; 0 throughout where it has no levels of its own."""
    slope: Array
    """The position as a column, where the treatment has one of its own."""

    @property
    def after(self) -> Flags:
        """Which cells have a predecessor: not that of the first trials of rounds."""
        return self.predecessors != FIRST


class Design:
    """One treatment's trials; a cell is a predecessor, and those that are `named` are in the model.

    The first trials of rounds are a cell that always is in the model: they tell of the variance alone. `beside` are columns
    of positions and of what had run earlier in the round, which always are in it too.
    """

    def __init__(
        self,
        cells: Cells,
        values: Array,
        nuisance: Array,
        named: Sequence[int],
        beside: Array,
    ) -> None:
        self.treatment, self.cells, self.counts = cells.treatment, cells.predecessors, cells.counts
        self.values = values
        self.block = cells.block
        self._cell = cells.cell
        self._nuisance = np.hstack([beside, nuisance if cells.block.any() else self._affordable(nuisance)])
        self._within = span(self._nuisance - self._means(self._nuisance))
        self.freedom = values.size - self.cells.size - self._within.shape[1]
        self.after = cells.after
        self.testable = int(self.after.sum()) >= 2 and self.freedom >= _MIN_FREEDOM
        self.shortage = max(0, self.cells.size + _MIN_FREEDOM - values.size)
        self._value_sums = np.bincount(self._cell, values)
        self._named: list[int] = np.flatnonzero(~self.after | np.isin(self.cells, named)).tolist()
        self._fit()

    def _affordable(self, nuisance: Array) -> Array:
        """The terms that leave enough degrees of freedom; drift, which comes first, with fewest."""
        spare = self.values.size - self.cells.size
        if spare - nuisance.shape[1] < _FREEDOM_FOR_LEVEL:
            nuisance = nuisance[:, :1]
        return nuisance[:, : max(0, min(nuisance.shape[1], spare - _MIN_FREEDOM))]

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
        leverages = 1 / self.counts[self._cell] + (self._within**2).sum(axis=1)
        self._exchanged = exchangeable(rest - self._within @ (self._within.T @ rest), leverages, self.block)
        self.statistics = (
            self._of(self._residuals[None, :])[0] if self.testable else np.full(self.cells.size, np.nan)
        )

    def _basis_without(self, at: int) -> Array:
        """Orthonormal columns of mean, nuisance and the named cells except one."""
        named = [cell for cell in self._named if cell != at]
        columns = [np.ones((self.values.size, 1)), self._nuisance, self._indicator(named)]
        return span(np.hstack(columns))

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
        return np.abs(self._of(self._exchanged[orders])[:, self.estimable]).max(axis=1)

    @property
    def strongest(self) -> int | None:
        """The cell with the largest |t|; None where two or fewer are left, which mirror each other."""
        if not self.testable or int(self.estimable.sum()) <= 2:
            return None
        return int(np.nanargmax(np.abs(self.statistics)))

    def beside_each_other(self, at: int) -> float:
        """The least |t| of a cell with one of the others in the model."""
        others = self._indicator([cell for cell in np.flatnonzero(self.estimable).tolist() if cell != at])
        column = self._indicator([at])[:, 0]
        return least_beside(self._basis, column, others, self._residuals, self._deviation())

    def _deviation(self) -> float:
        return float(max(np.sqrt(self._variance[0]), 1e-12 * (np.abs(self.values).max() or 1.0)))

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
        treatments = trials.treatment[self._measured]
        self._by_treatment = Groups(treatments)
        self._positions = PositionLevels(treatments, trials.position[self._measured])

    def designs(self, shared: Shared, named: Named) -> list[Design]:
        """A design for each treatment that has trials whose predecessor, or its absence, is known, `named` in the models."""
        return [self._design(cells, shared, named) for cells in self._cells]

    def shared(self, named: Named) -> Shared:
        """What is common to all treatments: estimated without what is `named`."""
        clean = self.without(named).values
        level = np.zeros(clean.size)
        level[self._measured], *differ = self._positions.of(clean[self._measured])
        places, later = (level[:, None] if apart else np.empty((level.size, 0)) for apart in differ)
        return Shared(self._trials.values - level, self._levels(clean - level), places, later)

    def _design(self, cells: Cells, shared: Shared, named: Named) -> Design:
        values = shared.values[cells.rows]
        terms = [cells.round, shared.levels[cells.rows]]
        own = [predecessor for treatment, predecessor in named.pairs if treatment == cells.treatment]
        earlier = [earlier for treatment, earlier in named.lasting if treatment == cells.treatment]
        beside = np.empty((values.size, 0))
        if earlier and self._past is not None:
            beside = self._past.ran[cells.rows][:, earlier].astype(np.float64)
        beside = np.hstack([beside, cells.slope])
        fixed = np.hstack([np.column_stack(terms), indicators(cells.cell), beside])
        levels = own_levels(values, fixed, cells.block)
        places = levels if levels.size else shared.later_places[cells.rows]
        return Design(cells, values, np.column_stack(terms), own, np.hstack([beside, places]))

    def without(self, named: Named) -> Trials:
        """The trials with the effects of what is named taken off."""
        trials, clean = self._trials, self._trials.values.copy()
        for (treatment, predecessor), effect in named.pairs.items():
            clean[(trials.treatment == treatment) & (trials.predecessor == predecessor)] -= effect
        if self._past is not None:
            for (treatment, earlier), effect in named.lasting.items():
                clean[(trials.treatment == treatment) & self._past.ran[:, earlier]] -= effect
        return dataclasses.replace(trials, values=clean)

    def _levels(self, clean: Array) -> Array:
        """How the other treatments did in the round of each trial: the mean of their clipped standardised values."""
        rounds = self._trials.round
        scores = np.zeros(clean.size)
        scores[self._measured] = _standardised(clean[self._measured], self._by_treatment)
        known = self._trials.measured.astype(np.float64)
        sums = np.bincount(rounds, scores)[rounds] - scores
        others = np.bincount(rounds, known)[rounds] - known
        return np.where(others >= 2, sums / np.maximum(others, 1), 0.0)


def least_beside(base: Array, column: Array, others: Array, residuals: Array, deviation: float) -> float:
    """The least |t| of a column beside the base and one other column in turn, and beside the base alone.

    Others that cannot be told from the column, or are in the base already, do not count. `residuals` are beyond the base.
    """
    own = column - base @ (base.T @ column)
    left = others - base @ (base.T @ others)
    size, sizes = float(own @ own), (left**2).sum(axis=0)
    left = left[:, sizes > _NEGLIGIBLE * column.size]
    sizes = (left**2).sum(axis=0)
    shared, parts = left.T @ own, left.T @ residuals
    rest = size - shared**2 / sizes
    told = rest > _SAME * size
    beside = (own @ residuals - shared * parts / sizes)[told] / np.sqrt(rest[told])
    alone = abs(float(own @ residuals)) / np.sqrt(size)
    return float(np.abs(beside).min(initial=alone)) / deviation


def _cells(trials: Trials, known: Flags) -> Iterator[Cells]:
    order = np.argsort(trials.treatment, kind="stable")
    order = order[known[order]]
    codes, begins = np.unique(trials.treatment[order], return_index=True)
    parts = np.split(order, begins[1:]) if order.size else []  # nothing, split, is still one part
    for code, rows in zip(codes, parts, strict=True):
        predecessors, cell, counts = np.unique(
            trials.predecessor[rows], return_inverse=True, return_counts=True
        )
        block = _own_block(trials.position[rows], cell)
        slope = centred(trials.position[rows])[:, None] if block.any() else np.empty((rows.size, 0))
        yield Cells(int(code), rows, predecessors, cell, counts, centred(trials.round[rows]), block, slope)


def _own_block(positions: Array, cell: Indices) -> Indices:
    """The positions that have levels of their own, as far as degrees of freedom are left for them; else 0 throughout.

    In a square that is balanced for carry-over, and repeated, each pair has one position: levels of the treatment would be
    its pairs.
    """
    if _share_within(centred(positions), cell) < _OWN_POSITION:
        return np.zeros(positions.size, dtype=np.int64)
    cells = indicators(cell)
    for block in position_blocks(positions):
        taken = span(np.hstack([cells, indicators(block)])).shape[1]
        if positions.size - taken >= _FREEDOM_FOR_LEVEL:
            return block
    return np.zeros(positions.size, dtype=np.int64)


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
