"""What the figures of order share: names, groups, reference lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from trialwise.analysis.order.results import GroupCarryOver
from trialwise.analysis.order.summary import Course
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.encodings import Chart
from trialwise.report.plot_rows import Row

MAX_METRICS = MAX_GROUPS = 6
_ROW = 30


def order_figure(
    name: str,
    words: tuple[str, str, str],
    chart: Chart,
    height: int,
    *,
    whole: bool = False,
    least: int = 0,
) -> Figure:
    """Return a figure of order; `words` are its title, its caption, and its description for those who cannot see it."""
    spec = encodings.finished(chart, height)
    return Figure(f"by-order-{name}", *words, spec, whole=whole or least > 0, least=least, file=name)


def rows_height(names: Sequence[str], each: int = _ROW) -> int:
    """Return the height of a figure with a row for each name, in pixels."""
    return 70 + each * max(len(names), 2)


def group_text(part: GroupCarryOver | Course) -> str:
    """Return the metric, and the group if there are several."""
    return f"{part.metric} ({part.group})" if part.group else part.metric


def names_of(rows: Sequence[Row]) -> list[str]:
    """Return the treatments of rows, each once, in order."""
    return list(dict.fromkeys(str(row["treatment"]) for row in rows))


def across(base: Chart, at: float, *, upright: bool) -> Chart:
    """Draw a dashed line at a value of the measure, over the whole width or height."""
    ends: dict[str, Any] = (
        {"x": alt.datum(at), "y": alt.value(0), "y2": alt.value("height")}
        if upright
        else {"y": alt.datum(at), "x": alt.value(0), "x2": alt.value("width")}
    )
    return base.mark_rule(strokeDash=[5, 4], opacity=0.7).encode(**ends)
