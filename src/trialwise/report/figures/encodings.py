"""What figures share: scales, axes, legends, choices, tooltips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, copysign, expm1, floor, isfinite, log1p, log10
from textwrap import wrap
from typing import Any, cast

import altair as alt

from trialwise.report.figures.axes import padded
from trialwise.report.figures.palette import COLOURS, MOST
from trialwise.report.figures.styles import Style
from trialwise.report.figures.theme import SCREEN
from trialwise.report.numbers import write
from trialwise.report.plot_rows import Row

Chart = Any
"""altair's charts have no public base class with their methods."""

HEIGHT = 300
TALL = 640
"""Figures higher than this many pixels scroll in place."""
_ZOOM = "wheel![event.ctrlKey || event.metaKey]"
_LOG_FROM = 20.0
_MIN_TICKS = 4
_FEW_COUNTS = 12
_CRUSHING = 10.0
"""An interval that reaches this many times as far as all others compresses its axis."""
ALL = "(all)"
"""The list entry that selects everything."""
_PLAIN = "format(datum.value, abs(datum.value) >= 1000 ? '.3~s' : '.4~r')"
"""Format of numbers on a logarithmic axis, without exponents: 0.002, 50, 20k."""
_LETTER = 6.6
"""Approximate width of a legend's character, in pixels."""
_NARROW = 360
"""Width of a legend on a phone and in print, in pixels."""
_NAMES = 190
TITLE = 54
"""Maximum characters of a line of an axis title, which is cut where it is longer than the theme's limit."""
_COMPOSED = {"layer", "concat", "hconcat", "vconcat", "spec", "encoding"}
"""What a specification has its encodings in."""
LONGEST = 27
"""Maximum characters of a name; longer ones lose their middle."""


def middle(name: str, longest: int = LONGEST) -> str:
    """Return a Vega expression that cuts the middle out of a long name, because names often differ at their ends."""
    half = longest // 2
    return f"(length({name}) > {longest} ? slice({name}, 0, {half}) + '…' + slice({name}, -{half}) : {name})"


MIDDLE = middle("datum.label")


def span(values: Sequence[float]) -> alt.Scale:
    """Return a scale around values with room for marks; it need not start at 0 and does not exaggerate tiny differences."""
    return alt.Scale(domain=list(padded(values or [0.0])), nice=False, zero=False)


def from_zero(values: Sequence[float]) -> alt.Scale:
    """Return a scale from 0 to above the largest value."""
    return alt.Scale(domain=[0, 1.06 * max(values, default=0.0) or 1.0], nice=False)


def wide_scale(values: Sequence[float]) -> alt.Scale:
    """Return a scale around values, logarithmic if they are positive and the largest is more than twenty times the smallest."""
    ranging = bool(values) and min(values) > 0 and max(values) > _LOG_FROM * min(values)
    return logarithmic(values) if ranging else span(values)


@dataclass(frozen=True, slots=True)
class Reach:
    """The range of an axis of intervals: a scale with its axis, and a note below the axis if it is compressed."""

    scale: alt.Scale
    axis: alt.Axis
    note: str = ""

    def x(self, field: str, title: str) -> alt.X:
        """Return a horizontal axis of a field."""
        lines = [title, self.note] if self.note else title
        return alt.X(f"{field}:Q", title=lines, scale=self.scale, axis=self.axis)


def reach(rows: Sequence[Row], *fields: str, at_top: bool = False) -> Reach:
    """Return the axis of intervals around 0, compressed beyond the second-largest if the largest would crush the others."""
    ends = sorted(max(map(abs, numbers([row], *fields)), default=0.0) for row in rows)
    values, orient = [0.0, *numbers(rows, *fields)], "top" if at_top else "bottom"
    common = ends[-2] if len(ends) > 1 else 0.0
    if not 0 < _CRUSHING * common < ends[-1]:
        return Reach(span(values), alt.Axis(orient=orient, tickCount=6))
    common = float(f"{common:.1g}")
    powers = [common * 10**power for power in range(1 + ceil(log10(ends[-1] / common)))]
    axis = alt.Axis(values=[*(-part for part in powers), 0, *powers], orient=orient, labelExpr=_PLAIN)
    scale = alt.Scale(type="symlog", constant=common, domain=_around(values, common), nice=False)
    return Reach(scale, axis, f"compressed beyond ±{write(common)}")


def _around(values: Sequence[float], common: float) -> list[float]:
    """Return the range of a compressed axis, with the usual room as drawn."""
    low, high = padded([copysign(log1p(abs(value) / common), value) for value in values])
    return [copysign(common * expm1(abs(end)), end) for end in (low, high)]


def logarithmic(values: Sequence[float], base: int = 10) -> alt.Scale:
    """Return a logarithmic scale around values; bounds of 0 or below do not appear on it."""
    low, high = padded([value for value in values if value > 0] or [1.0], logarithmic=True)
    return alt.Scale(type="log", base=base, domain=[low, high], nice=False)


