"""Interactive figures of an experiment over paths: the throughput-delay plane, trials over time, packet delays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import altair as alt

from trialwise.analysis.path.results import PathAnalysis, PathSeries, Plane
from trialwise.analysis.results import Analysis
from trialwise.report import plot_rows
from trialwise.report.document import Figure
from trialwise.report.figures import encodings, path_labels, path_plane, path_series
from trialwise.report.figures.axes import Axis
from trialwise.report.figures.encodings import Chart
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.palette import COLOURS, CROSS, DASHES, MOST
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import Style, styles
from trialwise.report.figures.theme import PRINT
from trialwise.report.numbers import counted, write
from trialwise.report.plot_rows import Row

PLANE_HEIGHT = 380
_STRIP = 100
"""Height in pixels of a trial over time in print, where all trials are shown."""
_NARROWEST, _LOWEST = 280, round(PRINT.flatness * PLANE_HEIGHT)
"""Labels are placed for the width of a plane on a phone, and its height in print; larger planes only give them more room."""
MAX_PLANES = 12
"""Maximum number of planes drawn on the page; the tables have all."""
MAX_TRIALS = 16
"""Maximum number of trials shown over time on the page; print has all."""


class PathBoard:
    """The context in which the figures of paths are drawn; `sheets` collects their data."""

    def __init__(self, analysis: Analysis, path: PathAnalysis, sheets: dict[str, ColumnData]) -> None:
        self.analysis = analysis
        self.path = path
        self.styles = styles(analysis)
        self.labels = treatment_labels(analysis)
        self.sheets = sheets

    def chart(self, rows: Sequence[Row]) -> Chart:
        """A chart of rows."""
        return charted(rows, self.sheets)

    def looks_of(self, treatments: Sequence[str], names: Sequence[str]) -> dict[str, Style]:
        """Return the styles of treatments by their label in a figure."""
        return {name: self.styles[treatment] for treatment, name in zip(treatments, names, strict=True)}


def treatment_labels(analysis: Analysis) -> dict[str, str]:
    """Return the label of each treatment in figures, including those without a valid trial."""
    known = plot_rows.labels(analysis)
    return {name: known.get(name, name) for name in analysis.treatments}


def plane_figures(context: PathBoard) -> list[Figure]:
    """Return the throughput-delay planes, at most twelve; those without a trial are left out."""
    return [_plane(context, plane, place) for place, plane in enumerate(_drawn(context)[:MAX_PLANES])]


def printed_planes(context: PathBoard) -> Iterator[tuple[Plane, tuple[Figure, Figure, Figure]]]:
    """Yield each plane with its regions, and in both variants of Pantheon's report: every run, and each scheme's mean over runs."""
    shown = _drawn(context)
    for place, plane in enumerate(shown):
        made = (each(context, plane, place) for each in (_plane, _runs, _means))
        ending = f"-{place}" if len(shown) > 1 else ""
        regions, runs, means = (
            replace(figure, file=f"{name}{ending}", whole=name == "plane")
            for figure, name in zip(made, ("plane", "plane-runs", "plane-mean"), strict=True)
        )
        yield plane, (regions, runs, means)


def _drawn(context: PathBoard) -> list[Plane]:
    return [plane for plane in context.path.planes if plane.trials]


def course_figures(context: PathBoard) -> list[Figure]:
    """Return trials over time, and the distribution of delays."""
    made = [_over_time(context, "throughput"), _over_time(context, "delay"), delays_figure(context)]
    return [figure for figure in made if figure is not None]


# The plane


def _plane(context: PathBoard, plane: Plane, place: int) -> Figure:
    axes = path_plane.plane_axes(context.analysis, context.path, plane)
    seen = context.looks_of(plane.treatments, plane.names)
    layers = [*_region_marks(context, plane, axes, seen), *_trial_marks(context, plane, axes, seen, 42)]
    layers += plane_labels(path_plane.anchors(plane), axes, context.sheets)
    caption = path_plane.plane_caption(context.analysis, context.path, plane)
    return _plane_figure(plane, axes, f"plane-{place}", "", caption, layers)


def _runs(context: PathBoard, plane: Plane, place: int) -> Figure:
    axes = path_plane.plane_axes(context.analysis, context.path, plane)
    seen = context.looks_of(plane.treatments, plane.names)
    layers = _trial_marks(context, plane, axes, seen, 70)
    return _plane_figure(plane, axes, f"plane-runs-{place}", ", every trial", "Each mark is a trial.", layers)


def _means(context: PathBoard, plane: Plane, place: int) -> Figure:
    axes = path_plane.plane_axes(context.analysis, context.path, plane)
    seen = context.looks_of(plane.treatments, plane.names)
    names = dict(zip(plane.treatments, plane.names, strict=True))
    several = len({region.series for region in plane.regions}) > 1
    rows: list[Row] = [
        {
            "treatment": names[region.treatment],
            "label": names[region.treatment] + (f" ({region.series})" if several else ""),
            "delay": region.mean_delay,
            "throughput": region.mean_throughput,
        }
        for region in plane.regions
    ]
    dots = context.chart(rows).mark_point(filled=True, size=110, opacity=1)
    x, y = delay_x("delay", axes[0]), throughput_y("throughput", axes[1])
    layers = [dots.encode(x=x, y=y, color=encodings.colour(seen), shape=encodings.shape(seen))]
    layers += plane_labels(
        [(str(row["label"]), region.mean_delay, region.mean_throughput)
         for row, region in zip(rows, plane.regions, strict=True)],
        axes, context.sheets,
    )  # fmt: skip
    valid = counted(sum(trial.reason is None for trial in plane.trials), "valid trial")
    caption = f"Each mark is the mean of a treatment's trials; {valid} in all."
    return _plane_figure(plane, axes, f"plane-mean-{place}", ", means", caption, layers)


def _plane_figure(
    plane: Plane, axes: tuple[Axis, Axis], key: str, variant: str, caption: str, layers: list[Chart]
) -> Figure:
    layers[0] = layers[0].add_params(encodings.zoom("x", "y"))
    name = path_plane.plane_name(plane)
    return Figure(
        key,
        f"Throughput and delay{variant}" + (f": {name}" if name else ""),
        caption,
        f"Scatter plot of {axes[1].title} over {axes[0].title}, with the delay axis reversed, of each trial by treatment"
        + (f", on {name}." if name else "."),
        encodings.finished(alt.layer(*layers), PLANE_HEIGHT),
    )


def _trial_marks(
    context: PathBoard, plane: Plane, axes: tuple[Axis, Axis], seen: dict[str, Style], size: int
) -> list[Chart]:
    """Draw a mark for each trial, a cross for invalid ones."""
    rows = path_plane.plane_trials(plane)
    tips = [
        *encodings.name_tips("treatment", "trial", "series"),
        encodings.tip("delay", axes[0].title),
        encodings.tip("throughput", axes[1].title),
        *encodings.name_tips("reason"),
    ]
    at = {"x": delay_x("delay", axes[0]), "y": throughput_y("throughput", axes[1]), "tooltip": tips}
    layers: list[Chart] = []
    if valid := [row for row in rows if not row["reason"]]:
        base = context.chart(valid).mark_point(filled=True, size=size, opacity=0.75)
        layers.append(base.encode(color=encodings.colour(seen), shape=encodings.shape(seen), **at))
    if invalid := [row for row in rows if row["reason"]]:
        cross = context.chart(invalid).mark_point(
            shape=CROSS, size=110, strokeWidth=2.5, color="currentColor"
        )
        layers.append(cross.encode(opacity=alt.value(1), **at))
    return layers


def delay_x(field: str, axis: Axis) -> alt.X:
    """Return a horizontal axis of delay that falls to the right."""
    scale = axis_scale(axis, reverse=True)
    title = f"{axis.title} – better to the right →"
    return alt.X(f"{field}:Q", title=title, scale=scale, axis=encodings.plain_axis(scale))


def axis_scale(axis: Axis, *, reverse: bool) -> alt.Scale:
    """Return the scale of an axis of a plane."""
    domain = [axis.low, axis.high]
    if axis.logarithmic:
        return alt.Scale(type="log", base=2, domain=domain, nice=False, reverse=reverse)
    return alt.Scale(domain=domain, nice=False, zero=False, reverse=reverse)


def throughput_y(field: str, axis: Axis) -> alt.Y:
    """Return a vertical axis of throughput."""
    scale = alt.Scale(domain=[axis.low, axis.high], nice=False, zero=False)
    return alt.Y(f"{field}:Q", title=axis.title, scale=scale)


def _region_marks(
    context: PathBoard, plane: Plane, axes: tuple[Axis, Axis], seen: dict[str, Style]
) -> list[Chart]:
    """Draw the regions of a plane: shaded, with a line at each bound, and the point."""
    drawn = path_plane.boxes(plane)
    if not drawn:
        return []
    colour = encodings.colour(seen)
    areas = context.chart(_areas(drawn)).mark_rect(opacity=0.16, clip=True)
    lines = context.chart(_lines(drawn)).mark_rule(strokeWidth=2, opacity=0.9, clip=True)
    dash = alt.condition("datum.standing === 'holds'", alt.value([1, 0]), alt.value([5, 3]))
    heads = context.chart(_points(drawn)).mark_point(
        filled=True, size=190, opacity=1, stroke="currentColor", strokeWidth=1.5
    )
    tips = [
        *encodings.name_tips("treatment", "series", "point"),
        *map(encodings.tip, ("delay", "throughput")),
        *encodings.name_tips("n", "confidence", "standing", "note"),
    ]
    return [
        areas.encode(
            x=delay_x("low", axes[0]),
            x2="high:Q",
            y=throughput_y("bottom", axes[1]),
            y2="top:Q",
            color=colour,
        ),
        lines.encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q", color=colour, strokeDash=dash),
        heads.encode(x="delay:Q", y="throughput:Q", color=colour, shape=encodings.shape(seen), tooltip=tips),
    ]


def _areas(drawn: Sequence[path_plane.Box]) -> list[Row]:
    return [
        {
            "treatment": box.name,
            "low": box.delay[0],
            "high": box.delay[1],
            "bottom": box.throughput[0],
            "top": box.throughput[1],
        }
        for box in drawn
    ]


def _lines(drawn: Sequence[path_plane.Box]) -> list[Row]:
    return [
        {"treatment": box.name, "x": x, "x2": x2, "y": y, "y2": y2, "standing": _standing(box)}
        for box in drawn
        for x, x2, y, y2 in box.bounds
    ]


def _standing(box: path_plane.Box) -> str:
    return "descriptive only" if box.region.descriptive else "holds"


def _points(drawn: Sequence[path_plane.Box]) -> list[Row]:
    return [
        {
            "treatment": box.name,
            "series": box.region.series,
            "point": "KPI" if box.region.kind == "kpi" else "median",
            "delay": box.point[0],
            "throughput": box.point[1],
            "n": box.region.n,
            "confidence": f"both together: {write(box.region.joint)} % or more",
            "standing": _standing(box),
            "note": box.region.note or "",
        }
        for box in drawn
    ]


def plane_labels(
    anchors: Sequence[tuple[str, float, float]],
    axes: tuple[Axis, Axis],
    sheets: dict[str, ColumnData],
    fields: tuple[str, str] = ("delay", "throughput"),
    reverse: tuple[bool, bool] = (True, False),
) -> list[Chart]:
    """Draw each treatment's name beside its point, one layer each, because Vega-Lite cannot shift by row.

    `fields` are those of the axes; `reverse` as in `path_labels.placed`.
    """
    layers: list[Chart] = []
    for label in path_labels.placed(anchors, axes, _NARROWEST, _LOWEST, reverse):
        row: Row = {fields[0]: label.x, fields[1]: label.y, "treatment": label.name}
        text = charted([row], sheets).mark_text(
            dx=label.right, dy=label.down, align=label.align, fontSize=12, fontWeight=600, baseline="middle"
        )
        layers.append(text.encode(x=f"{fields[0]}:Q", y=f"{fields[1]}:Q", text="treatment:N"))
    return layers


# Over time


def _over_time(context: PathBoard, what: str) -> Figure | None:
    shown = sorted(context.path.series[:MAX_TRIALS], key=lambda series: (series.number, series.attempt))
    if not shown:
        return None
    names = [path_series.series_name(series, context.labels[series.treatment]) for series in shown]
    flows = path_series.flow_names(shown)
    base = context.chart(path_series.series_rows(shown, context.labels)).transform_filter(
        encodings.chosen(trial=names)
    )
    base = base.encode(
        x=alt.X(
            "time:Q",
            title="time since the first flow began [s]",
            axis=alt.Axis(labelFlush=False, tickCount=8),
        )
    )
    draw = _throughput_marks if what == "throughput" else _delay_marks
    layers = draw(base, flows)
    layers[0] = layers[0].add_params(encodings.zoom("x"), *encodings.choices(trial=names))
    width = shown[0].bin
    said = (
        f"Throughput of each flow in bins of {width:g} s."
        if what == "throughput"
        else f"One-way delay of the packets that arrived within {width:g} s: line, the median; band, from the least to the greatest."
    )
    return Figure(
        f"over-time-{what}",
        "Throughput over time" if what == "throughput" else "One-way delay over time",
        f"{said} {_which(context, len(shown))}",
        f"Line chart of the {what} of each flow of one trial over time.",
        encodings.finished(alt.layer(*layers), 260),
    )


def over_time_figures(context: PathBoard, series: PathSeries) -> tuple[Figure, Figure]:
    """Draw throughput and delay of one trial, to be stacked: they share one legend and one time axis."""
    title = path_series.series_name(series, context.labels[series.treatment])
    key, flows = f"trial-{series.number}-{series.attempt}", path_series.flow_names([series])
    chart = context.chart(path_series.series_rows([series], context.labels))
    axis = alt.Axis(labelFlush=False, tickCount=6)
    above = chart.encode(x=alt.X("time:Q", title=None, axis=axis))
    below = chart.encode(x=alt.X("time:Q", title="time [s]", axis=axis))
    strips = (
        ("throughput", _throughput_marks(above, flows, "Mbit/s")),
        ("delay", _delay_marks(below, flows, "delay [ms]", has_legend=False)),
    )
    reason = series.reason or ""
    first, second = (
        Figure(f"{key}-{what}", title, reason, f"{what} of each flow over time.", spec, file=key)
        for what, layers in strips
        for spec in (encodings.finished(alt.layer(*layers), _STRIP),)
    )
    return first, second


def _which(context: PathBoard, shown: int) -> str:
    if shown == context.path.recorded:
        return "All trials are here; choose one below."
    what = "the first of each treatment, then those that are not valid, then others"
    return f"{shown} of {counted(context.path.recorded, 'trial')} are here: {what}."


def _flow_looks(flows: list[str], *, has_legend: bool = True) -> tuple[alt.Color, alt.StrokeDash]:
    places = [place % MOST for place in range(len(flows))]
    legend = encodings.legend(flows, lines=True) if has_legend else None
    colours = alt.Scale(domain=flows, range=[COLOURS[place] for place in places])
    dashes = alt.Scale(domain=flows, range=[list(DASHES[place]) for place in places])
    return (
        alt.Color("flow:N", scale=colours, legend=legend),
        alt.StrokeDash("flow:N", scale=dashes, legend=legend),
    )


def _throughput_marks(base: Chart, flows: list[str], title: str = "throughput [Mbit/s]") -> list[Chart]:
    tips = [
        *encodings.name_tips("flow"),
        encodings.tip("time", "time [s]"),
        encodings.tip("throughput", "throughput [Mbit/s]"),
    ]
    colour, dash = _flow_looks(flows)
    line = base.mark_line(strokeWidth=1.8, interpolate="step")
    y = alt.Y("throughput:Q", title=title)
    return [line.encode(y=y, color=colour, strokeDash=dash, tooltip=tips)]


def _delay_marks(
    base: Chart, flows: list[str], title: str = "one-way delay [ms]", *, has_legend: bool = True
) -> list[Chart]:
    tips = [*encodings.name_tips("flow"), *map(encodings.tip, ("time", "low", "median", "high"))]
    colour, dash = _flow_looks(flows, has_legend=has_legend)
    y = alt.Y("low:Q", title=title, scale=alt.Scale(zero=False))
    band = base.mark_area(opacity=0.2).encode(y=y, y2="high:Q", color=colour)
    line = base.mark_line(strokeWidth=1.8)
    return [band, line.encode(y="median:Q", color=colour, strokeDash=dash, tooltip=tips)]


# Delays of packets


def delays_figure(context: PathBoard) -> Figure | None:
    """Draw packet delays, pooled by treatment and for each trial; None if none were kept."""
    found = [known for known in context.path.distributions if known.packets]
    if not found:
        return None
    names = [context.labels[known.treatment] for known in found]
    seen = context.looks_of([known.treatment for known in found], names)
    axis = path_series.delay_axis(found)
    scale = axis_scale(axis, reverse=False)
    x = alt.X("delay:Q", title=axis.title, scale=scale, axis=encodings.plain_axis(scale))
    y = alt.Y("share:Q", title="share of packets", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    thin = context.chart(path_series.trial_delay_rows(found, context.labels)).mark_line(
        strokeWidth=0.7, opacity=0.35
    )
    thick = context.chart(path_series.delay_rows(found, context.labels)).mark_line(strokeWidth=2.4)
    tips = [
        *encodings.name_tips("treatment"),
        encodings.tip("delay", "delay [ms]"),
        alt.Tooltip("share:Q", format=".1%"),
    ]
    if len(names) <= MOST:
        colour = encodings.colour(seen, lines=True)
        thin = thin.encode(x=x, y=y, color=colour, detail="trial:N")
        thick = thick.encode(x=x, y=y, color=colour, strokeDash=encodings.dash(seen), tooltip=tips)
    else:
        here = encodings.chosen(treatment=names)
        grey = alt.condition(here, alt.value(COLOURS[1]), alt.value("#888"))
        thin = thin.transform_filter(here).encode(x=x, y=y, color=alt.value(COLOURS[1]), detail="trial:N")
        thick = thick.encode(x=x, y=y, color=grey, detail="treatment:N", tooltip=tips)
        thick = thick.add_params(*encodings.choices(treatment=names))
    packets = sum(known.packets for known in found)
    return Figure(
        "delays",
        "One-way delay of packets",
        f"Thick: all packets of a treatment's valid trials together, in the direction of the data ({packets:,} packets in all); thin: "
        "each trial by itself. Packets of one trial are no independent observations: nothing is claimed from these lines.",
        "Empirical cumulative distributions of the one-way delay of packets, pooled by treatment and for each trial.",
        encodings.finished(alt.layer(thin, thick)),
        file="delays",
    )
