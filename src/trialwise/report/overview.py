"""The overview of an analysis for a terminal: one small table for each objective, and the reasons for missing claims."""

from __future__ import annotations

from collections.abc import Sequence

from trialwise.analysis.results import Analysis, MetricAnalysis, SeriesKpi, SeriesVariability
from trialwise.experiment.model import Kpi
from trialwise.report.claims import objective_text
from trialwise.report.document import Cell, Column, Name, Table, plain, table_of
from trialwise.report.many import MANY_METRICS
from trialwise.report.numbers import ABSENT, percent
from trialwise.report.plot_rows import factor_names, labels
from trialwise.report.tables import metric_scale
from trialwise.report.units import Scale

MAX_SERIES = 6
"""With more series, an overview would be wider than a terminal; use the full tables instead."""


def overview_tables(analysis: Analysis) -> list[Table]:
    """Return one table for each KPI of each metric: treatments down, series across, the variability score last.

    A tilde marks a number that is only descriptive; an unavailable KPI is a dash.
    """
    tables = [
        _overview(analysis, found, kpi)
        for found in analysis.metrics
        for kpi in found.metric.kpis
        if found.trials
    ]
    return tables if len(tables) <= MANY_METRICS else [_together(tables)]


def _together(tables: Sequence[Table]) -> Table:
    """Return the rows of the tables of many objectives as one table, each beside the objective that it is of."""
    widest = max(tables, key=lambda table: len(table.columns))
    rows = (
        (plain(table.caption), *row, *[""] * (len(widest.columns) - len(row)))
        for table in tables
        for row in table.rows
    )
    return Table("overview", (), (Column("objective"), *widest.columns), tuple(rows))


def reasons(analysis: Analysis) -> list[str]:
    """Say why some numbers are only descriptive or missing: each reason once, with what it applies to."""
    names = labels(analysis)
    found: dict[str, list[str]] = {}
    for metric in analysis.metrics:
        for item in (*metric.kpis, *metric.variability):
            if (item.descriptive or item.result is None) and item.note:
                series = (
                    f" series {item.series}"
                    if isinstance(item, SeriesKpi) and len(analysis.series) > 1
                    else ""
                )
                who = f"{metric.metric.name}, {names.get(item.treatment, item.treatment)}{series}"
                found.setdefault(_plain(item.note), []).append(who)
    return [f"{note} ({_list(who)})" for note, who in found.items()]


def _plain(note: str) -> str:
    return note.replace("descriptive only: ", "")


def _list(who: Sequence[str], most: int = 6) -> str:
    return "; ".join(who[:most]) + (f"; and {len(who) - most} more" if len(who) > most else "")


def _overview(analysis: Analysis, found: MetricAnalysis, kpi: Kpi) -> Table:
    metric, names = found.metric, labels(analysis)
    scored = metric.variability is not None
    factors = factor_names(analysis)
    header = " · ".join(factors) or "treatment"
    count = "trials" if "n" in factors else "n"
    series = [f"series {name}" for name in analysis.series] if len(analysis.series) > 1 else ["KPI"]
    treatments = [name for name in analysis.treatments if name in names]
    better = f", {metric.better} is better" if metric.better else ""
    score = f"; score: {percent(metric.variability.confidence)}" if metric.variability else ""
    shown = metric_scale(found)
    return table_of(
        key=f"overview-{metric.kpis.index(kpi)}-{metric.name}",
        caption=f"{metric.name}{shown.heading}{better}: {objective_text(kpi)}{score}",
        titles=(header, count, *series, *(["score"] if scored else [])),
        rows=tuple(_row(analysis, found, kpi, name, names[name], shown) for name in treatments),
        numeric=range(1, 2 + len(series) + scored),
    )


def _row(
    analysis: Analysis, found: MetricAnalysis, kpi: Kpi, treatment: str, label: str, shown: Scale
) -> tuple[Cell, ...]:
    members = {
        item.series: item for item in found.kpis if item.objective == kpi and item.treatment == treatment
    }
    scores = [item for item in found.variability if item.kpi == kpi and item.treatment == treatment]
    counts = sorted({item.n for item in members.values()})
    n = str(counts[0]) if len(counts) == 1 else f"{counts[0]}–{counts[-1]}" if counts else ABSENT
    cells = [_bound(members.get(name), shown) for name in analysis.series]
    return (Name(label), n, *cells, *(_score(item, shown) for item in scores))


def _bound(item: SeriesKpi | None, shown: Scale) -> str:
    if item is None or item.result is None or item.result.value is None:
        return ABSENT
    text = shown.write(item.result.value, "down" if item.objective.bound == "lower" else "up")
    return f"~{text}" if item.descriptive else text


def _score(item: SeriesVariability, shown: Scale) -> str:
    if item.result is None or item.result.score is None:
        return ABSENT
    text = shown.write(item.result.score, "up")
    return f"~{text}" if item.descriptive else text
