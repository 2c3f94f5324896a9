"""The plane of delay and throughput of an experiment over paths: axes, rows, regions, caption. Computes nothing from data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trialwise.analysis.path.results import AxisRange, PathAnalysis, Plane, PlaneRegion
from trialwise.analysis.results import Analysis
from trialwise.experiment.model import Metric
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.sources import PathSource
from trialwise.report.figures.axes import WIDE, Axis, axis_title, padded
from trialwise.report.numbers import counted, ordinal, percent
from trialwise.report.plot_rows import Row


def spanning(analysis: Analysis, path: PathAnalysis) -> tuple[Metric, Metric]:
    """Return the metrics of the plane: delay, throughput."""
    if path.axes is None:
        raise ValueError("the metrics span no plane")
    known = {found.metric.name: found.metric for found in analysis.metrics}
    return known[path.axes.delay], known[path.axes.throughput]


def plane_name(plane: Plane) -> str:
    """Name the levels that all treatments of a plane share; empty if there is only one plane."""
    return " · ".join(level_text(level) for level in plane.factors.values())


def plane_axes(analysis: Analysis, path: PathAnalysis, plane: Plane) -> tuple[Axis, Axis]:
    """Return axes of delay and throughput that show everything on a plane."""
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


def plane_trials(plane: Plane) -> list[Row]:
    """Return one row for each trial; `reason` is empty for valid ones."""
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
    """A region as drawn: its extent, its bounds as lines (x, x2, y, y2), and the point."""

    name: str
    region: PlaneRegion
    delay: tuple[float, float]
    throughput: tuple[float, float]
    bounds: tuple[tuple[float, float, float, float], ...]
    point: tuple[float, float]


def boxes(plane: Plane) -> list[Box]:
    """Return the regions of a plane; an open side is drawn as far as the treatment's trials reach."""
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
    """Describe a plane: marks, regions with n, level and method, and what is missing."""
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
        parts.append(f"Crosses: {counted(invalid, 'trial')} not valid (the reason stands under Failures).")
    return " ".join(parts)


def _called(metric: Metric) -> str:
    """Name a metric with what reduces its samples; Pantheon's are single numbers."""
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


def anchors(plane: Plane) -> list[tuple[str, float, float]]:
    """Return the position of each treatment's name: its point, else the median of its trials; of its last series."""
    names = dict(zip(plane.treatments, plane.names, strict=True))
    at = {
        names[region.treatment]: (region.median_delay, region.median_throughput) for region in plane.regions
    }
    at |= {box.name: box.point for box in boxes(plane)}
    return [(name, *place) for name, place in at.items()]
