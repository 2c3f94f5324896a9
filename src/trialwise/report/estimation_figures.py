"""Interactive figures of what is estimated from simulated trials (Vega-Lite by way of altair)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import altair as alt

from trialwise.analysis.estimation.results import DurationAdvice, Estimation, MetricEstimate
from trialwise.report import marks
from trialwise.report.estimation_points import active_rows, duration_rows, estimate_rows, size_rows
from trialwise.report.estimation_tables import titled
from trialwise.report.figures import Figure, charted
from trialwise.report.looks import Look
from trialwise.report.marks import Chart
from trialwise.report.palette import COLOURS
from trialwise.report.points import Row
from trialwise.report.sheets import Sheet

_ROW, _AROUND = 34, 100
_LOG_FROM = 20.0
"""From a largest of so many times the smallest on, a scale is logarithmic."""
_DURATION_HEIGHT = 260


def estimation_figures(
    found: Estimation, looks: Mapping[str, Look], names: Mapping[str, str], sheets: dict[str, Sheet]
) -> Iterator[Figure]:
    """Estimates by treatment, slowdown by flow size, and the duration of trials."""
    by_metric: dict[str, list[MetricEstimate]] = {}
    for one in found.estimates:
        by_metric.setdefault(one.metric, []).append(one)
    for members in by_metric.values():
        if rows := estimate_rows(members, names):
            yield _estimates(members[0], rows, sheets)
    if found.sizes:
        shown = {names.get(name, name): look for name, look in looks.items()}
        yield _slowdowns(size_rows(found.sizes, names), shown, sheets)
    for place, advice in enumerate(found.durations):
        if any(step.pooled for step in advice.steps):
            yield _durations(place, advice, names.get(advice.treatment, advice.treatment), sheets)
    phases = {advice.treatment: advice for advice in found.durations}
    if phases:
        shown = {names.get(name, name): look for name, look in looks.items() if name in phases}
        yield _phases(active_rows(list(phases.values()), names), shown, sheets)


def _scale(rows: Sequence[Row], *fields: str) -> alt.Scale:
    cells = [row.get(name) for name in fields for row in rows]
    values = [cell for cell in cells if isinstance(cell, int | float)]
    ranging = bool(values) and min(values) > 0 and max(values) > _LOG_FROM * min(values)
    return alt.Scale(type="log", padding=10, nice=False) if ranging else alt.Scale(zero=False, padding=10)


def _estimates(one: MetricEstimate, rows: Sequence[Row], sheets: dict[str, Sheet]) -> Figure:
    treatments = list(dict.fromkeys(str(row["treatment"]) for row in rows))
    kinds = list(dict.fromkeys(str(row["estimand"]) for row in rows))
    height = _AROUND + _ROW * len(treatments) * len(kinds)
    tips = [
        *marks.name_tips("treatment", "what", "trials", "level"),
        *map(marks.tip, ("estimate", "low", "high")),
    ]
    legend = alt.Legend(orient="top", title=None, labelLimit=400)
    colour = alt.Color(
        "estimand:N", scale=alt.Scale(domain=kinds, range=COLOURS[: len(kinds)]), legend=legend
    )
    shape = alt.Shape(
        "estimand:N",
        scale=alt.Scale(domain=kinds, range=["circle", "square", "diamond"][: len(kinds)]),
        legend=legend,
    )
    base = charted(list(rows), sheets).encode(
        y=marks.treatment_rows(treatments),
        yOffset=alt.YOffset("estimand:N", sort=kinds),
        color=colour,
        tooltip=tips,
    )
    x = alt.X("low:Q", title=titled(one), scale=_scale(rows, "low", "high", "estimate"))
    bars = base.transform_filter("isValid(datum.low) && isValid(datum.high)").mark_rule(
        strokeWidth=3, opacity=0.6
    )
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x="estimate:Q", shape=shape)
    return Figure(
        f"estimates-{one.metric}",
        f"Estimates: {one.metric}",
        f"{one.own.what}, and what stands beside it; bars are intervals of each by itself.",
        f"Estimates of {one.metric} with intervals for each treatment.",
        marks.finished(alt.layer(bars.encode(x=x, x2="high:Q").add_params(marks.zoom("x")), dots), height),
        whole=True,
    )


def _slowdowns(rows: Sequence[Row], looks: Mapping[str, Look], sheets: dict[str, Sheet]) -> Figure:
    tips = [
        *marks.name_tips("treatment", "quantile", "flows"),
        *map(marks.tip, ("from", "to", "estimate", "low", "high")),
    ]
    base = charted(list(rows), sheets).encode(
        x=alt.X(
            "size:Q",
            title="flow size [B]",
            scale=alt.Scale(type="log", padding=10, nice=False),
            axis=alt.Axis(format="~s"),
        ),
        color=marks.colour(looks),
        tooltip=tips,
    )
    quantiles = list(dict.fromkeys(str(row["quantile"]) for row in rows))
    dash = alt.StrokeDash(
        "quantile:N",
        scale=alt.Scale(domain=quantiles, range=[[4, 3], [1, 0]][: len(quantiles)]),
        legend=alt.Legend(orient="top", title=None),
    )
    y = alt.Y("estimate:Q", title="slowdown", scale=alt.Scale(type="log", padding=10, nice=False))
    lines = base.mark_line().encode(y=y, strokeDash=dash)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(y=y, shape=marks.shape(looks))
    bars = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q")
    return Figure(
        "slowdowns",
        "Slowdown by flow size",
        "p50 and p99 of all flows in each tenth of the sizes (pooled, trials as clusters); bars are intervals.",
        "Lines of median and 99th percentile slowdown against flow size for each treatment.",
        marks.finished(alt.layer(bars, lines, points)),
        whole=True,
    )


def _durations(place: int, advice: DurationAdvice, name: str, sheets: dict[str, Sheet]) -> Figure:
    rows = duration_rows(advice)
    kinds = list(dict.fromkeys(str(row["estimand"]) for row in rows))
    legend = alt.Legend(orient="top", title=None, labelLimit=400)
    colour = alt.Color(
        "estimand:N", scale=alt.Scale(domain=kinds, range=COLOURS[: len(kinds)]), legend=legend
    )
    shape = alt.Shape(
        "estimand:N", scale=alt.Scale(domain=kinds, range=["circle", "square"][: len(kinds)]), legend=legend
    )
    tips = [
        *marks.name_tips("estimand", "trials", "made"),
        *map(marks.tip, ("duration", "estimate", "low", "high", "flows")),
    ]
    base = charted(rows, sheets).encode(
        x=alt.X(
            "duration:Q", title="duration of a trial [s]", scale=alt.Scale(type="log", padding=10, nice=False)
        ),
        color=colour,
        tooltip=tips,
    )
    unit = f" [{advice.unit}]" if advice.unit else ""
    y = alt.Y("estimate:Q", title=f"{advice.metric}{unit}", scale=_scale(rows, "low", "high", "estimate"))
    bounded = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    layers: list[Chart] = [
        bounded.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(opacity=0.6).encode(y=y),
        base.mark_point(filled=True, size=55, opacity=1).encode(y=y, shape=shape),
        base.mark_rule(strokeDash=[2, 3], color="currentColor").encode(
            x=alt.datum(advice.duration),
            y=alt.value(0),
            y2=alt.value("height"),
            color=alt.ColorValue("currentColor"),
        ),
    ]
    return Figure(
        f"duration-{place}",
        f"Duration of a trial: {advice.metric}, {name}",
        "Left of the dotted line, flows that begin in the first part of each trial; right of it, trials put together, where only the "
        "number of flows differs. Where both estimands part, few flows are to blame; where the pooled one moves, the transient.",
        f"The per-trial and the pooled {advice.metric} against the duration of a trial, for {name}.",
        marks.finished(alt.layer(*layers), _DURATION_HEIGHT),
    )


def _phases(rows: Sequence[Row], looks: Mapping[str, Look], sheets: dict[str, Sheet]) -> Figure:
    base = charted(list(rows), sheets).encode(
        x=alt.X("time:Q", title="time in a trial [s]"),
        color=marks.colour(looks),
        tooltip=[*marks.name_tips("treatment"), *map(marks.tip, ("time", "active"))],
    )
    lines = base.mark_line().encode(
        y=alt.Y("active:Q", title="active flows, mean of trials"), strokeDash=marks.dash(looks)
    )
    return Figure(
        "phases",
        "Phases of a trial",
        "How many flows are under way: rising in the warm-up, falling in the cool-down, after the last flow has begun.",
        "The mean number of active flows over the time of a trial, for each treatment.",
        marks.finished(alt.layer(lines), _DURATION_HEIGHT),
    )
