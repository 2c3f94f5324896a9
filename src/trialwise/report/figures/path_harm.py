"""The matrix of harm: what each flow loses beside each other one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from trialwise.analysis.path.results import Harm, HarmCell
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.encodings import Chart
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.palette import DIVERGING
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.numbers import Estimate, Number, counted, percent
from trialwise.report.plot_rows import Row

_ROW, _WIDE = 56, 104
"""Pixels of a row, and the least of a column with a number and its bounds."""
_NAMES, _SHORT = 130, 19
"""Pixels for the names beside the matrix, and the most characters of one."""
_SIZE, _SMALL, _LONG = 11, 9, 14
"""Pixels of the letters of bounds, of longer ones, and from how many letters they are longer."""
_PRINTED = 4
"""Most columns in print whose cells are wide enough for bounds."""
_MARKS = {"more": "▲", "less": "▼", "same": "="}
"""Whether a flow does more harm than another of the same scheme. Beside the number, so that nothing depends on colour alone."""


def harm_figures(harm: Harm, sheets: dict[str, ColumnData], *, printed: bool = False) -> Iterator[Figure]:
    """Yield a matrix for each metric; in print, where it cannot scroll, one of many columns has no bounds."""
    for metric in dict.fromkeys(cell.metric for cell in harm.cells):
        yield _matrix(
            harm, metric, [cell for cell in harm.cells if cell.metric == metric], sheets, printed=printed
        )


def _matrix(
    harm: Harm, metric: str, cells: Sequence[HarmCell], sheets: dict[str, ColumnData], *, printed: bool
) -> Figure:
    names = list(dict.fromkeys(cell.name for cell in cells))
    others = list(dict.fromkeys(cell.other for cell in cells))
    verdicts = [cell.verdict for cell in cells]
    found = f"{verdicts.count('harms')} of {counted(len(cells), 'cell')} show harm"
    caption = (
        f"Harm to the {metric} of the flow in each row by the flow in each column ({harm.factor}): the share of its "
        f"performance that it loses beside the other, with its {percent(harm.confidence)} interval. Bold: the other flow "
        f"harms or helps. ▲ more, ▼ less, = as much harm as by another flow of its own scheme; no mark: undecided. All "
        f"{harm.family} verdicts hold together at {percent(harm.confidence)} (Holm). {found}."
    )
    has_bounds = not printed or len(others) <= _PRINTED
    chart = _drawn([_row(cell) for cell in cells], names, others, sheets, has_bounds=has_bounds)
    return Figure(
        f"harm-{metric}",
        f"Who harms whom: {metric}",
        caption,
        f"Matrix of the harm that each flow does to the {metric} of each other; {found}.",
        encodings.finished(chart, 90 + _ROW * max(len(names), 2)),
        least=_NAMES + _WIDE * len(others),
        whole=True,
        file=f"harm-{metric}",
    )


def _row(cell: HarmCell) -> Row:
    shown = Estimate(Number(cell.harm), Number(cell.low), Number(cell.high))
    return {
        "flow": cell.name,
        "other": cell.other,
        "harm": cell.harm,
        "text": f"{shown.before} {_MARKS.get(cell.than_itself, '')}".strip(),
        "bounds": shown.inside,
        "verdict": cell.verdict,
        "itself": cell.than_itself,
        "decided": cell.verdict in ("harms", "helps"),
        "alone": cell.means[0],
        "beside": cell.means[1],
        "n": f"{cell.n[0]} and {cell.n[1]}",
        "reason": cell.reason,
    }


def _drawn(
    rows: list[Row],
    names: Sequence[str],
    others: Sequence[str],
    sheets: dict[str, ColumnData],
    *,
    has_bounds: bool,
) -> Chart:
    tips = [
        *encodings.name_tips("flow"),
        alt.Tooltip("other:N", title="beside"),
        encodings.tip("harm"),
        *encodings.name_tips("bounds", "verdict"),
        alt.Tooltip("itself:N", title="than by itself"),
        encodings.tip("alone", "mean alone"),
        encodings.tip("beside", "mean beside"),
        alt.Tooltip("n:N", title="trials"),
        *encodings.name_tips("reason"),
    ]
    axis: dict[str, Any] = {
        "grid": False,
        "labelExpr": encodings.middle("datum.label", _SHORT),
        "labelLimit": _NAMES,
        "labelOverlap": False,
        "ticks": False,
        "domain": False,
    }
    across = alt.Axis(orient="top", labelAngle=0, **axis)
    x = alt.X("other:N", title="beside", scale=alt.Scale(domain=list(others), padding=0.04), axis=across)
    y = alt.Y(
        "flow:N", title="harm to", scale=alt.Scale(domain=list(names), padding=0.06), axis=alt.Axis(**axis)
    )
    base = charted(rows, sheets).encode(x=x, y=y, tooltip=tips)
    scale = alt.Scale(domain=[-1, 1], range=list(DIVERGING), clamp=True, interpolate="rgb")
    legend = alt.Legend(title="harm", orient="bottom", gradientLength=220, values=[-1, -0.5, 0, 0.5, 1])
    found = alt.Color("harm:Q", scale=scale, legend=legend)
    squares = base.mark_rect().encode(color=alt.condition("isValid(datum.harm)", found, alt.value("#d9d9d9")))
    ink = {"color": alt.condition("abs(datum.harm) > 0.8", alt.value("#fff"), alt.value("#111"))}
    plain = base.transform_filter("!datum.decided").mark_text(fontSize=13, dy=-8)
    bold = base.transform_filter("datum.decided").mark_text(fontSize=13, fontWeight="bold", dy=-8)
    numbers = [layer.encode(text="text:N", **ink) for layer in (plain, bold)]
    size = _SMALL if max(len(str(row["bounds"])) for row in rows) > _LONG else _SIZE
    bounds = base.mark_text(fontSize=size, dy=9).encode(text="bounds:N", **ink)
    return alt.layer(squares, *numbers, *([bounds] if has_bounds else []))
