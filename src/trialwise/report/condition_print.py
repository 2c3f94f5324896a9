"""Figures of condition data and of pilots for print and for slides (PDF, SVG, PNG)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trialwise.arrays import Array
from trialwise.report.figures import condition_points as points
from trialwise.report.figures.conditions import PARTS, growth_rows
from trialwise.report.figures.palette import COLOURS, VERDICT_COLOURS, VERDICT_MARKERS
from trialwise.report.print_style import GREY, STYLE, WIDTH, save

if TYPE_CHECKING:
    from trialwise.analysis.conditions.profile import Profile
    from trialwise.analysis.runtime.pilots import Pilot
    from trialwise.analysis.runtime.results import PilotNeed, RuntimeAdvice


def write_profile(profile: Profile, times: Array, values: Array, path: Path) -> None:
    """Write the autocorrelation and the data over time; the ending of the path says the format."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
        above, below = figure.subplots(2, 1)
        _autocorrelation(above, profile)
        _data_over_time(below, profile, times, values)
        save(figure, path)


def write_runtime(advice: RuntimeAdvice, pilots: Sequence[Pilot], path: Path) -> None:
    """Write how the metric of the pilot that decides settles, of the first where none does."""
    need = advice.pilots[advice.decided_by or 0]
    wanted = (need.metric, need.treatment, need.trial)
    pilot = next(one for one in pilots if (one.metric, one.treatment, one.trial) == wanted)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
        _growth(figure.add_subplot(), advice, need, pilot)
        save(figure, path)


def _autocorrelation(axes: Axes, profile: Profile) -> None:
    found = profile.autocorrelation
    axes.set_ylabel("autocorrelation")
    if not found.lags:
        axes.set_title("constant values have no autocorrelation", fontsize=7)
        return
    size, unit = points.unit_of(found.lags[-1])
    lags, coefficients = points.thinned_lags(found)
    labels = points.period_labels(profile)
    axes.axhline(0, color=GREY, linewidth=0.5)
    axes.plot(lags / size, coefficients, color=COLOURS[0])
    for sign in (1, -1):
        axes.axhline(sign * found.threshold, color=GREY, linestyle=(0, (5, 4)), linewidth=0.8)
    for period in profile.periods:
        if period.seconds <= found.lags[-1]:
            at = period.seconds / size
            axes.axvline(at, color=COLOURS[1], linestyle=(0, (2, 3)), linewidth=0.8)
            axes.plot(at, points.coefficient_at(found, period.seconds), "v", color=COLOURS[1], markersize=4)
            axes.annotate(
                labels[period.seconds],
                (at, 1),
                (2, -7),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
            )
    axes.set_xlim(0, found.lags[-1] / size)
    axes.set_xlabel(f"lag [{unit}]")


def _data_over_time(axes: Axes, profile: Profile, times: Array, values: Array) -> None:
    thin = points.stretches(times, values)
    dated = profile.start is not None
    size, unit = points.unit_of(profile.duration)
    when = points.moments(thin.times) if dated else (thin.times - thin.times[0]) / size
    if thin.times.size < profile.n:
        axes.vlines(when, thin.lows, thin.highs, color=COLOURS[0], linewidth=0.4)
    else:
        axes.plot(when, thin.lows, ".", color=COLOURS[0], markersize=2)
    axes.set_ylabel(profile.value)
    axes.set_xlabel("time (UTC)" if dated else f"time [{unit}]")
    if dated:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(maxticks=7)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _growth(axes: Axes, advice: RuntimeAdvice, need: PilotNeed, pilot: Pilot) -> None:
    times = np.arange(pilot.values.size, dtype=np.float64) if pilot.times is None else pilot.times
    thin = points.stretches(times, pilot.values, 600)
    axes.vlines(thin.times - thin.times[0], thin.lows, thin.highs, color=GREY, alpha=0.35, linewidth=0.4)
    rows = growth_rows(need)
    for part, style in zip(PARTS, ((0, (2, 2)), "solid"), strict=True):
        own = [row for row in rows if row["part"] == part]
        x, y = [float(row["length"] or 0) for row in own], [float(row["value"] or 0) for row in own]
        label = part if own and need.startup else None
        axes.plot(x, y, color="black", linewidth=0.6, linestyle=style, label=label)
    for verdict, colour in VERDICT_COLOURS.items():
        own = [row for row in rows if row["verdict"] == verdict]
        x, y = [float(row["length"] or 0) for row in own], [float(row["value"] or 0) for row in own]
        if own:
            marker = VERDICT_MARKERS[verdict]
            axes.plot(x, y, marker, color=colour, linestyle="none", label=verdict, markersize=2.5)
    for at, label, style in ((need.startup, "cut", (0, (5, 4))), (need.runtime, "runtime", "solid")):
        if at and at <= 1.5 * need.duration:
            axes.axvline(at, color=COLOURS[0], linestyle=style, linewidth=1)
            axes.annotate(
                label, (at, 1), (2, -7), xycoords=("data", "axes fraction"), textcoords="offset points"
            )
    axes.set_xlabel(f"length of the trial [{advice.unit}]")
    measure = need.measure if isinstance(need.measure, str) else f"p{need.measure:g}"
    axes.set_ylabel(f"{measure} of {need.metric}" + (f" [{need.unit}]" if need.unit else ""))
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)
