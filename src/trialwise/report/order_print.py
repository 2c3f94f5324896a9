"""Figures of order for print, drawn from the same pictures as the interactive ones."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from trialwise.analysis.order.summary import OrderSummary
from trialwise.report.figures.order_picture import NAMED, WRITTEN, Picture, powers
from trialwise.report.figures.order_pictures import pictures
from trialwise.report.figures.palette import COLOURS, DIVERGING, MARKERS
from trialwise.report.points import Row
from trialwise.report.print_style import GREY, WIDTH, save_all

_DASHED = (0, (5, 4))
_LONGEST = 26
"""Letters of a name; of longer ones the middle is left out in figures one column wide."""
_ORDERS = {"fixed": (COLOURS[0], MARKERS[0], -0.16), "random": (COLOURS[1], MARKERS[3], 0.16)}


def write_order_figures(view: OrderSummary, folder: Path, kind: str) -> list[Path]:
    """Write every figure there is something for (as pdf or svg), and say which.

    Raises
    ------
    OSError
        The folder cannot be made or written.
    """
    return save_all(order_drawings(view), folder, kind)


def order_drawings(
    view: OrderSummary, labels: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Figure]]:
    """Name and drawing of each figure."""
    for picture in pictures(view, labels or {}):
        draw, height = _DRAW[picture.kind]
        figure = Figure(figsize=(WIDTH, height(picture)), layout="constrained")
        draw(figure.add_subplot(), picture)
        yield picture.name, figure


def _column(rows: Sequence[Row], name: str) -> list[float]:
    return [float("nan") if row[name] is None else float(row[name] or 0) for row in rows]


def _short(name: str) -> str:
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[:half]}…{name[-half:]}"


def _name_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)


def _legend(axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.figure.legend(handles, labels, loc="outside upper center", ncols=2)


# Curves of treatments


def _curve(axes: Axes, picture: Picture, field: str) -> None:
    few = len(picture.rows) <= NAMED
    values, ranks = np.array(_column(picture.rows, field)), np.arange(1, len(picture.rows) + 1, dtype=float)
    differs = np.array([row["standing"] == "differs" for row in picture.rows])
    x, y = (values, ranks - 1) if few else (ranks, values)
    for which, marker, colour, label in (
        (differs, "o", COLOURS[1], "differs"),
        (~differs, "s", COLOURS[0], "does not differ"),
    ):
        fill = colour if label == "differs" else "none"
        size = 3.5 if few else 2
        axes.plot(
            x[which], y[which], marker, color=colour, markerfacecolor=fill, markersize=size, markeredgewidth=0.6, label=label
        )  # fmt: skip
    (axes.axvline if few else axes.axhline)(
        picture.level or 0.0, color=GREY, linestyle=_DASHED, linewidth=0.8
    )
    if few:
        _name_rows(axes, picture.names)
        axes.set_xlabel(picture.axis)
    else:
        _name_ends(axes, picture, values)
        axes.set_xlabel("treatments, by rank")
        axes.set_ylabel(picture.axis)
    _legend(axes)


def _name_ends(axes: Axes, picture: Picture, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    rising = -1 if picture.kind == "p-values" else 1
    axes.margins(y=0.12)
    for place, align, away in ((0, "left", -7 * rising), (-1, "right", 7 * rising)):
        axes.annotate(
            _short(picture.names[place]),
            (len(picture.names) if place else 1, float(values[place])),
            (0, away),
            textcoords="offset points",
            ha=align,
            va="center",
            fontsize=5,
        )


def _p_values(axes: Axes, picture: Picture) -> None:
    few, ticks = len(picture.rows) <= NAMED, powers(picture)
    (axes.set_xscale if few else axes.set_yscale)("log")
    axis = axes.xaxis if few else axes.yaxis
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(
        lambda value, _: f"{value:g}" if value >= 0.01 else f"{value:.0e}".replace("e-0", "e-")
    )
    axis.set_minor_locator(NullLocator())
    _curve(axes, picture, "p")


def _effect_sizes(axes: Axes, picture: Picture) -> None:
    _curve(axes, picture, "effect")


def _differences(axes: Axes, picture: Picture) -> None:
    _curve(axes, picture, "difference")


def _cases(axes: Axes, picture: Picture) -> None:
    counts = _column(picture.rows, "treatments")
    axes.barh(range(len(counts)), counts, color=[COLOURS[1], COLOURS[0], COLOURS[4]], height=0.6)
    axes.set_yticks(range(len(counts)), [str(row["case"]) for row in picture.rows], fontsize=5.5)
    axes.invert_yaxis()
    axes.set_xlabel(picture.axis)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    axes.margins(x=0.12)
    for place, count in enumerate(counts):
        axes.annotate(f" {count:.0f}", (count, place), va="center")


# Intervals


def _intervals(axes: Axes, picture: Picture) -> None:
    rows_of = {name: place for place, name in enumerate(picture.names)}
    for order, (colour, marker, away) in _ORDERS.items():
        rows = [row for row in picture.rows if row["order"] == order]
        places = [rows_of[str(row["treatment"])] + away for row in rows]
        axes.hlines(places, _column(rows, "low"), _column(rows, "high"), color=colour, linewidth=1.2)
        axes.plot(_column(rows, "median"), places, marker, color=colour, label=order)
    _name_rows(axes, picture.names)
    axes.set_xlabel(picture.axis)
    _legend(axes)


def _pairs(axes: Axes, picture: Picture) -> None:
    """Names of two lines: the treatment, and after what."""
    places = range(len(picture.rows))
    axes.axvline(0, color=GREY, linestyle=_DASHED, linewidth=0.8)
    axes.hlines(
        places, _column(picture.rows, "low"), _column(picture.rows, "high"), color=COLOURS[0], linewidth=1.2
    )
    axes.plot(_column(picture.rows, "percent"), places, "o", color=COLOURS[0])
    _name_rows(axes, picture.names)
    names = ["\nafter ".join(map(_short, name.split(" after ", 1))) for name in picture.names]
    axes.set_yticks(range(len(names)), names, fontsize=5)
    axes.set_xlabel(picture.axis)


# The matrix

_NUMBER_INCHES = 0.31
"""A cell so wide holds a number such as +12.3 in letters of six points."""
_AROUND = (0.95, 0.5)
"""Inches beside and below the cells of a matrix, without the names."""


def _label_inches(picture: Picture) -> float:
    """How long the longest name of a matrix is in print, about."""
    return _label_size(picture) / 72 * 0.57 * max((len(_short(name)) for name in picture.names), default=0)


def _label_size(picture: Picture) -> float:
    return 7 if len(picture.names) <= 20 else 4


def _cell_inches(picture: Picture) -> float:
    """The side of a cell."""
    room = WIDTH - _AROUND[0] - _label_inches(picture)
    return min(_NUMBER_INCHES, room / max(1, len(picture.names)))


def _matrix(axes: Axes, picture: Picture) -> None:
    rows_of = {name: place for place, name in enumerate(picture.names)}
    cells = np.full((len(rows_of), len(rows_of)), np.nan)
    for row in picture.rows:
        at = rows_of[str(row["treatment"])], rows_of[str(row["predecessor"])]
        cells[at] = float(row["percent"] or 0.0)
        _mark(axes, picture, row, at)
    scale = LinearSegmentedColormap.from_list("diverging", DIVERGING)
    image = axes.imshow(cells, cmap=scale, vmin=-picture.most, vmax=picture.most)
    names = [_short(name) for name in picture.names]
    size = _label_size(picture)
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=size)
    axes.set_yticks(range(len(names)), names, fontsize=size)
    axes.grid(visible=False)
    axes.set_xlabel("right after")
    axes.set_ylabel("treatment")
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.8, ticks=[-picture.most, 0, picture.most])
    bar.ax.set_yticklabels([f"{-picture.most:+.3g}", "0", f"{picture.most:+.3g}"])
    bar.ax.set_ylabel(picture.axis, fontsize=5.5)


def _mark(axes: Axes, picture: Picture, row: Row, at: tuple[int, int]) -> None:
    """The number of a cell where there is room, and the frame of one that stands out."""
    size = float(row["percent"] or 0.0)
    ink = "white" if abs(size) > 0.6 * picture.most else "black"
    written = len(picture.names) <= WRITTEN
    if written or row["named"]:
        text = str(row["text"]) if written else "•"
        weight = "bold" if row["named"] else "normal"
        points = 6 * _cell_inches(picture) / _NUMBER_INCHES if written else 6
        axes.annotate(
            text, (at[1], at[0]), ha="center", va="center", fontsize=points, color=ink, weight=weight
        )
    if row["named"]:
        frame = Rectangle(
            (at[1] - 0.5, at[0] - 0.5), 1, 1, fill=False, linewidth=1.2, zorder=3, clip_on=False
        )
        axes.add_patch(frame)


# Over time


def _position(axes: Axes, picture: Picture) -> None:
    at = _column(picture.rows, "at")
    axes.axhline(0, color=GREY, linestyle=_DASHED, linewidth=0.8)
    axes.vlines(
        at, _column(picture.rows, "low"), _column(picture.rows, "high"), color=COLOURS[0], linewidth=1.2
    )
    axes.plot(at, _column(picture.rows, "median"), "o", color=COLOURS[0])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(picture.measure)
    axes.set_ylabel(picture.axis)


def _trials(axes: Axes, picture: Picture) -> None:
    several = len({row["order"] for row in picture.rows}) > 1
    for order, (_, marker, _) in _ORDERS.items():
        rows = [row for row in picture.rows if row["order"] == order]
        if rows:
            colours = [COLOURS[int(str(row["colour"]))] for row in rows]
            axes.scatter(
                _column(rows, "at"),
                _column(rows, "percent"),
                c=colours,
                marker=marker,
                s=5,
                linewidths=0,
            )
            axes.plot([], [], marker, color=GREY, label=order if several else None)
    axes.plot(_column(picture.line, "at"), _column(picture.line, "median"), color="black", linewidth=0.7)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("round, in the order in which they ran")
    axes.set_ylabel(picture.axis)
    _legend(axes)


def _by_rows(least: float, each: float = 0.17) -> Callable[[Picture], float]:
    return lambda picture: max(least, 0.6 + each * len(picture.names)) if len(picture.names) <= 20 else 1.9


def _square(picture: Picture) -> float:
    """The height at which the cells are as large as the width permits, up to what a number needs."""
    return max(2.0, _AROUND[1] + _label_inches(picture) + len(picture.names) * _cell_inches(picture))


_DRAW: Mapping[str, tuple[Callable[[Axes, Picture], None], Callable[[Picture], float]]] = {
    "p-values": (_p_values, _by_rows(1.1)),
    "effect-sizes": (_effect_sizes, _by_rows(1.1)),
    "differences": (_differences, _by_rows(1.1)),
    "cases": (_cases, lambda _: 1.3),
    "intervals": (_intervals, _by_rows(1.2, 0.22)),
    "carry-over": (_matrix, _square),
    "pairs": (_pairs, _by_rows(1.2, 0.21)),
    "position": (_position, lambda _: 2.0),
    "drift": (_position, lambda _: 2.0),
    "trials": (_trials, lambda _: 2.2),
}
