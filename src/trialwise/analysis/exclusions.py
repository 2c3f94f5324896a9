"""How answers change without the trials that somebody left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from trialwise.late import pl
from trialwise.numbers import as_given, counted, write

if TYPE_CHECKING:
    from trialwise.analysis.results import Analysis, SeriesKpi
    from trialwise.analysis.trial_set import TrialSet

_Key = tuple[str, str, str, str]
_MOST_MEANS = 5
"""Means that change that are told; the others are counted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A number from `n` trials, None if there is none, and its verdict: `holds`, `descriptive`, `none`, or `estimate` of a mean."""

    n: int
    value: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class ChangedAnswer:
    """An answer without the trials that are left out, and with them; None where there is no such number.

    `what` is the KPI, or the mean; `series` is empty where all series count together. `unit` is that of the metric.
    """

    metric: str
    unit: str
    what: str
    treatment: str
    series: str
    without: Answer | None
    with_them: Answer | None

    @property
    def is_other_verdict(self) -> bool:
        """Whether more than the number changes."""
        verdicts = [each and each.verdict for each in (self.without, self.with_them)]
        return verdicts[0] != verdicts[1]


def changed_answers(without: Analysis, with_them: Analysis) -> tuple[ChangedAnswer, ...]:
    """Return the answers that rest on other trials where those that are left out count, in the order of the analysis."""
    found, others = dict(_answers(without)), dict(_answers(with_them))
    units = {one.metric.name: one.metric.unit for one in with_them.metrics}
    return tuple(
        ChangedAnswer(metric, units.get(metric, ""), what, treatment, series, found.get(key), others.get(key))
        for key in {**others, **found}
        if found.get(key) != others.get(key)
        for metric, what, treatment, series in (key,)
    )


def changed_means(without: TrialSet, with_them: TrialSet) -> Iterator[str]:
    """Say how the means of treatments change if the trials that are left out count, those that change most first."""
    before = _means(without)
    found = [
        (key, before.get(key), after) for key, after in _means(with_them).items() if before.get(key) != after
    ]
    found.sort(key=lambda each: -_relative(each[1], each[2]))
    for (metric, treatment), then, (n, mean) in found[:_MOST_MEANS]:
        unit = with_them.metrics[metric].unit
        own = "no value" if then is None else f"{_in_unit(then[1], unit)} of {counted(then[0], 'trial')}"
        of = "" if treatment == "-" else f" of {treatment}"
        yield f"left out: the mean {metric}{of} is {own}; with the trials that were left out {_in_unit(mean, unit)} of {n}"
    if len(found) > _MOST_MEANS:
        yield f"left out: {counted(len(found) - _MOST_MEANS, 'further mean')} would be another with the trials that were left out"


def changed_verdicts(without: Mapping[str, str], with_them: Mapping[str, str]) -> Iterator[str]:
    """Say which verdicts, by the name of what is judged, are others if the trials that are left out count; or that none is."""
    found = [name for name, verdict in with_them.items() if without.get(name) != verdict]
    for name in found:
        yield f"left out: {name} is {without.get(name, 'not judged')}; with the trials that were left out {with_them[name]}"
    if not found:
        yield "left out: every verdict is the same with the trials that were left out"


def _means(trials: TrialSet) -> dict[tuple[str, str], tuple[int, float]]:
    """Return the number of trials and the mean of each metric and treatment."""
    grouped = trials.table.group_by("metric", "treatment", maintain_order=True)
    table = grouped.agg(pl.len().alias("n"), pl.col("value").mean().alias("mean"))
    return {(metric, treatment): (n, mean) for metric, treatment, n, mean in table.iter_rows()}


def _relative(then: tuple[int, float] | None, now: tuple[int, float]) -> float:
    """Return by how much a mean changes, relative to what it becomes."""
    if then is None:
        return inf
    return abs(then[1] - now[1]) / (abs(now[1]) or 1.0)


def _in_unit(value: float, unit: str) -> str:
    return f"{write(value)}{' ' if unit else ''}{unit}"


def _answers(analysis: Analysis) -> Iterator[tuple[_Key, Answer]]:
    for one in analysis.metrics:
        name = one.metric.name
        for kpi in one.kpis:
            asked = kpi.objective
            what = f"KPI p{as_given(asked.percentile)}, {asked.bound} bound, {as_given(asked.confidence)} %"
            yield (name, what, kpi.treatment, kpi.series), _of_kpi(kpi)
        for mean in one.means:
            yield (name, "mean", mean.treatment, mean.series), Answer(mean.n, mean.mean, "estimate")
    for found in analysis.estimation.estimates if analysis.estimation else ():
        own = found.own
        answer = Answer(own.trials, own.estimate, "none" if own.estimate is None else "estimate")
        yield (found.metric, own.what, found.treatment, ""), answer


def _of_kpi(kpi: SeriesKpi) -> Answer:
    value = None if kpi.result is None else kpi.result.value
    return Answer(kpi.n, value, "none" if value is None else "descriptive" if kpi.descriptive else "holds")
