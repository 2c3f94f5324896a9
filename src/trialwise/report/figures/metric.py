"""Figures of one metric: trials in order, distribution, autocorrelation, and those of its KPIs and samples."""

from __future__ import annotations

import altair as alt

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.report import plot_rows
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.encodings import Chart
from trialwise.report.figures.figure_context import FigureContext
from trialwise.report.figures.kpi import kpi_figure, series_figure
from trialwise.report.figures.palette import COLOURS, CROSS, FAILED, MOST
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.pooled import pooled_figures
from trialwise.report.figures.samples import samples_figure
from trialwise.report.figures.trial_marks import drawn_words, some, trial_rows
from trialwise.report.numbers import counted


def figures(analysis: Analysis, found: MetricAnalysis, sheets: dict[str, ColumnData]) -> list[Figure]:
    """Return all figures of one metric; those with nothing to show are left out."""
    if not any(trial.value is not None for trial in found.trials):
        return []
    context = FigureContext(analysis, found, sheets)
    if found.metric.estimand == "pooled":
        return pooled_figures(context)
    made = [_order(context), _distribution(context)]
    for place, objective in enumerate(found.metric.kpis):
        made += [kpi_figure(context, objective, place), series_figure(context, objective, place)]
    made += [_autocorrelation(context), samples_figure(context)]
    return [figure for figure in made if figure is not None]


# The metric over the order of trials


def _order(context: FigureContext) -> Figure:
    found, rows = context.found, trial_rows(context.found)
    along, advice = plot_rows.order_words(context.analysis)
    x = alt.X(
        "trial:Q",
        title=along,
        axis=encodings.count_axis(encodings.numbers(rows, "trial")),
        scale=alt.Scale(zero=False, nice=False, padding=10),
    )
    y = alt.Y("value:Q", title=context.title, scale=encodings.span(context.values(rows, "value")))
    base = context.chart(rows).encode(x=x, y=y, tooltip=encodings.trial_tips(found.metric.name))
    trials = base.mark_point(filled=True, size=55, opacity=0.85)
    layers: list[Chart] = []
    if len(context.names) <= MOST:
        encoded = trials.encode(color=encodings.colour(context.styles), shape=encodings.shape(context.styles))
        layers.append(encoded.add_params(encodings.zoom("x", "y")))
    else:
        layers += _highlighted(trials, context.names)
    return context.figure(
        "order",
        "Trials in order",
        f"Each mark is a trial. {advice}{_cross_words(context.analysis)}{drawn_words(found)}",
        f"Scatter plot of {found.metric.name} of each trial over the order of the trials, by treatment.",
        alt.layer(*layers, *_series_marks(context), *_failure_marks(context)),
    )


def _cross_words(analysis: Analysis) -> str:
    """Return what the crosses at the foot stand for: excluded trials have a result, which the analysis leaves out."""
    excluded = sum(one.status == "excluded" for one in analysis.failures)
    failed = len(analysis.failures) - excluded
    meanings = (
        (failed, f"{counted(failed, 'attempt')} without a result"),
        (excluded, f"{counted(excluded, 'excluded trial')}"),
    )
    said = " and ".join(words for number, words in meanings if number)
    return f" Crosses at the foot: {said}." if said else ""


def _highlighted(trials: Chart, names: list[str]) -> list[Chart]:
    others = trials.encode(color=alt.value("#888"), opacity=alt.value(0.3))
    others = others.add_params(encodings.zoom("x", "y"), *encodings.choices(treatment=names))
    one = trials.transform_filter(encodings.chosen(treatment=names)).encode(color=alt.value(COLOURS[1]))
    return [others, one]


def _series_marks(context: FigureContext) -> list[Chart]:
    starts = plot_rows.series_starts(context.found)
    if not starts:
        return []
    base = context.chart(starts).encode(x="start:Q")
    label = base.mark_text(align="left", baseline="top", dx=4, opacity=0.8).encode(
        text="series:N", y=alt.value(2)
    )
    return [base.mark_rule(strokeDash=[4, 4], opacity=0.5), label]


def _failure_marks(context: FigureContext) -> list[Chart]:
    failures = [
        row
        for row in plot_rows.failure_rows(some(context.analysis.failures))
        if row["treatment"] in context.labels
    ]
    if not failures:
        return []
    tips = encodings.name_tips("trial", "treatment", "series", "status", "reason")
    cross = context.chart(failures).mark_point(shape=CROSS, color=FAILED, size=60, strokeWidth=2, opacity=1)
    return [cross.encode(x="trial:Q", y=alt.value({"expr": "height - 6"}), tooltip=tips)]


# Distributions


