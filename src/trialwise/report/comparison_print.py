"""Figures of a comparison for print: differences with their margin, ranks, and the plane of two metrics."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from trialwise.analysis.comparison.ranking import Ranking, RankPlane, trials_of
from trialwise.analysis.comparison.results import Comparison
from trialwise.analysis.trial_set import MetricFacts, TrialSet
from trialwise.report import comparison_words as words
from trialwise.report.comparison_words import by_metric
from trialwise.report.figures.axes import WIDE, Axis, padded
from trialwise.report.figures.comparison import BEST, NOT_BEST, Differences, Ranks, differences, ranks
from trialwise.report.figures.palette import COLOURS, COMPARED, MARKERS, MOST
from trialwise.report.numbers import percent
from trialwise.report.path_print import finish_plane
from trialwise.report.points import Row
from trialwise.report.print_style import GREY, WIDTH, save_all

_ROW, _AROUND = 0.17, 0.75
"""Inches of a row, and of what is around all rows."""
_LONGEST = 24
_STANDINGS = {BEST: (COLOURS[2], "o"), NOT_BEST: (COLOURS[0], "s")}


def write_figures(
    found: Comparison | None, rankings: Sequence[Ranking], sides: Sequence[TrialSet], folder: Path
) -> list[Path]:
    """Write all figures as SVG into a folder, which is made; return what was written.

    Raises
    ------
    OSError
        The folder cannot be made or written.
    """
    return save_all(_figures(found, rankings, sides), folder, "svg")


def _figures(
    found: Comparison | None, rankings: Sequence[Ranking], sides: Sequence[TrialSet]
) -> Iterator[tuple[str, Figure]]:
    names = words.row_names(found)[1] if found else {}
    for rows in by_metric(found) if found else ():
        if picture := differences(rows, names):
            yield f"differences-{file_name(picture.metric)}", differences_figure(picture)
    for letter, ranking, side in zip("ab", rankings, sides, strict=False):
        for one in ranking.metrics:
            _, names = words.labels([place.treatment for place in one.treatments])
            picture = ranks(one, names, f" in {_short(ranking.side)}")
            yield f"ranks-{letter}-{file_name(one.metric)}", ranks_figure(picture)
        if ranking.plane is not None:
            yield f"plane-{letter}", _plane(ranking, ranking.plane, side)


def file_name(name: str) -> str:
    """The name of a metric, in letters that names of files may have."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name)


def _short(name: str) -> str:
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[: half - 1]}…{name[-half:]}"


def _rows_figure(count: int) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, _AROUND + _ROW * count), layout="constrained")
    return figure, figure.add_subplot()


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)


# Differences


def differences_figure(picture: Differences) -> Figure:
    """Intervals by row, before the band within which nothing would be a difference."""
    figure, axes = _rows_figure(len(picture.names))
    _margins(axes, picture)
    axes.axvline(0, color=GREY, linewidth=0.8)
    told: set[str] = set()
    for place, row in enumerate(picture.rows):
        word = str(row["word"])
        colour, marker = COMPARED[word]
        axes.hlines(place, _number(row, "low"), _number(row, "high"), color=colour, linewidth=1.2)
        label = None if word in told else word
        filled = colour if word != "undecided" else "white"
        middle = _number(row, "estimate")
        axes.plot(middle, place, marker, color=colour, markerfacecolor=filled, markersize=4, label=label)
        told.add(word)
    _name_rows(axes, picture.names)
    axes.set_xlabel(picture.axis)
    figure.legend(loc="outside upper center", ncols=5)
    return figure


def _number(row: Row, name: str) -> float:
    return float(row[name] or 0)


def _margins(axes: Axes, picture: Differences) -> None:
    for place, row in enumerate(picture.rows):
        if size := _number(row, "margin"):
            axes.add_patch(Rectangle((-size, place - 0.5), 2 * size, 1, color=GREY, alpha=0.18, linewidth=0))
            axes.update_datalim([(-size, place), (size, place)])


# Ranks


def ranks_figure(picture: Ranks) -> Figure:
    """From the best rank that a treatment may have to the worst."""
    figure, axes = _rows_figure(len(picture.names))
    for place, row in enumerate(picture.rows):
        colour, marker = _STANDINGS[str(row["standing"])]
        ends = [_number(row, "best"), _number(row, "worst")]
        axes.hlines(place, ends[0], ends[1], color=colour, linewidth=1.6)
        axes.plot(ends, [place, place], marker, color=colour, markersize=3.5)
    _name_rows(axes, picture.names)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(0.5, len(picture.names) + 0.5)
    axes.set_xlabel(picture.axis)
    for standing, (colour, marker) in _STANDINGS.items():
        axes.plot([], [], f"{marker}-", color=colour, label=standing)
    figure.legend(loc="outside upper center", ncols=2)
    return figure


# The plane


def _plane(ranking: Ranking, plane: RankPlane, side: TrialSet) -> Figure:
    """Each trial, and for each treatment a cross of the intervals of both means; who may be on the front has a full mark."""
    figure = Figure(figsize=(WIDTH, 3.0), layout="constrained")
    axes = figure.add_subplot()
    trials = trials_of(side, plane)
    _, names = words.labels([point.treatment for point in plane.points])
    anchors: list[tuple[str, float, float]] = []
    for place, point in enumerate(plane.points):
        colour, marker = COLOURS[place % MOST], MARKERS[place % MOST]
        own = trials.get(point.treatment, [])
        axes.plot(*_columns(own), marker, color=colour, markersize=2, alpha=0.35, markeredgewidth=0)
        across, up = point.delay, point.throughput
        axes.hlines(up.estimate, across.low, across.high, color=colour, linewidth=1.2)
        axes.vlines(across.estimate, up.low, up.high, color=colour, linewidth=1.2)
        face = colour if point.may_be_on_front else "white"
        axes.plot(across.estimate, up.estimate, marker, color=colour, markerfacecolor=face, markersize=5.5)
        anchors.append((names[point.treatment], across.estimate, up.estimate))
    finish_plane(axes, _spans(plane, trials), anchors)
    front = "full: may be on the front; open: some other is better in "
    front += "both" if ranking.pareto is None or len(ranking.pareto.metrics) == 2 else "every ranked metric"
    said = f"{_short(ranking.side)}; means, both intervals together {percent(plane.confidence)}"
    axes.set_title(f"{said}\n{front}", fontsize=5.5)
    return figure


def _columns(pairs: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _spans(plane: RankPlane, trials: Mapping[str, Sequence[tuple[float, float]]]) -> tuple[Axis, Axis]:
    shown = [pair for point in plane.points for pair in trials.get(point.treatment, ())]
    delays = [pair[0] for pair in shown] + [
        end for point in plane.points for end in (point.delay.low, point.delay.high)
    ]
    throughputs = [pair[1] for pair in shown] + [
        end for point in plane.points for end in (point.throughput.low, point.throughput.high)
    ]
    wide = min(delays) > 0 and max(delays) / min(delays) >= WIDE
    return (
        Axis(_title(plane.delay), *padded(delays, logarithmic=wide), wide),
        Axis(_title(plane.throughput), *padded(throughputs)),
    )


def _title(facts: MetricFacts) -> str:
    return facts.name + (f" [{facts.unit}]" if facts.unit else "")
