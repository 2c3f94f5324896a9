"""How answers change without the trials that somebody left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trialwise.numbers import as_given

if TYPE_CHECKING:
    from trialwise.analysis.results import Analysis, SeriesKpi

_Key = tuple[str, str, str, str]


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
