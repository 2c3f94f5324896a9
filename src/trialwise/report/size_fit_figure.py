"""The distribution of flow sizes and the families fitted to it, for print and for slides (CCEval figure 14b)."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from trialwise.arrays import Array
from trialwise.report.figures.palette import COLOURS, DASHES
from trialwise.report.print_style import STYLE, WIDTH, log_scale, save
from trialwise.statistics import SizeFit

_POINTS = 400


def write_size_fits(path: Path, sizes: Array, shares: Array, fits: Sequence[SizeFit], title: str) -> None:
    """Draw the distribution function of sizes (bytes; percent of flows up to each), and those of the fits with their errors."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
        axes = figure.subplots()
        known = sizes > 0
        ends = np.log10([float(sizes[known].min()) / 10, float(sizes.max()) * 10])
        at = 10 ** np.linspace(float(ends[0]), float(ends[1]), _POINTS)
        axes.plot(at, np.interp(at, sizes, shares), color="black", linewidth=1.2, label="sizes")
        for place, fit in enumerate(fits):
            label = f"{fit.family} (error {fit.rmse:.2g}, mean ×{fit.mean_ratio:.2g})"
            look = place % len(COLOURS)
            axes.plot(
                at,
                100 * fit.shares(at),
                color=COLOURS[look],
                linestyle=(0, DASHES[look]),
                linewidth=0.8,
                label=label,
            )
        log_scale(axes, "x")
        axes.set(xlabel="flow size [B]", ylabel="flows up to it [%]", title=title)
        axes.legend(fontsize=5)
        save(figure, path)
