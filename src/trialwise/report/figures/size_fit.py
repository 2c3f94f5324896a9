"""The figure of a distribution of flow sizes and the families fitted to it (CCEval figure 14b)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import altair as alt
import numpy as np

from trialwise.arrays import Array
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.paint import write
from trialwise.report.figures.palette import COLOURS, DASHES
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.plot_rows import Row
from trialwise.statistics import SizeFit

_POINTS = 400


def write_size_fits(path: Path, sizes: Array, shares: Array, fits: Sequence[SizeFit], title: str) -> None:
    """Draw the distribution function of sizes (bytes; percent of flows up to each), and the fits with their errors."""
    sheets: dict[str, ColumnData] = {}
    write([size_fit_figure(sizes, shares, fits, title, sheets)], sheets, path)


def size_fit_figure(
    sizes: Array, shares: Array, fits: Sequence[SizeFit], title: str, sheets: dict[str, ColumnData]
) -> Figure:
    """Return the figure, and add its data to `sheets`."""
    ends = np.log10([float(sizes[sizes > 0].min()) / 10, float(sizes.max()) * 10])
    at = 10 ** np.linspace(float(ends[0]), float(ends[1]), _POINTS)
    lines = {"sizes": np.interp(at, sizes, shares)}
    lines |= {
        f"{fit.family} (error {fit.rmse:.2g}, mean ×{fit.mean_ratio:.2g})": 100 * fit.shares(at)
        for fit in fits
    }
    rows: list[Row] = [
        {"line": name, "size": size, "share": share}
        for name, values in lines.items()
        for size, share in zip(at.tolist(), values.tolist(), strict=True)
    ]
    names, places = list(lines), range(len(fits))
    colours = ["currentColor", *(COLOURS[place % len(COLOURS)] for place in places)]
    dashes = [[1, 0], *(list(DASHES[(place + 1) % len(DASHES)]) for place in places)]
    legend = alt.Legend(
        orient="top", title=None, columns=1, labelLimit=400, symbolType="stroke", symbolSize=300
    )
    scale = encodings.logarithmic(at.tolist())
    drawn = charted(rows, sheets).mark_line(strokeWidth=1.6).encode(
        x=alt.X("size:Q", title="flow size [B]", scale=scale, axis=encodings.plain_axis(scale)),
        y=alt.Y("share:Q", title="flows up to it [%]", scale=alt.Scale(domain=[-2, 102], nice=False)),
        color=alt.Color("line:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
        strokeDash=alt.StrokeDash("line:N", scale=alt.Scale(domain=names, range=dashes), legend=legend),
    )  # fmt: skip
    caption = "Shares of flows up to each size, and the families fitted to them."
    return Figure(
        "size-fits", title, caption, f"Distribution functions: {title}.", encodings.finished(drawn, 240)
    )
