"""Queues and rates of a simulated trial over time, for print and for slides (PDF, SVG, PNG)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from trialwise.report.palette import COLOURS
from trialwise.report.print_style import STYLE, WIDTH, save

Array = npt.NDArray[np.float64]


def write_simulation(
    path: Path,
    queues: tuple[Array, Mapping[str, Array]],
    rates: tuple[Array, Mapping[str, Array]],
    title: str,
) -> None:
    """Draw queues (bytes) and the rates (bit/s) of what is acknowledged, each by name over its times (seconds)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        for axes, (times, lines), scale in ((above, queues, 1e3), (below, rates, 1e9)):
            for place, (name, values) in enumerate(lines.items()):
                colour = COLOURS[place % len(COLOURS)]
                axes.plot(times * 1e3, values / scale, label=name, color=colour, linewidth=0.7)
            axes.set_ylim(bottom=0)
            axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize=5, handlelength=1.2)
        above.set(ylabel="queue [kB]")
        below.set(ylabel="acknowledged [Gbit/s]", xlabel="time [ms]")
        figure.suptitle(title, fontsize=7)
        save(figure, path)
