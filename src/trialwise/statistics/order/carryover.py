"""Carry-over: which treatment shifts a later one, and effects of position and time, from any varied order."""

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
    """Effect of a predecessor on the treatment that runs immediately after it."""

    treatment: Hashable
    predecessor: Hashable
    effect: float
    """Relative to the predecessors that are not named, in the unit of the values; NaN if it cannot be estimated."""
    low: float
    """Bounds that hold for all pairs jointly at the confidence; NaN if there are none."""
    high: float
    p_value: float
    """Corrected over all pairs; NaN if the pair cannot be tested."""
    percent: float
    """The effect in percent of the treatment's mean after the other predecessors; NaN if that is 0."""
    n: int
    """Trials of the treatment immediately after this predecessor."""
    named: bool
    """True if it is one of the pairs found at the confidence; the model of the others includes these."""


@dataclass(frozen=True, slots=True)
class LastingPair:
    """Effect of a treatment on another one that runs anywhere later in the same round."""

    treatment: Hashable
    earlier: Hashable
    effect: float
    """Difference once `earlier` has run, at the same position, in the unit of the values; NaN if it cannot be estimated."""
    low: float
    """Bounds that hold for all pairs of both kinds jointly at the confidence; NaN if there are none."""
    high: float
    p_value: float
    """Corrected over all pairs of both kinds; NaN if the pair cannot be tested."""
    percent: float
    """The effect in percent of the treatment's mean before `earlier`; NaN if that is 0."""
    n_before: int
    """Trials of the treatment before `earlier` had run in the round."""
    n_after: int
    """Trials of the treatment after `earlier` had run in the round."""
    named: bool
    """True if it is one of the pairs found at the confidence; the model of the others includes these."""
    alike: tuple[Hashable, ...]
    """For a named pair, other earlier treatments whose effect the order confounds with it."""
    explains: tuple[Hashable, ...]
    """For a named pair, predecessors that are significant alone but not after adjustment for it."""


@dataclass(frozen=True, slots=True)
class CarryOver:
    """Effects of the order in which trials ran."""

    pairs: tuple[CarryOverPair, ...]
    """Every pair that occurs; treatments and predecessors in the order of their first trial."""
    position: Trend
    """Per step further from the start of a round, after removal of the named pairs (as for the next two)."""
    drift: Trend
    """From each round to the next."""
    first: Trend
    """Difference of the first trial of a round from the linear position effect."""
    n: int
    """Number of trials with a value."""
    n_pairs: int
    """Number of these trials with a known predecessor."""
    confidence: float
    """In percent."""
    method: str
    lasting: tuple[LastingPair, ...]
    """Every pair that occurs; empty if permutations are not affordable."""
    note: str
    """What could not be tested and the remedy; empty if nothing is missing."""


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
    """Find which treatments shift a treatment that runs after them.

    Each treatment has a separate regression (own mean, own variance), y = mean + p(position) + b round + c level +
    e(predecessor), over its trials with a known predecessor in the round; `level` is the mean result of the other treatments in
    that round, included if there are enough trials. The t statistic of each pair uses the variance within cells (all pairs in the
    model). Its p-value is corrected over all pairs by the maximum of |t| (Westfall and Young 1993), from permutations of each
    treatment's residuals over its own trials in the same position (Freedman and Lane 1983). p is a level per position: common to
    all treatments in units of their spreads, or the treatment's own if needed. A pair is named if it stays significant after
    adjustment for each other one of its treatment. Named pairs enter the model and the rest are tested again, until no further
    one is found; otherwise a culprit would make the treatment's other predecessors look fast. Of the last two predecessors of a
    treatment neither enters, since they cannot be distinguished.

    `lasting` answers a second question: the effect of another treatment that ran anywhere earlier in the round. This regression
    replaces e(predecessor) by a column for each other treatment, 1 once it has run, and adds the treatment's own slope over
    positions, since these columns sum to the position. One maximum of |t| covers pairs of both kinds, with the same permutations.
    For each treatment the pair of either kind that explains most is named first, and the others are adjusted for it; a pair that
    is no longer significant given a pair of the other kind is not named. Trials after a gap in the round are excluded here.
    Without permutations, `lasting` is empty.

    Parameters
    ----------
    values
        One number per trial; NaN for a trial that ran and gave none.
    treatments
        One label per trial.
    rounds
        One number or name per trial. Everything is reset between rounds, so the first trial of a round has no predecessor.
    positions
        One number per trial; a predecessor is the trial one position earlier in the same round.
    follows
        One boolean per trial: false if what ran before it in its round is unknown or nothing, as after a restart; the
        first trial of a round has no predecessor anyway.
    confidence
        In percent, of all pairs of both kinds jointly.
    permutations
        1999 by default; if many treatments make that too slow, t distributions with Šidák's inequality
        instead. 0 selects these.
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
    """Return the pairs of one treatment, without numbers if it cannot be tested."""
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
