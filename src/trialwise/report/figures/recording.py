"""The figure of a recording of a path: rate, base delay, loss and interruptions over time, both ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import altair as alt
import numpy as np

from trialwise.measurement.recordings import DELAY, LOSS, STATE, Recording, Way
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.paint import write
from trialwise.report.figures.palette import COLOURS
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.plot_rows import Row

_PANELS = (
    ("rate", "rate [Mbit/s]"),
    ("delay", "base delay [ms]"),
    ("loss", "loss [%]"),
    ("interruptions", "interrupted [%]"),
)
_DASHES = [[1, 0], [4, 4]]
"""Of uplink and downlink: both are seen where they are the same."""


def write_recording_plot(path: Path, recording: Recording, bin_width: float, name: str) -> None:
    """Draw the panels that the recording has something for, with means in bins of `bin_width` ms."""
    sheets: dict[str, ColumnData] = {}
    write(list(panels(recording, bin_width, name, sheets)), sheets, path)


def panels(
    recording: Recording, bin_width: float, name: str, sheets: dict[str, ColumnData]
) -> Iterator[Figure]:
    """Yield the figure of each panel, and add its data to `sheets`."""
    edges = _edges(recording, bin_width)
    for what, title in _PANELS:
        rows: list[Row] = []
        for way, each in recording.ways.items():
            values = _values(each, what, edges)
            if values is not None:
                until_the_end = [*values.tolist(), float(values[-1])]
                rows += [
                    {"time": time, "value": value, "way": way}
                    for time, value in zip((edges / 1000).tolist(), until_the_end, strict=True)
                ]
        if rows:
            yield _panel(rows, what, title, name, sheets)


def _edges(recording: Recording, bin_width: float) -> np.ndarray:
    """Return the edges of bins (ms), of which the last one ends with the recording."""
    edges = recording.bins(bin_width)
    return edges if edges[-1] >= recording.length else np.append(edges, recording.length)


def _values(way: Way, what: str, edges: np.ndarray) -> np.ndarray | None:
    if what == "rate":
        return way.rates(edges)
    if what == "interruptions":
        state = way.steps.get(STATE)
        return None if state is None else 100 * replace(state, values=np.sign(state.values)).means(edges)
    steps = way.steps.get(DELAY if what == "delay" else LOSS)
    if steps is None:
        return None
    return steps.means(edges) * (0.001 if what == "delay" else 100.0)


def _panel(rows: list[Row], what: str, title: str, name: str, sheets: dict[str, ColumnData]) -> Figure:
    heights = [float(row["value"]) for row in rows if isinstance(row["value"], float)]
    names = ["uplink", "downlink"]
    ways, dashes = alt.Scale(domain=names, range=list(COLOURS[:2])), alt.Scale(domain=names, range=_DASHES)
    lines = (
        charted(rows, sheets)
        .mark_line(interpolate="step-after", strokeWidth=1.2)
        .encode(
            x=alt.X("time:Q", title="time [s]"),
            y=alt.Y("value:Q", title=title, scale=encodings.from_zero(heights)),
            color=alt.Color("way:N", title=None, scale=ways),
            strokeDash=alt.StrokeDash("way:N", title=None, scale=dashes),
        )
    )
    return Figure(
        "trace", f"{name}: {what}", "", f"The {what} of {name} over time.", encodings.finished(lines, 110)
    )
