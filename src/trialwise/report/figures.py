"""Interactive figures (Vega-Lite by way of altair): hover for values, drag and zoom, choose a treatment or a trial."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.experiment.model import Kpi
from trialwise.report import marks, points
from trialwise.report.board import Board, Figure
from trialwise.report.claims import objective_text
from trialwise.report.drawn_trials import drawn_words, some, trial_rows
from trialwise.report.marks import HEIGHT, Chart
from trialwise.report.numbers import counted
from trialwise.report.palette import COLOURS, FAILED, MOST
from trialwise.report.points import Row
from trialwise.report.pooled_figures import pooled_figures
from trialwise.report.sheets import Sheet

_ROW = 26
_TALLEST = 2400


def figures(analysis: Analysis, found: MetricAnalysis, sheets: dict[str, Sheet]) -> list[Figure]:
    """All figures of one metric; those without anything to show are left out."""
    if not any(trial.value is not None for trial in found.trials):
        return []
    board = Board(analysis, found, sheets)
    if found.metric.estimand == "pooled":
        return pooled_figures(board)
    made = [_order(board), _distribution(board)]
    for place, objective in enumerate(found.metric.kpis):
        made += [_kpi(board, objective, place), _series(board, objective, place)]
    made += [_autocorrelation(board), _samples(board)]
    return [figure for figure in made if figure is not None]


# The metric over the order of trials


def _order(board: Board) -> Figure:
    found, names = board.found, board.names
    scale = alt.Scale(zero=False, nice=False, padding=8)
    x = alt.X("trial:Q", title="trial, in the order of the plan", scale=scale)
    y = alt.Y("value:Q", title=board.title, scale=alt.Scale(zero=False))
    base = board.chart(trial_rows(found)).encode(x=x, y=y, tooltip=_trial_tips(found))
    trials = base.mark_point(filled=True, size=55, opacity=0.85)
    layers: list[Chart] = []
    if len(names) <= MOST:
        encoded = trials.encode(color=marks.colour(board.looks), shape=marks.shape(board.looks))
        layers.append(encoded.add_params(marks.zoom("x", "y")))
    else:
        layers += _highlighted(trials, names)
    failed = len(board.analysis.failures)
    return Figure(
        f"order-{found.metric.name}",
        "Trials in order",
        "Each mark is a trial. Look for drift, steps and outliers."
        + (
            f" A cross at the foot is one of {counted(failed, 'attempt')} that gave no result."
            if failed
            else ""
        )
        + drawn_words(found),
        f"Scatter plot of {found.metric.name} of each trial over the order of the trials, by treatment.",
        marks.finished(alt.layer(*layers, *_series_marks(board), *_failure_marks(board))),
    )


def _trial_tips(found: MetricAnalysis) -> list[alt.Tooltip]:
    return [
        marks.tip("value", found.metric.name),
        *marks.name_tips("trial", "treatment", "series", "round", "converged"),
    ]


def _highlighted(trials: Chart, names: list[str]) -> list[Chart]:
    others = trials.encode(color=alt.value("#888"), opacity=alt.value(0.3))
    others = others.add_params(marks.zoom("x", "y"), *marks.choices(treatment=names))
    one = trials.transform_filter(marks.chosen(treatment=names)).encode(color=alt.value(COLOURS[1]))
    return [others, one]


def _series_marks(board: Board) -> list[Chart]:
    starts = points.series_starts(board.found)
    if not starts:
        return []
    base = board.chart(starts).encode(x="start:Q")
    label = base.mark_text(align="left", baseline="top", dx=4, opacity=0.8).encode(
        text="series:N", y=alt.value(2)
    )
    return [base.mark_rule(strokeDash=[4, 4], opacity=0.5), label]


def _failure_marks(board: Board) -> list[Chart]:
    failures = [
        row for row in points.failure_rows(some(board.analysis.failures)) if row["treatment"] in board.labels
    ]
    if not failures:
        return []
    tips = marks.name_tips("trial", "treatment", "series", "status", "reason")
    cross = board.chart(failures).mark_text(text="✕", color=FAILED, fontSize=13, fontWeight="bold")
    return [cross.encode(x="trial:Q", y=alt.value(HEIGHT - 8), tooltip=tips)]


# KPIs


def _kpi(board: Board, objective: Kpi, place: int) -> Figure | None:
    rows = points.kpi_rows(board.found, objective)
    if not rows:
        return None
    found, lower = board.found, objective.bound == "lower"
    y, offset = marks.treatment_rows(board.names), alt.YOffset("series:N", sort=board.series)
    ticks = board.chart(trial_rows(found)).mark_tick(thickness=1, size=8, opacity=0.35, color="currentColor")
    height = _rows_height(board, max(_ROW, 12 * len(board.series)))
    x = marks.metric_x("value", board.title, height)
    layers = [ticks.encode(x=x, y=y, yOffset=offset, tooltip=_trial_tips(found)).add_params(marks.zoom("x"))]
    layers += _interval_marks(
        board, [row for row in rows if row["low"] is not None and row["high"] is not None]
    )
    shape = "triangle-right" if lower else "triangle-left"
    layers += _bound_marks(board, [row for row in rows if row["bound"] is not None], shape)
    several = len(board.series) > 1
    return Figure(
        f"kpi-{place}-{found.metric.name}",
        f"KPI: {objective_text(objective)}",
        f"The triangle is the KPI, read “{'or more' if lower else 'or less'}”; the bar is the two-sided interval of "
        "the same percentile; ticks are trials."
        + (f" Rows of a treatment are its {len(board.series)} series, the first on top." if several else "")
        + drawn_words(found),
        f"Dot plot of the {objective_text(objective)} bound on {found.metric.name} for each treatment and series.",
        marks.finished(alt.layer(*layers), height),
    )


def _rows_height(board: Board, each: int = _ROW) -> int:
    return max(120, min(len(board.names) * each, _TALLEST))


def _kpi_tips() -> list[alt.Tooltip]:
    numbers = [
        marks.tip("bound", "KPI"),
        marks.tip("low", "two-sided low"),
        marks.tip("high", "two-sided high"),
    ]
    return [*marks.name_tips("treatment", "series"), *numbers, *marks.name_tips("n", "standing")]


def _interval_marks(board: Board, rows: Sequence[Row]) -> list[Chart]:
    if not rows:
        return []
    bars = board.chart(rows).mark_rule(strokeWidth=3, color=COLOURS[0], opacity=0.5)
    y, offset = marks.treatment_rows(board.names), alt.YOffset("series:N", sort=board.series)
    return [bars.encode(x="low:Q", x2="high:Q", y=y, yOffset=offset, tooltip=_kpi_tips())]


def _bound_marks(board: Board, rows: Sequence[Row], shape: str) -> list[Chart]:
    if not rows:
        return []
    stroke, fill = marks.standing()
    bounds = board.chart(rows).mark_point(shape=shape, size=90, strokeWidth=1.5, opacity=1)
    y, offset = marks.treatment_rows(board.names), alt.YOffset("series:N", sort=board.series)
    return [bounds.encode(x="bound:Q", y=y, yOffset=offset, stroke=stroke, fill=fill, tooltip=_kpi_tips())]


# Series and their variability score


def _series(board: Board, objective: Kpi, place: int) -> Figure | None:
    rows = [row for row in points.kpi_rows(board.found, objective) if row["bound"] is not None]
    if len(board.series) < 2 or not rows:
        return None
    found, y = board.found, marks.treatment_rows(board.names)
    stroke, fill = marks.standing()
    dots = board.chart(rows).mark_point(size=45, strokeWidth=1.5, opacity=0.75)
    x = marks.metric_x("bound", f"KPI of {board.title}", _rows_height(board))
    layers = [
        dots.encode(x=x, y=y, stroke=stroke, fill=fill, tooltip=_kpi_tips()).add_params(marks.zoom("x"))
    ]
    scores = points.score_rows(found, objective)
    if scores:
        tips = [
            *marks.name_tips("treatment"),
            *map(marks.tip, ("low", "high", "score")),
            *marks.name_tips("n"),
        ]
        bars = board.chart(scores).mark_bar(height=13, opacity=0.5, color=COLOURS[5])
        layers.insert(0, bars.encode(x="low:Q", x2="high:Q", y=y, tooltip=tips))
    return Figure(
        f"series-{place}-{found.metric.name}",
        f"From series to series: {objective_text(objective)}",
        "Each dot is the KPI of one series; "
        + (
            "the bar is the variability score: the shorter, the better it replicates."
            if scores
            else "no score yet."
        ),
        f"Dot plot of the KPIs of {found.metric.name} in all series with the variability score of each treatment.",
        marks.finished(alt.layer(*layers), _rows_height(board)),
    )


# Distributions


def _distribution(board: Board) -> Figure | None:
    found, names = board.found, board.names
    if not found.distributions:
        return None
    confidence = next((known.band.confidence for known in found.distributions if known.band), 95.0)
    side = "lower" if found.metric.better == "higher" else "upper"
    layers = [_steps(board), *_band_marks(board, side)]
    return Figure(
        f"distribution-{found.metric.name}",
        "Empirical distribution",
        "Steps: share of trials at or below a value. Grey: the band that holds the whole distribution with "
        f"{confidence:g} % confidence; where it reaches the smallest or largest value it goes on beyond. "
        f"Dotted: the {confidence:g} % {side} bound of each percentile by itself"
        + ("; both for the treatment chosen." if len(names) > 1 else "."),
        f"Empirical cumulative distribution of {found.metric.name} with its {confidence:g} % confidence band.",
        marks.finished(alt.layer(*layers)),
    )


def _steps(board: Board) -> Chart:
    names, series = board.names, board.series
    x = marks.metric_x("value", board.title)
    y = alt.Y("share:Q", title="share of trials", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    tips = [*marks.name_tips("treatment", "series"), marks.tip("value"), alt.Tooltip("share:Q", format=".1%")]
    steps = board.chart(points.step_rows(board.found)).transform_filter(marks.chosen(series=series))
    steps = steps.mark_line(interpolate="step-after", strokeWidth=2).encode(x=x, y=y, tooltip=tips)
    steps = steps.add_params(marks.zoom("x"), *marks.choices(treatment=names, series=series))
    return board.told_apart(steps)


def _band_marks(board: Board, side: str) -> list[Chart]:
    here = marks.chosen(treatment=board.names, series=board.series)
    rows = points.band_rows(board.found)
    layers: list[Chart] = []
    band = points.picked(rows, "share", "low", "high")
    if band:
        area = (
            board.chart(band)
            .transform_filter(here)
            .mark_area(orient="horizontal", opacity=0.25, color="#808080")
        )
        layers.append(area.encode(x="low:Q", x2="high:Q", y="share:Q"))
    single = points.picked(rows, "share", side)
    if single:
        line = board.chart(single).transform_filter(here)
        line = line.mark_line(strokeDash=[2, 3], color="currentColor", strokeWidth=2)
        layers.append(line.encode(x=f"{side}:Q", y="share:Q", order="share:Q"))
    return layers


# Autocorrelation


def _autocorrelation(board: Board) -> Figure | None:
    rows = points.lag_rows(board.found)
    if not rows:
        return None
    options = {"treatment": board.names, "series": board.series}
    base = board.chart(rows).transform_filter(marks.chosen(**options))
    axis, scale = alt.Axis(tickMinStep=1, format="d"), alt.Scale(nice=False, padding=10)
    x = alt.X("lag:Q", title="lag, in trials of the treatment", axis=axis, scale=scale)
    y = alt.Y("coefficient:Q", title="autocorrelation", scale=alt.Scale(domain=[-1, 1]))
    tips = [*marks.name_tips("lag"), marks.tip("coefficient"), marks.tip("threshold")]
    stems = base.mark_rule(strokeWidth=2, color=COLOURS[0]).encode(x=x, y=y, y2=alt.datum(0), tooltip=tips)
    heads = base.mark_point(filled=True, size=50, color=COLOURS[0], opacity=1).encode(x=x, y=y, tooltip=tips)
    dashed = base.mark_line(strokeDash=[5, 4], color="currentColor", opacity=0.7)
    limits = [dashed.encode(x=x, y=f"{side}:Q") for side in ("threshold", "negative")]
    return Figure(
        f"autocorrelation-{board.found.metric.name}",
        "Autocorrelation",
        "How alike trials of a treatment are that ran so many trials apart. Dashed: ±1.95/√n, within which "
        "independent trials stay 95 times in 100 at each lag.",
        f"Autocorrelation of {board.found.metric.name} by lag with the threshold of independence.",
        marks.finished(alt.layer(stems.add_params(*marks.choices(**options)), heads, *limits), 240),
    )


# Samples within a trial


def _samples(board: Board) -> Figure | None:
    traces = board.found.traces
    if not traces:
        return None
    names = [points.trace_name(trace, board.labels) for trace in traces]
    here = marks.chosen(trial=names)
    timed = all(trace.timed for trace in traces)
    x = alt.X("time:Q", title=f"time within the trial [{'s' if timed else 'samples'}]")
    y = alt.Y("low:Q", title=board.title, scale=alt.Scale(zero=False))
    raw = board.chart(points.stretch_rows(traces, board.labels)).transform_filter(here).encode(x=x, y=y)
    stretches = raw.mark_rule(opacity=0.45, color="currentColor").encode(y2="high:Q")
    layers = [
        stretches.add_params(marks.zoom("x", "y"), *marks.choices(trial=names)),
        raw.mark_circle(
            size=30 if all(map(points.has_few_samples, traces)) else 6, opacity=0.45, color="currentColor"
        ),
        *_test_marks(board, here),
    ]
    return Figure(
        f"samples-{board.found.metric.name}",
        "Samples within a trial" + (", and convergence" if board.found.metric.convergence else ""),
        _samples_caption(board.found),
        f"Raw samples of {board.found.metric.name} within trials"
        + (" with the slope of the convergence test." if board.found.metric.convergence else "."),
        marks.finished(alt.layer(*layers)),
    )


def _test_marks(board: Board, here: str) -> list[Chart]:
    """The batches of the convergence test, its line and the slope tolerated, and where the start-up was cut."""
    traces = board.found.traces
    layers: list[Chart] = []
    if batches := points.batch_rows(traces, board.labels):
        dots = (
            board.chart(batches)
            .transform_filter(here)
            .mark_point(filled=True, size=40, color=COLOURS[1], opacity=1)
        )
        layers.append(dots.encode(x="time:Q", y="value:Q", tooltip=[marks.tip("time"), marks.tip("value")]))
    if lines := points.line_rows(traces, board.labels):
        names = ["fitted slope", "tolerance", "tolerance, falling"]
        scale = alt.Scale(domain=names, range=[[1, 0], [6, 4], [6, 4]])
        legend = alt.Legend(orient="top", title=None, values=names[:2], symbolSize=400)
        kinds = alt.StrokeDash("line:N", scale=scale, legend=legend)
        line = board.chart(lines).transform_filter(here).mark_line(color=COLOURS[0], strokeWidth=2)
        layers.append(line.encode(x="time:Q", y="value:Q", strokeDash=kinds, detail="line:N"))
    if cuts := points.warmup_rows(traces, board.labels):
        layers.append(
            board.chart(cuts).transform_filter(here).mark_rule(strokeDash=[2, 3]).encode(x="time:Q")
        )
    return layers


def _samples_caption(found: MetricAnalysis) -> str:
    sampled = sum(trial.samples > 1 for trial in found.trials)
    thinned = [trace for trace in found.traces if trace.samples > len(trace.times)]
    parts = ["Grey: raw samples."]
    if found.metric.convergence is not None:
        parts.append(
            "Orange: the measure of each batch (window) of the convergence test, with its fitted slope and the slope "
            "that the tolerance allows. A dotted upright ends a start-up that was cut."
        )
    if len(found.traces) < sampled:
        what = "the first of each treatment, then those that did not converge, then the others"
        parts.append(f"{len(found.traces)} of {sampled} trials are here: {what}.")
    if thinned:
        most, stretches = max(trace.samples for trace in thinned), len(thinned[0].times)
        parts.append(f"Trials of up to {most} samples are drawn as the extremes of {stretches} stretches.")
    return " ".join(parts)
