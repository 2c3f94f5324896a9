"""Figures of an experiment over paths for print, and their pages of the document, like the report of Pantheon.

The planes of Pantheon's report have both variants: every run, and the mean of the runs of each scheme (Yan and others, USENIX ATC
2018); ours, with regions of stated confidence, comes first.
"""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from trialwise.analysis.path.results import FlowSeries, PathAnalysis, PathSeries, Plane
from trialwise.analysis.results import Analysis
from trialwise.report.figures import path_labels, path_plane, path_series
from trialwise.report.figures.axes import Axis
from trialwise.report.figures.looks import Look, looks
from trialwise.report.figures.palette import COLOURS, DASHES, MOST
from trialwise.report.figures.paths import treatment_labels
from trialwise.report.numbers import counted
from trialwise.report.print_style import GREY, PAGE, WIDTH, sheet

MOST_TRIALS = 400
"""So many trials are drawn over time in the document."""
_ON_A_PAGE = 3
_PLANE_PIXELS = (190, 150)
_PIXEL = 0.8

Draw = Callable[[Axes], None]


class PathPage:
    """What printed figures of paths share."""

    def __init__(self, analysis: Analysis, path: PathAnalysis) -> None:
        self.analysis = analysis
        self.path = path
        self.looks = looks(analysis)
        self.labels = treatment_labels(analysis)

    def named(self, plane: Plane) -> dict[str, Look]:
        """The looks of a plane's treatments by what it calls them."""
        return {name: self.looks[known] for known, name in zip(plane.treatments, plane.names, strict=True)}


def path_figures(analysis: Analysis) -> Iterator[tuple[str, Figure]]:
    """Single figures one column wide: planes (regions, every trial, means), delays of packets."""
    if analysis.path is None:
        return
    page = PathPage(analysis, analysis.path)
    shown = [plane for plane in analysis.path.planes if plane.trials]
    for place, plane in enumerate(shown):
        ending = f"-{place}" if len(shown) > 1 else ""
        for name, draw in _variants(page, plane):
            yield f"plane{name}{ending}", _alone(draw, 2.6)
    if any(known.packets for known in analysis.path.distributions):
        yield "delays", _alone(lambda axes: _delays(axes, page), 2.4)


def _alone(draw: Draw, height: float) -> Figure:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    draw(figure.add_subplot())
    return figure


def _variants(page: PathPage, plane: Plane) -> Iterator[tuple[str, Draw]]:
    yield "", lambda axes: _plane(axes, page, plane)
    yield "-runs", lambda axes: _runs(axes, page, plane)
    yield "-mean", lambda axes: _means(axes, page, plane)


# The plane


def _plane(axes: Axes, page: PathPage, plane: Plane) -> None:
    """Every trial, and the regions of the treatments."""
    seen = page.named(plane)
    spans = path_plane.plane_axes(page.analysis, page.path, plane)
    for box in path_plane.boxes(plane):
        colour = seen[box.name].colour
        corner = (box.delay[0], box.throughput[0])
        width, height = box.delay[1] - box.delay[0], box.throughput[1] - box.throughput[0]
        axes.add_patch(Rectangle(corner, width, height, color=colour, alpha=0.15, linewidth=0))
        dashes = (0, (3, 2)) if box.region.descriptive else "-"
        for x, x2, y, y2 in box.bounds:
            axes.plot([x, x2], [y, y2], color=colour, linestyle=dashes, linewidth=0.8)
    _trials(axes, plane, seen, 2.5)
    for box in path_plane.boxes(plane):
        look = seen[box.name]
        axes.plot(
            *box.point,
            look.marker,
            color=look.colour,
            markersize=6,
            markeredgecolor="black",
            markeredgewidth=0.6,
        )
    finish_plane(axes, spans, path_plane.anchors(plane))


def _runs(axes: Axes, page: PathPage, plane: Plane) -> None:
    """Pantheon's summary of all runs: a mark for each."""
    seen = page.named(plane)
    _trials(axes, plane, seen, 4)
    finish_plane(axes, path_plane.plane_axes(page.analysis, page.path, plane), [])
    axes.figure.legend(loc="outside upper center", ncols=3)


