"""The regression of one treatment on its predecessors, adjusted for position, drift and the level of the round."""

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
"""Largest number of rows to sum over cells one by one, which needs less memory than a matrix product."""
_CLIPPED = 3.0
_SAME = 1e-6
"""Two columns are indistinguishable if a smaller share of one remains after projection on the other."""
_OWN_POSITION = 0.5
"""Share of the variance of positions within predecessors from which a treatment has its own position levels."""


@dataclass(frozen=True, slots=True)
class Named:
    """Terms in the models with their effects: pairs (treatment, predecessor) and lasting ones (treatment, earlier)."""

    pairs: Effects = field(default_factory=Effects)
    lasting: Effects = field(default_factory=Effects)


@dataclass(frozen=True, slots=True)
class Shared:
    """Terms common to all treatments, at each trial."""

    values: Array
    """Values minus the level of the position."""
    levels: Array
    """Mean result of the other treatments in the round."""
    places: Array
    """The level of the position, which a treatment without its own levels scales by its own coefficient; without columns if
    positions do not differ.
    """
    later_places: Array
    """The same, without columns if the positions after the first do not differ."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The trials of one treatment by predecessor; unchanged when pairs are named."""

    treatment: int
    rows: Indices
    """Indices of the trials."""
    predecessors: Indices
    """One per cell."""
    cell: Indices
    """Cell of each row."""
    counts: Indices
    round: Array
    block: Indices
    """Position block of each row: its position, or a group of merged ones; 0 throughout without own levels."""
    slope: Array
    """The position as a column, if the treatment has its own slope."""

    @property
    def after(self) -> Flags:
        """Return which cells have a predecessor, that is, all but that of first trials."""
        return self.predecessors != FIRST


