"""Figures of fixed against random order: the paper's Figures 2 to 6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log10
from typing import Any

import altair as alt

from trialwise.analysis.order.results import TreatmentOrder
from trialwise.analysis.order.summary import OrderSummary
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.encodings import HEIGHT, Chart
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.order_parts import MAX_METRICS, across, names_of, order_figure, rows_height
from trialwise.report.figures.palette import COLOURS
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.numbers import counted
from trialwise.report.plot_rows import Row

_MAX_INTERVALS = 12
_NAMED = 12
"""Maximum number of treatments that have a row each with their name; more become a curve over their rank."""
_SMALLEST = 1e-30
"""Smaller p-values are drawn here, as in the paper."""
_CASES = (
    "1: the intervals do not overlap",
    "2: a median lies in the other's interval",
    "3: they overlap, no median inside",
)
_Measure = tuple[str, dict[str, Any]]
"""A field, with its title, scale and axis."""
_TIPS = ("p", "p_corrected", "effect", "difference")
_P_LABEL = "datum.value >= 0.01 ? format(datum.value, '~g') : format(datum.value, '.0e')"


def compared_metrics(view: OrderSummary) -> dict[str, list[TreatmentOrder]]:
    """Return the treatments that were compared, by metric."""
    found: dict[str, list[TreatmentOrder]] = {}
    for one in view.found.treatments if view.found else ():
        if one.p_value is not None:
            found.setdefault(one.metric, []).append(one)
    return found


def comparison_figures(
    view: OrderSummary, labels: Mapping[str, str], sheets: dict[str, ColumnData]
) -> Iterator[Figure]:
    """Yield five figures for each metric measured in both orders."""
    metrics = compared_metrics(view)
    for place, (metric, tested) in enumerate(list(metrics.items())[:MAX_METRICS]):
        of, end = (f": {metric}", f"-{place}") if len(metrics) > 1 else ("", "")
        one = _Compared(tuple(tested), labels, of, end, sheets)
        yield from (draw(one) for draw in (_p_values, _effect_sizes, _differences, _cases, _intervals))


@dataclass(frozen=True, slots=True)
class _Compared:
    """The treatments of one metric; `of` and `end` distinguish metrics in titles and file names."""

    tested: tuple[TreatmentOrder, ...]
    labels: Mapping[str, str]
    of: str
    end: str
    sheets: dict[str, ColumnData]

    def ranked(self, by: str) -> list[Row]:
        """Return the rows of treatments, sorted by the field of a result."""
        members = sorted(self.tested, key=lambda one: getattr(one, by) or 0.0)
        return [_treatment_row(rank, one, self.labels) for rank, one in enumerate(members, 1)]


def _treatment_row(rank: int, one: TreatmentOrder, labels: Mapping[str, str]) -> Row:
    return {
        "rank": rank,
        "treatment": _label(one, labels),
        "p": None if one.p_value is None else max(one.p_value, _SMALLEST),
        "p_corrected": one.p_corrected,
        "effect": one.eta_squared,
        "difference": one.percent_difference,
        "standing": "differs" if one.significant else "does not differ",
        "case": one.case,
    }


def _label(one: TreatmentOrder, labels: Mapping[str, str]) -> str:
    name = labels.get(one.treatment, one.treatment)
    return f"{name} ({one.group})" if one.group else name


# Curves of treatments


def _p_values(one: _Compared) -> Figure:
    rows, level = one.ranked("eta_squared"), min(each.alpha_corrected for each in one.tested)
    values = [1.0, level, *encodings.numbers(rows, "p")]
    decades = max(1, ceil(-log10(min(values))))
    ticks = [10.0**-power for power in range(0, decades + 1, ceil(decades / 6))]
    if len(rows) > _NAMED:  # room for the names at the ends
        values = [*values, min(values) / 2]
    axis = alt.Axis(labelExpr=_P_LABEL, values=ticks)
    measure = {"title": "p, not corrected", "scale": encodings.logarithmic(values), "axis": axis}
    small = (
        f" Values below {_SMALLEST:g} are drawn there." if any(row["p"] == _SMALLEST for row in rows) else ""
    )
    words = (
        f"Kruskal-Wallis p-values{one.of}",
        (
            f"{_each(rows, 'effect size')} Dashed: {level:.2g}, the level over the number of comparisons (Bonferroni). Filled: "
            f"differs after correction.{small}"
        ),
        f"p-values of Kruskal and Wallis' test of fixed against random order{one.of}, sorted by effect size.",
    )
    return _curve(one, f"p-values{one.end}", words, rows, ("p", measure), level, rising=False)


def _effect_sizes(one: _Compared) -> Figure:
    rows = one.ranked("eta_squared")
    scale = encodings.span([0.0, *encodings.numbers(rows, "effect")])
    measure = {"title": "effect size η²", "scale": scale, "axis": alt.Axis(tickCount=6)}
    words = (
        f"Effect sizes{one.of}",
        f"{_each(rows, 'effect size')} η² is the share of the variance of ranks that the order explains; below 0 it is none.",
        f"Effect sizes of fixed against random order{one.of}, sorted.",
    )
    return _curve(one, f"effect-sizes{one.end}", words, rows, ("effect", measure), 0.0)


def _differences(one: _Compared) -> Figure:
    rows = one.ranked("percent_difference")
    scale = encodings.span([0.0, *encodings.numbers(rows, "difference")])
    measure = {"title": "Δ%, fixed minus random", "scale": scale, "axis": alt.Axis(tickCount=6)}
    words = (
        f"Difference of the means{one.of}",
        (
            f"{_each(rows, 'difference')} Δ% is the mean in fixed order minus that in random order, in percent of the fixed one: "
            "above 0 values are larger in fixed order."
        ),
        f"Differences of means under fixed and random order in percent{one.of}, sorted.",
    )
    return _curve(one, f"differences{one.end}", words, rows, ("difference", measure), 0.0)


def _each(rows: Sequence[Row], by: str) -> str:
    if len(rows) <= _NAMED:
        return f"{counted(len(rows), 'treatment')} by {by}."
    return f"Each mark is one of {len(rows)} treatments, by {by}; the ends are named."


def _curve(
    one: _Compared,
    name: str,
    words: tuple[str, str, str],
    rows: list[Row],
    measure: _Measure,
    level: float,
    *,
    rising: bool = True,
) -> Figure:
    """Draw a row each for few treatments, or the values of many over their rank with the ends named."""
    few, names = len(rows) <= _NAMED, names_of(rows)
    rank = alt.X("rank:Q", title="treatments, by rank", scale=alt.Scale(nice=False, padding=8))
    field, looks_of = measure
    base = charted(rows, one.sheets)
    placed = (
        base.encode(x=alt.X(f"{field}:Q", **looks_of), y=encodings.treatment_rows(names))
        if few
        else base.encode(x=rank, y=alt.Y(f"{field}:Q", **looks_of))
    )
    tips = [*encodings.name_tips("treatment"), *map(encodings.tip, _TIPS), *encodings.name_tips("case")]
    styles = encodings.two_standings(["differs", "does not differ"])
    dots = placed.mark_point(size=60 if few else 25, opacity=0.9).encode(*styles, tooltip=tips)
    layers = [across(base, level, upright=few), dots.add_params(encodings.zoom("x" if few else "y"))]
    layers += [] if few else _ends(one, rows, measure, rising=rising)
    return order_figure(name, words, alt.layer(*layers), rows_height(names) if few else HEIGHT)


def _ends(one: _Compared, rows: list[Row], measure: _Measure, *, rising: bool) -> list[Chart]:
    """Name the first and the last treatment of a curve, on its empty side."""
    away, (field, styles) = 13 if rising else -13, measure
    return [
        charted([row], one.sheets)
        .mark_text(align=align, dy=shift, limit=260)
        .encode(x="rank:Q", y=alt.Y(f"{field}:Q", **styles), text="treatment:N")
        for row, align, shift in ((rows[0], "left", away), (rows[-1], "right", -away))
    ]


# Cases and intervals


def _cases(one: _Compared) -> Figure:
    counts = [sum(each.case == case for each in one.tested) for case in (1, 2, 3)]
    rows: list[Row] = [
        {"case": text, "treatments": count, "share": f"{100 * count / len(one.tested):.0f} %"}
        for text, count in zip(_CASES, counts, strict=True)
    ]
    most = 1.2 * max(counts)  # a fifth longer than the longest bar, to fit its number
    scale = alt.Scale(domain=[0, most], nice=False)
    x = alt.X("treatments:Q", title="treatments", axis=encodings.count_axis([0, most]), scale=scale)
    y = alt.Y("case:N", sort=None, title=None, axis=alt.Axis(labelLimit=250))
    base = charted(rows, one.sheets).encode(
        x=x, y=y, tooltip=encodings.name_tips("case", "treatments", "share")
    )
    colours = alt.Scale(range=[COLOURS[1], COLOURS[0], COLOURS[4]])
    bars = base.mark_bar().encode(color=alt.Color("case:N", scale=colours, legend=None, sort=None))
    written = base.mark_text(align="left", dx=5).encode(text="treatments:N")
    words = (
        f"Cases of the intervals of medians{one.of}",
        "Case 1: conclusions change with the order. 2: they likely do not. 3: open.",
        f"How many of {len(one.tested)} treatments fall into each case of overlap of two intervals{one.of}.",
    )
    return order_figure(f"cases{one.end}", words, alt.layer(bars, written), 150)


def _intervals(one: _Compared) -> Figure:
    ordered = sorted(one.tested, key=lambda each: -abs(each.shift_percent or 0.0))[:_MAX_INTERVALS]
    rows = [row for each in ordered for row in _interval_rows(each, one.labels)]
    names, domain = names_of(rows), ["fixed", "random"]
    legend = encodings.legend(domain)
    colours = alt.Scale(domain=domain, range=[COLOURS[0], COLOURS[1]])
    shapes = alt.Scale(domain=domain, range=["circle", "diamond"])
    tips = [
        *encodings.name_tips("treatment", "order"),
        *map(encodings.tip, ("low", "median", "high")),
        *encodings.name_tips("n"),
    ]
    base = charted(rows, one.sheets).encode(
        y=encodings.treatment_rows(names),
        yOffset=alt.YOffset("order:N", sort=domain),
        color=alt.Color("order:N", scale=colours, legend=legend),
        tooltip=tips,
    )
    x = encodings.reach(rows, "low", "median", "high").x("low", "% from the median in fixed order")
    bars = base.mark_rule(strokeWidth=3, opacity=0.6).encode(x=x, x2="high:Q").add_params(encodings.zoom("x"))
    shape = alt.Shape("order:N", scale=shapes, legend=legend)
    middles = base.mark_point(filled=True, size=60, opacity=1).encode(x="median:Q", shape=shape)
    more = len(one.tested) > len(ordered)
    words = (
        f"Medians under both orders{one.of}",
        "Each median with its interval, in percent of the median in fixed order; in brackets the case."
        + (f" The {len(ordered)} of {len(one.tested)} treatments that move most." if more else ""),
        f"Medians under fixed and random order with their intervals, by treatment{one.of}.",
    )
    chart = alt.layer(bars, middles)
    return order_figure(f"intervals{one.end}", words, chart, rows_height(names, 36), whole=True)


def _interval_rows(one: TreatmentOrder, labels: Mapping[str, str]) -> Iterator[Row]:
    if one.fixed is None or one.random is None or not one.fixed.median:
        return
    for order, known in (("fixed", one.fixed), ("random", one.random)):
        low, median, high = (
            100 * (end - one.fixed.median) / abs(one.fixed.median)
            for end in (known.low, known.median, known.high)
        )
        yield {
            "treatment": f"{_label(one, labels)} (case {one.case})",
            "order": order,
            "low": low,
            "median": median,
            "high": high,
            "n": known.n,
        }