def _means(axes: Axes, page: PathPage, plane: Plane) -> None:
    """Pantheon's summary: a mark for each scheme, the mean of its runs, with its name."""
    seen = page.named(plane)
    names = dict(zip(plane.treatments, plane.names, strict=True))
    several = len({region.series for region in plane.regions}) > 1
    at: list[tuple[str, float, float]] = []
    for region in plane.regions:
        look = seen[names[region.treatment]]
        axes.plot(region.mean_delay, region.mean_throughput, look.marker, color=look.colour, markersize=5)
        label = names[region.treatment] + (f" ({region.series})" if several else "")
        at.append((label, region.mean_delay, region.mean_throughput))
    finish_plane(axes, path_plane.plane_axes(page.analysis, page.path, plane), at)


def _trials(axes: Axes, plane: Plane, seen: dict[str, Look], size: float) -> None:
    rows = path_plane.plane_trials(plane)
    for name, look in seen.items():
        own = [row for row in rows if row["treatment"] == name and not row["reason"]]
        axes.plot(
            [float(row["delay"] or 0) for row in own],
            [float(row["throughput"] or 0) for row in own],
            look.marker,
            color=look.colour,
            markersize=size,
            alpha=0.8,
            markeredgewidth=0,
            label=name,
        )
    invalid = [row for row in rows if row["reason"]]
    if invalid:
        axes.plot(
            [float(row["delay"] or 0) for row in invalid],
            [float(row["throughput"] or 0) for row in invalid],
            "x",
            color="black",
            markersize=5,
            label="not valid",
        )


def finish_plane(axes: Axes, spans: tuple[Axis, Axis], names: Sequence[tuple[str, float, float]]) -> None:
    """The axes, delay to the left, and names beside their points."""
    _delay_axis(axes, spans[0])
    axes.set_xlim(spans[0].high, spans[0].low)
    axes.set_ylim(spans[1].low, spans[1].high)
    axes.set_xlabel(f"{spans[0].title}, better to the right")
    axes.set_ylabel(spans[1].title)
    for label in path_labels.placed(names, spans, *_PLANE_PIXELS) if names else ():
        axes.annotate(
            label.name,
            (label.x, label.y),
            xytext=(label.right * _PIXEL, -label.down * _PIXEL),
            textcoords="offset points",
            ha="left" if label.align == "left" else "right",
            va="center",
            fontsize=6.5,
        )


def _plainly(value: float, _: int) -> str:
    return f"{value:g}"


def _subs(axis: Axis) -> tuple[float, ...]:
    """Between powers of two so many ticks that their numbers do not run into one another."""
    span = axis.high / axis.low
    return (1, 1.25, 1.5, 1.75) if span < 6 else (1, 1.5) if span < 24 else (1,)


def _delay_axis(axes: Axes, axis: Axis) -> None:
    if axis.logarithmic:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(LogLocator(base=2, subs=_subs(axis)))
        axes.xaxis.set_major_formatter(FuncFormatter(_plainly))
        axes.xaxis.set_minor_formatter(NullFormatter())


# Delays of packets


def _delays(axes: Axes, page: PathPage) -> None:
    found = [known for known in page.path.distributions if known.packets]
    alone = len(found) <= MOST
    for known in found:
        look = page.looks[known.treatment]
        colour = look.colour if alone else GREY
        for trial in known.trials:
            axes.plot(trial.delays, trial.shares, color=colour, alpha=0.3, linewidth=0.4)
        dashes = (0, look.dash) if look.dash[1] else "-"
        axes.plot(
            known.delays, known.shares, color=colour, linestyle=dashes, label=page.labels[known.treatment]
        )
    _delay_axis(axes, path_series.delay_axis(found))
    axes.set_ylim(0, 1)
    axes.set_xlabel("one-way delay of packets [ms]")
    axes.set_ylabel("share of packets")
    if alone:
        axes.figure.legend(loc="outside upper center", ncols=2)


