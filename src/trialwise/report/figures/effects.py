"""Figures of effects: interactions, effect sizes, and levels against their base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

import altair as alt

from trialwise.analysis.effects.paper_results import PaperEffects, PaperMetric
from trialwise.analysis.effects.results import EffectsAnalysis, LevelComparison, MetricEffects
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.comparison import Differences
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import Style, style_of
from trialwise.report.figures.theme import NARROW
from trialwise.report.figures.verdicts import differences_figure
from trialwise.report.plot_rows import Row
from trialwise.wording.effects import at_text

_PANELS, _ACROSS = 12, 2
_ROW, _AROUND = 22, 30
_TURNED = 34
"""Total characters of all levels from which on labels are slanted."""


def effects_figures(found: EffectsAnalysis | PaperEffects, sheets: dict[str, ColumnData]) -> Iterator[Figure]:
    """Yield the figures of each result, numbered like the results; those of one file are stacked."""
    for place, one in enumerate(found.results):
        if any(isfinite(cell.mean) for cell in one.cells):
            yield _interaction(f"interaction-{place}", one, sheets)
        if isinstance(one, MetricEffects):
            if one.terms:
                yield _sizes(f"effects-{place}", one, sheets)
            yield from _comparisons(f"comparisons-{place}", one, sheets)


def _title(one: MetricEffects | PaperMetric) -> str:
    unit = f" [{one.unit}]" if one.unit else ""
    held = f", {at_text(one.part)}" if one.part else ""
    return f"{one.metric}{unit}{held}"


# Interactions


def _interaction(key: str, one: MetricEffects | PaperMetric, sheets: dict[str, ColumnData]) -> Figure:
    """Plot the numeric factor (else that with most levels) along the axis, the next as lines, the others as panels."""
    along, kinds, others = _roles(one)
    rows = _cell_rows(one, along, kinds, others)
    lines = list(dict.fromkeys(str(row["treatment"]) for row in rows))
    styles = {name: style_of(place) for place, name in enumerate(lines)}
    panels = list(dict.fromkeys(str(row["panel"]) for row in rows))[:_PANELS]
    chart = charted([row for row in rows if row["panel"] in panels], sheets)
    drawn = alt.layer(*_means(chart, one, along, rows, styles))
    spec = encodings.finished(drawn, 240) if len(panels) == 1 else _panelled(drawn, panels)
    held = f" for each {' and '.join(others)}" if others else ""
    told = f" Colours and shapes: {kinds}." if kinds else ""
    return Figure(
        key,
        f"{_title(one)} by {along}" + (f" and {kinds}" if kinds else ""),
        f"Means with the intervals of each by itself.{told}",
        f"Mean {one.metric} against {along}{held}.",
        spec,
        file=key,
    )


def _levels(one: MetricEffects | PaperMetric, factor: str) -> list[str]:
    place = one.factors.index(factor)
    return list(dict.fromkeys(cell.levels[place] for cell in one.cells))


def _roles(one: MetricEffects | PaperMetric) -> tuple[str, str, list[str]]:
    """Return the factor along the axis, that of the lines (empty if there is none), and the others."""
    levels = {name: _levels(one, name) for name in one.factors}
    along, *rest = sorted(levels, key=lambda name: (not _are_numbers(levels[name]), -len(levels[name])))
    return along, rest[0] if rest else "", rest[1:]


def _are_numbers(levels: Sequence[str]) -> bool:
    try:
        return all(isfinite(float(level)) for level in levels)
    except ValueError:
        return False


def _cell_rows(one: MetricEffects | PaperMetric, along: str, kinds: str, others: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for cell in one.cells:
        if isfinite(cell.mean):
            at = dict(zip(one.factors, cell.levels, strict=True))
            rows.append(
                {
                    "level": at[along],
                    "treatment": at.get(kinds, ""),
                    "panel": at_text({name: at[name] for name in others}),
                    "mean": cell.mean,
                    "low": cell.low if isfinite(cell.low) else None,
                    "high": cell.high if isfinite(cell.high) else None,
                }
            )
    return rows


def _means(
    chart: encodings.Chart,
    one: MetricEffects | PaperMetric,
    along: str,
    rows: Sequence[Row],
    styles: dict[str, Style],
) -> list[encodings.Chart]:
    levels = _levels(one, along)
    base, x = _placed(chart, along, levels, list(styles))
    scale = encodings.span(encodings.numbers(rows, "mean", "low", "high"))
    low, mean = (alt.Y(f"{field}:Q", title=_title(one), scale=scale) for field in ("low", "mean"))
    base = base.encode(x=x, color=encodings.colour(styles))
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2, opacity=0.6)
    return [
        bars.encode(y=low, y2="high:Q"),
        base.mark_line(strokeWidth=1.2, opacity=0.7).encode(y=mean),
        base.mark_point(filled=True, size=60, opacity=1).encode(y=mean, shape=encodings.shape(styles)),
    ]


def _placed(
    chart: encodings.Chart, along: str, levels: Sequence[str], lines: Sequence[str]
) -> tuple[encodings.Chart, alt.X]:
    """Place levels: numeric ones at their value, others side by side."""
    if _are_numbers(levels):
        values = [float(level) for level in levels]
        scale = encodings.wide_scale(values)
        is_log = scale.to_dict().get("type") == "log"
        axis = encodings.plain_axis(scale) if is_log else alt.Axis(tickCount=6)
        chart = chart.transform_calculate(number="toNumber(datum.level)")
        return chart, alt.X("number:Q", title=along, scale=scale, axis=axis)
    turned = sum(map(len, levels)) > _TURNED
    axis = alt.Axis(labelExpr=encodings.MIDDLE, labelAngle=-30 if turned else 0, labelOverlap=False)
    band = alt.Scale(paddingInner=0.4, paddingOuter=0.2)
    beside = alt.XOffset("treatment:N", sort=list(lines))
    return chart.encode(xOffset=beside), alt.X(
        "level:N", sort=list(levels), title=along, axis=axis, scale=band
    )


def _panelled(drawn: encodings.Chart, panels: Sequence[str]) -> dict[str, object]:
    """Make a panel for each treatment of the other factors, two per row."""
    header = alt.Header(title=None, labelExpr=encodings.MIDDLE)
    inner = drawn.properties(width=NARROW // _ACROSS - 40, height=130)
    grid = inner.facet(
        facet=alt.Facet("panel:N", sort=list(panels), title=None, header=header), columns=_ACROSS
    )
    return encodings.inked(grid)


# Sizes


def _sizes(key: str, one: MetricEffects, sheets: dict[str, ColumnData]) -> Figure:
    domain = ["matters", "not shown"]
    rows: list[Row] = [
        {
            "term": term.term,
            "size": term.effect_size,
            "low": term.effect_low,
            "high": term.effect_high,
            "standing": domain[0] if term.matters else domain[1],
        }
        for term in one.terms
        if not term.reason
    ]
    names = [str(row["term"]) for row in rows]
    base = charted(rows, sheets).encode(y=encodings.named_rows("term", names))
    colour, shape, fill = encodings.two_standings(domain)
    scale = alt.Scale(domain=[-0.03, 1.03], nice=False)
    axis = alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    bars = base.mark_rule(strokeWidth=3, opacity=0.6)
    bars = bars.encode(
        x=alt.X("low:Q", title="partial ω²", scale=scale, axis=axis), x2="high:Q", color=colour
    )
    dots = base.mark_point(size=70, opacity=1).encode(x="size:Q", color=colour, shape=shape, fill=fill)
    return Figure(
        key,
        f"Sizes of effects: {_title(one)}",
        "Shares of the variance that is left, with intervals.",
        f"Effect size of each term on {one.metric}, with intervals.",
        encodings.finished(alt.layer(bars, dots), _AROUND + _ROW * max(len(names), 2)),
        file=key,
    )


# Levels against their base


def _comparisons(key: str, one: MetricEffects, sheets: dict[str, ColumnData]) -> Iterator[Figure]:
    """Yield one figure per factor, because one factor's effect may be negligible beside another's."""
    known = [row for row in one.comparisons if row.verdict != "no inference"]
    relative = all(isfinite(value) for row in known for value in _bounds(row, relative=True).values())
    unit = "%" if relative else one.unit
    for factor in dict.fromkeys(row.factor for row in known):
        rows = [row for row in known if row.factor == factor]
        picture = Differences(
            _title(one),
            f"{factor}: difference from the base" + (f" [{unit}]" if unit else ""),
            tuple(_comparison_row(row, relative=relative) for row in rows),
            tuple(_name(row) for row in rows),
        )
        drawn = differences_figure(picture, "Grey: the margin. Open marks are undecided.", sheets)
        yield Figure(
            f"{key}-{factor}",
            f"{_title(one)}: {factor}",
            drawn.caption,
            drawn.alternative,
            drawn.spec,
            file=key,
        )


def _comparison_row(row: LevelComparison, *, relative: bool) -> Row:
    return {
        "name": _name(row),
        "word": row.verdict,
        **_bounds(row, relative=relative),
        "margin": _margin(row, relative=relative),
        "n": f"{row.n[0]}, {row.n[1]}",
    }


def _bounds(row: LevelComparison, *, relative: bool) -> dict[str, float]:
    found = (
        (row.percent, row.percent_low, row.percent_high) if relative else (row.difference, row.low, row.high)
    )
    return dict(zip(("estimate", "low", "high"), found, strict=True))


def _name(row: LevelComparison) -> str:
    return f"{row.level}, {at_text(row.at)}" if row.at else row.level


def _margin(row: LevelComparison, *, relative: bool) -> float | None:
    if row.margin is None:
        return None
    return 100 * row.margin / abs(row.means[0]) if relative else row.margin
