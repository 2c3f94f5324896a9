"""The figure of the rate of a trace over its period."""

from __future__ import annotations

from pathlib import Path

import altair as alt

from trialwise.arrays import Array
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.paint import write
from trialwise.report.figures.palette import COLOURS
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.plot_rows import Row


def write_trace(path: Path, ends: Array, rates: Array, bin_width: float, mean: float, name: str) -> None:
    """Draw the rate in each bin (`ends` and `bin_width` in seconds, `rates` and `mean` in Mbit/s)."""
    sheets: dict[str, ColumnData] = {}
    write([trace_figure(ends, rates, bin_width, mean, name, sheets)], sheets, path)


def trace_figure(
    ends: Array, rates: Array, bin_width: float, mean: float, name: str, sheets: dict[str, ColumnData]
) -> Figure:
    """Return the figure, and add its data to `sheets`."""
    starts: list[float] = (ends - bin_width).tolist()
    heights: list[float] = rates.tolist()
    rows: list[Row] = [
        {"time": time, "rate": rate}
        for time, rate in zip([*starts, float(ends[-1])], [*heights, heights[-1]], strict=True)
    ]
    x = alt.X("time:Q", title="time [s]", scale=alt.Scale(domain=[starts[0], float(ends[-1])], nice=False))
    y = alt.Y("rate:Q", title="rate [Mbit/s]", scale=encodings.from_zero([mean, *heights]))
    steps = charted(rows, sheets).encode(x=x, y=y)
    line = {"color": COLOURS[0], "strokeWidth": 1.2}
    area = steps.mark_area(interpolate="step-after", color=COLOURS[0], opacity=0.35, line=line)
    rule = charted([{"rate": mean}], sheets).mark_rule(strokeDash=[4, 3], opacity=0.8).encode(y="rate:Q")
    title = f"{name}: mean {mean:.4g} Mbit/s"
    spec = encodings.finished(alt.layer(area, rule), 150)
    return Figure("trace", title, "Dashed: the mean.", f"Rate of {name} over its period.", spec)