# Trials over time


def _courses(page: PathPage, shown: Sequence[PathSeries]) -> Figure:
    """Throughput and delay of some trials, a row for each."""
    figure = sheet()
    grid = figure.add_gridspec(_ON_A_PAGE, 1)
    for place, series in enumerate(shown):
        part = figure.add_subfigure(grid[place, 0])
        part.suptitle(_course_title(series, page.labels[series.treatment]), fontsize=8)
        left, right = part.add_subplot(1, 2, 1), part.add_subplot(1, 2, 2)
        for flow in series.flows:
            _course(left, right, series, flow)
        for axes, title in ((left, "throughput [Mbit/s]"), (right, "one-way delay [ms]")):
            axes.set_xlabel("time [s]")
            axes.set_ylabel(title)
        left.set_ylim(bottom=0)
        left.legend(loc="best", ncols=2)
    return figure


def _course_title(series: PathSeries, label: str) -> str:
    return path_series.series_name(series, label) + (
        "\n" + "\n".join(textwrap.wrap(series.reason, 120)) if series.reason else ""
    )


def _course(left: Axes, right: Axes, series: PathSeries, flow: FlowSeries) -> None:
    colour = COLOURS[(flow.flow - 1) % MOST]
    dash = DASHES[(flow.flow - 1) % MOST]
    dashes = (0, dash) if dash[1] else "-"
    middles = series.times + series.bin / 2
    left.step(
        middles,
        flow.throughput,
        where="mid",
        color=colour,
        linestyle=dashes,
        label=f"flow {flow.flow}: {flow.scheme}",
    )
    right.fill_between(middles, flow.delay_low, flow.delay_high, color=colour, alpha=0.2, linewidth=0)
    right.plot(middles, flow.delay_median, color=colour, linestyle=dashes)


# Pages of the document


def plane_pages(analysis: Analysis, path: PathAnalysis) -> Iterator[Figure]:
    """A page for each plane."""
    page = PathPage(analysis, path)
    for plane in (plane for plane in path.planes if plane.trials):
        yield _plane_page(page, plane)


def course_pages(analysis: Analysis, path: PathAnalysis) -> Iterator[Figure]:
    """Delays of packets, then throughput and delay of each trial over time."""
    page = PathPage(analysis, path)
    shown = sorted(path.series[:MOST_TRIALS], key=lambda series: (series.number, series.attempt))
    if any(known.packets for known in path.distributions):
        figure = sheet(PAGE[1] / 2)
        _delays(figure.add_subplot(), page)
        yield figure
    for start in range(0, len(shown), _ON_A_PAGE):
        yield _courses(page, shown[start : start + _ON_A_PAGE])


def _plane_page(page: PathPage, plane: Plane) -> Figure:
    """The planes of one path: regions large, Pantheon's two variants below, and what is seen."""
    figure = sheet()
    grid = figure.add_gridspec(3, 1, height_ratios=[5, 3.6, 1.6])
    top, below, foot = (figure.add_subfigure(grid[row, 0]) for row in range(3))
    name = path_plane.plane_name(plane)
    top.suptitle("Throughput and delay" + (f": {name}" if name else ""), fontsize=10)
    _plane(top.add_subplot(), page, plane)
    left, right = below.add_subplot(1, 2, 1), below.add_subplot(1, 2, 2)
    _means(left, page, plane)
    _trials(right, plane, page.named(plane), 4)
    finish_plane(right, path_plane.plane_axes(page.analysis, page.path, plane), [])
    right.legend(loc="best")
    left.set_title(
        f"means of {counted(sum(trial.reason is None for trial in plane.trials), 'valid trial')}",
        fontsize=7.5,
    )
    right.set_title("every trial", fontsize=7.5)
    caption = path_plane.plane_caption(page.analysis, page.path, plane).replace("✕", "x")
    foot.text(0.06, 0.95, "\n".join(textwrap.wrap(caption, 115)), va="top", fontsize=7.5, linespacing=1.5)
    return figure
