"""Comparison of every treatment and metric that two sides share, with an effect, its interval and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.comparison.geometric import geometric_means
from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.analysis.comparison.sides import matched
from trialwise.analysis.environments import differences
from trialwise.analysis.equal_trials import equal_notes, repeating, tail_notes
from trialwise.analysis.nesting import Units, units, units_with_summaries
from trialwise.analysis.trial_set import PRINTED, Level, MetricFacts, TrialSet
from trialwise.experiment.model import Extent
from trialwise.late import pl
from trialwise.numbers import counted

PAPER_MARGIN = Extent(10.0, relative=True)
"""The margin within which an experiment replicates another, if none is given: 10 % of its mean."""


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Options of the verdicts: their joint confidence in percent, and margins.

    The margin of a metric is that in `margins`, else `margin`, else the experiment's. `level` replaces the default level of
    inference, the highest that varies; `correction` is that for multiplicity.
    """

    confidence: float = 95.0
    margin: Extent | None = None
    margins: Mapping[str, Extent] = field(default_factory=dict[str, Extent])
    level: Level | None = None
    correction: st.Correction = "holm"

    def margin_of(self, metric: MetricFacts) -> Extent | None:
        """Return the margin for differences of a metric."""
        return self.margins.get(metric.name) or self.margin or metric.margin


@dataclass(frozen=True, slots=True)
class Pair:
    """One treatment (or one compared with another) and metric, before the family is judged."""

    treatment: str
    metric: MetricFacts
    summary: st.SummaryDifference
    units: Units
    difference: st.Difference | None
    seconds: float | None
    """Duration of one more unit on each side."""
    reason: str
    is_described: bool = True


def compare(a: TrialSet, b: TrialSet, options: CompareOptions | None = None) -> Comparison:
    """Compare side b with side a.

    Raises
    ------
    AnalysisError
        The sides have no treatment or no metric in common.
    StatisticsError
        The confidence is not between 50 and 100.
    """
    options = options or CompareOptions()
    a, b, one_sided = matched(a, b)
    pairs = list(_pairs(a, b, options))
    rows, correction = judged_together(pairs, options.correction)
    return Comparison(
        a=a.name,
        b=b.name,
        rows=rows,
        one_sided=one_sided,
        confidence=options.confidence,
        correction=correction,
        notes={
            a.name: (*a.notes, *_equal(a), *tails_of(a)),
            b.name: (*b.notes, *_equal(b), *tails_of(b), *_repeated(a, pairs)),
        },
        environments=differences(a.environments, b.environments),
        geometric_means=geometric_means(rows, a, b, options.confidence, options.level),
    )


def judged_together(
    pairs: Sequence[Pair], correction: st.Correction = "holm"
) -> tuple[tuple[ComparisonRow, ...], str]:
    """Judge pairs as one family; return the rows in order, and the correction used."""
    judged: dict[Hashable, st.Difference] = {
        place: pair.difference for place, pair in enumerate(pairs) if pair.difference is not None
    }
    family = st.difference_family(judged, correction) if judged else None
    rows = tuple(_row(pair, family and family.members.get(place)) for place, pair in enumerate(pairs))
    return rows, family.method if family else "none: there is no inference"


def _equal(trials: TrialSet) -> Iterator[str]:
    metrics = _by_metric(trials)
    repeats = repeating(metrics.values()) if trials.may_repeat else frozenset[str]()
    for name, values in metrics.items():
        yield from equal_notes(name, values, repeats)


def tails_of(trials: TrialSet) -> Iterator[str]:
    """Yield warnings on treatments in which one trial, or skewness, makes tests of means unreliable."""
    for name, values in _by_metric(trials).items():
        yield from tail_notes(name, values)


