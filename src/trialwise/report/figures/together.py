"""Figures of several metrics together: the plane of two KPIs (TriScale's figure 1b), and all variability scores (its figure 8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import altair as alt

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Kpi
from trialwise.report import plot_rows
from trialwise.report.claims import objective_text
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.axes import WIDE, Axis, padded
from trialwise.report.figures.encodings import Chart
from trialwise.report.figures.figure_context import FigureContext, charted, file_name
from trialwise.report.figures.palette import COLOURS, MOST
from trialwise.report.figures.paths import PLANE_HEIGHT, axis_scale, plane_labels
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.trial_marks import drawn_trials, drawn_words
from trialwise.report.numbers import Number, ordinal, percent
from trialwise.report.plot_rows import Row

Pair = tuple[str, str]
"""Metrics of the horizontal and the vertical axis."""
_PAIRED = 3
"""Of more metrics with a KPI, the first ones span planes unless pairs are asked for."""
_ROW, _LEAST, _TALLEST = 26, 80, 2400


def together_figures(
    analysis: Analysis, sheets: dict[str, ColumnData], pairs: Sequence[Pair] = ()
) -> Iterator[Figure]:
    """Yield the planes of pairs of metrics, and the matrix of scores of two or more; nothing if there are none.

    Without `pairs`, those of the first three metrics with a KPI; an experiment over paths has a plane of its own.

    Raises
    ------
    AnalysisError
        A metric of `pairs` does not exist, or has no KPI.
    """
    for x, y in pairs or _pairs(analysis):
        drawn = _plane(_known(analysis, x), _known(analysis, y), analysis, sheets)
        if drawn is not None:
            yield drawn
    if (matrix := _matrix(analysis, sheets)) is not None:
        yield matrix


def _pairs(analysis: Analysis) -> list[Pair]:
    """Return the pairs to draw: what is better if it is lower stands across, as a delay does."""
    if analysis.path is not None:
        return []
    metrics = [found.metric for found in analysis.metrics if found.kpis and found.metric.kpis][:_PAIRED]
    return [
        (b.name, a.name) if b.better == "lower" and a.better != "lower" else (a.name, b.name)
        for a, b in combinations(metrics, 2)
    ]


def _known(analysis: Analysis, name: str) -> MetricAnalysis:
    found = next((found for found in analysis.metrics if found.metric.name == name), None)
    if found is None:
        names = ", ".join(found.metric.name for found in analysis.metrics)
        raise AnalysisError(f"a plane of {name!r}: there is no such metric", hint=f"there are: {names}")
    if not found.metric.kpis:
        raise AnalysisError(f"a plane of {name!r}: it has no KPI", hint="say which percentile is claimed")
    return found


# The plane of two KPIs


def _plane(
    across: MetricAnalysis, up: MetricAnalysis, analysis: Analysis, sheets: dict[str, ColumnData]
) -> Figure | None:
    sides = FigureContext(analysis, across, sheets), FigureContext(analysis, up, sheets)
    rows = _joined(*sides, _bounds(across), _bounds(up))
    if not rows:
        return None
    trials = _joined(*sides, _values(across), _values(up))
    axes = tuple(
        _axis(side, encodings.numbers([*rows, *trials], field))
        for side, field in zip(sides, "xy", strict=True)
    )
    reverse = (across.metric.better == "lower", up.metric.better == "lower")
    place = {
        "x": _across(axes[0], across, reverse=reverse[0]),
        "y": _up(axes[1], up, reverse=reverse[1]),
    }
    context = sides[0]
    dots = charted(trials, sheets).mark_point(filled=True, size=14, opacity=0.35).encode(**place)
    layers = [context.coloured(dots, shaped=True).add_params(encodings.zoom("x", "y"))]
    for standing, filled in (("holds", True), ("descriptive only", False)):
        if members := [row for row in rows if row["standing"] == standing]:
            heads = charted(members, sheets).mark_point(filled=filled, size=130, strokeWidth=2, opacity=1)
            layers.append(context.coloured(heads.encode(**place, tooltip=_tips(across, up)), shaped=True))
    named = {str(row["treatment"]): (float(row["x"] or 0), float(row["y"] or 0)) for row in rows}
    if len(context.names) > MOST or len(named) == len(rows):
        anchors = [(name, *at) for name, at in named.items()]
        layers += plane_labels(anchors, (axes[0], axes[1]), sheets, ("x", "y"), reverse)
    names = across.metric.name, up.metric.name
    return Figure(
        f"plane-{names[0]}-{names[1]}",
        f"KPIs of {names[0]} and {names[1]}",
        _plane_caption(across, up, rows, several=len(named) < len(rows)),
        f"Plane of the KPIs of {names[0]} and {names[1]} of each treatment and series, with all trials.",
        encodings.finished(alt.layer(*layers), PLANE_HEIGHT),
        file=f"plane-{file_name(names[0])}-{file_name(names[1])}",
    )


Values = dict[tuple[str, ...], tuple[float, str]]
"""A value and its standing by what it belongs to, whose first two parts are the treatment and the series."""


def _bounds(found: MetricAnalysis) -> Values:
    return {
        (str(row["treatment"]), str(row["series"])): (float(row["bound"]), str(row["standing"]))
        for row in plot_rows.kpi_rows(found, found.metric.kpis[0])
        if isinstance(row["bound"], float | int)
    }


def _values(found: MetricAnalysis) -> Values:
    return {
        (trial.treatment, trial.series, str(trial.number), str(trial.attempt)): (trial.value, "")
        for trial in drawn_trials(found)
        if trial.value is not None
    }


def _joined(x: FigureContext, y: FigureContext, across: Values, up: Values) -> list[Row]:
    """Return a row for what has a value of both metrics; it holds if both do."""
    return [
        {
            "treatment": x.labels[key[0]],
            "series": key[1],
            "x": x.scale.factor * value,
            "y": y.scale.factor * up[key][0],
            "standing": max(standing, up[key][1], key=_weaker),
        }
        for key, (value, standing) in across.items()
        if key in up
    ]


def _weaker(standing: str) -> bool:
    return standing == "descriptive only"


def _axis(side: FigureContext, values: Sequence[float]) -> Axis:
    wide = min(values) > 0 and max(values) / min(values) >= WIDE
    return Axis(side.title, *padded(values, logarithmic=wide), wide)


def _across(axis: Axis, found: MetricAnalysis, *, reverse: bool) -> alt.X:
    scale = axis_scale(axis, reverse=reverse)
    title = axis.title + (" – better to the right →" if found.metric.better else "")
    return alt.X("x:Q", title=title, scale=scale, axis=encodings.plain_axis(scale))


def _up(axis: Axis, found: MetricAnalysis, *, reverse: bool) -> alt.Y:
    scale = axis_scale(axis, reverse=reverse)
    title = axis.title + (" – better up →" if found.metric.better else "")
    return alt.Y("y:Q", title=title, scale=scale, axis=encodings.plain_axis(scale))


def _tips(across: MetricAnalysis, up: MetricAnalysis) -> list[alt.Tooltip]:
    values = [
        encodings.tip("x", f"KPI of {across.metric.name}"),
        encodings.tip("y", f"KPI of {up.metric.name}"),
    ]
    return [*encodings.name_tips("treatment", "series"), *values, *encodings.name_tips("standing")]


def _plane_caption(across: MetricAnalysis, up: MetricAnalysis, rows: Sequence[Row], *, several: bool) -> str:
    kpis = [(found.metric.name, found.metric.kpis[0]) for found in (across, up)]
    said = "; ".join(f"{name}, {objective_text(kpi)} ({_reads(kpi)})" for name, kpi in kpis)
    joint = kpis[0][1].confidence + kpis[1][1].confidence - 100
    both = (
        f"Both hold together with at least {percent(joint)} (Bonferroni)."
        if joint > 0
        else "Nothing is claimed of both together."
    )
    hollow = " Hollow: descriptive only." if any(row["standing"] != "holds" for row in rows) else ""
    each = "of a treatment in a series" if several else "of a treatment"
    return (
        f"A large mark is the KPI {each}: {said}. {both}{hollow} Small marks are trials.{drawn_words(across)}"
    )


def _reads(kpi: Kpi) -> str:
    return "or more" if kpi.bound == "lower" else "or less"


# The matrix of scores


def _matrix(analysis: Analysis, sheets: dict[str, ColumnData]) -> Figure | None:
    found = [(one, rows) for one in analysis.metrics if (rows := _scores(analysis, one, sheets))]
    if len(found) < 2:
        return None
    rows = [row for _, members in found for row in members]
    names = list(dict.fromkeys(str(row["treatment"]) for row in rows))
    x = alt.X(
        "metric:N",
        title=None,
        sort=[str(members[0]["metric"]) for _, members in found],
        axis=alt.Axis(orient="top", labelAngle=0, domain=False, ticks=False),
    )
    base = charted(rows, sheets).encode(x=x, y=encodings.treatment_rows(names, grid=False))
    shade = alt.Opacity(
        "share:Q",
        title="score in % of the middle of its range",
        scale=alt.Scale(domain=[0, max(encodings.numbers(rows, "share")) or 1], range=[0.04, 0.55]),
        legend=alt.Legend(orient="bottom", direction="horizontal", titleLimit=300, symbolType="square"),
    )
    tips = [
        *encodings.name_tips("treatment", "metric"),
        *map(encodings.tip, ("low", "high", "score")),
        *encodings.name_tips("n", "standing"),
    ]
    cells: list[Chart] = [
        base.mark_rect(color=COLOURS[0]).encode(opacity=shade, tooltip=tips),
        base.mark_text(baseline="middle", fontSize=12).encode(text="text:N"),
    ]
    hollow = " A star: descriptive only." if any(str(row["text"]).endswith("*") for row in rows) else ""
    return Figure(
        "scores",
        "Variability scores",
        f"How far the KPI moves from series to series, in the unit of the metric: {_score_words(found)}. The smaller, the better it "
        f"replicates; the darker, the larger it is beside the KPIs.{hollow}",
        f"Matrix of the variability scores of {len(names)} treatments in {len(found)} metrics.",
        encodings.finished(alt.layer(*cells), max(_LEAST, min(len(names) * _ROW, _TALLEST))),
        file="scores",
    )


def _scores(analysis: Analysis, found: MetricAnalysis, sheets: dict[str, ColumnData]) -> list[Row]:
    """Return a row for each treatment with a score of the metric's first KPI."""
    context = FigureContext(analysis, found, sheets)
    factor, rows = context.scale.factor, list[Row]()
    for score in found.variability:
        result = score.result
        if score.kpi != found.variability[0].kpi or result is None or result.score is None:
            continue
        low, high = factor * (result.low or 0.0), factor * (result.high or 0.0)
        middle = abs(low + high) / 2
        rows.append(
            {
                "treatment": context.labels[score.treatment],
                "metric": context.title,
                "low": low,
                "high": high,
                "score": factor * result.score,
                "share": 100 * factor * result.score / middle if middle else None,
                "text": Number(factor * result.score, digits=3).text + ("*" if score.descriptive else ""),
                "n": score.n,
                "standing": "descriptive only" if score.descriptive else "holds",
            }
        )
    return rows


def _score_words(found: Sequence[tuple[MetricAnalysis, list[Row]]]) -> str:
    """Name the range that each score is, once for the metrics that share it."""
    ranges: dict[str, list[str]] = {}
    for one, _ in found:
        asked = one.variability[0].objective
        words = (
            f"{ordinal(asked.percentile)} of the KPIs, {percent(asked.confidence)} confidence on each side"
        )
        ranges.setdefault(words, []).append(one.metric.name)
    return "; ".join(f"{words} ({', '.join(names)})" for words, names in ranges.items())
