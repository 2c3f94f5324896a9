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

from trialwise.analysis.comparison.ranking import MetricRanking, Ranking, RankPlane, trials_of
from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.analysis.trial_set import MetricFacts, TrialSet
from trialwise.report import comparison_words as words
from trialwise.report.comparison_text import by_metric
from trialwise.report.numbers import percent
from trialwise.report.palette import COLOURS, COMPARED, MARKERS, MOST
from trialwise.report.path_points import WIDE, Axis, padded
from trialwise.report.path_print import finish_plane
from trialwise.report.print_style import GREY, WIDTH, save_all

_ROW, _AROUND = 0.17, 0.75
"""Inches of a row, and of what is around all rows."""
_LONGEST = 24


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
    for rows in by_metric(found) if found else ():
        if any(row.difference for row in rows):
            yield f"differences-{_file(rows[0].metric.name)}", _differences(rows)
    for letter, ranking, side in zip("ab", rankings, sides, strict=False):
        for one in ranking.metrics:
            yield f"ranks-{letter}-{_file(one.metric)}", _ranks(ranking.side, one)
        if ranking.plane is not None:
            yield f"plane-{letter}", _plane(ranking, ranking.plane, side)


def _file(name: str) -> str:
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


def _differences(rows: Sequence[ComparisonRow]) -> Figure:
    """In percent of A where every ratio has bounds and no margin is in the unit of the metric; else in that unit."""
    known = [row for row in rows if row.difference is not None]
    figure, axes = _rows_figure(len(known))
    relative = all(_is_relative(row) for row in known)
    _margins(axes, known, relative=relative)
    axes.axvline(0, color=GREY, linewidth=0.8)
    told: set[str] = set()
    for place, row in enumerate(known):
        word = row.direction or row.verdict
        colour, marker = COMPARED[word]
        middle, low, high = _ends(row, relative=relative)
        axes.hlines(place, low, high, color=colour, linewidth=1.2)
        label = None if word in told else word
        filled = colour if row.verdict != "undecided" else "white"
        axes.plot(middle, place, marker, color=colour, markerfacecolor=filled, markersize=4, label=label)
        told.add(word)
    _, names = words.labels([row.treatment for row in known])
    _name_rows(axes, [names[row.treatment] for row in known])
    facts = known[0].metric
    unit = "% of A" if relative else facts.unit
    axes.set_xlabel(f"{facts.name}: B − A" + (f" [{unit}]" if unit else ""))
    figure.legend(loc="outside upper center", ncols=5)
    return figure


def _is_relative(row: ComparisonRow) -> bool:
    one = row.difference
    return one is not None and one.ratio.bounded and (one.margin is None or one.margin_percent is not None)


def _ends(row: ComparisonRow, *, relative: bool) -> tuple[float, float, float]:
    if row.difference is None:
        raise ValueError("a row without inference has no interval")
    found = row.difference.percent if relative else row.difference.welch
    return found.estimate, found.low, found.high


def _margins(axes: Axes, rows: Sequence[ComparisonRow], *, relative: bool) -> None:
    """A band within which nothing would be a difference, behind each row."""
    for place, row in enumerate(rows):
        size = row.difference and (row.difference.margin_percent if relative else row.difference.margin)
        if size:
            axes.add_patch(Rectangle((-size, place - 0.5), 2 * size, 1, color=GREY, alpha=0.18, linewidth=0))
            axes.update_datalim([(-size, place), (size, place)])


# Ranks


def _ranks(side: str, one: MetricRanking) -> Figure:
    figure, axes = _rows_figure(len(one.treatments))
    for place, known in enumerate(one.treatments):
        colour = COLOURS[2] if known.may_be_best else COLOURS[0]
        axes.hlines(place, known.best, known.worst, color=colour, linewidth=1.6)
        ends = [known.best, known.worst]
        axes.plot(ends, [place, place], "o" if known.may_be_best else "s", color=colour, markersize=3.5)
    _, names = words.labels([known.treatment for known in one.treatments])
    _name_rows(axes, [names[known.treatment] for known in one.treatments])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(0.5, len(one.treatments) + 0.5)
    axes.set_xlabel(f"rank by {one.metric} in {_short(side)}, all at {percent(one.confidence)}")
    axes.plot([], [], "o-", color=COLOURS[2], label="may be the best")
    axes.plot([], [], "s-", color=COLOURS[0], label="is not")
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
