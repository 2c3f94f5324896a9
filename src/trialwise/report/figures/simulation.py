"""Figures of a simulated trial over time: queues, and rates of acknowledged data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import altair as alt

from trialwise.arrays import Array
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.paint import write
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import style_of
from trialwise.report.plot_rows import Row
from trialwise.report.units import Scale, scale

Lines = tuple[Array, Mapping[str, Array]]
"""Times in seconds, and the values at these times by name."""


def write_simulation(path: Path, queues: Lines, rates: Lines, title: str) -> None:
    """Draw queues (bytes) and rates of acknowledged data (bit/s), each by name over its times (seconds)."""
    sheets: dict[str, ColumnData] = {}
    write(simulation_figures(queues, rates, title, sheets), sheets, path)


def simulation_figures(
    queues: Lines, rates: Lines, title: str, sheets: dict[str, ColumnData]
) -> list[Figure]:
    """Return queues above, rates below, over the same times."""
    end = scale([float(times[-1]) for times, _ in (queues, rates) if len(times)], "s")
    in_kilobytes = {name: values / 1e3 for name, values in queues[1].items()}
    return [
        _lines("queues", "queue", "kB", (queues[0], in_kilobytes), end, title, sheets),
        _lines("rates", "acknowledged", "bit/s", rates, end, title, sheets),
    ]


def _lines(
    key: str, what: str, unit: str, lines: Lines, end: Scale, title: str, sheets: dict[str, ColumnData]
) -> Figure:
    times, named = lines
    shown = scale([float(values.max(initial=0.0)) for values in named.values()], unit)
    rows: list[Row] = [
        {"treatment": name, "time": time, "value": value}
        for name, values in named.items()
        for time, value in zip((times * end.factor).tolist(), (values * shown.factor).tolist(), strict=True)
    ]
    styles = {name: style_of(place) for place, name in enumerate(named)}
    x = alt.X("time:Q", title=f"time{end.heading}", scale=alt.Scale(nice=False, padding=2))
    y = alt.Y(
        "value:Q", title=what + shown.heading, scale=encodings.from_zero(encodings.numbers(rows, "value"))
    )
    line = charted(rows, sheets).mark_line(strokeWidth=1.4)
    drawn = line.encode(
        x=x, y=y, color=encodings.colour(styles, lines=True), strokeDash=encodings.dash(styles)
    )
    return Figure(
        key, title, f"{what.capitalize()} over time.", f"{what} over time.", encodings.finished(drawn, 170)
    )
