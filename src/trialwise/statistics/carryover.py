"""Carry-over: which predecessor shifts which treatment, and what position and time do, from any varied order."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import expm1, log
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr, stdtrit

from trialwise.statistics.checks import Array, as_percent
from trialwise.statistics.pair_models import Design, Layout, without
from trialwise.statistics.predecessors import UNKNOWN, Trials, read_trials
from trialwise.statistics.trends import Trend, trends

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DEFAULT_SEED = 7
_AS_STRONG = 0.75
"""Pairs with so large a share of the greatest |t| are named in one step."""
PERMUTATIONS = 1999
_MOST_WORK = 3e9
"""Multiplications that permutations may cost; beyond, p-values come from t and Šidák's inequality."""


@dataclass(frozen=True, slots=True)
class CarryOverPair:
    """What a predecessor does to the treatment that runs right after it."""

    treatment: Hashable
    predecessor: Hashable
    effect: float
    """Against the predecessors that are not named, in the unit of the values; NaN where it cannot be estimated."""
    low: float
    """Bounds that hold for all pairs together at the confidence; NaN where there are none."""
    high: float
    p_value: float
    """Corrected over all pairs; NaN where the pair cannot be tested."""
    percent: float
    """The effect in percent of the treatment's mean after the other predecessors; NaN where that is 0."""
    n: int
    """Trials of the treatment right after this predecessor."""
    named: bool
    """Whether it is one of the pairs found at the confidence: the others are judged beside these."""


@dataclass(frozen=True, slots=True)
class CarryOver:
    """Effects of the order in which trials ran."""

    pairs: tuple[CarryOverPair, ...]
    """Every pair that occurs, treatments and predecessors in the order of their first trial."""
    position: Trend
    """For each step further from the start of a round, the pairs that are named taken off (as for the next two)."""
    drift: Trend
    """From each round to the next."""
    first: Trend
    """The first trial of a round against where the position alone would put it."""
    n: int
    """Trials with a value."""
    n_pairs: int
    """Of these, trials with a known predecessor."""
    confidence: float
    """In percent."""
    method: str
    note: str
    """What could not be tested and what would lift that; empty when nothing is."""


def carry_over(
    values: ArrayLike,
    treatments: Sequence[Hashable],
    rounds: ArrayLike,
    positions: ArrayLike,
    *,
    follows: ArrayLike | None = None,
    confidence: float = 95,
    permutations: int | None = None,
    seed: int = DEFAULT_SEED,
) -> CarryOver:
    """Find which treatment shifts which other one that runs right after it.

    For each treatment a regression of its own (own mean, own variance), y = mean + a position + b round + c level +
    e(predecessor), over its trials whose predecessor in the round is known; `level` is how the other treatments did in
    that round, where there are enough trials for it. Each pair's t statistic has the variance within cells (all pairs in
    the model), and its p-value is corrected over all pairs by the maximum of |t| (Westfall and Young 1993), found by
    permuting the residuals of each treatment over its own trials (Freedman and Lane 1983). The pairs found are put into the
    model, and the others are judged beside them, until no further one is found: otherwise a culprit would make the
    treatment's other predecessors look fast. Of the last two predecessors of a treatment none is put in: one cannot say
    which of them it is.

    Parameters
    ----------
    values
        One number for each trial; NaN for a trial that ran and gave none.
    treatments
        As many labels.
    rounds
        As many numbers or names: between rounds everything is reset, so that the first trial of one has no predecessor.
    positions
        As many numbers; a predecessor is the trial one position before in the same round.
    follows
        As many booleans: false where it is not known, or nothing, what ran before the trial in its round, as after a
        start anew; the first of a round has no predecessor anyway.
    confidence
        In percent, of all pairs together.
    permutations
        1999 by default; where many treatments make that too long, t distributions with Šidák's inequality
        instead. 0 asks for these.
    seed
        Of PCG64DXSM; the result depends on nothing else.

    Raises
    ------
    ValueError
        Lengths differ, a value is infinite, two trials have the same round and position, or an option is out of range.
    """
    level = float(as_percent(confidence, "confidence"))
    if permutations is not None and 0 < permutations < 1 / (1 - level) - 1:
        raise ValueError(f"{permutations} permutations cannot reach {confidence} % confidence")
    trials = read_trials(values, treatments, rounds, positions, follows)
    judge = _Judge(trials, level, permutations, np.random.Generator(np.random.PCG64DXSM(seed)))
    judge.search()
    models = judge.models
    slopes = trends(without(trials, judge.effects()), level)
    return CarryOver(
        pairs=tuple(pair for model in models for pair in judge.pairs(model, trials.labels)),
        position=slopes["position"],
        drift=slopes["drift"],
        first=slopes["first"],
        n=int(trials.measured.sum()),
        n_pairs=sum(int(model.counts[model.after].sum()) for model in models),
        confidence=float(confidence),
        method=f"regression per treatment; maximum of |t| over {judge.count} pairs, "
        + (
            f"{judge.permutations} permutations"
            if judge.permutations
            else "t distributions and Šidák's inequality"
        ),
        note=_note(trials, models),
    )


def _affordable(models: Sequence[Design]) -> int:
    work = sum(model.values.size * (model.cells.size + 4) for model in models) * PERMUTATIONS
    return PERMUTATIONS if work <= _MOST_WORK else 0


