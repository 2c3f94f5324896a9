"""The axes of figures and their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialwise.experiment.model import Metric
from trialwise.report.numbers import ordinal

WIDE = 4.0
"""Delays get a logarithmic axis if their extremes differ by this factor."""
_NARROW = 0.05
"""Minimum span of an axis as a share of its largest value, so that negligible differences do not look large."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its title, its range, and whether it is logarithmic."""

    title: str
    low: float
    high: float
    logarithmic: bool = False


def axis_title(metric: Metric) -> str:
    """Return a metric as the title of an axis, with its unit and what reduces its samples."""
    measure = metric.measure
    said = (
        f", {ordinal(measure)}"
        if isinstance(measure, float | int)
        else ""
        if measure == "mean"
        else f", {measure}"
    )
    return f"{metric.name}{said}" + (f" [{metric.unit}]" if metric.unit else "")


def padded(values: Sequence[float], *, logarithmic: bool = False) -> tuple[float, float]:
    """Return the range of an axis that shows these values with room around them."""
    low, high = min(values), max(values)
    if logarithmic:
        room = max((high / low) ** 0.08, 1 + _NARROW / 2)
        return low / room, high * room
    room = 0.08 * (high - low)
    lacking = max(0.0, (_NARROW * max(abs(low), abs(high)) or 1.0) - (high - low + 2 * room)) / 2
    return low - room - lacking, high + room + lacking
