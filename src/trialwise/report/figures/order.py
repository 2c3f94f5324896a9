"""Figures of order, drawn from their pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt

from trialwise.report.document import Figure
from trialwise.report.figures import marks
from trialwise.report.figures.board import charted
from trialwise.report.figures.marks import HEIGHT, Chart
from trialwise.report.figures.order_picture import NAMED, WRITTEN, Picture, powers
from trialwise.report.figures.palette import COLOURS, DIVERGING
from trialwise.report.figures.sheets import Sheet
from trialwise.report.points import Row

_ROW = 30
_CELL = 22
"""Pixels that a row or column of a matrix needs at least."""
_NAMES = 190
_SHORT, _LEVEL = 19, 6
"""Letters of a name beside a matrix, and of one that stands level above a column."""
_TIPS = ("p", "p_corrected", "effect", "difference")
_WHOLE = ("intervals", "pairs", "trials")
Drawn = tuple[Chart, int]
"""A chart and its height in pixels."""


def order_figures(shown: Sequence[Picture], sheets: dict[str, Sheet]) -> list[Figure]:
    """The figures of pictures; their data are put among `sheets`."""
    return [_figure(picture, sheets) for picture in shown]


def _figure(picture: Picture, sheets: dict[str, Sheet]) -> Figure:
    chart, height = _DRAW[picture.kind](picture, lambda rows: charted(rows, sheets))
    return Figure(
        f"by-order-{picture.name}",
        picture.title,
        picture.caption,
        picture.alternative,
        marks.finished(chart, height),
        whole=picture.kind in _WHOLE or _least(picture) > 0,
        least=_least(picture),
        file=picture.name,
    )


def _least(picture: Picture) -> int:
    """The width below which a figure is scrolled: that of a big matrix."""
    large = picture.kind == "carry-over" and len(picture.names) > WRITTEN
    return _NAMES + _CELL * len(picture.names) if large else 0


Sheeted = Callable[[Sequence[Row]], Chart]


def _rows_height(picture: Picture, each: int = _ROW) -> int:
    return 70 + each * max(len(picture.names), 2)


# Curves of treatments


def _curve(picture: Picture, sheeted: Sheeted, field: str, scale: alt.Scale, axis: alt.Axis) -> Drawn:
    """A row for each of few treatments, or the values of many over their rank with the ends named."""
    measure: dict[str, Any] = {"title": picture.axis, "scale": scale, "axis": axis}
    base = sheeted(picture.rows)
    few = len(picture.rows) <= NAMED
    if few:
        base = base.encode(x=alt.X(f"{field}:Q", **measure), y=marks.treatment_rows(list(picture.names)))
    else:
        rank = alt.X("rank:Q", title="treatments, by rank", scale=alt.Scale(nice=False, padding=8))
        base = base.encode(x=rank, y=alt.Y(f"{field}:Q", **measure))
    tips = [*marks.name_tips("treatment"), *map(marks.tip, _TIPS), *marks.name_tips("case")]
    looks = marks.two_standings(["differs", "does not differ"])
    dots = base.mark_point(size=60 if few else 25, opacity=0.9).encode(*looks, tooltip=tips)
    line = {"x" if few else "y": alt.datum(picture.level)}
    rule = base.mark_rule(strokeDash=[5, 4], opacity=0.7).encode(**_across(few=few), **line)
    layers = [rule, dots.add_params(marks.zoom("x" if few else "y"))]
    return alt.layer(*layers, *([] if few else _ends(picture, sheeted, field, measure))), (
        _rows_height(picture) if few else HEIGHT
    )


def _across(*, few: bool) -> dict[str, Any]:
    """A rule has no place along the other axis: it goes all the way across."""
    return (
        {"y": alt.value(0), "y2": alt.value("height")}
        if few
        else {"x": alt.value(0), "x2": alt.value("width")}
    )


def _ends(picture: Picture, sheeted: Sheeted, field: str, measure: Mapping[str, Any]) -> list[Chart]:
    """The names of the first and the last treatment of a curve, on its empty side."""
    rising = -1 if picture.kind == "p-values" else 1
    made: list[Chart] = []
    for row, align, away in (
        (picture.rows[0], "left", 13 * rising),
        (picture.rows[-1], "right", -13 * rising),
    ):
        text = sheeted([row]).mark_text(align=align, dy=away, limit=260)
        made.append(text.encode(x="rank:Q", y=alt.Y(f"{field}:Q", **measure), text="treatment:N"))
    return made


def _p_values(picture: Picture, sheeted: Sheeted) -> Drawn:
    label = "datum.value >= 0.01 ? format(datum.value, '~g') : format(datum.value, '.0e')"
    values = [1.0, picture.level or 1.0, *marks.numbers(picture.rows, "p")]
    if len(picture.rows) > NAMED:  # room for the names at the ends
        values = [*values, min(values) / 2]
    axis = alt.Axis(labelExpr=label, values=powers(picture))
    return _curve(picture, sheeted, "p", marks.logarithmic(values), axis)


def _effect_sizes(picture: Picture, sheeted: Sheeted) -> Drawn:
    return _curve(
        picture,
        sheeted,
        "effect",
        marks.span([0.0, *marks.numbers(picture.rows, "effect")]),
        alt.Axis(tickCount=6),
    )


def _differences(picture: Picture, sheeted: Sheeted) -> Drawn:
    return _curve(
        picture,
        sheeted,
        "difference",
        marks.span([0.0, *marks.numbers(picture.rows, "difference")]),
        alt.Axis(tickCount=6),
    )


def _cases(picture: Picture, sheeted: Sheeted) -> Drawn:
    # A fifth more than the longest bar, for its number.
    most = 1.2 * max(float(row["treatments"] or 0) for row in picture.rows)
    axis = marks.count_axis([0, most])
    x = alt.X("treatments:Q", title=picture.axis, axis=axis, scale=alt.Scale(domain=[0, most], nice=False))
    base = sheeted(picture.rows).encode(
        x=x, y=_case_rows(), tooltip=marks.name_tips("case", "treatments", "share")
    )
    colours = alt.Color(
        "case:N", scale=alt.Scale(range=[COLOURS[1], COLOURS[0], COLOURS[4]]), legend=None, sort=None
    )
    counts = base.mark_text(align="left", dx=5).encode(text="treatments:N")
    return alt.layer(base.mark_bar().encode(color=colours), counts), 150


def _case_rows() -> alt.Y:
    return alt.Y("case:N", sort=None, title=None, axis=alt.Axis(labelLimit=250))


# Intervals


def _intervals(picture: Picture, sheeted: Sheeted) -> Drawn:
    domain = ["fixed", "random"]
    legend = marks.legend(domain)
    colour = alt.Color(
        "order:N", scale=alt.Scale(domain=domain, range=[COLOURS[0], COLOURS[1]]), legend=legend
    )
    shape = alt.Shape("order:N", scale=alt.Scale(domain=domain, range=["circle", "diamond"]), legend=legend)
    tips = [
        *marks.name_tips("treatment", "order"),
        *map(marks.tip, ("low", "median", "high")),
        *marks.name_tips("n"),
    ]
    y, offset = marks.treatment_rows(picture.names), alt.YOffset("order:N", sort=domain)
    base = sheeted(picture.rows).encode(y=y, yOffset=offset, color=colour, tooltip=tips)
    bars = base.mark_rule(strokeWidth=3, opacity=0.6).encode(x=_reach(picture, "median"), x2="high:Q")
    middles = base.mark_point(filled=True, size=60, opacity=1).encode(x="median:Q", shape=shape)
    return alt.layer(bars.add_params(marks.zoom("x")), middles), _rows_height(picture, 36)


def _reach(picture: Picture, middle: str) -> alt.X:
    return marks.reach(picture.rows, "low", middle, "high").x("low", picture.axis)


def _pairs(picture: Picture, sheeted: Sheeted) -> Drawn:
    tips = [
        *marks.name_tips("treatment"),
        *map(marks.tip, ("percent", "low", "high", "p")),
        *marks.name_tips("n"),
    ]
    base = sheeted(picture.rows).encode(y=marks.treatment_rows(picture.names), tooltip=tips)
    bars = base.mark_rule(strokeWidth=3, opacity=0.5, color=COLOURS[0])
    bars = bars.encode(x=_reach(picture, "percent"), x2="high:Q")
    middles = base.mark_point(filled=True, size=60, opacity=1, color=COLOURS[0]).encode(x="percent:Q")
    zero = base.mark_rule(strokeDash=[5, 4], opacity=0.7).encode(x=alt.datum(0), **_across(few=True))
    return alt.layer(zero, bars.add_params(marks.zoom("x")), middles), _rows_height(picture, 26)


# The matrix


def _matrix(picture: Picture, sheeted: Sheeted) -> Drawn:
    names, most = list(picture.names), picture.most
    written = len(names) <= WRITTEN
    axis: dict[str, Any] = {
        "grid": False,
        "labelExpr": marks.middle("datum.label", _SHORT),
        "labelLimit": 190,
        "labelOverlap": False,
        "ticks": False,
        "domain": False,
    }
    band = alt.Scale(domain=names, padding=0.08)
    x = alt.X(
        "predecessor:N",
        title="right after",
        scale=band,
        axis=alt.Axis(orient="top", labelAngle=_turned(names), **axis),
    )
    y = alt.Y("treatment:N", title="treatment", scale=band, axis=alt.Axis(**axis))
    tips = [
        alt.Tooltip("treatment:N"),
        alt.Tooltip("predecessor:N", title="right after"),
        alt.Tooltip("percent:Q", title="effect, %", format="+.3~g"),
        alt.Tooltip("p:Q", title="p, for all pairs", format=".2~g"),
        alt.Tooltip("n:Q"),
    ]
    base = sheeted(picture.rows).encode(x=x, y=y, tooltip=tips)
    scale = alt.Scale(domain=[-most, most], range=list(DIVERGING), clamp=True, interpolate="rgb")
    legend = alt.Legend(
        title=picture.axis,
        orient="bottom",
        gradientLength=220,
        titleLimit=300,
        values=[-most, 0, most],
        labelExpr="datum.value ? format(datum.value, '+.3~g') : '0'",
        titleFontWeight="normal",
    )
    cells = base.mark_rect().encode(color=alt.Color("percent:Q", scale=scale, legend=legend))
    framed = base.transform_filter("datum.named").mark_rect(
        fillOpacity=0, strokeWidth=3, stroke="currentColor"
    )
    ink = alt.condition(f"abs(datum.percent) > {0.6 * most}", alt.value("#fff"), alt.value("#111"))
    text = base.encode(color=ink, text="text:N")
    plain, bold = (
        text.transform_filter(which).mark_text(fontSize=12, fontWeight=weight)
        for which, weight in (("!datum.named", "normal"), ("datum.named", "bold"))
    )
    dots = base.transform_filter("datum.named").mark_point(filled=True, size=30, opacity=1).encode(color=ink)
    layers = [cells, framed, plain, bold] if written else [cells, framed, dots]
    return alt.layer(*layers), 60 + max(46 if written else _CELL, 22) * max(len(names), 3)


def _turned(names: Sequence[str]) -> int:
    """The angle of names above a matrix: upright where a cell is too narrow for them."""
    return -90 if max(map(len, names), default=0) > _LEVEL else 0


# Over time


def _position(picture: Picture, sheeted: Sheeted) -> Drawn:
    tips = [
        alt.Tooltip("where:N", title=picture.measure),
        *map(marks.tip, ("median", "low", "high")),
        *marks.name_tips("n"),
    ]
    x = alt.X(
        "at:Q",
        title=picture.measure,
        axis=marks.count_axis(marks.numbers(picture.rows, "at")),
        scale=alt.Scale(nice=False, padding=14, zero=False),
    )
    base = sheeted(picture.rows).encode(x=x, tooltip=tips)
    values = [0.0, *marks.numbers(picture.rows, "low", "median", "high")]
    y = alt.Y("low:Q", title=picture.axis, scale=marks.span(values))
    bars = base.mark_rule(strokeWidth=3, opacity=0.5, color=COLOURS[0]).encode(y=y, y2="high:Q")
    middles = base.mark_point(filled=True, size=50, opacity=1, color=COLOURS[0]).encode(y="median:Q")
    zero = base.mark_rule(strokeDash=[5, 4], opacity=0.7).encode(y=alt.datum(0), **_across(few=False))
    return alt.layer(zero, bars.add_params(marks.zoom("x", "y")), middles), HEIGHT


def _trials(picture: Picture, sheeted: Sheeted) -> Drawn:
    tips = [
        marks.tip("value", picture.measure),
        marks.tip("percent", "% from the median"),
        *marks.name_tips("treatment", "order", "round", "position"),
        *(marks.name_tips("worker") if any(row["worker"] for row in picture.rows) else []),
    ]
    domain = ["fixed", "random"]
    several = len({row["order"] for row in picture.rows}) > 1
    ink = "currentColor"
    known = alt.Legend(orient="top", title=None, symbolFillColor=ink, symbolStrokeColor=ink)
    legend = known if several else None
    shape = alt.Shape("order:N", scale=alt.Scale(domain=domain, range=["circle", "diamond"]), legend=legend)
    numbers = [str(number) for number in range(len(COLOURS))]
    colour = alt.Color("colour:N", scale=alt.Scale(domain=numbers, range=list(COLOURS)), legend=None)
    x = alt.X(
        "at:Q",
        title="round, in the order in which they ran",
        axis=marks.count_axis(marks.numbers(picture.rows, "at")),
        scale=alt.Scale(nice=False, padding=8, zero=False),
    )
    y = alt.Y(
        "percent:Q", title=picture.axis, scale=marks.span([0.0, *marks.numbers(picture.rows, "percent")])
    )
    marked = sheeted(picture.rows).mark_point(filled=True, size=34, opacity=0.8)
    marked = marked.encode(x=x, y=y, shape=shape, color=colour, tooltip=tips)
    line = sheeted(picture.line).mark_line(color="currentColor", strokeWidth=1.5, opacity=0.8)
    return alt.layer(marked.add_params(marks.zoom("x", "y")), line.encode(x="at:Q", y="median:Q")), HEIGHT


_DRAW: Mapping[str, Callable[[Picture, Sheeted], Drawn]] = {
    "p-values": _p_values,
    "effect-sizes": _effect_sizes,
    "differences": _differences,
    "cases": _cases,
    "intervals": _intervals,
    "carry-over": _matrix,
    "pairs": _pairs,
    "position": _position,
    "drift": _position,
    "trials": _trials,
}
