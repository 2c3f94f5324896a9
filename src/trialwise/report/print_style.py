"""The look of figures for print: one column wide, fonts embedded, the same bytes for the same data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from matplotlib.figure import Figure

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
    "svg.fonttype": "path",
    "svg.hashsalt": "trialwise",
    "text.usetex": False,
    "text.parse_math": False,
    "path.simplify": False,
}
_RESOLUTION = 300


def save_all(figures: Iterable[tuple[str, Figure]], folder: Path, kind: str) -> list[Path]:
    """Write figures under their names (as pdf, svg or png) into a folder, which is made; return what was written.

    Raises
    ------
    OSError
        The folder cannot be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    with mpl.rc_context(STYLE):  # pyright: ignore[reportUnknownMemberType]
        for name, figure in figures:
            written.append(folder / f"{name}.{kind}")
            save(figure, written[-1])
    return written


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the ending of the path (.pdf, .svg or .png) says the format."""
    kind = path.suffix[1:].lower()
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}[kind]
    figure.savefig(path, format=kind, metadata=metadata, dpi=_RESOLUTION)  # pyright: ignore[reportUnknownMemberType]
