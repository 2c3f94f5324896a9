"""The points of the figures of an experiment over paths, as rows, and where they are put; nothing is computed from data here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise.analysis.path_results import (
    AxisRange,
    DelayDistribution,
    PathAnalysis,
    PathSeries,
    Plane,
    PlaneRegion,
)
from trialwise.analysis.results import Analysis
from trialwise.experiment.model import Metric, PathSource
from trialwise.experiment.placeholders import level_text
from trialwise.report.numbers import counted, ordinal, percent
from trialwise.report.points import Row

Array = npt.NDArray[np.float64]
WIDE = 4.0
"""Delays whose extremes differ by this factor stand on a logarithmic axis."""

_NARROW = 0.05
"""An axis spans this share of its largest value at least, so that differences that hardly matter do not look large."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: what it says, from where to where it goes, and whether it is logarithmic."""

    title: str
    low: float
    high: float
    logarithmic: bool = False


# Names


def axis_title(metric: Metric) -> str:
    """A metric as the title of an axis, with what reduces its samples and its unit."""
    measure = metric.measure
    said = (
        f", {ordinal(measure)}"
        if isinstance(measure, float | int)
        else ""
        if measure == "mean"
        else f", {measure}"
    )
    return f"{metric.name}{said}" + (f" [{metric.unit}]" if metric.unit else "")


def spanning(analysis: Analysis, path: PathAnalysis) -> tuple[Metric, Metric]:
    """The metrics of the plane: delay, throughput."""
    if path.axes is None:
        raise ValueError("the metrics span no plane")
    known = {found.metric.name: found.metric for found in analysis.metrics}
    return known[path.axes.delay], known[path.axes.throughput]


def plane_name(plane: Plane) -> str:
    """The levels that all treatments of a plane share; empty where there is but one plane."""
    return " · ".join(level_text(level) for level in plane.factors.values())


# The plane


def plane_axes(analysis: Analysis, path: PathAnalysis, plane: Plane) -> tuple[Axis, Axis]:
    """The axes of delay and throughput that show everything on a plane."""
    delay, throughput = spanning(analysis, path)
    regions = [region for region in plane.regions if region.delay and region.throughput]
    delays = [trial.delay for trial in plane.trials]
    throughputs = [trial.throughput for trial in plane.trials]
    delays += [end for region in regions for end in _ends(region.delay)]
    throughputs += [end for region in regions for end in _ends(region.throughput)]
    wide = min(delays) > 0 and max(delays) / min(delays) >= WIDE
    return (
        Axis(axis_title(delay), *padded(delays, logarithmic=wide), wide),
        Axis(axis_title(throughput), *padded(throughputs)),
    )


def _ends(side: AxisRange | None) -> list[float]:
    return [end for end in (side.low, side.high) if end is not None] if side else []


def padded(values: Sequence[float], *, logarithmic: bool = False) -> tuple[float, float]:
    """From where to where an axis goes that shows these values with room around them."""
    low, high = min(values), max(values)
    if logarithmic:
        room = (high / low) ** 0.08
        return low / room, high * room
    room = 0.08 * (high - low)
    lacking = max(0.0, (_NARROW * max(abs(low), abs(high)) or 1.0) - (high - low + 2 * room)) / 2
    return low - room - lacking, high + room + lacking


def plane_trials(plane: Plane) -> list[Row]:
    """One row for each trial; `reason` is empty for those that are valid."""
    names = dict(zip(plane.treatments, plane.names, strict=True))
    return [
        {
            "trial": trial.number,
            "treatment": names[trial.treatment],
            "series": trial.series,
            "delay": trial.delay,
            "throughput": trial.throughput,
            "reason": trial.reason or "",
        }
        for trial in plane.trials
    ]


@dataclass(frozen=True, slots=True)
class Box:
    """A region as it is drawn: its extent, its bounds as lines (x, x2, y, y2), the point, and what it is worth."""

    name: str
    region: PlaneRegion
    delay: tuple[float, float]
    throughput: tuple[float, float]
    bounds: tuple[tuple[float, float, float, float], ...]
    point: tuple[float, float]


def boxes(plane: Plane) -> list[Box]:
    """The regions of a plane; an open side is drawn as far as the trials of the treatment go."""
    names = dict(zip(plane.treatments, plane.names, strict=True))
    return [
        _box(plane, names[region.treatment], region, region.delay, region.throughput)
        for region in plane.regions
        if region.delay is not None and region.throughput is not None
    ]


def _box(plane: Plane, name: str, region: PlaneRegion, across: AxisRange, up: AxisRange) -> Box:
    own = [
        trial
        for trial in plane.trials
        if (trial.treatment, trial.series) == (region.treatment, region.series) and trial.reason is None
    ]
    delay = _extent(across, [trial.delay for trial in own])
    throughput = _extent(up, [trial.throughput for trial in own])
    upright = [(end, end, *throughput) for end in _ends(across)]
    level = [(*delay, end, end) for end in _ends(up)]
    point = (across.point or 0.0, up.point or 0.0)
    return Box(name, region, delay, throughput, (*upright, *level), point)


