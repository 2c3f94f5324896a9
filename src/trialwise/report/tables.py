"""The tables of a report, in no particular format: text, HTML and LaTeX render the same cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain

from trialwise.analysis.results import (
    Analysis,
    MetricAnalysis,
    SeriesIndependence,
    SeriesKpi,
    SeriesVariability,
)
from trialwise.experiment.model import Kpi
from trialwise.report.claims import in_order, objective_text, scored
from trialwise.report.document import Cell, Name, Table, table_of
from trialwise.report.numbers import ABSENT, Basis, Number, percent
from trialwise.report.units import Scale, scale


def result_tables(analysis: Analysis) -> list[Table]:
    """Return KPIs, variability scores and independence tests, metric by metric; tables without rows are left out."""
    independence = {table.key: table for table in independence_tables(analysis)}
    tables: list[Table] = []
    for place, found in enumerate(analysis.metrics):
        tables += kpi_tables(analysis, place)
        key = f"independence-{found.metric.name}"
        tables += [independence[key]] if key in independence else []
    return tables


def kpi_tables(analysis: Analysis, place: int) -> list[Table]:
    """Return the tables of a metric for a paper: KPIs and variability scores."""
    found, at = analysis.metrics[place], f"/metrics/{place}"
    tables = [_kpis(analysis, found, objective, at) for objective in found.metric.kpis]
    tables += [_variability(analysis, found, kpi, at) for kpi in scored(found)]
    return [table for table in tables if table.rows]


def independence_tables(analysis: Analysis, names: Collection[str] | None = None) -> list[Table]:
    """Return the independence tests of each metric, or of those with these names."""
    tables = [
        _independence(analysis, found, f"/metrics/{place}")
        for place, found in enumerate(analysis.metrics)
        if names is None or found.metric.name in names
    ]
    return [table for table in tables if table.rows]


# KPIs


def _kpis(analysis: Analysis, found: MetricAnalysis, objective: Kpi, at: str) -> Table:
    places = [
        place for place in in_order(analysis, found, found.kpis) if found.kpis[place].objective == objective
    ]
    shown = scale(_bounds(found.kpis[place] for place in places), found.metric.unit)
    explained = "; low and high: two-sided" if any(map(has_interval, found.kpis)) else ""
    return table_of(
        key=f"kpi-{found.metric.kpis.index(objective)}-{found.metric.name}",
        caption=f"KPI of {found.metric.name}{shown.heading}: {objective_text(objective)}, for each series{explained}",
        titles=("treatment", "series", "n", "KPI", "attained %", "low", "high", "standing", "because"),
        rows=tuple(_kpi_row(found.kpis[place], f"{at}/kpis/{place}", shown) for place in places),
        numeric={2, 3, 4, 5, 6},
        remarks={8},
        optional=() if explained else {5, 6},
    )


def has_interval(kpi: SeriesKpi) -> bool:
    """Return True if the two-sided interval of a KPI has a bound."""
    interval = kpi.result and kpi.result.interval
    return interval is not None and not (interval.low is None and interval.high is None)


def _bounds(kpis: Iterable[SeriesKpi]) -> Iterator[float | None]:
    for kpi in kpis:
        if kpi.result is not None:
            yield from (kpi.result.value, kpi.result.interval.low, kpi.result.interval.high)


def _kpi_row(kpi: SeriesKpi, at: str, shown: Scale) -> tuple[Cell, ...]:
    objective, result = kpi.objective, kpi.result
    begin: tuple[Cell, ...] = (treatment_cell(kpi.treatment), kpi.series, Number(kpi.n, f"{at}/n"))
    if result is None:
        return (*begin, *[ABSENT] * 4, *_standing(kpi))
    interval = result.interval
    basis = Basis(kpi.n, objective.confidence, result.method)
    rounding = "down" if objective.bound == "lower" else "up"
    return (
        *begin,
        shown.number(result.value, f"{at}/result/value", rounding, basis),
        Number(result.attained, f"{at}/result/attained", rounding="down"),
        shown.number(interval.low, f"{at}/result/interval/low", "down", basis),
        shown.number(interval.high, f"{at}/result/interval/high", "up", basis),
        *_standing(kpi),
    )


def _standing(found: SeriesKpi | SeriesVariability) -> tuple[str, str]:
    """Return a word for a number's standing, and the reason."""
    value = found.result and (found.result.value if isinstance(found, SeriesKpi) else found.result.score)
    word = "none" if value is None else "descriptive" if found.descriptive else "holds"
    return word, (found.note or "").replace("descriptive only: ", "")


# Variability


def _variability(analysis: Analysis, found: MetricAnalysis, kpi: Kpi | None, at: str) -> Table:
    scores = found.variability
    places = [place for place in in_order(analysis, found, scores) if scores[place].kpi == kpi]
    shown = scale(_ends(scores[place] for place in places), found.metric.unit)
    return table_of(
        key=f"variability-{scored(found).index(kpi)}-{found.metric.name}",
        caption=f"Variability score of {found.metric.name}{shown.heading}: {_range(found)} of the KPI "
        f"({objective_text(kpi)}) over all series",
        titles=(
            "treatment",
            "series",
            "low",
            "high",
            "score",
            "relative",
            "joint %",
            "next %",
            "standing",
            "because",
        ),
        rows=tuple(_score_row(scores[place], f"{at}/variability/{place}", shown) for place in places),
        numeric={1, 2, 3, 4, 5, 6, 7},
        remarks={9},
    )