def count_axis(values: Sequence[float]) -> alt.Axis:
    """Return an axis around values that labels integers only."""
    low, high = ceil(min(values, default=0)), floor(max(values, default=0))
    if high - low > _FEW_COUNTS:
        return alt.Axis(tickMinStep=1, format=",d")
    return alt.Axis(values=list(range(low, high + 1)), format=",d")


def plain_axis(scale: alt.Scale, count: int = 6) -> alt.Axis:
    """Return an axis with plain numbers, few enough on a logarithmic one that all labels differ."""
    found = scale.to_dict()
    if found.get("type") != "log":
        return alt.Axis(tickCount=count)
    return alt.Axis(values=log_ticks(*found["domain"]), labelExpr=_PLAIN)


def log_ticks(low: float, high: float) -> list[float]:
    """Return the labels of a logarithmic axis: powers of ten; on a shorter axis also 2 and 5; on the shortest, round steps."""
    first, last = floor(log10(low)), ceil(log10(high))
    for parts, step in (((1,), ceil((last - first) / 8)), ((1, 2, 5), 1), ((1, 1.5, 2, 3, 4, 5, 7), 1)):
        ticks = [part * 10.0**power for power in range(first, last + 1, step) for part in parts]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= _MIN_TICKS:
            return inside
    step = 10 ** floor(log10((high - low) / 4))
    step *= next(part for part in (1, 2, 5, 10) if (high - low) / (part * step) <= 6)
    return [round(place * step, 12) for place in range(ceil(low / step), floor(high / step) + 1)]


