"""What a client has done: counts of samples and rows, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialwise._linux import PointCount, StreamCount


@dataclass(frozen=True, slots=True)
class Counters:
    """What a client has done: samples by measurement point, rows by stream, and why a destination takes nothing."""

    points: tuple[PointCount, ...]
    streams: tuple[StreamCount, ...]
    errors: tuple[str, ...]
    changes: tuple[str, ...] = ()
    """What an encoding did not carry as it was: a sentence for each stream and destination."""

    @property
    def dropped(self) -> int:
        """Samples and rows lost so far, anywhere."""
        return sum(count.dropped for count in (*self.points, *self.streams))


@dataclass(frozen=True, slots=True)
class CloseReport:
    """How a client ended: whether everything went out in time, and the last counts."""

    finished: bool
    counters: Counters


def counters_of(
    points: list[PointCount], streams: list[StreamCount], errors: list[str], changes: Sequence[str] = ()
) -> Counters:
    """The lists that the compiled client counts in, as a record."""
    return Counters(tuple(points), tuple(streams), tuple(errors), tuple(changes))
