"""Interactive figures (Vega-Lite by way of altair): hover for values, drag and zoom, choose a treatment or a trial."""

from __future__ import annotations

import altair as alt

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.report import points
from trialwise.report.document import Figure
from trialwise.report.figures import marks
from trialwise.report.figures.board import Board
from trialwise.report.figures.drawn_trials import drawn_words, some, trial_rows
from trialwise.report.figures.kpi import kpi_figure, series_figure
from trialwise.report.figures.marks import HEIGHT, Chart
from trialwise.report.figures.palette import COLOURS, FAILED, MOST
from trialwise.report.figures.pooled import pooled_figures
from trialwise.report.figures.samples import samples_figure
from trialwise.report.figures.sheets import Sheet
from trialwise.report.numbers import counted


def figures(analysis: Analysis, found: MetricAnalysis, sheets: dict[str, Sheet]) -> list[Figure]:
    """All figures of one metric; those without anything to show are left out."""
    if not any(trial.value is not None for trial in found.trials):
        return []
    board = Board(analysis, found, sheets)
    if found.metric.estimand == "pooled":
        return pooled_figures(board)
    made = [_order(board), _distribution(board)]
    for place, objective in enumerate(found.metric.kpis):
        made += [kpi_figure(board, objective, place), series_figure(board, objective, place)]
    made += [_autocorrelation(board), samples_figure(board)]
    return [figure for figure in made if figure is not None]


# The metric over the order of trials


def _order(board: Board) -> Figure:
    found, names = board.found, board.names
    scale = alt.Scale(zero=False, nice=False, padding=8)
    along, advice = points.order_words(board.analysis)
    x = alt.X("trial:Q", title=along, scale=scale)
    y = alt.Y("value:Q", title=board.title, scale=alt.Scale(zero=False))
    base = board.chart(trial_rows(found)).encode(x=x, y=y, tooltip=marks.trial_tips(found.metric.name))
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
        f"Each mark is a trial. {advice}"
        + (
            f" A cross at the foot is one of {counted(failed, 'attempt')} that gave no result."
            if failed
            else ""
        )
        + drawn_words(found),
        f"Scatter plot of {found.metric.name} of each trial over the order of the trials, by treatment.",
        marks.finished(alt.layer(*layers, *_series_marks(board), *_failure_marks(board))),
    )


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
    y = alt.Y(
        "coefficient:Q", title="autocorrelation", scale=alt.Scale(domain=points.correlation_range(rows))
    )
    tips = [*marks.name_tips("lag"), marks.tip("coefficient"), marks.tip("threshold")]
    stems = base.mark_rule(strokeWidth=2, color=COLOURS[0]).encode(x=x, y=y, y2=alt.datum(0), tooltip=tips)
    heads = base.mark_point(filled=True, size=50, color=COLOURS[0], opacity=1).encode(x=x, y=y, tooltip=tips)
    dashed = base.mark_line(strokeDash=[5, 4], color="currentColor", opacity=0.7)
    limits = [dashed.encode(x=x, y=f"{side}:Q") for side in ("threshold", "negative")]
    return Figure(
        f"autocorrelation-{board.found.metric.name}",
        "Autocorrelation",
        "How alike trials of a treatment are that ran so many trials apart. Dashed: ±1.95/√n, within which "
        "independent trials stay 95 times in 100 at each lag. Trials that all gave one number have none.",
        f"Autocorrelation of {board.found.metric.name} by lag with the threshold of independence.",
        marks.finished(alt.layer(stems.add_params(*marks.choices(**options)), heads, *limits), 240),
    )