def _distribution(context: FigureContext) -> Figure | None:
    found, names = context.found, context.names
    if not found.distributions:
        return None
    confidence = next((known.band.confidence for known in found.distributions if known.band), 95.0)
    side = "lower" if found.metric.better == "higher" else "upper"
    return context.figure(
        "distribution",
        "Empirical distribution",
        "Steps: share of trials at or below a value. Shaded: the band that holds the whole distribution with "
        f"{confidence:g} % confidence; where it reaches the smallest or largest value it goes on beyond. "
        f"Dotted: the {confidence:g} % {side} bound of each percentile by itself"
        + (", of the treatment chosen." if len(names) > MOST else "."),
        f"Empirical cumulative distribution of {found.metric.name} with its {confidence:g} % confidence band.",
        alt.layer(*_band_marks(context, side), _steps(context)),
    )


def _options(context: FigureContext) -> dict[str, list[str]]:
    return {"treatment": encodings.all_or_one(context.names), "series": context.series}


def _steps(context: FigureContext) -> Chart:
    steps, bands = plot_rows.step_rows(context.found), plot_rows.band_rows(context.found)
    values = [*context.values(steps, "value"), *context.values(bands, "low", "high", "lower", "upper")]
    y = alt.Y("share:Q", title="share of trials", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    tips = [
        *encodings.name_tips("treatment", "series"),
        encodings.tip("value"),
        alt.Tooltip("share:Q", format=".1%"),
    ]
    of_series = encodings.chosen(series=context.series)
    of_one = of_series if len(context.names) > MOST else encodings.chosen(**_options(context))
    lines = context.chart(steps).transform_filter(of_one).mark_line(interpolate="step-after", strokeWidth=2)
    lines = lines.encode(x=encodings.metric_x("value", context.title, values), y=y, tooltip=tips)
    return context.styled_by_treatment(
        lines.add_params(encodings.zoom("x"), *encodings.choices(**_options(context)))
    )


def _band_marks(context: FigureContext, side: str) -> list[Chart]:
    here = encodings.chosen(**_options(context))
    rows = plot_rows.band_rows(context.found)
    layers: list[Chart] = []
    if band := plot_rows.picked(rows, "share", "low", "high"):
        area = context.chart(band).transform_filter(here).mark_area(orient="horizontal", opacity=0.18)
        layers.append(context.coloured(area.encode(x="low:Q", x2="high:Q", y="share:Q")))
    if single := plot_rows.picked(rows, "share", side):
        line = context.chart(single).transform_filter(here).mark_line(strokeDash=[2, 3], strokeWidth=1.5)
        layers.append(context.coloured(line.encode(x=f"{side}:Q", y="share:Q", order="share:Q")))
    return layers


# Autocorrelation


def _autocorrelation(context: FigureContext) -> Figure | None:
    rows = plot_rows.lag_rows(context.found)
    if not rows:
        return None
    options = _options(context)
    base = context.chart(rows).transform_filter(encodings.chosen(**options))
    x = alt.X(
        "lag:Q",
        title="lag, in trials of the treatment",
        axis=encodings.count_axis(encodings.numbers(rows, "lag")),
        scale=alt.Scale(nice=False, zero=False, padding=10),
    )
    low, high = plot_rows.correlation_range(rows)
    y = alt.Y("coefficient:Q", title="autocorrelation", scale=alt.Scale(domain=[low, high], nice=False))
    tips = [
        *encodings.name_tips("treatment", "lag"),
        encodings.tip("coefficient"),
        encodings.tip("threshold"),
    ]
    lines = context.coloured(base.mark_line(strokeWidth=1, opacity=0.6).encode(x=x, y=y), lines=False)
    heads = base.mark_point(filled=True, size=45, opacity=1).encode(x=x, y=y, tooltip=tips)
    heads = context.coloured(heads, lines=False, shaped=True).add_params(*encodings.choices(**options))
    ends = base.transform_aggregate(threshold="max(threshold)", negative="min(negative)")
    dashed = ends.mark_rule(strokeDash=[5, 4], opacity=0.7)
    zero = base.mark_rule(opacity=0.4).encode(y=alt.datum(0))
    return context.figure(
        "autocorrelation",
        "Autocorrelation",
        "How alike trials of a treatment are that ran so many trials apart. Dashed: ±1.95/√n, within which "
        "independent trials stay 95 times in 100 at each lag. Trials that all gave one number have none.",
        f"Autocorrelation of {context.found.metric.name} by lag with the threshold of independence.",
        alt.layer(zero, *(dashed.encode(y=f"{side}:Q") for side in ("threshold", "negative")), lines, heads),
        240,
    )
