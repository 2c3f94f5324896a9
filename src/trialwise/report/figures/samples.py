"""The interactive figure of the samples within trials, with the test of convergence."""

from __future__ import annotations

import altair as alt

from trialwise.analysis.results import MetricAnalysis
from trialwise.numbers import counted
from trialwise.report import plot_rows
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.encodings import Chart
from trialwise.report.figures.figure_context import FigureContext
from trialwise.report.figures.palette import COLOURS


def samples_figure(context: FigureContext) -> Figure | None:
    """Plot the samples within the trials whose traces were kept; None if there are none."""
    traces = context.found.traces
    if not traces:
        return None
    names = [plot_rows.trace_name(trace, context.labels) for trace in traces]
    here = encodings.chosen(trial=names)
    timed = all(trace.timed for trace in traces)
    x = alt.X(
        "time:Q",
        title=f"time within the trial [{'s' if timed else 'samples'}]",
        scale=alt.Scale(zero=False, nice=False, padding=4),
    )
    y = alt.Y("low:Q", title=context.title, scale=alt.Scale(zero=False, nice=False, padding=8))
    raw = (
        context.chart(plot_rows.stretch_rows(traces, context.labels)).transform_filter(here).encode(x=x, y=y)
    )
    stretches = raw.mark_rule(opacity=0.45, color="currentColor").encode(y2="high:Q")
    layers = [
        stretches.add_params(encodings.zoom("x", "y"), *encodings.choices(trial=names)),
        raw.mark_circle(
            size=30 if all(map(plot_rows.has_few_samples, traces)) else 6, opacity=0.45, color="currentColor"
        ),
        *_test_marks(context, here),
    ]
    return context.figure(
        "samples",
        "Samples within a trial" + (", and convergence" if context.found.metric.convergence else ""),
        _samples_caption(context.found),
        f"Raw samples of {context.found.metric.name} within trials"
        + (" with the slope of the convergence test." if context.found.metric.convergence else "."),
        alt.layer(*layers),
    )


def _test_marks(context: FigureContext, here: str) -> list[Chart]:
    """Draw the batches of the convergence test, its line, the slope's interval, the tolerated slope, and the cut of the start-up."""
    traces = context.found.traces
    layers: list[Chart] = []
    if areas := plot_rows.interval_rows(traces, context.labels):
        area = context.chart(areas).transform_filter(here).mark_area(color=COLOURS[0], opacity=0.2)
        layers.append(area.encode(x="time:Q", y="low:Q", y2="high:Q"))
    if batches := plot_rows.batch_rows(traces, context.labels):
        dots = (
            context.chart(batches)
            .transform_filter(here)
            .mark_point(filled=True, size=40, color=COLOURS[1], opacity=1)
        )
        layers.append(
            dots.encode(x="time:Q", y="value:Q", tooltip=[encodings.tip("time"), encodings.tip("value")])
        )
    if lines := plot_rows.line_rows(traces, context.labels):
        names = ["fitted slope", "tolerance", "tolerance, falling"]
        scale = alt.Scale(domain=names, range=[[1, 0], [6, 4], [6, 4]])
        legend = encodings.legend(names, lines=True, shown=names[:2])
        kinds = alt.StrokeDash("line:N", scale=scale, legend=legend)
        line = context.chart(lines).transform_filter(here).mark_line(color=COLOURS[0], strokeWidth=2)
        layers.append(line.encode(x="time:Q", y="value:Q", strokeDash=kinds, detail="line:N"))
    if cuts := plot_rows.warmup_rows(traces, context.labels):
        layers.append(
            context.chart(cuts).transform_filter(here).mark_rule(strokeDash=[2, 3]).encode(x="time:Q")
        )
    return layers


def _samples_caption(found: MetricAnalysis) -> str:
    sampled = sum(trial.samples > 1 for trial in found.trials)
    thinned = [trace for trace in found.traces if trace.samples > len(trace.times)]
    parts = ["Grey: raw samples."]
    if found.metric.convergence is not None:
        parts.append(
            "Orange: the measure of each batch (window) of the convergence test, with its fitted slope and the slope "
            "that the tolerance allows; shaded, the slopes in the test's interval. A dotted upright ends a start-up that was cut."
        )
    if len(found.traces) < sampled:
        what = "the first of each treatment, then those that did not converge, then the others"
        parts.append(f"{len(found.traces)} of {counted(sampled, 'trial is', 'trials are')} here: {what}.")
    if thinned:
        most, stretches = max(trace.samples for trace in thinned), len(thinned[0].times)
        parts.append(f"Trials of up to {most} samples are drawn as the extremes of {stretches} stretches.")
    return " ".join(parts)
