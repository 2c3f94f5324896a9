"""Carry-over: which treatment shifts which later one, and what position and time do, from any varied order."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import as_percent
from trialwise.statistics.order.pair_models import Design
from trialwise.statistics.order.pair_selection import PairSearch
from trialwise.statistics.order.persistent_carryover import LastingDesign
from trialwise.statistics.order.predecessors import UNKNOWN, Trials, read_trials
from trialwise.statistics.tests.trends import Trend, trends

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

DEFAULT_SEED = 7


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
class LastingPair:
    """What a treatment does to another one that runs anywhere later in the same round."""

    treatment: Hashable
    earlier: Hashable
    effect: float
    """Once `earlier` has run against before, at the same position; in the unit of the values, NaN where it cannot be estimated."""
    low: float
    """Bounds that hold for all pairs of both kinds together at the confidence; NaN where there are none."""
    high: float
    p_value: float
    """Corrected over all pairs of both kinds; NaN where the pair cannot be tested."""
    percent: float
    """The effect in percent of the treatment's mean before `earlier`; NaN where that is 0."""
    n_before: int
    """Trials of the treatment in whose round `earlier` had not run yet."""
    n_after: int
    """Trials of the treatment in whose round it had."""
    named: bool
    """Whether it is one of the pairs found at the confidence: the others are judged beside these."""
    alike: tuple[Hashable, ...]
    """Of a pair that is named: what else ran earlier that the order does not let be told from it."""
    explains: tuple[Hashable, ...]
    """Of a pair that is named: predecessors that stand out alone, and not beside it."""


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
    lasting: tuple[LastingPair, ...]
    """Every pair that occurs; empty where permutations are not affordable."""
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

    For each treatment a regression of its own (own mean, own variance), y = mean + p(position) + b round + c level +
    e(predecessor), over its trials whose predecessor in the round is known; `level` is how the other treatments did in that
    round, where there are enough trials for it. Each pair's t statistic has the variance within cells (all pairs in the
    model), and its p-value is corrected over all pairs by the maximum of |t| (Westfall and Young 1993), found by permuting
    the residuals of each treatment over its own trials in the same position (Freedman and Lane 1983). p is a level for each
    position: common to all treatments in their spreads, and the treatment's own where it needs them. A pair is named where
    it stands beside each other one of its treatment too. The pairs found are put into the model, and the others are judged
    beside them, until no further one is found: otherwise a culprit would make the treatment's other predecessors look fast.
    Of the last two predecessors of a treatment none is put in: one cannot say which of them it is.

    A second question is asked beside it, in `lasting`: what any other treatment does that ran anywhere earlier in the
    round. That is the same regression with a column for each other treatment, 1 once it has run, instead of e(predecessor),
    and the treatment's own slope over positions beside their levels, since such columns add up to the position. One maximum
    of |t| is over the pairs of both kinds, permuted alike. Of a treatment the pair that explains most, of either kind, is
    named first and the others are judged beside it; one that no longer stands beside a pair of the other kind is not named.
    Trials after a gap in the round are left out here. Without permutations nothing of this is asked.

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
        In percent, of all pairs of both kinds together.
    permutations
        1999 by default; where many treatments make that too long, t distributions with Šidák's inequality
        instead. 0 asks for these.
    seed
        Of PCG64DXSM; the result depends on nothing else.

    Raises
    ------
    StatisticsError
        Lengths differ, a value is infinite, two trials have the same round and position, or an option is out of range.
    """
    level = float(as_percent(confidence, "confidence"))
    if permutations is not None and 0 < permutations < 1 / (1 - level) - 1:
        raise StatisticsError(f"{permutations} permutations cannot reach {confidence} % confidence")
    trials = read_trials(values, treatments, rounds, positions, follows)
    search = PairSearch(trials, level, permutations, np.random.Generator(np.random.PCG64DXSM(seed)))
    search.search()
    models = search.models
    slopes = trends(search.cleaned(), level)
    return CarryOver(
        pairs=tuple(pair for model in models for pair in _pairs(search, model, trials.labels, level)),
        position=slopes["position"],
        drift=slopes["drift"],
        first=slopes["first"],
        n=int(trials.measured.sum()),
        n_pairs=sum(int(model.counts[model.after].sum()) for model in models),
        confidence=float(confidence),
        method=_method(search),
        lasting=tuple(pair for model in search.lasting for pair in _lasting(search, model, trials.labels)),
        note=_note(trials, search),
    )


def _method(search: PairSearch) -> str:
    if not search.permutations:
        over = f"{search.count} pairs, t distributions and Šidák's inequality"
    else:
        lasting = f" right after and {search.lasting_count} lasting ones" if search.lasting_count else ""
        over = f"{search.count} pairs{lasting}, {search.permutations} permutations"
    return f"regression per treatment; maximum of |t| over {over}"


def _pairs(
    search: PairSearch, model: Design, labels: Sequence[Hashable], level: float
) -> list[CarryOverPair]:
    """The pairs of one treatment; those of one that cannot be tested have no numbers."""
    critical = search.critical(model)
    effects, errors = model.effects()
    bases = model.bases()
    p_values = search.p_values(model)
    weak = [(model.treatment, cell) in search.dropped for cell in model.cells.tolist()]
    columns = (
        effects,
        effects - critical * errors,
        effects + critical * errors,
        p_values,
        100 * effects / np.where(bases == 0, np.nan, bases),
        model.counts,
        (p_values <= 1 - level) & ~np.array(weak, dtype=np.bool_),
    )
    rows = zip(
        model.cells[model.after].tolist(), *(part[model.after].tolist() for part in columns), strict=True
    )
    return [CarryOverPair(labels[model.treatment], labels[cell], *numbers) for cell, *numbers in rows]


def _lasting(search: PairSearch, model: LastingDesign, labels: Sequence[Hashable]) -> Iterator[LastingPair]:
    critical = search.critical(model)
    effects, errors = model.effects()
    bases = model.bases()
    columns = (
        effects,
        effects - critical * errors,
        effects + critical * errors,
        search.p_values(model),
        100 * effects / np.where(bases == 0, np.nan, bases),
        model.n_before,
        model.n_after,
        np.array([search.stands(model.treatment, cell) for cell in model.cells.tolist()], dtype=np.bool_),
    )
    rows = zip(model.cells.tolist(), *(part.tolist() for part in columns), strict=True)
    for cell, *numbers in rows:
        likes = search.likes(model.treatment, cell)
        explained = search.explained(model.treatment, cell)
        yield LastingPair(
            labels[model.treatment],
            labels[cell],
            *numbers,
            alike=tuple(labels[other] for other in likes),
            explains=tuple(labels[other] for other in explained),
        )


def _note(trials: Trials, search: PairSearch) -> str:
    models = search.models
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
    brief = [model.shortage for model in search.lasting if model.cells.size >= 2 and not model.testable]
    if brief:
        notes.append(
            f"{len(brief)} treatments have too few trials to test what lasts for the rest of a round: {max(brief)} more would do"
        )
    if search.count and not search.permutations:
        notes.append(
            "what lasts for the rest of a round was not looked for, which needs permutations: fewer treatments at a time "
            "would allow them"
        )
    return "; ".join(notes)
