"""Figures of estimates from simulated trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import altair as alt

from trialwise.analysis.estimation.results import Estimation, MetricEstimate, SizeBin
from trialwise.report.document import Figure
from trialwise.report.estimation_tables import estimate_scales
from trialwise.report.figures import encodings
from trialwise.report.figures.durations import duration_figures
from trialwise.report.figures.estimation_points import BOUNDS, estimand_looks, estimate_rows, size_rows
from trialwise.report.figures.figure_context import charted, file_name
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import Style
from trialwise.report.numbers import percent
from trialwise.report.plot_rows import Row, in_unit
from trialwise.report.units import Scale

_ROW, _AROUND = 34, 100


def estimation_figures(
    found: Estimation, styles: Mapping[str, Style], names: Mapping[str, str], sheets: dict[str, ColumnData]
) -> Iterator[Figure]:
    """Yield estimates by treatment, slowdown by flow size, and the duration of trials."""
    by_metric: dict[str, list[MetricEstimate]] = {}
    for one in found.estimates:
        by_metric.setdefault(one.metric, []).append(one)
    scales = estimate_scales(found)
    for metric, members in by_metric.items():
        if rows := estimate_rows(members, names):
            yield _estimates(members[0], rows, scales[metric], sheets)
    if found.sizes:
        shown = {names.get(name, name): style for name, style in styles.items()}
        yield _slowdowns(found.sizes, size_rows(found.sizes, names), shown, sheets)
    yield from duration_figures(found.durations, styles, names, sheets)


def _estimates(
    one: MetricEstimate, found: Sequence[Row], shown: Scale, sheets: dict[str, ColumnData]
) -> Figure:
    rows = in_unit(found, shown)
    treatments = list(dict.fromkeys(str(row["treatment"]) for row in rows))
    kinds = list(dict.fromkeys(str(row["estimand"]) for row in rows))
    height = _AROUND + _ROW * len(treatments) * len(kinds)
    tips = [
        *encodings.name_tips("treatment", "what", "trials", "level"),
        *map(encodings.tip, ("estimate", "low", "high")),
    ]
    colour, shape = estimand_looks(kinds)
    base = charted(list(rows), sheets).encode(
        y=encodings.treatment_rows(treatments),
        yOffset=alt.YOffset("estimand:N", sort=kinds),
        color=colour,
        tooltip=tips,
    )
    scale = encodings.wide_scale(encodings.numbers(rows, *BOUNDS))
    x = alt.X("low:Q", title=one.metric + shown.heading, scale=scale, axis=encodings.plain_axis(scale))
    bars = base.transform_filter("isValid(datum.low) && isValid(datum.high)").mark_rule(
        strokeWidth=3, opacity=0.6
    )
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x="estimate:Q", shape=shape)
    return Figure(
        f"estimates-{one.metric}",
        f"Estimates: {one.metric}",
        f"The {one.own.what}, and what stands beside it; bars are {percent(one.own.confidence)} intervals of each by itself.",
        f"Estimates of {one.metric} with intervals for each treatment.",
        encodings.finished(
            alt.layer(bars.encode(x=x, x2="high:Q").add_params(encodings.zoom("x")), dots), height
        ),
        whole=True,
        file=f"{file_name(one.metric)}-estimates",
    )


def _slowdowns(
    sizes: Sequence[SizeBin], rows: Sequence[Row], styles: Mapping[str, Style], sheets: dict[str, ColumnData]
) -> Figure:
    tips = [
        *encodings.name_tips("treatment", "quantile", "flows"),
        *map(encodings.tip, ("from", "to", "estimate", "low", "high")),
    ]
    across, up = (encodings.logarithmic(encodings.numbers(rows, *fields)) for fields in (("size",), BOUNDS))
    x = alt.X("size:Q", title="flow size [B]", scale=across, axis=encodings.plain_axis(across))
    base = charted(list(rows), sheets).encode(x=x, color=encodings.colour(styles), tooltip=tips)
    levels = {percent(each.confidence) for one in sizes for each in one.quantiles.values()}
    quantiles = list(dict.fromkeys(str(row["quantile"]) for row in rows))
    dash = alt.StrokeDash(
        "quantile:N",
        scale=alt.Scale(domain=quantiles, range=[[4, 3], [1, 0]][: len(quantiles)]),
        legend=encodings.legend(quantiles, lines=True),
    )
    y = alt.Y("estimate:Q", title="slowdown", scale=up, axis=encodings.plain_axis(up))
    lines = base.mark_line().encode(y=y, strokeDash=dash)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(y=y, shape=encodings.shape(styles))
    bars = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q")
    return Figure(
        "slowdowns",
        "Slowdown by flow size",
        "p50 and p99 of all flows in each tenth of the sizes (pooled, trials as clusters); "
        f"bars are {' and '.join(sorted(levels))} intervals of each by itself.",
        "Lines of median and 99th percentile slowdown against flow size for each treatment.",
        encodings.finished(alt.layer(bars, lines, points)),
        whole=True,
        file="slowdowns",
    )