def _extent(side: AxisRange, values: Sequence[float]) -> tuple[float, float]:
    return (
        min(values) if side.low is None else side.low,
        max(values) if side.high is None else side.high,
    )


def plane_caption(analysis: Analysis, path: PathAnalysis, plane: Plane) -> str:
    """What is on a plane: marks, regions with n, level and method, and what is missing."""
    metrics = " and ".join(_called(metric) for metric in reversed(spanning(analysis, path)))
    parts = [f"Each mark is a trial: {metrics}. Better is to the right and up."]
    drawn = boxes(plane)
    kinds = {box.region.kind for box in drawn}
    if "kpi" in kinds:
        parts.append(_kpi_words([box.region for box in drawn]))
    if "median" in kinds:
        parts.append(_median_words([box.region for box in drawn]))
    if any(box.region.descriptive for box in drawn):
        parts.append("Dashed: descriptive only, because a test failed (table of the regions).")
    parts += _missing(plane)
    invalid = sum(trial.reason is not None for trial in plane.trials)
    if invalid:
        parts.append(
            f"✕: {counted(invalid, 'trial')} not valid (the reason is in the tooltip and under Failures)."
        )
    return " ".join(parts)


def _called(metric: Metric) -> str:
    """A metric with what reduces its samples; Pantheon's are single numbers."""
    if isinstance(metric.source, PathSource) and metric.source.quantity.startswith("pantheon_"):
        return metric.name
    measure = metric.measure
    return f"{metric.name} ({ordinal(measure) if isinstance(measure, float | int) else measure})"


def _counts(regions: Sequence[PlaneRegion]) -> str:
    counts = sorted({region.n for region in regions})
    spread = f" to {counts[-1]}" if len(counts) > 1 else ""
    of = "treatment in each series" if len({region.series for region in regions}) > 1 else "treatment"
    return f"n = {counts[0]}{spread} trials of each {of}"


def _kpi_words(regions: Sequence[PlaneRegion]) -> str:
    first = regions[0]
    if first.delay is None or first.throughput is None:
        return ""
    sides = [f"throughput, {_side(first.throughput)}", f"delay, {_side(first.delay)}"]
    joint = (
        f"both together with at least {percent(first.joint)} (Bonferroni)"
        if first.joint
        else "nothing is claimed of both together"
    )
    return (
        f"The large mark is the KPI of both: {'; '.join(sides)}; {joint}; {_counts(regions)}, exact "
        "binomial ranks. The shaded region goes on without end where it has no line."
    )


def _side(side: AxisRange) -> str:
    return f"{side.claim} with {percent(side.confidence)} confidence"


def _median_words(regions: Sequence[PlaneRegion]) -> str:
    first = regions[0]
    if first.delay is None or first.joint is None:
        return ""
    return (
        f"The large mark is the median of both; with at least {percent(first.joint)} confidence both medians lie in the "
        f"rectangle ({percent(first.delay.confidence)} each, Bonferroni; exact binomial ranks; {_counts(regions)})."
    )


def _missing(plane: Plane) -> Iterator[str]:
    names = dict(zip(plane.treatments, plane.names, strict=True))
    several = len({region.series for region in plane.regions}) > 1
    short: dict[tuple[int, int], list[str]] = {}
    for region in plane.regions:
        if region.delay is None:
            where = f" in series {region.series}" if several else ""
            short.setdefault((region.needed, region.n), []).append(names[region.treatment] + where)
    for (needed, n), who in short.items():
        yield f"No region for {', '.join(who)}: it needs {needed} trials, there are {n}."
    none = [
        name
        for treatment, name in names.items()
        if treatment not in {region.treatment for region in plane.regions}
    ]
    if none:
        yield f"No valid trial of {', '.join(none)}."


# Labels beside points

