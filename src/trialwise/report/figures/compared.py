"""Figures of `trialwise compare`: differences, ranks of each side, and the plane of two metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import altair as alt

from trialwise.analysis.comparison.ranking import PlanePoint, Ranking, RankPlane, trials_of
from trialwise.analysis.comparison.results import Comparison
from trialwise.analysis.trial_set import MetricFacts, TrialSet
from trialwise.report import comparison_words as words
from trialwise.report.comparison_words import by_metric
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.axes import WIDE, Axis, padded
from trialwise.report.figures.comparison import differences, file_name, ranks
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.paths import PLANE_HEIGHT, delay_x, plane_labels, throughput_y
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import style_of
from trialwise.report.figures.verdicts import differences_figure, ranks_figure
from trialwise.report.numbers import percent
from trialwise.report.plot_rows import Row

_LONGEST = 24


def compared_figures(
    found: Comparison | None,
    rankings: Sequence[Ranking],
    sides: Sequence[TrialSet],
    sheets: dict[str, ColumnData],
) -> Iterator[Figure]:
    """Yield the figures of a comparison, and add their data to `sheets`."""
    names = words.row_names(found)[1] if found else {}
    for rows in by_metric(found) if found else ():
        if picture := differences(rows, names):
            drawn = differences_figure(picture, "Intervals of B − A; open marks are undecided.", sheets)
            yield replace(drawn, file=f"differences-{file_name(picture.metric)}")
    for letter, ranking, side in zip("ab", rankings, sides, strict=False):
        for one in ranking.metrics:
            _, names = words.labels([place.treatment for place in one.treatments])
            picture = ranks(one, names, f" in {_short(ranking.side)}")
            drawn = ranks_figure(picture, "From the best rank to the worst that each may have.", sheets)
            yield replace(drawn, file=f"ranks-{letter}-{file_name(one.metric)}")
        if ranking.plane is not None:
            yield _plane(f"plane-{letter}", ranking, ranking.plane, side, sheets)


def _short(name: str) -> str:
    half = _LONGEST // 2
    return name if len(name) <= _LONGEST else f"{name[: half - 1]}…{name[-half:]}"


def _plane(
    key: str, ranking: Ranking, plane: RankPlane, side: TrialSet, sheets: dict[str, ColumnData]
) -> Figure:
    """Draw each trial, and for each treatment a cross of both means' intervals; treatments possibly on the front have filled marks."""
    trials = trials_of(side, plane)
    names = words.labels([point.treatment for point in plane.points])[1]
    rows = [_row(names[point.treatment], point) for point in plane.points]
    every: list[Row] = [
        {"treatment": names[point.treatment], "delay": delay, "throughput": throughput}
        for point in plane.points
        for delay, throughput in trials.get(point.treatment, ())
    ]
    axes = _axes(plane, [*rows, *every])
    seen = {
        name: style_of(place)
        for place, name in enumerate(dict.fromkeys(str(row["treatment"]) for row in rows))
    }
    colour, shape = encodings.colour(seen), encodings.shape(seen)
    place = {"x": delay_x("delay", axes[0]), "y": throughput_y("throughput", axes[1])}
    means = charted(rows, sheets).encode(color=colour)
    heads = means.encode(shape=shape, **place)
    dots = charted(every, sheets).mark_point(filled=True, size=14, opacity=0.4)
    layers = [
        dots.encode(color=colour, shape=shape, **place),
        means.mark_rule(strokeWidth=2).encode(x="left:Q", x2="right:Q", y="throughput:Q"),
        means.mark_rule(strokeWidth=2).encode(x="delay:Q", y="bottom:Q", y2="top:Q"),
        heads.transform_filter("datum.front").mark_point(filled=True, size=110, opacity=1),
        heads.transform_filter("!datum.front").mark_point(size=110, opacity=1),
        *plane_labels([(str(row["treatment"]), *_at(row)) for row in rows], axes, sheets),
    ]
    front = "full: may be on the front; open: some other is better in "
    front += "both" if ranking.pareto is None or len(ranking.pareto.metrics) == 2 else "every ranked metric"
    return Figure(
        key,
        f"Throughput and delay in {_short(ranking.side)}",
        f"Means, both intervals together {percent(plane.confidence)}; {front}.",
        f"Means of {axes[1].title} over {axes[0].title} of each treatment with their intervals, and all trials.",
        encodings.finished(alt.layer(*layers), PLANE_HEIGHT),
        file=key,
    )


def _row(name: str, point: PlanePoint) -> Row:
    return {
        "treatment": name,
        "delay": point.delay.estimate,
        "left": point.delay.low,
        "right": point.delay.high,
        "throughput": point.throughput.estimate,
        "bottom": point.throughput.low,
        "top": point.throughput.high,
        "front": point.may_be_on_front,
    }


def _at(row: Row) -> tuple[float, float]:
    return float(row["delay"] or 0), float(row["throughput"] or 0)


def _axes(plane: RankPlane, rows: Sequence[Row]) -> tuple[Axis, Axis]:
    delays = encodings.numbers(rows, "delay", "left", "right")
    wide = min(delays) > 0 and max(delays) / min(delays) >= WIDE
    return (
        Axis(_title(plane.delay), *padded(delays, logarithmic=wide), wide),
        Axis(_title(plane.throughput), *padded(encodings.numbers(rows, "throughput", "bottom", "top"))),
    )


def _title(facts: MetricFacts) -> str:
    return facts.name + (f" [{facts.unit}]" if facts.unit else "")
