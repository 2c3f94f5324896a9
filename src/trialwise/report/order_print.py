"""Figures of order for print: p-values and effect sizes, Δ%, CI cases (OrderSage's Figures 2 to 6), carry-over, trials over time."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from trialwise.report.palette import COLOURS, MARKERS
from trialwise.report.print_style import GREY, STYLE, WIDTH, save

if TYPE_CHECKING:
    import polars as pl

    from trialwise.analysis.order_results import GroupCarryOver, OrderAnalysis, TreatmentOrder

_SMALLEST = 1e-30
"""Smaller p-values are drawn here, as in the paper."""
_MOST_INTERVALS = 12
_MOST_POINTS = 4000
_MOST_GROUPS = 6

Indices = npt.NDArray[np.int64]
Drawing = tuple[str, Callable[[Figure], None], float]
"""A name, what draws it, and its height in inches."""


def write_order_figures(found: OrderAnalysis, table: pl.DataFrame, folder: Path) -> list[Path]:
    """Write every figure there is something for as SVG, and say which."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, draw, height in _drawings(found, table):
        path = folder / f"{name}.svg"
        with mpl.rc_context(STYLE):
            save(_drawn(draw, height), path)
        written.append(path)
    return written


def order_svgs(found: OrderAnalysis, table: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Name and SVG text of each figure."""
    for name, draw, height in _drawings(found, table):
        text = io.StringIO()
        with mpl.rc_context(STYLE):
            _drawn(draw, height).savefig(text, format="svg", metadata={"Date": None})
        yield name, text.getvalue()[text.getvalue().index("<svg") :]


def _drawn(draw: Callable[[Figure], None], height: float) -> Figure:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    draw(figure)
    return figure


def _drawings(found: OrderAnalysis, table: pl.DataFrame) -> Iterator[Drawing]:
    tested = [one for one in found.treatments if one.p_value is not None]
    if tested:
        yield "p-values", lambda figure: _p_values(figure, tested), 1.8
        yield "differences", lambda figure: _differences(figure.add_subplot(), tested), 1.8
        yield "cases", lambda figure: _cases(figure.add_subplot(), tested), 1.6
        yield (
            "intervals",
            lambda figure: _intervals(figure.add_subplot(), tested),
            0.6 + 0.22 * min(len(tested), _MOST_INTERVALS),
        )
    for place, group in enumerate(found.carry_over[:_MOST_GROUPS]):
        matrix = group.matrix
        if matrix is not None and group.tested:
            size = max(1.8, 0.8 + 0.24 * len(matrix.treatments))
            yield f"carry-over-{place}", lambda figure, group=group: _matrix(figure, group), size
    groups = table.partition_by("metric", "group", maintain_order=True)[:_MOST_GROUPS]
    for place, part in enumerate(groups):
        yield f"trials-{place}", lambda figure, part=part: _trials(figure.add_subplot(), part), 2.2


def _p_values(figure: Figure, tested: Sequence[TreatmentOrder]) -> None:
    """The paper's Figures 2 and 3: both sorted by effect size."""
    ordered = sorted(tested, key=lambda one: one.eta_squared or 0.0)
    left, right = figure.subplots(1, 2)
    x = np.arange(1, len(ordered) + 1)
    p_values = [max(one.p_value or 0.0, _SMALLEST) for one in ordered]
    significant = np.array([one.significant for one in ordered])
    for which, marker, colour in ((significant, "o", COLOURS[1]), (~significant, "s", COLOURS[0])):
        left.plot(x[which], np.array(p_values)[which], marker, color=colour, markersize=1.8, linestyle="none")
    left.axhline(
        min(one.alpha_corrected for one in ordered), color=GREY, linestyle=(0, (5, 4)), linewidth=0.8
    )
    left.set_yscale("log")
    left.set_ylabel("Kruskal-Wallis p")
    right.plot(x, [one.eta_squared or 0.0 for one in ordered], ".", color=COLOURS[0], markersize=2)
    right.set_ylabel("effect size η²")
    for axes in (left, right):
        axes.set_xlabel("treatments, by η²")


def _differences(axes: Axes, tested: Sequence[TreatmentOrder]) -> None:
    """The paper's Figure 4."""
    values = sorted(one.percent_difference or 0.0 for one in tested)
    axes.axhline(0, color=GREY, linewidth=0.5)
    axes.plot(np.arange(1, len(values) + 1), values, ".", color=COLOURS[0])
    axes.set_xlabel("treatments, by Δ%")
    axes.set_ylabel("Δ% (fixed - random)")


def _cases(axes: Axes, tested: Sequence[TreatmentOrder]) -> None:
    """The paper's Figure 6."""
    counts = [sum(one.case == case for one in tested) for case in (1, 2, 3)]
    axes.barh([0, 1, 2], counts, color=[COLOURS[1], COLOURS[2], COLOURS[4]])
    axes.set_yticks([0, 1, 2], ["Case 1: changes", "Case 2: likely not", "Case 3: open"])
    axes.invert_yaxis()
    axes.set_xlabel("treatments")
    for place, count in enumerate(counts):
        axes.annotate(f" {count}", (count, place), va="center")


def _intervals(axes: Axes, tested: Sequence[TreatmentOrder]) -> None:
    """The paper's Figure 5, in percent of the fixed median: the treatments that move most."""
    ordered = sorted(tested, key=lambda one: -abs(one.shift_percent or 0.0))[:_MOST_INTERVALS]
    for place, one in enumerate(ordered):
        for interval, offset, colour, marker in (
            (one.fixed, -0.15, COLOURS[0], MARKERS[0]),
            (one.random, 0.15, COLOURS[1], MARKERS[3]),
        ):
            if interval is None or one.fixed is None or not one.fixed.median:
                continue
            low, middle, high = (
                100 * end / one.fixed.median - 100 for end in (interval.low, interval.median, interval.high)
            )
            axes.plot([low, high], [place + offset] * 2, color=colour)
            axes.plot(
                middle,
                place + offset,
                marker,
                color=colour,
                label=("random" if offset > 0 else "fixed") if not place else None,
            )
    axes.set_yticks(range(len(ordered)), [f"{one.treatment} ({one.case})" for one in ordered])
    axes.invert_yaxis()
    axes.set_xlabel("median with its interval [% from the fixed median]")
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)


