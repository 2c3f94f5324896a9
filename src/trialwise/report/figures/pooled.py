"""Interactive figures of a pooled metric: its estimate as trials accumulate, and the distribution of all samples."""

from __future__ import annotations

import altair as alt

from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.figure_context import FigureContext
from trialwise.report.figures.palette import MOST
from trialwise.report.numbers import percent
from trialwise.report.plot_rows import pooled_rows, pooled_step_rows


def pooled_figures(context: FigureContext) -> list[Figure]:
    """Return both figures; none if there are too few trials."""
    return [_course(context), _distribution(context)] if pooled_rows(context.analysis, context.found) else []


def _course(context: FigureContext) -> Figure:
    metric, options = context.found.metric, {"treatment": encodings.all_or_one(context.names)}
    rows = pooled_rows(context.analysis, context.found)
    x = alt.X(
        "trials:Q",
        title="trials of the treatment",
        axis=encodings.count_axis(encodings.numbers(rows, "trials")),
        scale=alt.Scale(nice=False, zero=False, padding=10),
    )
    base = context.chart(rows).encode(x=x)
    tips = [
        *encodings.name_tips("treatment", "trials", "samples"),
        *map(encodings.tip, ("estimate", "low", "high")),
    ]
    y = alt.Y(
        "estimate:Q",
        title=context.title,
        scale=encodings.span(context.values(rows, "estimate", "low", "high")),
    )
    here = encodings.chosen(**options)
    line = base.mark_line(strokeWidth=2, point=len(context.names) <= MOST).encode(y=y, tooltip=tips)
    bounded = base.transform_filter(f"{here} && isValid(datum.low) && isValid(datum.high)")
    area = context.coloured(bounded.mark_area(opacity=0.15).encode(y="low:Q", y2="high:Q"))
    if len(context.names) <= MOST:
        line = line.transform_filter(here)
    line = line.add_params(encodings.zoom("x", "y"), *encodings.choices(**options))
    level = percent(float(rows[0]["level"] or 0))
    return context.figure(
        "course",
        "The estimate as trials come in",
        f"{metric.name} of all samples of the first trials in the order of the plan; no trial has a value of its own here. Shaded: "
        f"its interval, {level} at each number of trials by itself"
        + (", of the treatment chosen." if len(context.names) > MOST else "."),
        f"Line of the pooled estimate of {metric.name} against the number of trials with its interval.",
        alt.layer(area, context.styled_by_treatment(line)),
    )


def _distribution(context: FigureContext) -> Figure:
    metric, names = context.found.metric, context.names
    rows = pooled_step_rows(context.analysis, context.found)
    values = context.values(rows, "value")
    scale = encodings.logarithmic(values) if min(values) > 0 else encodings.span(values)
    x = alt.X("value:Q", title=context.title, scale=scale, axis=encodings.plain_axis(scale))
    y = alt.Y("share:Q", title="share of samples", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    tips = [*encodings.name_tips("treatment"), encodings.tip("value"), alt.Tooltip("share:Q", format=".2%")]
    steps = (
        context.chart(rows).mark_line(interpolate="step-after", strokeWidth=2).encode(x=x, y=y, tooltip=tips)
    )
    steps = steps.add_params(
        encodings.zoom("x"), *(encodings.choices(treatment=names) if len(names) > MOST else ())
    )
    return context.figure(
        "distribution",
        "Distribution of all samples",
        "Steps: share of the samples of all trials at or below a value. There is no band: samples of one trial depend on each other.",
        f"Empirical cumulative distribution of all samples of {metric.name} for each treatment.",
        context.styled_by_treatment(steps),
    )
