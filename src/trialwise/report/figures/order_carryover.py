"""Figures of carry-over: a matrix of predecessors, or the pairs that stand out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from trialwise.analysis.order.results import GroupCarryOver, PairEffect
from trialwise.analysis.order.summary import OrderSummary
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.encodings import Chart
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.order_parts import (
    MAX_GROUPS,
    across,
    group_text,
    names_of,
    order_figure,
    rows_height,
)
from trialwise.report.figures.palette import COLOURS, DIVERGING
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.numbers import counted, percent
from trialwise.report.plot_rows import Row

_MAX_PAIRS = 20
_WRITTEN = 8
"""Maximum number of treatments for which the cells of a matrix show their number."""
_CELL, _NAMES = 22, 190
"""Minimum pixels of a row or column of a matrix, and pixels for the names beside it."""
_SHORT, _LEVEL = 19, 6
"""Maximum characters of a name beside a matrix, and of a horizontal one above a column."""
_AXIS = "% of the mean after the others"


def carry_over_groups(view: OrderSummary) -> Sequence[GroupCarryOver]:
    """Return the groups tested for carry-over, as in the report."""
    return view.found.carry_over if view.found else ()


def carryover_figures(
    view: OrderSummary, labels: Mapping[str, str], sheets: dict[str, ColumnData]
) -> Iterator[Figure]:
    """Yield a matrix for each group that is small enough, the pairs that stand out for the others."""
    groups = carry_over_groups(view)
    for place, group in enumerate(groups[:MAX_GROUPS]):
        of = f": {group_text(group)}" if len(groups) > 1 else ""
        if group.tested and group.matrix is not None:
            yield _matrix(place, group, of, labels, sheets)
        elif group.pairs:
            yield _pairs(place, group, of, labels, sheets)


# The matrix


def _matrix(
    place: int, group: GroupCarryOver, of: str, labels: Mapping[str, str], sheets: dict[str, ColumnData]
) -> Figure:
    rows = list(_cells(group, labels))
    # Include treatments without percentages, because their mean is 0: they are predecessors of others.
    there = [labels.get(name, name) for name in (group.matrix.treatments if group.matrix else ())]
    names = list(dict.fromkeys(name for name in (*labels.values(), *there) if name in there))
    tested = [abs(float(row["percent"] or 0.0)) for row in rows if row["p"] is not None]
    written = len(names) <= _WRITTEN
    found = (
        f"{counted(len(group.pairs), 'pair stands', 'pairs stand')} out"
        if group.pairs
        else "no pair stands out"
    )
    words = (
        f"Carry-over{of}",
        (
            "What each treatment (row) does right after each predecessor (column): the difference in percent of its mean after the "
            f"others. Framed{' and bold' if written else ' and dotted'}: pairs that stand out at "
            f"{percent(group.confidence)} for all {group.tested} together; {found}. Empty: never, or too seldom."
        ),
        f"Matrix of the effect of each predecessor on each treatment of {group_text(group)}, in percent; {found}.",
    )
    chart = _drawn_matrix(charted(rows, sheets), names, max(tested, default=0.0) or 1.0)
    height = 60 + max(46 if written else _CELL, 22) * max(len(names), 3)
    least = 0 if written else _NAMES + _CELL * len(names)
    return order_figure(f"carry-over-{place}", words, chart, height, least=least)


def _cells(group: GroupCarryOver, labels: Mapping[str, str]) -> Iterator[Row]:
    matrix = group.matrix
    if matrix is None:
        return
    standing = {(pair.treatment, pair.predecessor) for pair in group.pairs}
    for row, treatment in enumerate(matrix.treatments):
        for column, predecessor in enumerate(matrix.treatments):
            size = matrix.percent[row][column]
            if size is not None:
                yield {
                    "treatment": labels.get(treatment, treatment),
                    "predecessor": labels.get(predecessor, predecessor),
                    "percent": size,
                    "text": f"{size:+.1f}",
                    "p": matrix.p_values[row][column],
                    "n": matrix.counts[row][column],
                    "named": (treatment, predecessor) in standing,
                }


def _drawn_matrix(chart: Chart, names: Sequence[str], most: float) -> Chart:
    tips = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("predecessor:N", title="right after"),
        alt.Tooltip("percent:Q", title="effect, %", format="+.3~g"),
        alt.Tooltip("p:Q", title="p, for all pairs", format=".2~g"),
        alt.Tooltip("n:Q"),
    ]
    x, y = _matrix_axes(names)
    base = chart.encode(x=x, y=y, tooltip=tips)
    scale = alt.Scale(domain=[-most, most], range=list(DIVERGING), clamp=True, interpolate="rgb")
    legend = alt.Legend(
        title=_AXIS,
        orient="bottom",
        gradientLength=220,
        titleLimit=300,
        values=[-most, 0, most],
        labelExpr="datum.value ? format(datum.value, '+.3~g') : '0'",
    )
    cells = base.mark_rect().encode(color=alt.Color("percent:Q", scale=scale, legend=legend))
    named = base.transform_filter("datum.named")
    framed = named.mark_rect(fillOpacity=0, strokeWidth=3, stroke="currentColor")
    ink = {"color": alt.condition(f"abs(datum.percent) > {0.6 * most}", alt.value("#fff"), alt.value("#111"))}
    if len(names) > _WRITTEN:
        return alt.layer(cells, framed, named.mark_point(filled=True, size=30, opacity=1).encode(**ink))
    plain = base.transform_filter("!datum.named").mark_text(fontSize=12).encode(text="text:N", **ink)
    bold = named.mark_text(fontSize=12, fontWeight="bold").encode(text="text:N", **ink)
    return alt.layer(cells, framed, plain, bold)


def _matrix_axes(names: Sequence[str]) -> tuple[alt.X, alt.Y]:
    """Write names vertically above the columns if a cell is too narrow for them."""
    axis: dict[str, Any] = {
        "grid": False,
        "labelExpr": encodings.middle("datum.label", _SHORT),
        "labelLimit": 190,
        "labelOverlap": False,
        "ticks": False,
        "domain": False,
    }
    band = alt.Scale(domain=list(names), padding=0.08)
    angle = -90 if max(map(len, names), default=0) > _LEVEL else 0
    above = alt.Axis(orient="top", labelAngle=angle, **axis)
    return (
        alt.X("predecessor:N", title="right after", scale=band, axis=above),
        alt.Y("treatment:N", title="treatment", scale=band, axis=alt.Axis(**axis)),
    )


# Pairs


def _pairs(
    place: int, group: GroupCarryOver, of: str, labels: Mapping[str, str], sheets: dict[str, ColumnData]
) -> Figure:
    rows = [_pair_row(pair, labels) for pair in group.pairs[:_MAX_PAIRS] if pair.percent is not None]
    names = names_of(rows)
    tips = [
        *encodings.name_tips("treatment"),
        *map(encodings.tip, ("percent", "low", "high", "p")),
        *encodings.name_tips("n"),
    ]
    chart = charted(rows, sheets)
    base = chart.encode(y=encodings.treatment_rows(names), tooltip=tips)
    bars = base.mark_rule(strokeWidth=3, opacity=0.5, color=COLOURS[0])
    bars = bars.encode(x=encodings.reach(rows, "low", "percent", "high").x("low", _AXIS), x2="high:Q")
    middles = base.mark_point(filled=True, size=60, opacity=1, color=COLOURS[0]).encode(x="percent:Q")
    more = f" The {len(rows)} largest of {len(group.pairs)}." if len(group.pairs) > len(rows) else ""
    words = (
        f"Pairs that stand out{of}",
        (
            "What the predecessor does to the treatment right after it, with intervals that hold at "
            f"{percent(group.confidence)} for all {group.tested} pairs together.{more}"
        ),
        f"Effects of predecessors on treatments of {group_text(group)} with intervals.",
    )
    layers = alt.layer(across(chart, 0.0, upright=True), bars.add_params(encodings.zoom("x")), middles)
    return order_figure(f"carry-over-{place}", words, layers, rows_height(names, 26), whole=True)


def _pair_row(pair: PairEffect, labels: Mapping[str, str]) -> Row:
    names = (labels.get(name, name) for name in (pair.treatment, pair.predecessor))
    return {
        "treatment": " after ".join(names),
        "percent": pair.percent,
        "low": pair.percent_low,
        "high": pair.percent_high,
        "p": pair.p_value,
        "n": pair.n,
    }
