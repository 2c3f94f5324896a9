"""Place names beside the points of a plane so that they do not overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trialwise.report.figures.axes import Axis
from trialwise.report.figures.encodings import LONGEST

_LEGIBLE = 0.2
"""Share of a label that may be covered before it becomes illegible."""
_CANDIDATES = (
    (9, -7, "left"), (9, 13, "left"), (-9, -7, "right"), (-9, 13, "right"), (14, 3, "left"), (-14, 3, "right"),
    (9, -21, "left"), (9, 27, "left"), (-9, -21, "right"), (-9, 27, "right"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Label:
    """A name beside a point: its offset in pixels (down is positive), and which end is at the point."""

    name: str
    x: float
    y: float
    right: int
    down: int
    align: str


def placed(
    points: Sequence[tuple[str, float, float]],
    axes: tuple[Axis, Axis],
    width: int,
    height: int,
    reverse: tuple[bool, bool] = (True, False),
) -> list[Label]:
    """Place labels without overlap on a plane of `width` by `height` pixels; a name without room appears only in the legend.

    `reverse`: the horizontal axis falls to the right, the vertical one downwards rises.
    """
    at = {
        name: (
            width * _part(_share(axes[0], x), reverse=reverse[0]),
            height * _part(_share(axes[1], y), reverse=not reverse[1]),
        )
        for name, x, y in points
    }
    taken = [(across - 8, across + 8, down - 8, down + 8) for across, down in at.values()]
    labels: list[Label] = []
    for name, x, y in sorted(points, key=lambda point: -point[2]):
        across, down = at[name]
        room = [(_frame(shortened(name), across, down, *candidate), candidate) for candidate in _CANDIDATES]
        inside = [entry for entry in room if _fits(entry[0], width, height)] or room
        best, (right, below, align) = min(inside, key=lambda entry: _covered(entry[0], taken))
        if len(points) == 1 or (_fits(best, width, height) and _covered(best, taken) < _LEGIBLE):
            taken.append(best)
            labels.append(Label(shortened(name), x, y, right, below, align))
    return labels


def _part(share: float, *, reverse: bool) -> float:
    return 1 - share if reverse else share


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


def _covered(frame: tuple[float, ...], taken: Sequence[tuple[float, ...]]) -> float:
    """Return the share of a frame that others cover."""
    area = (frame[1] - frame[0]) * (frame[3] - frame[2])
    return sum(_overlap(frame, other) for other in taken) / area


def shortened(name: str) -> str:
    """Cut the middle out of a long name."""
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[-half:]}"


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    across = min(one[1], other[1]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[2], other[2])
    return across * down if across > 0 and down > 0 else 0.0
