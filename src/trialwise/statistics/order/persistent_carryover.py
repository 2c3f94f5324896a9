"""Lasting effects: the regression of one treatment on what ran anywhere earlier in the round, adjusted for position."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from trialwise.statistics.checks import Array, Indices
from trialwise.statistics.order.pair_models import (
    Orders,
    Shared,
    centred,
    least_beside,
    rounding,
    without_rounding,
)
from trialwise.statistics.order.positions import exchangeable, indicators, own_levels, position_blocks, span
from trialwise.statistics.order.predecessors import History, Trials

_MIN_FREEDOM = 10
"""With fewer degrees of freedom, large |t| by chance would mask the pairs of all treatments through the shared maximum."""
_NEGLIGIBLE = 1e-9
_MIN_LEVELS = 3
"""The first position, the last one and those between."""
_LEFT = 0.5
"""Share of the columns' sum of squares, given a slope over positions, that must remain given levels of positions."""


class LastingDesign:
    """The regression of a treatment's trials on a column per other treatment, 1 once it has run; the model has the `named` ones.

    The model also has a slope over positions and a level for each position, or for merged positions if trials are few. The
    columns of all others sum to the position, so a treatment that gets slower with every step, or is slow at one position
    whatever ran, implicates none of them; what remains is which of them ran.
    """

    def __init__(
        self,
        treatment: int,
        rows: Indices,
        trials: Trials,
        shared: Shared,
        ran: NDArray[np.bool_],
        named: Mapping[int, int],
        beside: Sequence[int],
    ) -> None:
        """Fit the model to the trials `rows`; `beside` are predecessors that are in the model.

        `named` maps each named treatment to its representative in the model.
        """
        self.treatment, self.values = treatment, shared.values[rows]
        self._given = trials.values[rows]
        given: NDArray[np.bool_] = ran[rows]
        varied = np.logical_and(given.any(axis=0), ~given.all(axis=0))
        self.cells = np.setdiff1d(np.flatnonzero(varied), [treatment])
        self._columns = given[:, self.cells].astype(np.float64)
        self.n_after = self._columns.sum(axis=0).astype(np.int64)
        self.n_before = rows.size - self.n_after
        followed = np.equal.outer(trials.predecessor[rows], np.asarray(beside, dtype=np.int64))
        terms = [centred(trials.round[rows]), shared.levels[rows]]
        self._fixed = np.column_stack([np.ones(rows.size), centred(trials.position[rows]), followed])
        self.block = self._own_block(trials.position[rows])
        fixed = np.hstack([self._fixed, np.column_stack(terms), self._columns])
        own = own_levels(self.values, fixed, self.block)
        self._fixed = np.hstack([self._fixed, own if own.size else shared.places[rows]])
        self._fixed = self._with_affordable(terms)
        places = {code: place for place, code in enumerate(self.cells.tolist())}
        self._stands = {places[code]: places[other] for code, other in named.items()}
        self._named = sorted(set(self._stands.values()))
        self._fit()

    def _own_block(self, positions: Array) -> Indices:
        """Return the blocks of positions with own levels, merged as degrees of freedom require; otherwise 0 throughout.

        In a single repeated square the position determines what ran earlier, so levels would equal the columns.
        """
        whole = float(self._beyond(span(self._fixed))[1].sum())
        possible: list[tuple[Indices, int]] = []
        for block in position_blocks(positions):
            fixed = np.hstack([self._fixed, indicators(block)[:, 1:]])
            if float(self._beyond(span(fixed))[1].sum()) >= _LEFT * whole:
                possible.append((block, positions.size - span(np.hstack([fixed, self._columns])).shape[1]))
        fewest = min(_MIN_LEVELS, np.unique(positions).size)
        possible = [one for one in possible if int(one[0].max()) + 1 >= fewest]
        for wanted in (_MIN_FREEDOM + 1, _MIN_FREEDOM):
            for block, freedom in possible:
                if freedom >= wanted:
                    return block
        return possible[-1][0] if possible else np.zeros(positions.size, dtype=np.int64)

    def _with_affordable(self, terms: Sequence[Array]) -> Array:
        """Add drift and the level of the round to the model, as degrees of freedom permit."""
        spare = self.values.size - span(np.hstack([self._fixed, self._columns])).shape[1]
        terms = terms[: max(0, min(len(terms), spare - _MIN_FREEDOM))]
        return np.column_stack([self._fixed, *terms])

    def _fit(self) -> None:
        self._all = span(np.hstack([self._fixed, self._columns]))
        self.freedom = self.values.size - self._all.shape[1]
        self._base = base = span(np.hstack([self._fixed, self._columns[:, self._named]]))
        self._left, self._sizes, self.estimable = self._beyond(base)
        self.testable = self.cells.size >= 2 and self.freedom >= _MIN_FREEDOM
        self.shortage = max(0, _MIN_FREEDOM - self.freedom)
        self._floor = rounding(self.values)
        self._unexplained = self.values - self._all @ (self._all.T @ self.values)
        self._exchanged = exchangeable(self._unexplained, (self._all**2).sum(axis=1), self.block)
        self.statistics = (
            self._of((self.values - base @ (base.T @ self.values))[None, :])[0]
            if self.testable
            else np.full(self.cells.size, np.nan)
        )

    def _beyond(self, base: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the residual of each column from a base, its sum of squares, and whether it is non-negligible."""
        left = self._columns - base @ (base.T @ self._columns)
        sizes = (left**2).sum(axis=0)
        return left, sizes, sizes > _NEGLIGIBLE * self.values.size

    def _deviations(self, rows: Array) -> Array:
        """Return the residual standard deviation of each row with all columns in the model, at least the rounding of the values."""
        rest = (rows**2).sum(axis=1) - ((rows @ self._all) ** 2).sum(axis=1)
        return np.maximum(np.sqrt(np.maximum(rest, 0.0) / max(self.freedom, 1)), self._floor)

    def _of(self, rows: Array) -> Array:
        """Return the t statistic of each column in each row of residuals; NaN for those that are named or inestimable."""
        scale = np.sqrt(np.where(self.estimable, self._sizes, np.nan))
        return rows @ self._left / (scale * self._deviations(rows)[:, None])

    def permuted_maxima(self, orders: Orders) -> Array:
        """Return the largest |t| among unnamed columns, for the residuals in each of these orders."""
        if not self.estimable.any() or not len(orders):
            return np.zeros(len(orders))
        return np.abs(self._of(self._exchanged[orders])[:, self.estimable]).max(axis=1)

    @property
    def strongest(self) -> int | None:
        """Return the column with the largest |t|; None if none is left."""
        left = self.testable and bool(self.estimable.any())
        return int(np.nanargmax(np.abs(self.statistics))) if left else None

    def alike(self, at: int) -> list[int]:
        """Return the columns indistinguishable from one, itself first: given the model they equal it or its opposite."""
        products = (self._left.T @ self._left[:, at]) ** 2
        same = self.estimable & (products >= (1 - _NEGLIGIBLE) * self._sizes * self._sizes[at])
        return [at, *(place for place in np.flatnonzero(same).tolist() if place != at)]

    def beside_each_other(self, at: int) -> float:
        """Return the smallest |t| of a column when one of the others is added to the model."""
        residuals = self.values - self._base @ (self._base.T @ self.values)
        deviation = float(self._deviations(self._unexplained[None, :])[0])
        return least_beside(self._base, self._columns[:, at], self._columns, residuals, deviation)

    def effects(self) -> tuple[Array, Array]:
        """Return the effect of each column adjusted for the named ones, and its standard error; NaN if it cannot be estimated."""
        effects, errors = np.full((2, self.cells.size), np.nan)
        if not self.testable:
            return effects, errors
        deviation = float(self._deviations(self._unexplained[None, :])[0])
        for at in range(self.cells.size):
            others = [place for place in self._named if place != self._stands.get(at)]
            left, sizes, estimable = self._beyond(span(np.hstack([self._fixed, self._columns[:, others]])))
            if estimable[at]:
                effects[at] = float(left[:, at] @ self.values) / sizes[at]
                errors[at] = deviation / np.sqrt(sizes[at])
        return without_rounding(effects, self.values), errors

    def bases(self) -> Array:
        """Return, for each column, the mean of the trials before it, and if possible before all named ones."""
        found = np.empty(self.cells.size)
        for at in range(self.cells.size):
            before = self._columns[:, at] == 0
            clear = before & ~(self._columns[:, self._named] > 0).any(axis=1)
            found[at] = self._given[clear if clear.any() else before].mean()
        return found


def lasting_designs(
    trials: Trials,
    past: History,
    shared: Shared,
    named: Mapping[tuple[int, int], int],
    beside: Collection[tuple[int, int]],
) -> list[LastingDesign]:
    """Build a design per treatment; `named` maps (treatment, earlier) to representatives, `beside` has (treatment, predecessor)."""
    known = trials.measured & past.whole
    return [
        LastingDesign(
            code,
            np.flatnonzero(known & (trials.treatment == code)),
            trials,
            shared,
            past.ran,
            {earlier: other for (treatment, earlier), other in named.items() if treatment == code},
            [predecessor for treatment, predecessor in beside if treatment == code],
        )
        for code in np.unique(trials.treatment[known]).tolist()
    ]
