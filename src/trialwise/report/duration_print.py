"""Figures of the duration of simulated trials for print and for slides (PDF, SVG, PNG)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trialwise.analysis.estimation.results import DurationAdvice
from trialwise.analysis.runtime.results import RuntimeAdvice
from trialwise.report.figures.estimation_points import BOUNDS, duration_rows, kind_look, numbers, stable_value
from trialwise.report.figures.palette import COLOURS, MARKERS
from trialwise.report.points import in_unit
from trialwise.report.print_page import column, rows_of
from trialwise.report.print_style import GREY, STYLE, WIDTH, log_scale, save
from trialwise.report.units import scale


def write_durations(advice: RuntimeAdvice, path: Path) -> None:
    """Write the phases and the estimates by duration of the metric and treatment that decides, of the first where none does."""
    found = advice.durations[advice.decided_by or 0]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
        above, below = figure.subplots(2, 1, height_ratios=(2, 1))
        figure.suptitle(found.subject, fontsize=7)
        _estimates(above, found)
        _phases(below, found)
        save(figure, path)


def _estimates(axes: Axes, found: DurationAdvice) -> None:
    rows = duration_rows(found)
    shown, lengths = scale(numbers(rows, *BOUNDS), found.unit), scale(numbers(rows, "duration"), "s")
    rows = in_unit(in_unit(rows, shown), lengths, ("duration",))
    if (centre := stable_value(found)) is not None:
        ends = [shown.factor * centre * (1 + way * found.tolerance / 100) for way in (-1, 1)]
        axes.axhspan(ends[0], ends[1], color=GREY, alpha=0.2, linewidth=0)
    for kind in dict.fromkeys(str(row["estimand"]) for row in rows):
        own, look = rows_of(rows, estimand=kind), kind_look(kind)
        x, y = column(own, "duration"), np.array(column(own, "estimate"))
        axes.plot(x, y, MARKERS[look] + "-", color=COLOURS[look], label=kind)
        for row in own:
            if row["low"] is not None and row["high"] is not None:
                axes.plot(
                    [float(row["duration"] or 0)] * 2,
                    [float(row["low"]), float(row["high"])],
                    color=COLOURS[look],
                    alpha=0.5,
                )
    for length, style in ((found.duration, (0, (2, 3))), (found.needed, (0, (5, 4)))):
        if length is not None:
            axes.axvline(length * lengths.factor, color="black", linestyle=style, linewidth=0.8)
    log_scale(axes, "x")
    axes.set_xlabel(f"duration of a trial{lengths.heading}")
    axes.set_ylabel(found.metric + shown.heading)
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)


def _phases(axes: Axes, found: DurationAdvice) -> None:
    shown = scale(found.active_times, "s")
    axes.plot(np.array(found.active_times) * shown.factor, found.active, color=COLOURS[0])
    ends = ((found.warmup_end, "stable", "left"), (found.duration, "cool-down", "right"))
    for at, label, side in ends:
        if at is not None:
            axes.axvline(at * shown.factor, color="black", linestyle=(0, (2, 3)), linewidth=0.8)
            axes.annotate(
                label,
                (at * shown.factor, 0),
                (2 if side == "left" else -2, 3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                horizontalalignment=side,
            )
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"time in a trial{shown.heading}")
    axes.set_ylabel("active flows")
