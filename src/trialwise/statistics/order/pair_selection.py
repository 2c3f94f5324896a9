"""Selection of pairs with carry-over, immediate or lasting, tested and corrected together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import expm1, log

import numpy as np

from trialwise.late import special
from trialwise.statistics.checks import Array, Indices
from trialwise.statistics.order.pair_models import Design, Effects, Layout, Named, Orders, Shared
from trialwise.statistics.order.persistent_carryover import LastingDesign, lasting_designs
from trialwise.statistics.order.predecessors import Trials, read_history

_AS_STRONG = 0.75
"""Pairs whose |t| is at least this share of the largest are named in one step."""
_MIRRORED = 2
"""With this many remaining predecessors each is the opposite of the other: both are named, or neither."""
PERMUTATIONS = 1999
_MAX_WORK = 3e9
"""Affordable number of multiplications for permutations; beyond, p-values come from t and Šidák's inequality."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    model: Design | LastingDesign
    at: int

    @property
    def size(self) -> float:
        return abs(float(self.model.statistics[self.at]))

    @property
    def lasts(self) -> bool:
        return isinstance(self.model, LastingDesign)

    @property
    def pair(self) -> tuple[int, int]:
        return self.model.treatment, int(self.model.cells[self.at])


class PairSearch:
    """Selection of significant pairs into the models, with the statistics of all pairs corrected together.

    Each treatment forms two pairs with each other one: immediately after it, and once it has run in the round. Lasting effects
    are tested only if permutations are affordable.
    """

    def __init__(
        self, trials: Trials, level: float, permutations: int | None, rng: np.random.Generator
    ) -> None:
        self._level, self._trials = level, trials
        self._pairs: dict[tuple[int, int], float] = {}
        self._lasting: dict[tuple[int, int], float] = {}
        self._stands: dict[tuple[int, int], int] = {}
        """For each named lasting pair, its representative in the model among the indistinguishable ones."""
        self.dropped: set[tuple[int, int]] = set()
        """Pairs that were named and are not significant given all other named ones."""
        plain = Layout(trials, None)
        self.models = plain.designs(shared := plain.shared(Named()), Named())
        testable = [model for model in self.models if model.testable]
        self.permutations = _affordable(testable) if permutations is None else permutations
        self._past = read_history(trials) if self.permutations else None
        self._layout = plain if self._past is None else Layout(trials, self._past)
        self.lasting = self._lasting_models(shared)
        self._orders = {model.treatment: _orders(rng, model.block, self.permutations) for model in testable}
        self._lasting_orders = {
            model.treatment: self._orders_of(rng, model) for model in self.lasting if model.testable
        }
        self.count = sum(int(model.estimable.sum()) for model in testable)
        self.lasting_count = sum(int(model.estimable.sum()) for model in self.lasting if model.testable)
        self._greatest = self._maxima()
        self._alone = set(self._standing())

    def _orders_of(self, rng: np.random.Generator, model: LastingDesign) -> Orders:
        """Return the orders of the predecessors' model if the trials are the same, so that both are permuted alike."""
        alike = {one.treatment: one.block for one in self.models if one.treatment in self._orders}
        if np.array_equal(alike.get(model.treatment, ()), model.block):
            return self._orders[model.treatment]
        return _orders(rng, model.block, self.permutations)

    def _lasting_models(self, shared: Shared) -> list[LastingDesign]:
        if self._past is None:
            return []
        return lasting_designs(self._trials, self._past, shared, self._stands, self._pairs)

    def _standing(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of predecessors that are significant given the named ones."""
        for model in self.models:
            p_values = self._judged(model, model.statistics)
            for at in np.flatnonzero(p_values <= 1 - self._level).tolist():
                yield model.treatment, int(model.cells[at])

    def search(self) -> None:
        """Name pairs, the strongest of each treatment first, until no significant one is left."""
        while found := self._found():
            floor = max([*self._pairs.values(), *self._lasting.values()], default=0.0)
            for one, p_value in found:
                self._name(one, max(p_value, floor))
            self._fit()
        while weak := self._weakest():
            lasts, pair = weak
            if lasts:
                likes = [one for one in self._stands if self._rival(one, pair)]
                self._lasting = {one: p for one, p in self._lasting.items() if one not in likes}
                self._stands = {one: other for one, other in self._stands.items() if one not in likes}
            else:
                del self._pairs[pair]
                self.dropped.add(pair)
            self._fit()

    def _rival(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Return True if two named lasting pairs are indistinguishable."""
        return one[0] == other[0] and self._stands[one] == self._stands[other]

    def _name(self, one: _Candidate, p_value: float) -> None:
        if isinstance(one.model, LastingDesign):
            for at in one.model.alike(one.at):
                pair = one.model.treatment, int(one.model.cells[at])
                self._lasting[pair], self._stands[pair] = p_value, one.pair[1]
        else:
            self._pairs[one.pair] = p_value

    def _fit(self) -> None:
        named = self.effects()
        shared = self._layout.shared(named)
        self.models, self.lasting = self._layout.designs(shared, named), self._lasting_models(shared)
        self._greatest = self._maxima()

    def _asked_of(self, treatment: int) -> int:
        """Count the pairs of both kinds for a treatment."""
        models = (*self.models, *self.lasting)
        return sum(
            int(model.estimable.sum()) for model in models if model.testable and model.treatment == treatment
        )

    def _found(self) -> list[tuple[_Candidate, float]]:
        """Return the strongest significant pairs; weaker ones wait until these no longer blur the common terms."""
        strongest = list(self._strongest())
        enough = max((one.size for one in strongest), default=0.0) * _AS_STRONG
        judged = [(one, self._closed(one.model, one.at)) for one in strongest if one.size >= enough]
        return [(one, p_value) for one, p_value in judged if p_value <= 1 - self._level]

    def _closed(self, model: Design | LastingDesign, at: int) -> float:
        """Return the corrected p-value of a pair, alone and adjusted for each other one that might be the true cause.

        The former is corrected over all pairs, the latter over the treatment's pairs of both kinds: if its culprit was not found,
        the treatment's other pairs form a separate family.
        """
        alone = float(self._judged(model, model.statistics[[at]])[0])
        if not alone <= 1 - self._level:
            return alone
        single = 2 * float(special.stdtr(float(model.freedom), -model.beside_each_other(at)))
        return max(alone, min(1.0, self._asked_of(model.treatment) * single))

    def _strongest(self) -> Iterator[_Candidate]:
        """Yield, for each treatment, the predecessor or the earlier treatment that explains most."""
        lasting = {model.treatment: model for model in self.lasting}
        for model in self.models:
            at, most = model.strongest, 0.0
            if model.testable and model.estimable.any():
                most = float(np.nanmax(np.abs(model.statistics)))
            if (other := lasting.get(model.treatment)) is not None and (place := other.strongest) is not None:
                candidate = _Candidate(other, place)
                if candidate.size > most:
                    yield candidate
                    continue
            if at is not None:
                yield _Candidate(model, at)

    def _weakest(self) -> tuple[bool, tuple[int, int]] | None:
        """Return the weakest named pair that is not significant given all other named ones: whether it is lasting, and the pair."""
        found: list[tuple[float, bool, tuple[int, int]]] = []
        for model in (*self.models, *self.lasting):
            named = self._stands if isinstance(model, LastingDesign) else self._pairs
            effects, errors = model.effects()
            statistics = np.divide(effects, errors, out=np.zeros(effects.size), where=errors > 0)
            p_values = self._judged(model, statistics)
            for at, cell in enumerate(model.cells.tolist()):
                pair = (model.treatment, cell)
                if pair in named and p_values[at] > 1 - self._level:
                    found.append((abs(float(statistics[at])), isinstance(model, LastingDesign), pair))
        return min(found)[1:] if found else None

    def effects(self) -> Named:
        """Return the terms in the models, with their effects."""
        in_model = {pair for pair, other in self._stands.items() if pair[1] == other}
        return Named(_effects(self.models, self._pairs), _effects(self.lasting, in_model))

    def cleaned(self) -> Trials:
        """Return the trials minus the effects of the named pairs."""
        return self._layout.without(self.effects())

    def stands(self, treatment: int, earlier: int) -> bool:
        """Return True if a lasting pair is named."""
        return (treatment, earlier) in self._stands

    def likes(self, treatment: int, earlier: int) -> list[int]:
        """Return the treatments that are indistinguishable from a named lasting pair."""
        pair = (treatment, earlier)
        named = pair in self._stands
        return [other[1] for other in self._stands if named and other != pair and self._rival(other, pair)]

    def explained(self, treatment: int, earlier: int) -> list[int]:
        """Return predecessors that are significant for the treatment alone but not given a named lasting pair.

        A predecessor with a lasting effect is explained by its own, the others by all lasting effects on the treatment.
        """
        if not self.stands(treatment, earlier) or any(one == treatment for one, _ in self._pairs):
            return []
        alone = {predecessor for one, predecessor in self._alone | self.dropped if one == treatment}
        return sorted(one for one in alone if one == earlier or not self.stands(treatment, one))

    def _maxima(self) -> Array:
        """Return the largest |t| over all pairs of both kinds in each permutation, in ascending order."""
        greatest = np.zeros(self.permutations)
        for models, orders in ((self.models, self._orders), (self.lasting, self._lasting_orders)):
            for model in models:
                if model.testable and model.treatment in orders:
                    greatest = np.maximum(greatest, model.permuted_maxima(orders[model.treatment]))
        return np.sort(greatest)

    def _judged(self, model: Design | LastingDesign, statistics: Array) -> Array:
        """Return corrected p-values of t statistics of a model; NaN stays NaN."""
        sizes = np.abs(statistics)
        if not self.permutations:
            single = 2 * special.stdtr(float(model.freedom), -sizes)
            return -np.expm1(self.count * np.log1p(-np.minimum(single, 1 - 1e-16)))
        beyond = self.permutations - np.searchsorted(self._greatest, sizes * (1 - 1e-12))
        return np.where(np.isnan(sizes), np.nan, (1 + beyond) / (1 + self.permutations))

    def p_values(self, model: Design | LastingDesign) -> Array:
        """Return the corrected p-value of each pair of a treatment; for named pairs the value at which they were named."""
        named = self._lasting if isinstance(model, LastingDesign) else self._pairs
        p_values = self._judged(model, model.statistics)
        mirrored = isinstance(model, Design) and int(model.estimable.sum()) <= _MIRRORED
        for at, cell in enumerate(model.cells.tolist()):
            pair = (model.treatment, cell)
            if pair in named:
                p_values[at] = named[pair]
            elif not mirrored and p_values[at] <= 1 - self._level:
                p_values[at] = self._closed(model, at)
        return p_values

    def critical(self, model: Design | LastingDesign) -> float:
        """Return the simultaneous critical value: the half-width of all pairs' bounds, in standard errors."""
        if not model.testable:
            return float("nan")
        if not self.permutations:
            tail = -expm1(log(self._level) / self.count) / 2
            return -float(special.stdtrit(float(model.freedom), tail))
        return float(np.quantile(self._greatest, self._level, method="higher"))


def _affordable(models: Sequence[Design]) -> int:
    work = sum(model.values.size * (model.cells.size + 4) for model in models) * PERMUTATIONS
    return PERMUTATIONS if work <= _MAX_WORK else 0


def _effects(
    models: Sequence[Design] | Sequence[LastingDesign],
    named: dict[tuple[int, int], float] | set[tuple[int, int]],
) -> Effects:
    found: Effects = {}
    treatments = {treatment for treatment, _ in named}
    for model in models:
        if model.treatment in treatments:
            effects = zip(model.cells.tolist(), np.nan_to_num(model.effects()[0]).tolist(), strict=True)
            found |= {(model.treatment, cell): effect for cell, effect in effects}
    return {pair: found[pair] for pair in named}


def _orders(rng: np.random.Generator, block: Indices, permutations: int) -> Orders:
    """Draw permutations of trials within their position block."""
    orders = np.tile(np.arange(block.size), (permutations, 1))
    for code in np.unique(block).tolist():
        own = np.flatnonzero(block == code)
        orders[:, own] = rng.permuted(orders[:, own], axis=1)
    return orders