def _range(found: MetricAnalysis) -> str:
    objective = found.metric.variability
    if objective is None:
        return "range"
    low = min(objective.percentile, 100 - objective.percentile)
    asked = "median" if low == 50 else f"{low:.10g}–{100 - low:.10g}th percentile"
    return f"{asked}, {percent(objective.confidence)},"


def _ends(scores: Iterable[SeriesVariability]) -> Iterator[float | None]:
    for score in scores:
        if score.result is not None:
            yield from (score.result.low, score.result.high)


def _score_row(score: SeriesVariability, at: str, shown: Scale) -> tuple[Cell, ...]:
    result = score.result
    begin: tuple[Cell, ...] = (treatment_cell(score.treatment), Number(score.n, f"{at}/n"))
    if result is None:
        return (*begin, *[ABSENT] * 6, *_standing(score))
    basis = Basis(score.n, score.objective.confidence, result.method)
    return (
        *begin,
        shown.number(result.low, f"{at}/result/low", "down", basis),
        shown.number(result.high, f"{at}/result/high", "up", basis),
        shown.number(result.score, f"{at}/result/score", "up", basis),
        Number(result.relative, f"{at}/result/relative", "", "up", basis),
        Number(result.joint_confidence, f"{at}/result/joint_confidence", rounding="down"),
        Number(result.prediction, f"{at}/result/prediction", rounding="down"),
        *_standing(score),
    )


# Independence


def _independence(analysis: Analysis, found: MetricAnalysis, at: str) -> Table:
    tests = found.independence
    rows = (
        _test_row(tests[place], f"{at}/independence/{place}")
        for place in in_order(analysis, found, tests)
        if is_decided(tests[place])
    )
    return table_of(
        key=f"independence-{found.metric.name}",
        caption=f"Independence tests of {found.metric.name}, of trials in their order: of time, simulated ones of the plan",
        titles=(
            "treatment",
            "series",
            "n",
            "independent",
            "stationary",
            "p-value",
            "lag-1",
            "threshold",
            "what it says",
        ),
        rows=tuple(rows),
        numeric={2, 5, 6, 7},
        remarks={8},
    )


def is_decided(test: SeriesIndependence) -> bool:
    """Return True if the test of a series came to a verdict: not if there are too few values, or all are the same."""
    return test.result is not None and test.result.independent is not None


def left_out(analysis: Analysis) -> Iterator[str]:
    """Say what the numbers of values are too small for, each reason once, with how many series of which metrics it holds for."""
    return chain(intervals_left_out(analysis), untested_series(analysis))


def intervals_left_out(analysis: Analysis) -> Iterator[str]:
    """Say which two-sided intervals of KPIs cannot be had, where no series of a metric has one."""
    notes = (
        (found.metric.name, kpi.result.interval.note)
        for found in analysis.metrics
        if not any(map(has_interval, found.kpis))
        for kpi in found.kpis
        if kpi.result is not None
    )
    yield from _each_once("Two-sided intervals of KPIs are left out", notes)


def untested_series(analysis: Analysis) -> Iterator[str]:
    """Say why independence could not be tested."""
    notes = (
        (found.metric.name, test.note)
        for found in analysis.metrics
        for test in found.independence
        if not is_decided(test) and test.note
    )
    yield from _each_once("Independence is not tested", notes)


def _each_once(what: str, notes: Iterable[tuple[str, str]]) -> Iterator[str]:
    said: dict[str, dict[str, int]] = {}
    for metric, note in notes:
        counts = said.setdefault(note, {})
        counts[metric] = counts.get(metric, 0) + 1
    for note, counts in said.items():
        whose = ", ".join(f"{name}: {number}" for name, number in counts.items())
        yield f"{what}: {note} (series of trials: {whose})."


def _test_row(test: SeriesIndependence, at: str) -> tuple[Cell, ...]:
    result = test.result
    begin: tuple[Cell, ...] = (treatment_cell(test.treatment), test.series, Number(test.n, f"{at}/n"))
    if result is None:
        return (*begin, *[ABSENT] * 5, test.note or "")
    lag1 = float(result.autocorrelation[0]) if len(result.autocorrelation) else None
    return (
        *begin,
        yes_no(result.independent),
        yes_no(result.stationary),
        Number(result.p_value, f"{at}/result/p_value"),
        Number(lag1, f"{at}/result/autocorrelation/0") if lag1 is not None else ABSENT,
        Number(result.threshold, f"{at}/result/threshold"),
        test.note or "",
    )


def yes_no(verdict: bool | None) -> str:
    """Write a verdict as a word; None is a test that could not decide."""
    return "undecided" if verdict is None else "yes" if verdict else "no"


# What they share


def moment(seconds: float | None) -> str:
    """Write a time since 1970 as date and time in UTC, a smaller one as seconds."""
    if seconds is None:
        return ABSENT
    if seconds < 1e8:
        return f"{seconds:g} s"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def treatment_cell(name: str) -> Cell:
    """Write the name of a treatment; a dash if there is only one."""
    return ABSENT if name == "-" else Name(name)


def metric_scale(found: MetricAnalysis) -> Scale:
    """Return the unit in which the values of a metric are listed."""
    return scale(found.trials.values.tolist(), found.metric.unit)
