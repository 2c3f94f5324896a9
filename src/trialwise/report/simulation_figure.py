"""Queues and rates of a simulated trial over time, for print and for slides (PDF, SVG, PNG)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from trialwise.arrays import Array
from trialwise.report.figures.palette import COLOURS, DASHES
from trialwise.report.print_style import STYLE, WIDTH, save
from trialwise.report.units import scale


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
        end = scale([float(times[-1]) for times, _ in (queues, rates) if len(times)], "s")
        for axes, (times, lines), what, unit, one in (
            (above, queues, "queue", "kB", 1e3),
            (below, rates, "acknowledged", "bit/s", 1.0),
        ):
            shown = scale([float(values.max(initial=0.0)) / one for values in lines.values()], unit)
            for place, (name, values) in enumerate(lines.items()):
                look = place % len(COLOURS)
                axes.plot(
                    times * end.factor,
                    values / one * shown.factor,
                    label=name,
                    color=COLOURS[look],
                    linestyle=(0, DASHES[look]),
                    linewidth=0.7,
                )
            axes.set_ylabel(what + shown.heading)
            axes.set_ylim(bottom=0)
            axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize=5, handlelength=1.2)
        below.set_xlabel(f"time{end.heading}")
        figure.suptitle(title, fontsize=7)
        save(figure, path)
