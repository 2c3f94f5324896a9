"""Printed figures of what is estimated from simulated trials: estimates with intervals, slowdown by flow size."""

# pyright: reportUnknownMemberType=false
# matplotlib leaves the types of its keyword arguments open.

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trialwise.analysis.estimation.results import Estimation, MetricEstimate
from trialwise.report.estimation_tables import estimate_scales
from trialwise.report.figures.estimation_points import estimate_rows, kind_look, size_rows
from trialwise.report.figures.looks import Look
from trialwise.report.figures.palette import COLOURS, MARKERS
from trialwise.report.points import Row, in_unit
from trialwise.report.print_page import column, rows_of
from trialwise.report.print_style import WIDTH, log_scale
from trialwise.report.units import Scale

Draw = Callable[[Axes], None]
_AROUND, _ROW = 0.75, 0.16
"""Inches of a figure beside its rows, and of a row."""
_WIDE = 20.0
"""From a largest of so many times the smallest on, a scale is logarithmic."""


def estimation_drawings(
    found: Estimation, looks: Mapping[str, Look], names: Mapping[str, str]
) -> Iterator[tuple[str, float, Draw]]:
    """For each figure its name, its height in inches, and what draws it on a pair of axes."""
    scales = estimate_scales(found)
    for metric in dict.fromkeys(one.metric for one in found.estimates):
        members = [one for one in found.estimates if one.metric == metric]
        if rows := in_unit(estimate_rows(members, names), scales[metric]):
            yield f"{metric}-estimates", _AROUND + _ROW * len(rows), _intervals(members, rows, scales[metric])
    if found.sizes:
        shown = {names.get(name, name): look for name, look in looks.items()}
        yield "slowdowns", 2.4, lambda axes: _slowdowns(axes, size_rows(found.sizes, names), shown)


def estimation_figures_for_print(
    found: Estimation, looks: Mapping[str, Look], names: Mapping[str, str]
) -> Iterator[tuple[str, Figure]]:
    """The figures by name, each one column wide."""
    for name, height, draw in estimation_drawings(found, looks, names):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        draw(figure.add_subplot())
        yield name, figure


def _intervals(members: Sequence[MetricEstimate], rows: Sequence[Row], shown: Scale) -> Draw:
    """A row for each treatment and estimand, the first treatment on top."""
    kinds = list(dict.fromkeys(str(row["estimand"]) for row in rows))

    def draw(axes: Axes) -> None:
        for kind in kinds:
            own = [(place, row) for place, row in enumerate(rows) if row["estimand"] == kind]
            values, look = column([row for _, row in own], "estimate"), kind_look(kind)
            for (place, row), value in zip(own, values, strict=True):
                low, high = column([row], "low")[0], column([row], "high")[0]
                if math.isfinite(low) and math.isfinite(high):
                    axes.plot([low, high], [place, place], color=COLOURS[look], linewidth=2, alpha=0.6)
                axes.plot([value], [place], MARKERS[look], color=COLOURS[look], markersize=3)
            axes.plot([], [], MARKERS[look], color=COLOURS[look], markersize=3, label=kind)
        if _is_wide([*column(rows, "estimate"), *column(rows, "low"), *column(rows, "high")]):
            log_scale(axes, "x")
        axes.set_yticks(range(len(rows)), _once([str(row["treatment"]) for row in rows]))
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(f"{members[0].metric}{shown.heading}, {rows[0]['level']}")
        axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=1)

    return draw


def _once(names: Sequence[str]) -> list[str]:
    """A name beside its first row alone."""
    return ["" if place and names[place - 1] == name else name for place, name in enumerate(names)]


def _is_wide(values: Sequence[float]) -> bool:
    known = [value for value in values if math.isfinite(value)]
    return min(known) > 0 and max(known) > _WIDE * min(known)


def _slowdowns(axes: Axes, rows: Sequence[Row], looks: Mapping[str, Look]) -> None:
    quantiles = list(dict.fromkeys(str(row["quantile"]) for row in rows))
    for name in dict.fromkeys(str(row["treatment"]) for row in rows):
        for quantile in quantiles:
            own, look = rows_of(rows, treatment=name, quantile=quantile), looks[name]
            sizes, last = column(own, "size"), quantile == quantiles[-1]
            axes.vlines(sizes, column(own, "low"), column(own, "high"), color=look.colour, linewidth=0.6)
            axes.plot(
                sizes,
                column(own, "estimate"),
                marker=look.marker,
                markersize=2.5,
                color=look.colour,
                linestyle="-" if last else (0, (4, 3)),
                label=f"{name}, {quantile}",
            )
    log_scale(axes, "x")
    log_scale(axes, "y")
    axes.set_xlabel("flow size [B]")
    axes.set_ylabel("slowdown")
    axes.figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
