"""Ranking of the treatments of one side: ranks with confidence, the Pareto set, and points on the plane of two metrics."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.nesting import highest_that_varies, units_of
from trialwise.analysis.trial_set import Level, MetricFacts, TrialSet
from trialwise.experiment.model import Better
from trialwise.late import pl
from trialwise.numbers import about

Values = Mapping[str, Mapping[str, float]]
"""For each treatment the mean of each of its units."""
_THROUGHPUT, _DELAY = ("throughput", "goodput", "rate"), ("delay", "latency", "rtt")


@dataclass(frozen=True, slots=True)
class RankedTreatment:
    """A treatment in one metric: its ranks from `best` to `worst` hold for all treatments jointly."""

    treatment: str
    mean: float
    n: int
    best: int
    worst: int
    may_be_best: bool


@dataclass(frozen=True, slots=True)
class MetricRanking:
    """The treatments of one side by one metric, from the best mean to the worst; n counts units of `level`.

    `what` names the estimand of the means, if there is a choice.
    """

    metric: str
    unit: str
    what: str
    better: Better
    level: Level
    treatments: tuple[RankedTreatment, ...]
    confidence: float
    method: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParetoFront:
    """The treatments that no other is shown to beat in every metric; `excluded` names those that beat the others."""

    metrics: tuple[str, ...]
    members: tuple[str, ...]
    front_of_means: tuple[str, ...]
    excluded: Mapping[str, tuple[str, ...]]
    n: Mapping[str, int]
    confidence: float
    method: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanePoint:
    """A treatment on the plane; `delay` and `throughput` are intervals of the means that hold jointly at the confidence."""

    treatment: str
    delay: st.MeanInterval
    throughput: st.MeanInterval
    may_be_on_front: bool


@dataclass(frozen=True, slots=True)
class RankPlane:
    """The plane of two metrics: lower is better for `delay`, higher for `throughput`."""

    delay: MetricFacts
    throughput: MetricFacts
    points: tuple[PlanePoint, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranking of the treatments of one side."""

    side: str
    metrics: tuple[MetricRanking, ...]
    pareto: ParetoFront | None
    plane: RankPlane | None
    notes: tuple[str, ...]


def rank(trials: TrialSet, confidence: float = 95.0, level: Level | None = None) -> Ranking:
    """Rank the treatments of one side in each metric with a preferred direction, and in all of these together.

    Raises
    ------
    StatisticsError
        The confidence is not a percentage.
    """
    notes: list[str] = []
    ranked: list[MetricRanking] = []
    values: dict[str, Values] = {}
    for name, facts in trials.metrics.items():
        own = trials.of(name)
        if facts.better is None:
            notes.append(f"{name} does not say which way is better: not ranked")
        elif not own.is_empty():
            chosen = level or highest_that_varies(own)
            found = units_of(own, chosen)
            if ranking := _ranked(facts, facts.better, chosen, found, confidence):
                ranked.append(ranking)
                values[name] = found
            else:
                notes.append(
                    f"{name}: fewer than two treatments have two {chosen} values or more: not ranked"
                )
    pareto = _pareto(trials, ranked, values, confidence) if len(values) > 1 else None
    return Ranking(
        trials.name, tuple(ranked), pareto, _plane(trials, values, pareto, confidence), tuple(notes)
    )


def can_rank(trials: TrialSet) -> bool:
    """Return True if a metric has a preferred direction, and two treatments have several values of it."""
    tables = (trials.of(name) for name, facts in trials.metrics.items() if facts.better is not None)
    return any(_count_several(own) > 1 for own in tables if not own.is_empty())


def _count_several(trials: pl.DataFrame) -> int:
    """Count the treatments with several units of the highest level that varies."""
    level = pl.col(highest_that_varies(trials))
    several = trials.lazy().group_by("treatment").agg((level.min() != level.max()).alias("several"))
    return int(several.select(pl.col("several").sum()).collect(engine="streaming").item())


def _several(found: Values) -> Values:
    return {name: units for name, units in found.items() if len(units) > 1}


def _ranked(
    facts: MetricFacts, better: Better, level: Level, found: Values, confidence: float
) -> MetricRanking | None:
    several = _several(found)
    if len(several) < 2:
        return None
    shared = _shared(several, level)
    groups = {name: [units[unit] for unit in (shared or units)] for name, units in several.items()}
    ranks = st.rank_sets(groups, confidence=confidence, better=better, paired=bool(shared))
    lacking = [name for name in found if name not in groups]
    notes = [f"one {level} only, not ranked: {', '.join(lacking)}"] if lacking else []
    if shared:
        notes += [*_left_out(several, shared), *_gain(groups)]
    return MetricRanking(
        metric=facts.name,
        unit=facts.unit,
        what=facts.what,
        better=better,
        level=level,
        treatments=tuple(
            RankedTreatment(name, ranks.means[name], ranks.n[name], *ranks[name], name in ranks.best)
            for name in ranks
        ),
        confidence=ranks.confidence,
        method=ranks.method,
        notes=(*notes, *([ranks.note] if ranks.note else [])),
    )


