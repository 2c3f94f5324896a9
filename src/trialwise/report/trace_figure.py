"""The rate of a trace over its period, for print and for slides (PDF, SVG, PNG)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from trialwise.arrays import Array
from trialwise.report.figures.palette import COLOURS
from trialwise.report.print_style import GREY, STYLE, WIDTH, save


def write_trace(path: Path, ends: Array, rates: Array, bin_width: float, mean: float, name: str) -> None:
    """Draw the rate in each bin (`ends` and `bin_width` in seconds, `rates` and `mean` in Mbit/s)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.8), layout="constrained")
        axes = figure.add_subplot()
        edges = np.append(ends - bin_width, ends[-1])
        axes.stairs(rates, edges, fill=True, color=COLOURS[0], alpha=0.35, linewidth=0)
        axes.stairs(rates, edges, color=COLOURS[0], linewidth=0.8)
        axes.axhline(mean, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
        axes.set(xlim=(edges[0], edges[-1]), xlabel="time [s]", ylabel="rate [Mbit/s]")
        axes.set_title(f"{name}: mean {mean:.4g} Mbit/s (dashed)", fontsize=7)
        axes.set_ylim(bottom=0)
        save(figure, path)