def finished(chart: Chart, height: int = HEIGHT) -> dict[str, Any]:
    """Return a chart as a Vega-Lite document as wide as its container, in the page's ink."""
    made = chart.properties(width="container", height=height)
    return inked(made.properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding")))


def inked(chart: Chart) -> dict[str, Any]:
    """Return a chart as a Vega-Lite document in the page's ink."""
    made = chart.properties(background=SCREEN.ground)
    # A test checks every kind of figure against the schema: checking each figure takes a third of a page's time.
    spec: dict[str, Any] = made.configure(**SCREEN.config).to_dict(validate=False)
    _break_titles(spec)
    return spec


def _break_titles(part: Any) -> None:  # noqa: ANN401
    """Put the title of each axis of a part of a specification into lines that are no longer than an axis, where they would be cut."""
    if isinstance(part, list):
        for each in cast("list[Any]", part):
            _break_titles(each)
    elif isinstance(part, dict):
        for name, each in cast("dict[str, Any]", part).items():
            if name in {"x", "y"} and isinstance(each, dict):
                axis = cast("dict[str, Any]", each)
                if "title" in axis:
                    axis["title"] = _lines(axis["title"])
            elif name in _COMPOSED:
                _break_titles(each)


def _lines(title: str | list[str] | None) -> str | list[str] | None:
    lines = [line for each in ([title] if isinstance(title, str) else title or ()) for line in _wrapped(each)]
    return lines if len(lines) > 1 else title


def _wrapped(title: str) -> list[str]:
    """Return the lines of a title; what says where better is has one of its own."""
    if len(title) <= TITLE:
        return [title]
    what, dash, better = title.partition(" – better")
    return wrap(what, TITLE) + ([f"{dash}{better}".strip()] if dash else [])


def legend(
    names: Sequence[str], *, lines: bool = False, shown: Sequence[str] | None = None
) -> alt.Legend | None:
    """Return a legend above a figure, None for one name: in a row if that fits on a phone, else in columns that hold every name.

    `lines`: entries show a stroke; `shown` are the names that have an entry, if not all.
    """
    if len(names) < 2:
        return None
    entries = list(shown or names)
    longest = min(LONGEST, max(map(len, entries))) * _LETTER + 34
    columns = max(1, min(len(entries), int(_NARROW // longest)))
    styles: dict[str, Any] = (
        {"symbolType": "stroke", "symbolSize": 300, "symbolStrokeWidth": 2} if lines else {}
    )
    return alt.Legend(
        orient="top",
        title=None,
        columns=columns,
        labelLimit=_NARROW,
        labelExpr=MIDDLE,
        values=entries,
        **styles,
    )


def colour(styles: Mapping[str, Style], *, lines: bool = False) -> alt.Color:
    """Return a colour for each treatment, by its label in figures."""
    names = list(styles)
    scale = alt.Scale(domain=names, range=[style.colour for style in styles.values()])
    return alt.Color("treatment:N", scale=scale, legend=legend(names, lines=lines))


def shape(styles: Mapping[str, Style]) -> alt.Shape:
    """Return a shape for each treatment, so that nothing depends on colour alone."""
    names = list(styles)
    scale = alt.Scale(domain=names, range=[style.shape for style in styles.values()])
    return alt.Shape("treatment:N", scale=scale, legend=legend(names))


def dash(styles: Mapping[str, Style]) -> alt.StrokeDash:
    """Return dashes for each treatment, so that nothing depends on colour alone."""
    names = list(styles)
    scale = alt.Scale(domain=names, range=[list(style.dash) for style in styles.values()])
    return alt.StrokeDash("treatment:N", scale=scale, legend=legend(names, lines=True))


def standing() -> tuple[alt.Stroke, alt.Fill]:
    """Filled marks hold, hollow ones are only descriptive."""
    domain = ["holds", "descriptive only"]
    above = legend(domain)
    stroke = alt.Scale(domain=domain, range=[COLOURS[0], COLOURS[1]])
    fill = alt.Scale(domain=domain, range=[COLOURS[0], "transparent"])
    return (
        alt.Stroke("standing:N", scale=stroke, legend=above),
        alt.Fill("standing:N", scale=fill, legend=above),
    )


def two_standings(domain: Sequence[str]) -> tuple[alt.Color, alt.Shape, alt.Fill]:
    """Filled circles for what was shown, hollow squares for what was not."""
    above = legend(domain)
    field, colours = "standing:N", [COLOURS[1], COLOURS[0]]
    return (
        alt.Color(field, scale=alt.Scale(domain=domain, range=colours), legend=above),
        alt.Shape(field, scale=alt.Scale(domain=domain, range=["circle", "square"]), legend=above),
        alt.Fill(field, scale=alt.Scale(domain=domain, range=[COLOURS[1], "transparent"]), legend=above),
    )


def choice(name: str, label: str, options: Sequence[str]) -> alt.Parameter:
    """Return a selection list below a figure."""
    bind = alt.BindRadioSelect(options=list(options), name=f"{label} ", input="select")
    return alt.param(name=name, value=options[0], bind=bind)


def choices(**options: Sequence[str]) -> list[alt.Parameter]:
    """Return lists for fields with more than one option; the names are those of fields."""
    return [choice(f"one_{name}", name, known) for name, known in options.items() if len(known) > 1]


def chosen(**options: Sequence[str]) -> str:
    """Return the condition that a row matches the selection in `choices`."""
    conditions = [
        f"(one_{name} === '{ALL}' || datum.{name} === one_{name})"
        if ALL in known
        else f"datum.{name} === one_{name}"
        for name, known in options.items()
        if len(known) > 1
    ]
    return " && ".join(conditions) or "true"


def all_or_one(names: Sequence[str]) -> list[str]:
    """Return the options for treatments: all, if each has a colour, or one."""
    return [*([ALL] if 1 < len(names) <= MOST else []), *names]


def zoom(*encodings: str) -> alt.Parameter:
    """Drag to move, Ctrl and wheel to zoom; the wheel alone scrolls the page."""
    return alt.selection_interval(bind="scales", encodings=list(encodings), zoom=_ZOOM)  # type: ignore[arg-type]


def metric_x(field: str, title: str, values: Sequence[float], height: int = HEIGHT) -> alt.X:
    """Return a horizontal axis of the metric around its values, at the top of figures that scroll."""
    axis = alt.Axis(orient="top" if height > TALL else "bottom", tickCount=6)
    return alt.X(f"{field}:Q", title=title, axis=axis, scale=span(values))


def treatment_rows(names: Sequence[str], *, grid: bool = True) -> alt.Y:
    """Return a row for each treatment, in the order of the file; long names lose their middle."""
    return named_rows("treatment", names, grid=grid)


def named_rows(field: str, names: Sequence[str], *, grid: bool = True) -> alt.Y:
    """Return a row for each name; long names lose their middle."""
    axis = alt.Axis(labelLimit=_NAMES, grid=grid, labelExpr=MIDDLE, labelOverlap=False)
    return alt.Y(f"{field}:N", sort=list(names), title=None, axis=axis)


def tip(field: str, title: str | None = None) -> alt.Tooltip:
    """A number in a tooltip."""
    return alt.Tooltip(f"{field}:Q", title=title or field, format=".5~g")


def name_tips(*fields: str) -> list[alt.Tooltip]:
    """Names and counts in a tooltip."""
    return [alt.Tooltip(f"{field}:N") for field in fields]


def trial_tips(metric: str) -> list[alt.Tooltip]:
    """Return the tooltip of a trial's mark."""
    return [tip("value", metric), *name_tips("trial", "treatment", "series", "round", "converged")]


def numbers(rows: Sequence[Row], *fields: str) -> list[float]:
    """Return the numbers in some fields of rows, without those that are not finite."""
    cells = [row.get(name) for name in fields for row in rows]
    return [cell for cell in cells if isinstance(cell, int | float) and isfinite(cell)]
