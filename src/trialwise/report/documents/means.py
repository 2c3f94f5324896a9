"""The means and medians of metrics that have no KPI, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.analysis.treatment_means import CONFIDENCE, TreatmentMean
from trialwise.analysis.unit_words import plural
from trialwise.experiment.stopping import goals_of
from trialwise.report.document import Cell, Column, Name, Table, Text
from trialwise.report.many import MANY_METRICS
from trialwise.report.numbers import Estimate, Number, counted, estimate, given
from trialwise.report.plot_rows import labels
from trialwise.report.units import Scale, scale


def described(analysis: Analysis) -> list[tuple[int, MetricAnalysis]]:
    """Return the metrics whose means are all that is known of them, with their places."""
    estimated = {one.metric for one in analysis.estimation.estimates} if analysis.estimation else set[str]()
    return [
        (place, found)
        for place, found in enumerate(analysis.metrics)
        if found.means and not (found.variability or goals_of(found.metric) or found.metric.name in estimated)
    ]


def means_told(analysis: Analysis) -> str:
    """Count the means that `means_tables` shows; empty if there are none."""
    count = sum(len(found.means) for _, found in described(analysis))
    return counted(count, "mean") if count else ""


def means_tables(analysis: Analysis) -> tuple[Table, ...]:
    """Return a table of means and medians for each metric without a KPI, of many metrics one for all."""
    known = described(analysis)
    names = labels(analysis)
    if len(known) <= MANY_METRICS:
        return tuple(_table(place, found, names) for place, found in known)
    every = [mean for _, found in known for mean in found.means]
    rows = [
        (Name(f"{found.metric.name}{shown.heading}"), *row)
        for place, found in known
        for shown in [_scale(found)]
        for row in _rows(place, found, names, shown)
    ]
    columns = (Column("metric"), *_columns(every))
    return (Table("means", _caption("Means and medians"), columns, tuple(rows), _facts(known), most=_MOST),)


_MOST = 20
"""Rows of the table of many metrics in a terminal: with the claims below it, it fits on a screen."""


def _table(place: int, found: MetricAnalysis, names: dict[str, str]) -> Table:
    shown = _scale(found)
    better = f", {found.metric.better} is better" if found.metric.better else ""
    return Table(
        f"means-{found.metric.name}",
        _caption(f"{found.metric.name}{shown.heading}{better}: means and medians"),
        _columns(found.means),
        tuple(_rows(place, found, names, shown)),
        _facts([(place, found)]),
    )


def _caption(begin: str) -> Text:
    return (begin, " with ", given(CONFIDENCE), " intervals, each by itself")


def _columns(means: Sequence[TreatmentMean]) -> tuple[Column, ...]:
    return (
        Column("treatment"),
        *((Column("series"),) if _has_series(means) else ()),
        Column("n", is_numeric=True),
        Column("mean", is_numeric=True),
        Column("median", is_numeric=True),
    )


def _has_series(means: Sequence[TreatmentMean]) -> bool:
    return len({each.series for each in means}) > 1


def _scale(found: MetricAnalysis) -> Scale:
    return scale((each.mean for each in found.means), found.metric.unit)


def _rows(
    place: int, found: MetricAnalysis, names: dict[str, str], shown: Scale
) -> Iterator[tuple[Cell, ...]]:
    odd = _dependent(found)
    for number, each in enumerate(found.means):
        at = f"/metrics/{place}/means/{number}"
        mark = "~" if each.treatment in odd else ""
        yield (
            Name(names.get(each.treatment, each.treatment)),
            *((each.series,) if _has_series(found.means) else ()),
            Number(each.n, f"{at}/n", kind="count"),
            *((mark, one) if mark else one for one in (_mean(each, at, shown), _median(each, at, shown))),
        )


def _mean(each: TreatmentMean, at: str, shown: Scale) -> Estimate:
    low, high = (None, None) if each.interval is None else (each.interval.low, each.interval.high)
    places = (f"{at}/mean", f"{at}/interval/low", f"{at}/interval/high")
    return estimate(each.mean, low, high, power=shown.power, pointers=places)


def _median(each: TreatmentMean, at: str, shown: Scale) -> Estimate:
    low, high = each.median_interval.low, each.median_interval.high
    if low is None or high is None:
        low = high = None
    places = (f"{at}/median", f"{at}/median_interval/low", f"{at}/median_interval/high")
    return estimate(each.median, low, high, power=shown.power, pointers=places)


def _dependent(found: MetricAnalysis) -> set[str]:
    """Return the treatments whose trials are not independent, by their test."""
    return {
        test.treatment
        for test in found.independence
        if test.result is not None and test.result.independent is False
    }


def _facts(known: Sequence[tuple[int, MetricAnalysis]]) -> tuple[Text, ...]:
    every = [each for _, found in known for each in found.means]
    methods = dict.fromkeys(each.interval.method for each in every if each.interval is not None)
    reasons = dict.fromkeys(each.reason for each in every if each.reason)
    units = dict.fromkeys(plural(each.level) for each in every)
    told: list[Text] = [
        ("; ".join([f"n counts {' or '.join(units)}", *methods, "medians: exact binomial ranks"]),)
    ]
    told += [(reason,) for reason in reasons]
    few = [each.n for each in every if each.median_interval.low is None or each.median_interval.high is None]
    if few:
        needed = every[0].median_interval.needed
        told.append((f"an interval of a median needs {needed} values",))
    if any(_dependent(found) for _, found in known):
        told.append(("~ these trials depend on each other: the interval says nothing about further ones",))
    return tuple(told)