def _matrix(figure: Figure, group: GroupCarryOver) -> None:
    """Effects of predecessors (columns) on treatments (rows) in percent; framed: those that are named."""
    matrix = group.matrix
    if matrix is None:
        return
    axes = figure.add_subplot()
    values = np.array([[np.nan if cell is None else cell for cell in row] for row in matrix.percent])
    most = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 1.0
    image = axes.imshow(values, cmap="RdBu_r", vmin=-(most or 1.0), vmax=most or 1.0)
    names = list(matrix.treatments)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.grid(visible=False)
    for pair in group.pairs:
        at = names.index(pair.predecessor), names.index(pair.treatment)
        axes.add_patch(Rectangle((at[0] - 0.5, at[1] - 0.5), 1, 1, fill=False, linewidth=1.5))
    axes.set_xlabel("right after")
    axes.set_ylabel(f"effect on {group.metric}" + (f" ({group.group})" if group.group else ""))
    figure.colorbar(image, ax=axes, label="%")


def _trials(axes: Axes, part: pl.DataFrame) -> None:
    """Trials over time in percent of their treatment's median, coloured by round, fixed and random by shape."""
    part = part.drop_nulls("value")
    if part.is_empty():
        return
    scaled = 100 * part["value"].to_numpy() / _medians(part) - 100
    turn, position = part["turn"].to_numpy().astype(np.float64), part["position"].to_numpy()
    x = turn + (position - position.min()) / (np.ptp(position) + 1 or 1.0)
    keep: Indices = np.arange(0, turn.size, max(1, turn.size // _MOST_POINTS), dtype=np.int64)
    orders = part["order"].to_numpy()
    for order, marker in (("fixed", "o"), ("random", "D")):
        shown: Indices = np.compress(orders[keep] == order, keep)
        if shown.size:
            axes.scatter(
                x[shown],
                scaled[shown],
                c=turn[shown] % 10,
                cmap="tab10",
                vmin=0,
                vmax=9,
                marker=marker,
                s=4,
                linewidths=0,
                label=order,
            )
    axes.set_xlabel("round")
    axes.set_ylabel(f"{part['metric'][0] if part.height else ''} [% from the median]")
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)


def _medians(part: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    import polars as pl

    found = part.select(pl.col("value").median().over("treatment"))["value"].to_numpy()
    return np.where(found == 0, np.nan, found)