def _shared(found: Mapping[str, Collection[str]], level: Level) -> list[str]:
    """Return the units that all treatments share (trials of the same name met the same workload); empty if fewer than two."""
    if level != "trial":
        return []
    units = _common(list(found.values()))
    return units if len(units) > 1 else []


def _common(found: Sequence[Collection[str]]) -> list[str]:
    """Return the common elements, in the order of the first."""
    first, *others = [dict.fromkeys(each) for each in found]
    return [unit for unit in first if all(unit in each for each in others)]


def _left_out(found: Mapping[str, Collection[str]], shared: Collection[str]) -> Iterator[str]:
    most = max(map(len, found.values()))
    if most > len(shared):
        yield f"{len(shared)} of {most} rounds have all treatments; the others are left out"


def _gain(groups: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield the gain from pairing: the factor in trials that unpaired ones would take."""
    gains = [st.pairing_gain(a, b).gain for a, b in combinations(groups.values(), 2)]
    known = [gain for gain in gains if np.isfinite(gain)]
    if known:
        low, high = about(min(known)), about(max(known))
        factor = low if low == high else f"{low} to {high}"
        yield f"pairs: the variance of differences is smaller than unpaired by the factor {factor}"


def _pareto(
    trials: TrialSet, ranked: Sequence[MetricRanking], values: Mapping[str, Values], confidence: float
) -> ParetoFront | None:
    """Compute the front over all ranked metrics, from the units that have all of them; paired if all treatments share these."""
    units: dict[str, list[str]] = {}
    lost: list[str] = []
    for treatment in trials.treatments:
        own = [found[treatment] for found in values.values() if treatment in found]
        complete = _common(own) if len(own) == len(values) else []
        if len(complete) > 1:
            units[treatment] = complete
        else:
            lost.append(treatment)
    if len(units) < 2:
        return None
    shared = _shared(units, "trial") if all(one.level == "trial" for one in ranked) else []
    groups = {
        name: {metric: [found[name][unit] for unit in (shared or own)] for metric, found in values.items()}
        for name, own in units.items()
    }
    better: dict[str, Literal["higher", "lower"]] = {
        metric: trials.metrics[metric].better or "higher" for metric in values
    }
    found = st.pareto_set(groups, better, confidence=confidence, paired=bool(shared))
    notes = [f"without two trials that have every metric, left out: {', '.join(lost)}"] if lost else []
    if shared:
        notes += _left_out(units, shared)
    return ParetoFront(
        metrics=tuple(values),
        members=tuple(name for name in groups if name in found),
        front_of_means=tuple(name for name in groups if name in found.front_of_means),
        excluded=found.excluded_by,
        n=found.n,
        confidence=found.confidence,
        method=found.method,
        notes=(*notes, *([found.note] if found.note else [])),
    )


def _plane(
    trials: TrialSet, values: Mapping[str, Values], pareto: ParetoFront | None, confidence: float
) -> RankPlane | None:
    """Build the plane of the first two metrics with opposite directions, one better high and the other low."""
    up, across = (_metric(trials, values, better) for better in ("higher", "lower"))
    if up is None or across is None or pareto is None:
        return None
    each = 100 - (100 - confidence) / 2
    points: list[PlanePoint] = []
    for treatment in pareto.n:
        delay, throughput = (
            st.mean_interval(list(values[metric.name][treatment].values()), confidence=each)
            for metric in (across, up)
        )
        points.append(PlanePoint(treatment, delay, throughput, treatment in pareto.members))
    return RankPlane(across, up, tuple(points), confidence)


def _metric(trials: TrialSet, values: Mapping[str, Values], better: str) -> MetricFacts | None:
    known = [trials.metrics[name] for name in values if trials.metrics[name].better == better]
    words = _THROUGHPUT if better == "higher" else _DELAY
    named = [facts for facts in known if any(word in facts.name.lower() for word in words)]
    return next(iter([*named, *known]), None)


def trials_of(trials: TrialSet, plane: RankPlane) -> dict[str, list[tuple[float, float]]]:
    """Return, for each treatment, delay and throughput of its trials that have both."""
    delay, throughput = (
        trials.of(facts.name).select("treatment", "trial", "value")
        for facts in (plane.delay, plane.throughput)
    )
    both = delay.join(throughput, on=["treatment", "trial"], maintain_order="left")
    return {
        str(part["treatment"][0]): list(
            zip(part["value"].to_list(), part["value_right"].to_list(), strict=True)
        )
        for part in both.partition_by("treatment", maintain_order=True)
    }
