"""Figures of verdicts: differences with their margin, and ranks."""

from __future__ import annotations

import altair as alt

from trialwise.report.comparison_words import P_FOR
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.comparison import BEST, NOT_BEST, Differences, Ranks, file_name
from trialwise.report.figures.encodings import Chart
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.palette import COLOURS, COMPARED
from trialwise.report.figures.plot_data import ColumnData

_ROW, _AROUND = 34, 100
"""Pixels of a row, and of everything around the rows."""
_BAND = 0.16
_RANK_TICKS = 12
_AGAINST = " against "
_PAIR = [f"split(datum.label, '{_AGAINST}')[{place}]" for place in (0, 1)]
_TWO_LINES = (
    f"indexof(datum.label, '{_AGAINST}') < 0 ? {encodings.middle('datum.label')} : "
    f"[{encodings.middle(_PAIR[0])}, '{_AGAINST.strip()} ' + {encodings.middle(_PAIR[1])}]"
)
"""Split a pair into two lines, to leave room for marks on a narrow page."""


def differences_figure(picture: Differences, caption: str, sheets: dict[str, ColumnData]) -> Figure:
    """Draw intervals by row, with the band of negligible differences behind them."""
    return _figure(
        f"verdicts-{picture.metric}",
        f"Differences: {picture.metric}",
        caption,
        f"Differences of {picture.metric} between treatments, with intervals and the margin.",
        _differences(picture, sheets),
        picture.names,
    )


def ranks_figure(picture: Ranks, caption: str, sheets: dict[str, ColumnData]) -> Figure:
    """Draw the range from each treatment's best possible rank to its worst."""
    return _figure(
        f"ranks-{picture.metric}",
        f"Ranks: {picture.metric}",
        caption,
        f"The ranks that each treatment may have by {picture.metric}.",
        _ranks(picture, sheets),
        picture.names,
    )


def _figure(
    key: str, title: str, caption: str, alternative: str, chart: Chart, names: tuple[str, ...]
) -> Figure:
    spec = encodings.finished(chart, _height(names))
    return Figure(key, title, caption, alternative, spec, whole=True, file=file_name(key))


def _height(names: tuple[str, ...]) -> int:
    return _AROUND + _ROW * max(len(names), 2)


def _is_tall(names: tuple[str, ...]) -> bool:
    """Return True if the measure's axis is at the top, as in figures that scroll."""
    return _height(names) > encodings.TALL


def _rows(names: tuple[str, ...]) -> alt.Y:
    axis = alt.Axis(labelLimit=330, labelExpr=_TWO_LINES, labelOverlap=False, grid=True)
    return alt.Y("name:N", sort=list(names), title=None, axis=axis)


def _differences(picture: Differences, sheets: dict[str, ColumnData]) -> Chart:
    words = [word for word in COMPARED if any(row["word"] == word for row in picture.rows)]
    colours, shapes = ([COMPARED[word][place] for word in words] for place in (0, 1))
    fills = ["transparent" if word == "undecided" else COMPARED[word][0] for word in words]
    ranges = {alt.Color: colours, alt.Fill: fills, alt.Shape: shapes}
    above = alt.Legend(orient="top", title=None)
    styles = [
        kind("word:N", scale=alt.Scale(domain=words, range=each), legend=above)
        for kind, each in ranges.items()
    ]
    tips = [
        *encodings.name_tips("name"),
        alt.Tooltip("word:N", title="verdict"),
        *map(encodings.tip, ("estimate", "low", "high", "margin")),
        *encodings.name_tips("n"),
        alt.Tooltip("p:N", title=P_FOR),
        *encodings.name_tips("more"),
    ]
    base = charted(picture.rows, sheets).encode(y=_rows(picture.names), tooltip=tips)
    margins = [sign * size for sign in (-1, 1) for size in encodings.numbers(picture.rows, "margin")]
    found = encodings.reach(
        [*picture.rows, *({"low": end} for end in margins)],
        "estimate", "low", "high",
        at_top=_is_tall(picture.names),
    )  # fmt: skip
    x = found.x("low", picture.axis)
    bars = base.mark_rule(strokeWidth=3, opacity=0.6).encode(x=x, x2="high:Q", color=styles[0])
    middles = base.mark_point(size=70, opacity=1).encode(*styles, x="estimate:Q")
    zero = base.mark_rule(opacity=0.7).encode(x=alt.datum(0), y=alt.value(0), y2=alt.value("height"))
    return alt.layer(*_bands(base), zero, bars.add_params(encodings.zoom("x")), middles)


def _bands(base: Chart) -> list[Chart]:
    banded = base.transform_filter("isValid(datum.margin)").transform_calculate(below="-datum.margin")
    drawn = banded.mark_bar(height={"band": 1.0}, color="#888888", opacity=_BAND)
    return [drawn.encode(x=alt.X("below:Q"), x2="margin:Q")]


def _rank_ticks(number: int) -> list[int]:
    """Return integer ranks, about a dozen at most: a tick between two ranks would be labelled as one of them."""
    return list(range(1, number + 1, -(-number // _RANK_TICKS)))


def _ranks(picture: Ranks, sheets: dict[str, ColumnData]) -> Chart:
    domain, above = [BEST, NOT_BEST], alt.Legend(orient="top", title=None)
    colours = alt.Scale(domain=domain, range=[COLOURS[2], COLOURS[0]])
    colour = alt.Color("standing:N", scale=colours, legend=above)
    shape = alt.Shape("standing:N", scale=alt.Scale(domain=domain, range=["circle", "square"]), legend=above)
    tips = [*encodings.name_tips("name", "best", "worst", "standing", "n"), encodings.tip("mean")]
    base = charted(picture.rows, sheets).encode(y=_rows(picture.names), color=colour, tooltip=tips)
    x = alt.X(
        "best:Q",
        title=picture.axis,
        scale=alt.Scale(domain=[0.5, len(picture.names) + 0.5], nice=False),
        axis=alt.Axis(
            values=_rank_ticks(len(picture.names)),
            format="d",
            orient="top" if _is_tall(picture.names) else "bottom",
        ),
    )
    bars = base.mark_rule(strokeWidth=3, opacity=0.6).encode(x=x, x2="worst:Q")
    ends = [
        base.mark_point(filled=True, size=60, opacity=1).encode(x=f"{end}:Q", shape=shape)
        for end in ("best", "worst")
    ]
    return alt.layer(bars, *ends)
