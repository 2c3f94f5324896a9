"""Counts of a client's samples and rows, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialwise._linux import PointCount, StreamCount


@dataclass(frozen=True, slots=True)
class Counters:
    """Counts of a client: samples by measurement point, rows by stream, and why a destination accepts nothing."""

    points: tuple[PointCount, ...]
    streams: tuple[StreamCount, ...]
    errors: tuple[str, ...]
    changes: tuple[str, ...] = ()
    """What an encoding could not carry unchanged: a sentence for each stream and destination."""

    @property
    def dropped(self) -> int:
        """Number of samples and rows lost so far, at any stage."""
        return sum(count.dropped for count in (*self.points, *self.streams))


@dataclass(frozen=True, slots=True)
class CloseReport:
    """How a client ended: whether everything was sent in time, and the final counts."""

    finished: bool
    counters: Counters


def counters_of(
    points: list[PointCount], streams: list[StreamCount], errors: list[str], changes: Sequence[str] = ()
) -> Counters:
    """Convert the compiled client's lists of counts to a record."""
    return Counters(tuple(points), tuple(streams), tuple(errors), tuple(changes))