class Design:
    """The regression of one treatment's trials; each predecessor is a cell, and the `named` ones are in the model.

    The first trials of rounds form a cell that is always in the model; they inform the variance only. `beside` holds columns of
    positions and of earlier treatments in the round, which are always in it too.
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
        """Return the terms that leave enough degrees of freedom; drift comes first and needs the fewest."""
        spare = self.values.size - self.cells.size
        if spare - nuisance.shape[1] < _FREEDOM_FOR_LEVEL:
            nuisance = nuisance[:, :1]
        return nuisance[:, : max(0, min(nuisance.shape[1], spare - _MIN_FREEDOM))]

    def _means(self, columns: Array) -> Array:
        """Return the mean of each cell, at each of its trials."""
        return (self._sums(columns.T) / self.counts).T[self._cell]

    def _sums(self, rows: Array) -> Array:
        """Return the sum over each cell in each row."""
        if len(rows) <= _FEW_ROWS:
            sums = np.zeros((len(rows), self.cells.size))
            for place, row in enumerate(rows):
                sums[place] = np.bincount(self._cell, row, self.cells.size)
            return sums
        return np.asarray(rows @ self._indicator(range(self.cells.size)))

    def _indicator(self, cells: Sequence[int]) -> Array:
        return np.equal.outer(self._cell, np.asarray(cells, dtype=np.int64)).astype(np.float64)

    def _fit(self) -> None:
        """Compute the residuals of the model with the named cells, and the t statistics of the other cells."""
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
        """Return an orthonormal basis of mean, nuisance and the named cells except one."""
        named = [cell for cell in self._named if cell != at]
        columns = [np.ones((self.values.size, 1)), self._nuisance, self._indicator(named)]
        return span(np.hstack(columns))

    def _within_variance(self, rows: Array) -> Array:
        """Return the residual variance of each row with all cells in the model."""
        sums = self._sums(rows)
        rest = (
            (rows**2).sum(axis=1)
            - (sums**2 / self.counts).sum(axis=1)
            - ((rows @ self._within) ** 2).sum(axis=1)
        )
        return np.maximum(rest, 0.0) / max(self.freedom, 1)

    def _of(self, rows: Array) -> Array:
        """Return the t statistic of each cell in each row of residuals; NaN for cells that are named or inestimable."""
        parts = self._sums(rows) - (rows @ self._basis) @ self._shares
        deviation = np.sqrt(self._within_variance(rows))[:, None]
        return parts / (self._scale * np.maximum(deviation, rounding(self.values)))

    def permuted_maxima(self, orders: Orders) -> Array:
        """Return the largest |t| among unnamed cells, for the residuals of the full model in each of these orders."""
        if not self.estimable.any() or not len(orders):
            return np.zeros(len(orders))
        return np.abs(self._of(self._exchanged[orders])[:, self.estimable]).max(axis=1)

    @property
    def strongest(self) -> int | None:
        """Return the cell with the largest |t|; None if two or fewer are left, since they mirror each other."""
        if not self.testable or int(self.estimable.sum()) <= 2:
            return None
        return int(np.nanargmax(np.abs(self.statistics)))

    def beside_each_other(self, at: int) -> float:
        """Return the smallest |t| of a cell when one of the others is added to the model."""
        others = self._indicator([cell for cell in np.flatnonzero(self.estimable).tolist() if cell != at])
        column = self._indicator([at])[:, 0]
        return least_beside(self._basis, column, others, self._residuals, self._deviation())

    def _deviation(self) -> float:
        return max(float(np.sqrt(self._variance[0])), rounding(self.values))

    def effects(self) -> tuple[Array, Array]:
        """Return the effect of each cell adjusted for the named ones, and its standard error; NaN if it cannot be estimated."""
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
        return without_rounding(parts / sizes, self.values), np.sqrt(self._variance[0] / sizes)

    def bases(self) -> Array:
        """Return, for each cell, the mean after the predecessors that are neither it nor named; NaN if there are none."""
        others = np.ones(self.cells.size)
        others[self._named] = 0.0
        counts = others @ self.counts - others * self.counts
        sums = others @ self._value_sums - others * self._value_sums
        return np.divide(sums, counts, out=np.full(self.cells.size, np.nan), where=counts > 0)


class Layout:
    """The trials of all treatments by predecessor, position and round, from which designs with any named pairs are built."""

    def __init__(self, trials: Trials, past: History | None) -> None:
        self._trials, self._past = trials, past
        known = trials.measured & (trials.predecessor >= FIRST)
        self._cells = list(_cells(trials, known))
        self._measured = np.flatnonzero(trials.measured)
        treatments = trials.treatment[self._measured]
        self._by_treatment = Groups(treatments)
        self._positions = PositionLevels(treatments, trials.position[self._measured])

    def designs(self, shared: Shared, named: Named) -> list[Design]:
        """Build a design with `named` in the model for each treatment with trials whose predecessor, or its absence, is known."""
        return [self._design(cells, shared, named) for cells in self._cells]

    def shared(self, named: Named) -> Shared:
        """Estimate the terms common to all treatments, without the effects of `named`."""
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
        """Subtract the effects of `named` from the trials."""
        trials, clean = self._trials, self._trials.values.copy()
        for (treatment, predecessor), effect in named.pairs.items():
            clean[(trials.treatment == treatment) & (trials.predecessor == predecessor)] -= effect
        if self._past is not None:
            for (treatment, earlier), effect in named.lasting.items():
                clean[(trials.treatment == treatment) & self._past.ran[:, earlier]] -= effect
        return dataclasses.replace(trials, values=clean)

    def _levels(self, clean: Array) -> Array:
        """Return the level of each trial's round: the mean of the other treatments' clipped standardised values."""
        rounds = self._trials.round
        scores = np.zeros(clean.size)
        scores[self._measured] = _standardised(clean[self._measured], self._by_treatment)
        known = self._trials.measured.astype(np.float64)
        sums = np.bincount(rounds, scores)[rounds] - scores
        others = np.bincount(rounds, known)[rounds] - known
        return np.where(others >= 2, sums / np.maximum(others, 1), 0.0)


def rounding(values: Array) -> float:
    """Return the size up to which a difference between means of these values is rounding."""
    return 1e-12 * (float(np.abs(values).max(initial=0.0)) or 1.0)


def without_rounding(effects: Array, values: Array) -> Array:
    """Return the effects on these values, 0 where they are nothing but rounding."""
    return np.where(np.abs(effects) <= rounding(values), 0.0, effects)


def least_beside(base: Array, column: Array, others: Array, residuals: Array, deviation: float) -> float:
    """Return the smallest |t| of a column adjusted for the base alone, and for the base and each other column in turn.

    Columns that are indistinguishable from it, or already in the span of the base, are skipped. `residuals` are orthogonal to the
    base.
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
    """Return the blocks of positions with own levels, as degrees of freedom permit; otherwise 0 throughout.

    In a repeated square that is balanced for carry-over, each pair has one position, so the treatment's own levels would be its
    pairs.
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
    """Return the share of the variance within groups."""
    within = numbers - (np.bincount(groups, numbers) / np.bincount(groups))[groups]
    whole = float(numbers @ numbers)
    return float(within @ within) / whole if whole else 0.0


def _standardised(values: Array, groups: Groups) -> Array:
    """Standardise values by their group's median and standard deviation, and clip them."""
    scores = (values - groups.medians(values)[groups.codes]) / groups.scales(values)[groups.codes]
    return np.clip(scores, -_CLIPPED, _CLIPPED)


def centred(values: Array | Indices) -> Array:
    """Subtract the mean."""
    numbers = np.asarray(values, dtype=np.float64)
    return numbers - numbers.mean()
