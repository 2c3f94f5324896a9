"""What interactive figures share: scales, legends, choices, tooltips, the look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from trialwise.report.figures.looks import Look
from trialwise.report.figures.palette import COLOURS

Chart = Any
"""altair's charts share no public base class that has their methods."""

HEIGHT = 300
TALL = 640
"""Figures higher than this many pixels are scrolled in their place."""
_ZOOM = "wheel![event.ctrlKey || event.metaKey]"
_SHORT_NAME = 24
_LOG_FROM = 20.0
_INK = {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 12, "titleFontSize": 12}
_CONFIG: dict[str, Any] = {
    "font": "system-ui, 'DejaVu Sans', sans-serif",
    "view": {"stroke": None},
    "axis": {
        **_INK,
        "gridColor": "currentColor",
        "gridOpacity": 0.12,
        "domainColor": "currentColor",
        "tickColor": "currentColor",
        "titleFontWeight": "normal",
        "labelSeparation": 6,
    },
    "legend": {**_INK, "symbolStrokeWidth": 2, "symbolOpacity": 1},
    "text": {"color": "currentColor"},
    "rule": {"color": "currentColor"},
}


def wide_scale(values: Sequence[float]) -> alt.Scale:
    """A scale around values, logarithmic where the largest is more than twenty times the smallest, and that above 0."""
    ranging = bool(values) and min(values) > 0 and max(values) > _LOG_FROM * min(values)
    return alt.Scale(type="log", padding=10, nice=False) if ranging else alt.Scale(zero=False, padding=10)


def finished(chart: Chart, height: int = HEIGHT) -> dict[str, Any]:
    """A chart as a Vega-Lite document as wide as its place, in the ink of the page."""
    made = chart.properties(width="container", height=height, background="transparent")
    made = made.properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
    # Every kind of figure is checked against the schema by a test: checking each one takes a third of the time of a page.
    spec: dict[str, Any] = made.configure(**_CONFIG).to_dict(validate=False)
    return spec


def _legend(names: list[str]) -> alt.Legend | None:
    if len(names) < 2:
        return None
    columns = 2 if max(map(len, names)) <= _SHORT_NAME else 1
    return alt.Legend(orient="top", title=None, columns=columns, labelLimit=190 if columns == 2 else 400)


def colour(looks: Mapping[str, Look]) -> alt.Color:
    """A colour for each treatment, by the name that figures call it."""
    names = list(looks)
    scale = alt.Scale(domain=names, range=[look.colour for look in looks.values()])
    return alt.Color("treatment:N", scale=scale, legend=_legend(names))


def shape(looks: Mapping[str, Look]) -> alt.Shape:
    """A shape for each treatment, so that colour is never alone."""
    names = list(looks)
    scale = alt.Scale(domain=names, range=[look.shape for look in looks.values()])
    return alt.Shape("treatment:N", scale=scale, legend=_legend(names))


def dash(looks: Mapping[str, Look]) -> alt.StrokeDash:
    """Dashes for each treatment, so that colour is never alone."""
    names = list(looks)
    scale = alt.Scale(domain=names, range=[list(look.dash) for look in looks.values()])
    return alt.StrokeDash("treatment:N", scale=scale, legend=_legend(names))


def standing() -> tuple[alt.Stroke, alt.Fill]:
    """Filled marks hold, hollow ones are descriptive only."""
    legend = alt.Legend(orient="top", title=None)
    domain = ["holds", "descriptive only"]
    stroke = alt.Scale(domain=domain, range=[COLOURS[0], COLOURS[1]])
    fill = alt.Scale(domain=domain, range=[COLOURS[0], "transparent"])
    return (
        alt.Stroke("standing:N", scale=stroke, legend=legend),
        alt.Fill("standing:N", scale=fill, legend=legend),
    )


def choice(name: str, label: str, options: list[str]) -> alt.Parameter:
    """A list to choose from below a figure."""
    bind = alt.BindRadioSelect(options=options, name=f"{label} ", input="select")
    return alt.param(name=name, value=options[0], bind=bind)


def choices(**options: list[str]) -> list[alt.Parameter]:
    """Lists for what there is more than one of; the names are those of fields."""
    return [choice(f"one_{name}", name, known) for name, known in options.items() if len(known) > 1]


def chosen(**options: list[str]) -> str:
    """The condition that a row is what `choices` says."""
    conditions = [f"datum.{name} === one_{name}" for name, known in options.items() if len(known) > 1]
    return " && ".join(conditions) or "true"


def zoom(*encodings: str) -> alt.Parameter:
    """Drag to move, Ctrl and wheel to zoom; the wheel alone scrolls the page."""
    return alt.selection_interval(bind="scales", encodings=list(encodings), zoom=_ZOOM)  # type: ignore[arg-type]


def metric_x(field: str, title: str, height: int = HEIGHT) -> alt.X:
    """A horizontal axis of the metric that need not begin at 0; on top of figures that are scrolled."""
    axis = alt.Axis(orient="top" if height > TALL else "bottom")
    return alt.X(f"{field}:Q", title=title, axis=axis, scale=alt.Scale(zero=False, nice=False, padding=10))


def treatment_rows(names: list[str]) -> alt.Y:
    """A row for each treatment, in the order of the file."""
    return alt.Y("treatment:N", sort=names, title=None, axis=alt.Axis(labelLimit=170, grid=True))


def tip(field: str, title: str | None = None) -> alt.Tooltip:
    """A number in a tooltip."""
    return alt.Tooltip(f"{field}:Q", title=title or field, format=".5~g")


def name_tips(*fields: str) -> list[alt.Tooltip]:
    """Names and counts in a tooltip."""
    return [alt.Tooltip(f"{field}:N") for field in fields]


def trial_tips(metric: str) -> list[alt.Tooltip]:
    """What a mark of a trial tells when it is pointed at."""
    return [tip("value", metric), *name_tips("trial", "treatment", "series", "round", "converged")]