_CANDIDATES = (
    (9, -7, "left"), (9, 13, "left"), (-9, -7, "right"), (-9, 13, "right"), (14, 3, "left"), (-14, 3, "right"),
    (9, -21, "left"), (9, 27, "left"), (-9, -21, "right"), (-9, 27, "right"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Label:
    """A name beside a point: how far off it stands in pixels (down is positive), and which end is at the point."""

    name: str
    x: float
    y: float
    right: int
    down: int
    align: str


def placed(
    points: Sequence[tuple[str, float, float]], axes: tuple[Axis, Axis], width: int, height: int
) -> list[Label]:
    """Labels that do not lie upon each other as far as that can be had, on a plane so many pixels wide and high."""
    at = {
        name: (width * (1 - _share(axes[0], x)), height * (1 - _share(axes[1], y))) for name, x, y in points
    }
    taken = [(across - 8, across + 8, down - 8, down + 8) for across, down in at.values()]
    labels: list[Label] = []
    for name, x, y in sorted(points, key=lambda point: -point[2]):
        across, down = at[name]
        room = [(_frame(name, across, down, *candidate), candidate) for candidate in _CANDIDATES]
        inside = [entry for entry in room if _fits(entry[0], width, height)] or room
        frame, (right, below, align) = min(
            inside, key=lambda entry: sum(_overlap(entry[0], other) for other in taken)
        )
        taken.append(frame)
        labels.append(Label(name, x, y, right, below, align))
    return labels


def _share(axis: Axis, value: float) -> float:
    if axis.logarithmic:
        return math.log(value / axis.low) / math.log(axis.high / axis.low)
    return (value - axis.low) / (axis.high - axis.low)


def _frame(
    name: str, x: float, y: float, right: int, down: int, align: str
) -> tuple[float, float, float, float]:
    length = 6.5 * len(name)
    left = x + right - (length if align == "right" else 0)
    return left, left + length, y + down - 11, y + down + 2


def _fits(frame: tuple[float, float, float, float], width: int, height: int) -> bool:
    return frame[0] >= 0 and frame[1] <= width and frame[2] >= 0 and frame[3] <= height


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    across = min(one[1], other[1]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[2], other[2])
    return across * down if across > 0 and down > 0 else 0.0


def anchors(plane: Plane) -> list[tuple[str, float, float]]:
    """Where the name of each treatment stands: at its point, else at the median of its trials; its last series."""
    names = dict(zip(plane.treatments, plane.names, strict=True))
    at = {
        names[region.treatment]: (region.median_delay, region.median_throughput) for region in plane.regions
    }
    at |= {box.name: box.point for box in boxes(plane)}
    return [(name, *place) for name, place in at.items()]


# Time series


def series_name(series: PathSeries, label: str) -> str:
    """How a trial is called where one can be chosen."""
    again = f" (attempt {series.attempt})" if series.attempt > 1 else ""
    return f"trial {series.number}{again}: {label}, series {series.series}" + (
        " – not valid" if series.reason else ""
    )


def flow_names(shown: Sequence[PathSeries]) -> list[str]:
    """The flows by number, with their scheme where it is the same in all trials."""
    schemes: dict[int, set[str]] = {}
    for series in shown:
        for flow in series.flows:
            schemes.setdefault(flow.flow, set()).add(flow.scheme)
    return [
        f"flow {flow}" + (f": {next(iter(names))}" if len(names) == 1 else "")
        for flow, names in schemes.items()
    ]


def series_rows(shown: Sequence[PathSeries], labels: dict[str, str]) -> list[Row]:
    """One row for each bin of each flow of each trial; times are the middles of bins."""
    names = flow_names(shown)
    return [
        {
            "trial": series_name(series, labels[series.treatment]),
            "flow": names[flow.flow - 1],
            "time": time + series.bin / 2,
            "throughput": throughput,
            "low": low,
            "median": median,
            "high": high,
        }
        for series in shown
        for flow in series.flows
        for time, throughput, low, median, high in zip(
            series.times.tolist(),
            *map(_finite, (flow.throughput, flow.delay_low, flow.delay_median, flow.delay_high)),
            strict=True,
        )
    ]


def _finite(values: Array) -> list[float | None]:
    listed: list[float] = values.tolist()
    return [float(f"{value:.4g}") if math.isfinite(value) else None for value in listed]


# Delays


def delay_rows(found: Sequence[DelayDistribution], labels: dict[str, str]) -> list[Row]:
    """The pooled delays of each treatment."""
    return [
        {"treatment": labels[known.treatment], "delay": delay, "share": share}
        for known in found
        for delay, share in zip(known.delays.tolist(), known.shares.tolist(), strict=True)
    ]


def trial_delay_rows(found: Sequence[DelayDistribution], labels: dict[str, str]) -> list[Row]:
    """The delays of each trial."""
    return [
        {
            "treatment": labels[known.treatment],
            "trial": f"trial {trial.number}",
            "delay": float(f"{delay:.5g}"),
            "share": share,
        }
        for known in found
        for trial in known.trials
        for delay, share in zip(trial.delays.tolist(), trial.shares.tolist(), strict=True)
    ]


def delay_axis(found: Sequence[DelayDistribution]) -> Axis:
    """The axis of delays of packets."""
    ends = [end for known in found for end in (known.delays[0], known.delays[-1])]
    wide = min(ends) > 0 and max(ends) / min(ends) >= WIDE
    return Axis("one-way delay of packets [ms]", float(min(ends)), float(max(ends)), wide)
