"""The look of figures for print: one column wide, the same bytes for the same data; PDF has its fonts, SVG text that is text."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullFormatter

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from matplotlib.axes import Axes

WIDTH = 3.33
"""Inches: a column of a two-column paper."""
GREY = "#777777"
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.4,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 6,
    "lines.markersize": 3,
    "lines.linewidth": 1.0,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "trialwise",
    "text.usetex": False,
    "text.parse_math": False,
    "path.simplify": False,
}
_RESOLUTION = 300
_DECADES = 100
"""An axis over so many times its least number, or more, is labelled at powers of ten."""
_SUBS = ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7))
"""Where a shorter one is labelled in each decade: the first that gives enough labels."""
_FEWEST_LABELS = 4
PAGE = (8.27, 11.69)
"""A4, in inches."""


def sheet(height: float = PAGE[1]) -> Figure:
    """An empty page with margins."""
    figure = Figure(figsize=(PAGE[0], height))
    layout = ConstrainedLayoutEngine(rect=(0.06, 0.04, 0.88, 0.92), h_pad=0.06)
    figure.set_layout_engine(layout)
    return figure


def save_all(figures: Iterable[tuple[str, Figure]], folder: Path, kind: str) -> list[Path]:
    """Write figures under their names (as pdf, svg or png) into a folder, which is made; return what was written.

    Raises
    ------
    OSError
        The folder cannot be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    with mpl.rc_context(STYLE):
        for name, figure in figures:
            written.append(folder / f"{name}.{kind}")
            save(figure, written[-1])
    return written


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the ending of the path (.pdf, .svg or .png) says the format."""
    kind = path.suffix[1:].lower()
    title = {"Title": _title(figure)}
    metadata = {
        "pdf": {"CreationDate": None, **title},
        "svg": {"Date": None, **title},
        "png": {"Software": None, **title},
    }[kind]
    figure.savefig(path, format=kind, metadata=metadata, dpi=_RESOLUTION)


def _title(figure: Figure) -> str:
    """What a figure shows, by the labels of its axes: "delay [ms] against trial, in the order of the plan"."""
    shown = (" against ".join(filter(None, (axes.get_ylabel(), axes.get_xlabel()))) for axes in figure.axes)
    return "; ".join(dict.fromkeys(filter(None, shown)))


def log_scale(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, after all is drawn, with plain numbers, and more of them where it spans less than two decades."""
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_data_interval()
    axis.set_major_locator(_locator(low, high))
    axis.set_major_formatter(FuncFormatter(_plainly))
    axis.set_minor_formatter(NullFormatter())


def _locator(low: float, high: float) -> Locator:
    """Where an axis from `low` to `high` is labelled: at round numbers as on a plain axis where it is shorter than all else."""
    if high >= _DECADES * low:
        return LogLocator(subs=(1,))
    for subs in _SUBS:
        locator = LogLocator(subs=subs)
        if sum(low <= at <= high for at in locator.tick_values(low, high)) >= _FEWEST_LABELS:
            return locator
    return MaxNLocator(_FEWEST_LABELS + 1)


def _plainly(value: float, _: int | None) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g}{prefix}"
    return f"{value:g}"