class _Judge:
    """Corrects the statistics of all pairs together, and puts the pairs that stand out into the models."""

    def __init__(
        self, trials: Trials, level: float, permutations: int | None, rng: np.random.Generator
    ) -> None:
        self._level = level
        self._p_values: dict[tuple[int, int], float] = {}
        self._layout = Layout(trials)
        self.models = self._layout.designs()
        testable = [model for model in self.models if model.testable]
        self.permutations = _affordable(testable) if permutations is None else permutations
        self._orders = {
            model.treatment: _orders(rng, model.values.size, self.permutations) for model in testable
        }
        self.count = sum(int(model.estimable.sum()) for model in testable)
        self._greatest = self._maxima()

    def search(self) -> None:
        """Name pairs, the strongest of each treatment first, until none is left that stands out."""
        while found := self._found():
            floor = max(self._p_values.values(), default=0.0)
            self._p_values |= {pair: max(p_value, floor) for pair, p_value in found.items()}
            self.models = self._layout.designs(self.effects())
            self._greatest = self._maxima()

    def _found(self) -> dict[tuple[int, int], float]:
        """The pairs that stand out most: weaker ones wait until these no longer blur what is common to all."""
        strongest = [
            (abs(float(model.statistics[at])), model, at)
            for model in self.models
            if model.testable and (at := model.strongest) is not None
        ]
        enough = max((statistic for statistic, _, _ in strongest), default=0.0) * _AS_STRONG
        p_values = {
            (model.treatment, int(model.cells[at])): float(self._judged(model, model.statistics[[at]])[0])
            for statistic, model, at in strongest
            if statistic >= enough
        }
        return {pair: p_value for pair, p_value in p_values.items() if p_value <= 1 - self._level}

    def effects(self) -> dict[tuple[int, int], float]:
        """The effects of the pairs that are named."""
        found: dict[tuple[int, int], float] = {}
        treatments = {treatment for treatment, _ in self._p_values}
        for model in self.models:
            if model.treatment in treatments:
                effects = zip(model.cells.tolist(), model.effects()[0].tolist(), strict=True)
                found |= {(model.treatment, cell): effect for cell, effect in effects}
        return {pair: found[pair] for pair in self._p_values}

    def _maxima(self) -> Array:
        """The largest |t| of all pairs in each permutation, in ascending order."""
        greatest = np.zeros(self.permutations)
        for model in self.models:
            if model.testable:
                greatest = np.maximum(greatest, model.permuted_maxima(self._orders[model.treatment]))
        return np.sort(greatest)

    def _judged(self, model: Design, statistics: Array) -> Array:
        """Corrected p-values of t statistics of a model; NaN stays NaN."""
        sizes = np.abs(statistics)
        if not self.permutations:
            single = 2 * stdtr(float(model.freedom), -sizes)
            return -np.expm1(self.count * np.log1p(-np.minimum(single, 1 - 1e-16)))
        beyond = self.permutations - np.searchsorted(self._greatest, sizes * (1 - 1e-12))
        return np.where(np.isnan(sizes), np.nan, (1 + beyond) / (1 + self.permutations))

    def _critical(self, model: Design) -> float:
        if not self.permutations:
            tail = -expm1(log(self._level) / self.count) / 2
            return -float(stdtrit(float(model.freedom), tail))
        return float(np.quantile(self._greatest, self._level, method="higher"))

    def pairs(self, model: Design, labels: Sequence[Hashable]) -> list[CarryOverPair]:
        """The pairs of one treatment; those of one that cannot be tested have no numbers."""
        critical = self._critical(model) if model.testable else float("nan")
        effects, errors = model.effects()
        bases = model.bases()
        p_values = self._judged(model, model.statistics)
        for at, cell in enumerate(model.cells.tolist()):
            p_values[at] = self._p_values.get((model.treatment, cell), p_values[at])
        columns = (
            effects,
            effects - critical * errors,
            effects + critical * errors,
            p_values,
            100 * effects / np.where(bases == 0, np.nan, bases),
            model.counts,
            p_values <= 1 - self._level,
        )
        rows = zip(
            model.cells[model.after].tolist(), *(part[model.after].tolist() for part in columns), strict=True
        )
        return [CarryOverPair(labels[model.treatment], labels[cell], *numbers) for cell, *numbers in rows]


def _orders(
    rng: np.random.Generator, size: int, permutations: int
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return rng.permuted(np.tile(np.arange(size), (permutations, 1)), axis=1)


def _note(trials: Trials, models: Sequence[Design]) -> str:
    notes: list[str] = []
    unknown = int((trials.measured & (trials.predecessor == UNKNOWN)).sum())
    if unknown:
        notes.append(f"of {unknown} trials it is not known what ran before them: left out of the pairs")
    alike = [model for model in models if model.after.sum() < 2]
    few = [model for model in models if model.after.sum() >= 2 and not model.testable]
    if alike or not models:
        notes.append(
            "some treatments always had the same predecessor, which cannot be told from the treatment: vary the order"
            if models
            else "no trial has a known predecessor: carry-over cannot be tested"
        )
    if few:
        wanted = max(model.shortage for model in few)
        notes.append(
            f"{len(few)} treatments have too few trials to test their predecessors: {wanted} more would do"
        )
    return "; ".join(notes)
