"""Interactive figures (Vega-Lite by way of altair): hover for values, drag and zoom, choose a treatment or a trial."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.experiment.model import Kpi
from trialwise.report import points
from trialwise.report.claims import objective_text
from trialwise.report.numbers import counted
from trialwise.report.palette import COLOURS, DASHES, FAILED, MOST, SHAPES
from trialwise.report.points import Row
from trialwise.report.sheets import Sheet, packed

Chart = Any
"""altair's charts share no public base class that has their methods."""

_HEIGHT = 300
_ROW = 26
_ZOOM = "wheel![event.ctrlKey || event.metaKey]"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: `spec` is Vega-Lite, `caption` says what is seen, `alternative` is read to those who cannot see it."""

    key: str
    title: str
    caption: str
    alternative: str
    spec: dict[str, Any]


class Board:
    """What the figures of one metric are drawn from; `sheets` collects their data, each once for the whole report."""

    def __init__(self, analysis: Analysis, found: MetricAnalysis, sheets: dict[str, Sheet]) -> None:
        self.analysis = analysis
        self.found = found
        self.names = points.treatments(analysis, found)
        self.series = list(analysis.series)
        self._sheets = sheets

    def data(self, rows: Sequence[Row]) -> alt.NamedData:
        """Put rows among the data of the report and return their name."""
        sheet = packed(rows)
        name = hashlib.sha256(json.dumps(sheet).encode()).hexdigest()[:12]
        self._sheets[name] = sheet
        return alt.NamedData(name=name)


def figures(analysis: Analysis, found: MetricAnalysis, sheets: dict[str, Sheet]) -> list[Figure]:
    """All figures of one metric; those without anything to show are left out."""
    if not any(trial.value is not None for trial in found.trials):
        return []
    board = Board(analysis, found, sheets)
    made = [_order(board)]
    made += [_kpi(board, objective, place) for place, objective in enumerate(found.metric.kpis)]
    made += [_distribution(board), _autocorrelation(board), _traces(board)]
    made += [_series(board, objective, place) for place, objective in enumerate(found.metric.kpis)]
    return [figure for figure in made if figure is not None]


# Marks and scales that figures share


def _title(found: MetricAnalysis) -> str:
    return f"{found.metric.name} [{found.metric.unit}]" if found.metric.unit else found.metric.name


def _colour(names: list[str], **options: Any) -> alt.Color:  # noqa: ANN401 altair's options
    legend = alt.Legend(orient="top", title=None, columns=2, labelLimit=280, symbolLimit=0)
    scale = alt.Scale(domain=names, range=list(COLOURS[: len(names)]))
    return alt.Color("treatment:N", scale=scale, legend=legend if len(names) > 1 else None, **options)


def _shape(names: list[str]) -> alt.Shape:
    scale = alt.Scale(domain=names, range=list(SHAPES[: len(names)]))
    legend = alt.Legend(orient="top", title=None, columns=2, labelLimit=280)
    return alt.Shape("treatment:N", scale=scale, legend=legend if len(names) > 1 else None)


def _choice(name: str, label: str, options: list[str], first: str | None = None) -> alt.Parameter:
    return alt.param(
        name=name, value=first or options[0], bind=alt.binding_select(options=options, name=f"{label} ")
    )


def _finish(chart: Chart, height: int = _HEIGHT) -> dict[str, Any]:
    made = chart.properties(width="container", height=height, background="transparent")
    made = made.properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
    made = made.configure(**_CONFIG)
    spec: dict[str, Any] = made.to_dict()
    return spec


_INK = {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 12, "titleFontSize": 12}
_CONFIG: dict[str, Any] = {
    "font": "inherit",
    "view": {"stroke": None},
    "axis": {
        **_INK,
        "gridColor": "currentColor",
        "gridOpacity": 0.12,
        "domainColor": "currentColor",
        "tickColor": "currentColor",
        "titleFontWeight": "normal",
    },
    "legend": {**_INK, "symbolStrokeWidth": 2},
    "text": {"color": "currentColor"},
    "rule": {"color": "currentColor"},
}


def _zoom(*encodings: str) -> alt.Parameter:
    return alt.selection_interval(bind="scales", encodings=list(encodings), zoom=_ZOOM)  # type: ignore[arg-type]


_TRIAL_TIPS = [
    alt.Tooltip("trial:Q"),
    alt.Tooltip("treatment:N"),
    alt.Tooltip("series:N"),
    alt.Tooltip("round:Q"),
    alt.Tooltip("converged:N"),
]


# The metric over the order of trials


def _order(board: Board) -> Figure:
    found = board.found
    names = board.names
    few = len(names) <= MOST
    x = alt.X(
        "trial:Q", title="trial, in the order of the plan", scale=alt.Scale(zero=False, nice=False, padding=8)
    )
    y = alt.Y("value:Q", title=_title(found), scale=alt.Scale(zero=False))
    tips = [alt.Tooltip("value:Q", title=found.metric.name, format=".5~g"), *_TRIAL_TIPS]
    base = alt.Chart(board.data(points.trial_rows(found))).encode(x=x, y=y, tooltip=tips)
    marks = base.mark_point(filled=True, size=55, opacity=0.85)
    layers: list[Chart] = []
    if few:
        layers.append(marks.encode(color=_colour(names), shape=_shape(names)).add_params(_zoom("x", "y")))
    else:
        layers += _highlighted(marks, names)
    layers += _order_marks(board)
    failed = len(board.analysis.failures)
    caption = "Each mark is a trial. Look for drift, steps and outliers." + (
        f" A cross at the foot is one of {counted(failed, 'attempt')} that gave no result." if failed else ""
    )
    return Figure(
        f"order-{found.metric.name}",
        "Trials in order",
        caption,
        f"Scatter plot of {found.metric.name} of each trial over the order of the trials, by treatment.",
        _finish(alt.layer(*layers)),
    )


def _highlighted(marks: Chart, names: list[str]) -> list[Chart]:
    chosen = _choice("chosen", "treatment", names)
    others = marks.encode(color=alt.value("#8888"), opacity=alt.value(0.35)).add_params(
        _zoom("x", "y"), chosen
    )
    return [others, marks.transform_filter("datum.treatment === chosen").encode(color=alt.value(COLOURS[0]))]


def _order_marks(board: Board) -> list[Chart]:
    found = board.found
    layers: list[Chart] = []
    starts, failures = points.series_starts(found), points.failure_rows(board.analysis)
    if starts:
        base = alt.Chart(board.data(starts)).encode(x="start:Q")
        layers.append(base.mark_rule(strokeDash=[4, 4], opacity=0.5))
        layers.append(
            base.mark_text(align="left", dx=4, dy=-4, opacity=0.8).encode(text="series:N", y=alt.value(0))
        )
    if failures:
        tips = [alt.Tooltip(f"{name}:N") for name in ("trial", "treatment", "series", "status", "reason")]
        cross = alt.Chart(board.data(failures)).mark_text(
            text="✕", color=FAILED, fontSize=13, fontWeight="bold"
        )
        layers.append(cross.encode(x="trial:Q", y=alt.value(_HEIGHT - 8), tooltip=tips))
    return layers


# KPIs


def _kpi(board: Board, objective: Kpi, place: int) -> Figure | None:
    found = board.found
    rows = points.kpi_rows(found, objective)
    if not rows:
        return None
    names = board.names
    series = board.series
    y = alt.Y("treatment:N", sort=names, title=None, axis=alt.Axis(labelLimit=190, grid=True))
    offset = alt.YOffset("series:N", sort=series)
    x = alt.X("value:Q", title=_title(found), scale=alt.Scale(zero=False))
    tips = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("series:N"),
        alt.Tooltip("bound:Q", title=f"{objective.bound} bound", format=".5~g"),
        alt.Tooltip("low:Q", title="two-sided low", format=".5~g"),
        alt.Tooltip("high:Q", title="two-sided high", format=".5~g"),
        alt.Tooltip("n:Q"),
        alt.Tooltip("standing:N"),
    ]
    trials = alt.Chart(board.data(points.trial_rows(found))).mark_tick(
        thickness=1, size=8, opacity=0.35, color="currentColor"
    )
    known = alt.Chart(board.data(rows)).encode(y=y, yOffset=offset, tooltip=tips)
    bars = known.transform_filter("isValid(datum.low) && isValid(datum.high)").mark_rule(
        strokeWidth=3, color=COLOURS[0], opacity=0.6
    )
    shape = "triangle-right" if objective.bound == "lower" else "triangle-left"
    bounds = known.transform_filter("isValid(datum.bound)").mark_point(
        shape=shape, size=110, filled=True, opacity=1
    )
    layers = (
        trials.encode(
            x=x, y=y, yOffset=offset, tooltip=[alt.Tooltip("value:Q", format=".5~g"), *_TRIAL_TIPS]
        ).add_params(_zoom("x")),
        bars.encode(x=alt.X("low:Q"), x2="high:Q"),
        bounds.encode(x="bound:Q", color=_standing_colour()),
    )
    height = max(120, min(len(names) * max(_ROW, 12 * len(series)), 2400))
    way = "or more" if objective.bound == "lower" else "or less"
    return Figure(
        f"kpi-{place}-{found.metric.name}",
        f"KPI: {objective_text(objective)}",
        f"The triangle is the KPI, read “{way}”; the bar is the two-sided interval of the same percentile; ticks are "
        f"trials. {_rows_text(series)}",
        f"Dot plot of the {objective_text(objective)} bound on {found.metric.name} for each treatment and series.",
        _finish(alt.layer(*layers), height),
    )


def _rows_text(series: list[str]) -> str:
    return f"Rows of a treatment are its {len(series)} series, the first on top." if len(series) > 1 else ""


def _standing_colour() -> alt.Color:
    scale = alt.Scale(domain=["holds", "descriptive"], range=[COLOURS[0], COLOURS[4]])
    return alt.Color("standing:N", scale=scale, legend=alt.Legend(orient="top", title=None))


# Distributions


def _distribution(board: Board) -> Figure | None:
    found = board.found
    if not found.distributions:
        return None
    names, series = board.names, board.series
    chosen, place = _choice("chosen", "treatment", names), _choice("place", "series", series)
    here = "datum.series === place"
    x = alt.X("value:Q", title=_title(found), scale=alt.Scale(zero=False))
    y = alt.Y("share:Q", title="share of trials", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    steps = (
        alt.Chart(board.data(points.step_rows(found)))
        .transform_filter(here)
        .mark_line(interpolate="step-after")
    )
    tips = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("value:Q", format=".5~g"),
        alt.Tooltip("share:Q", format=".1%"),
    ]
    steps = steps.encode(x=x, y=y, tooltip=tips).add_params(
        _zoom("x"), *_needed(chosen, names), *_needed(place, series)
    )
    if len(names) <= MOST:
        dash = alt.Scale(domain=names, range=[list(dash) for dash in DASHES[: len(names)]])
        steps = steps.encode(
            color=_colour(names), strokeDash=alt.StrokeDash("treatment:N", scale=dash, legend=None)
        )
    else:
        steps = steps.encode(
            detail="treatment:N",
            color=alt.condition("datum.treatment === chosen", alt.value(COLOURS[0]), alt.value("#8884")),
        )
    filters = here + (" && datum.treatment === chosen" if len(names) > 1 else "")
    rows = points.band_rows(found)
    bands = alt.Chart(board.data(rows)).transform_filter(_known(filters, series))
    side = "lower" if found.metric.better == "higher" else "upper"
    area = bands.transform_filter("isValid(datum.low) && isValid(datum.high)").mark_area(
        orient="horizontal", opacity=0.22, color="#808080"
    )
    single = bands.transform_filter(f"isValid(datum.{side})").mark_line(
        strokeDash=[3, 3], color="currentColor", strokeWidth=1.5
    )
    layers = (
        steps,
        area.encode(x="low:Q", x2="high:Q", y="share:Q"),
        single.encode(x=f"{side}:Q", y="share:Q", order="share:Q"),
    )
    confidence = next((known.band.confidence for known in found.distributions if known.band), 95.0)
    return Figure(
        f"distribution-{found.metric.name}",
        "Empirical distribution",
        f"Steps: share of trials at or below a value. Grey: the band that holds the whole distribution with {confidence:g} % "
        f"confidence. Dashed: the {confidence:g} % {side} bound of each percentile by itself"
        + ("; both for the treatment chosen below." if len(names) > 1 else "."),
        f"Empirical cumulative distribution of {found.metric.name} with its {confidence:g} % confidence band.",
        _finish(alt.layer(*layers)),
    )


def _known(condition: str, series: list[str]) -> str:
    return (
        condition
        if len(series) > 1
        else condition.replace("datum.series === place && ", "").replace("datum.series === place", "true")
    )


def _needed(choice: alt.Parameter, options: list[str]) -> list[alt.Parameter]:
    return [choice] if len(options) > 1 else []


# Series


def _series(board: Board, objective: Kpi, place: int) -> Figure | None:
    found = board.found
    rows = [row for row in points.kpi_rows(found, objective) if row["bound"] is not None]
    if len(board.series) < 2 or not rows:
        return None
    names = board.names
    y = alt.Y("treatment:N", sort=names, title=None, axis=alt.Axis(labelLimit=190, grid=True))
    tips = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("series:N"),
        alt.Tooltip("bound:Q", format=".5~g"),
        alt.Tooltip("standing:N"),
    ]
    x = alt.X("bound:Q", title=f"{objective_text(objective)} of {_title(found)}", scale=alt.Scale(zero=False))
    dots = (
        alt.Chart(board.data(rows))
        .mark_point(size=50, opacity=0.9, strokeWidth=1.5)
        .encode(x=x, y=y, tooltip=tips, color=_standing_colour())
    )
    scores = alt.Chart(board.data(points.score_rows(found, objective))).mark_bar(
        height=12, opacity=0.3, color=COLOURS[0]
    )
    score_tips = [
        alt.Tooltip("treatment:N"),
        *(alt.Tooltip(f"{name}:Q", format=".5~g") for name in ("low", "high", "score")),
        alt.Tooltip("n:Q", title="series"),
    ]
    layers = (dots.add_params(_zoom("x")), scores.encode(x="low:Q", x2="high:Q", y=y, tooltip=score_tips))
    return Figure(
        f"series-{place}-{found.metric.name}",
        f"From series to series: {objective_text(objective)}",
        "Each ring is the KPI of one series; the bar is the variability score: the shorter, the better it replicates.",
        f"Dot plot of the KPIs of {found.metric.name} in all series with the variability score of each treatment.",
        _finish(alt.layer(*layers), max(120, min(len(names) * _ROW, 2400))),
    )


# Autocorrelation


def _autocorrelation(board: Board) -> Figure | None:
    found = board.found
    rows = points.lag_rows(found)
    if not rows:
        return None
    names, series = board.names, board.series
    conditions = [
        text
        for text, options in (("datum.treatment === chosen", names), ("datum.series === place", series))
        if len(options) > 1
    ]
    base = alt.Chart(board.data(rows)).transform_filter(" && ".join(conditions) or "true")
    tips = [
        alt.Tooltip("lag:Q"),
        alt.Tooltip("coefficient:Q", format=".3f"),
        alt.Tooltip("threshold:Q", format=".3f"),
    ]
    y = alt.Y("coefficient:Q", title="autocorrelation", scale=alt.Scale(domain=[-1, 1]))
    x = alt.X(
        "lag:Q",
        title="lag, in trials of the treatment",
        axis=alt.Axis(tickMinStep=1, format="d"),
        scale=alt.Scale(nice=False, padding=10),
    )
    choices = (
        *_needed(_choice("chosen", "treatment", names), names),
        *_needed(_choice("place", "series", series), series),
    )
    stems = (
        base.mark_rule(strokeWidth=2, color=COLOURS[0])
        .encode(x=x, y=y, y2=alt.datum(0), tooltip=tips)
        .add_params(*choices)
    )
    heads = base.mark_point(filled=True, size=50, color=COLOURS[0], opacity=1).encode(x=x, y=y, tooltip=tips)
    limits = [
        base.mark_line(strokeDash=[5, 4], color="currentColor", opacity=0.7).encode(x=x, y=f"{side}:Q")
        for side in ("threshold", "negative")
    ]
    return Figure(
        f"autocorrelation-{found.metric.name}",
        "Autocorrelation",
        "How alike trials of a treatment are that ran so many trials apart. Dashed: ±1.95/√n, within which independent "
        "trials stay 95 times in 100 at each lag.",
        f"Autocorrelation of {found.metric.name} by lag with the threshold of independence.",
        _finish(alt.layer(stems, heads, *limits), 240),
    )


# Samples


def _traces(board: Board) -> Figure | None:
    found = board.found
    if not found.traces:
        return None
    names = [points.trace_name(trace) for trace in found.traces]
    here = "datum.trial === chosen" if len(names) > 1 else "true"

    def drawn(rows: Sequence[Row]) -> Chart:
        return alt.Chart(board.data(rows)).transform_filter(here)

    x = alt.X("time:Q", title="time within the trial [s, or samples]")
    y = alt.Y("low:Q", title=_title(found), scale=alt.Scale(zero=False))
    dash = alt.Scale(
        domain=["fitted slope", "tolerance", "tolerance, falling"], range=[[1, 0], [6, 4], [6, 4]]
    )
    line = alt.StrokeDash(
        "line:N",
        scale=dash,
        legend=alt.Legend(orient="top", title=None, values=["fitted slope", "tolerance"]),
    )
    stretches = drawn(points.stretch_rows(found.traces))
    choice = _needed(_choice("chosen", "trial", names), names)
    layers = (
        stretches.mark_rule(opacity=0.45, color="currentColor")
        .encode(x=x, y=y, y2="high:Q")
        .add_params(_zoom("x", "y"), *choice),
        stretches.mark_circle(size=6, opacity=0.45, color="currentColor").encode(x=x, y=y),
        drawn(points.batch_rows(found.traces))
        .mark_point(filled=True, size=40, color=COLOURS[1], opacity=1)
        .encode(
            x="time:Q",
            y="value:Q",
            tooltip=[alt.Tooltip("time:Q", format=".4~g"), alt.Tooltip("value:Q", format=".5~g")],
        ),
        drawn(points.line_rows(found.traces))
        .mark_line(color=COLOURS[0], strokeWidth=2)
        .encode(x="time:Q", y="value:Q", strokeDash=line, detail="line:N"),
        drawn(points.warmup_rows(found.traces)).mark_rule(strokeDash=[2, 3]).encode(x="time:Q"),
    )
    return Figure(
        f"samples-{found.metric.name}",
        "Samples within a trial, and convergence",
        _trace_caption(found),
        f"Raw samples of {found.metric.name} within trials with the slope of the convergence test.",
        _finish(alt.layer(*layers)),
    )


def _trace_caption(found: MetricAnalysis) -> str:
    sampled = sum(trial.samples > 1 for trial in found.trials)
    thinned = [trace for trace in found.traces if trace.samples > len(trace.times)]
    caption = (
        "Grey: raw samples; squares of colour: the measure of each batch (window) that the convergence test looks at, "
        "its fitted slope, and the slope that the tolerance allows. A dotted upright ends the start-up that was cut."
    ).replace("squares of colour", "orange dots")
    if len(found.traces) < sampled:
        caption += f" {len(found.traces)} of {sampled} trials are here: the first of each treatment, then those that did not converge."
    if thinned:
        most = max(trace.samples for trace in thinned)
        caption += (
            f" Trials of up to {most} samples are drawn as the extremes of {len(thinned[0].times)} stretches."
        )
    return caption