def _by_metric(trials: TrialSet) -> dict[str, dict[str, list[float]]]:
    """Return the values of each metric by treatment."""
    found: dict[str, dict[str, list[float]]] = {name: {} for name in trials.metrics}
    values = trials.table.group_by("metric", "treatment", maintain_order=True).agg("value")
    for metric, treatment, of_both in values.iter_rows():
        if metric in found:
            found[metric][treatment] = of_both
    return found


def _repeated(a: TrialSet, pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield warnings on values that vary but are equal on both sides, which were hardly measured twice."""
    same = [
        pair
        for pair in pairs
        if pair.units.a.size
        and np.ptp(pair.units.a)
        and np.array_equal(np.sort(pair.units.a), np.sort(pair.units.b))
    ]
    if same:
        yield f"{len(same)} of {counted(len(pairs), 'row has', 'rows have')} the very values of {a.name}: the same data twice?"


def _pairs(a: TrialSet, b: TrialSet, options: CompareOptions) -> Iterator[Pair]:
    cells = [side.table.partition_by("metric", "treatment", as_dict=True) for side in (a, b)]
    for name, facts in a.metrics.items():
        for treatment in a.treatments:
            cell = (name, treatment)
            if name in b.metrics and cell in cells[0] and cell in cells[1]:
                yield pair_of(treatment, (facts, b.metrics[name]), (cells[0][cell], cells[1][cell]), options)


def pair_of(
    treatment: str,
    facts: tuple[MetricFacts, MetricFacts],
    sides: tuple[pl.DataFrame, pl.DataFrame],
    options: CompareOptions,
) -> Pair:
    """Compare two sides (A, then B; neither empty) in one metric alone, or say why there is no difference."""
    metric = facts[0]
    if any(PRINTED in side.columns for side in sides):
        found, *summaries = units_with_summaries(*sides, options.level)
        summary = st.printed_difference(*summaries)
        judge = partial(st.difference_of_summaries, *summaries)
    else:
        found = units(*sides, options.level)
        summary = st.summary_difference(sides[0]["value"].to_numpy(), sides[1]["value"].to_numpy())
        judge = partial(st.paired_difference if found.paired else st.difference, found.a, found.b)
    refusal = found.refusal
    same_unit = not (facts[0].unit and facts[1].unit) or facts[0].unit == facts[1].unit
    if not same_unit:
        refusal = f"one side is in {facts[0].unit}, the other in {facts[1].unit}: bring both to one unit"
    difference = None if refusal else _difference(judge, options, metric)
    reason = refusal or (difference.reason if difference else "")
    seconds = _unit_seconds(sides, found)
    return Pair(treatment, metric, summary, found, difference, seconds, reason, is_described=same_unit)


def _difference(
    judge: Callable[..., st.Difference], options: CompareOptions, metric: MetricFacts
) -> st.Difference:
    margin = options.margin_of(metric)
    return judge(
        confidence=options.confidence,
        margin=margin and margin.value,
        relative=margin is not None and margin.relative,
    )


def _unit_seconds(sides: tuple[pl.DataFrame, pl.DataFrame], found: Units) -> float | None:
    """Return the duration of one more unit on both sides together: the present number of trials per unit times the median trial."""
    total = 0.0
    for side, number in zip(sides, found.counts[found.level], strict=True):
        median = side["seconds"].median()
        if not isinstance(median, float):
            return None
        total += median * side.height / number
    return total


def _row(pair: Pair, member: st.FamilyMember | None) -> ComparisonRow:
    more = member.bill if member else None
    return ComparisonRow(
        treatment=pair.treatment,
        metric=pair.metric,
        summary=pair.summary,
        units=pair.units,
        difference=pair.difference,
        p_adjusted=member.p_adjusted if member else None,
        verdict=member.verdict if member else "no inference",
        more=more,
        more_seconds=None if more is None or pair.seconds is None else more * pair.seconds,
        reason=member.reason if member else pair.reason,
        is_described=pair.is_described,
        pairing=st.pairing_gain(pair.units.a, pair.units.b)
        if pair.difference and pair.units.paired
        else None,
    )
