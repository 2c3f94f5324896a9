"""What a figure of order consists of, whoever draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10
from typing import Literal

from trialwise.analysis.order.results import GroupCarryOver
from trialwise.analysis.order.summary import Course
from trialwise.report.points import Row

Kind = Literal[
    "p-values",
    "effect-sizes",
    "differences",
    "cases",
    "intervals",
    "carry-over",
    "pairs",
    "position",
    "drift",
    "trials",
]
NAMED = 12
"""Up to so many treatments each have a row with their name; more are a curve over their rank."""
WRITTEN = 8
"""Up to so many treatments the cells of a matrix hold their number."""


def powers(picture: Picture) -> list[float]:
    """At most seven powers of ten down to the smallest p-value or level, for an axis."""
    smallest = min([picture.level or 1.0, *(float(row["p"] or 1.0) for row in picture.rows)])
    decades = max(1, ceil(-log10(smallest)))
    return [10.0**-power for power in range(0, decades + 1, ceil(decades / 6))]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of order.

    `names` are the treatments in the order in which they are drawn, `axis` says what is measured, `level` is a line across;
    `most` is the end of a scale of colours, in both directions; `line` are rows of a line over the marks, `measure` what a
    trial's value is, or what runs along the other axis.
    """

    kind: Kind
    name: str
    title: str
    caption: str
    alternative: str
    rows: tuple[Row, ...]
    names: tuple[str, ...] = ()
    axis: str = ""
    level: float | None = None
    most: float = 0.0
    measure: str = ""
    line: tuple[Row, ...] = ()


def group_text(part: GroupCarryOver | Course) -> str:
    """The metric, and the group where there are several."""
    return f"{part.metric} ({part.group})" if part.group else part.metric


def names_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The treatments of rows, in their order."""
    return tuple(str(row["treatment"]) for row in rows)
