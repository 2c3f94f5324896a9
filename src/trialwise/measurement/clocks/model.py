"""A model of two clocks from packets in both directions: skew, offset, steps, each with an interval.

Clock B shows A(t) + o + s t when clock A shows t. A packet from A to B gives x = t₂ − t₁ = delay + o + s t₁, one from B to A gives
y = t₄ − t₃ = delay − o − s t₄ (delays in seconds of B). So the floor of x rises with the skew s as that of y falls; half the
difference of the floors is the offset, wrong by half the difference of the delays of both directions, which no packets show.

What is free of the offset is a *difference*: queueing delay, jitter, round trips, what one scheme has more than another. One-way
delay is *absolute*: it holds within the bound of the offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trialwise.arrays import Array, Integers
from trialwise.errors import AnalysisError
from trialwise.measurement.clocks.changes import Change
from trialwise.measurement.clocks.probes import Probes
from trialwise.numbers import write

FigureKind = Literal["difference", "absolute"]
Way = Literal["forward", "backward"]
FIGURE_KINDS: dict[str, FigureKind] = {
    "skew": "difference",
    "offset": "absolute",
    "queueing delay": "difference",
    "one-way delay": "absolute",
    "round trip": "difference",
}
"""Which figures are free of the offset, and which hold within its bound only."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch without steps in which both clocks run evenly.

    Attributes
    ----------
    start, stop
        Seconds of clock A since its first stamp.
    skew
        Seconds that B gains a second, at level 0.95; None with too few probes.
    offset
        B less A in the middle of the piece, seconds; its interval is the bound. None unless both directions have probes.
    round_trip
        The lowest delays of both directions together, seconds; NaN without one of them.
    contradicted
        The bound that was given from outside excludes what the packets allow; the interval is that of the packets.
    """

    start: float
    stop: float
    skew: Estimate | None
    offset: Estimate | None
    round_trip: float
    contradicted: bool = False

    @property
    def middle(self) -> float:
        """Seconds of clock A since its first stamp."""
        return (self.start + self.stop) / 2


@dataclass(frozen=True, slots=True)
class ClockModel:
    """Two clocks while packets went between them.

    Attributes
    ----------
    origin
        First stamp of clock A, nanoseconds.
    probes
        Number from A to B, and from B to A.
    skew
        Seconds that B gains a second over all the time, at level 0.95; None with too few probes.
    changes
        Steps of clocks and changes of the route.
    pieces
        One for each time between two steps, and more where the record is long.
    """

    origin: int
    probes: tuple[int, int]
    skew: Estimate | None
    changes: tuple[Change, ...]
    pieces: tuple[Piece, ...]

    @property
    def steps(self) -> tuple[Change, ...]:
        """The steps of clocks."""
        return tuple(change for change in self.changes if change.kind == "clock")

    @property
    def bound(self) -> float:
        """Largest error of an offset, seconds; infinite where one direction has no probes."""
        offsets = [piece.offset for piece in self.pieces]
        return max(
            (np.inf if one is None else max(one.high - one.value, one.value - one.low)) for one in offsets
        )

    def offsets(self, times: Integers) -> Array:
        """Return B less A in seconds when A shows these times (nanoseconds): along the pieces' lines, joined where no step is.

        Raises
        ------
        AnalysisError
            One direction has no probes.
        """
        if not np.isfinite(self.bound):
            raise AnalysisError(
                "one direction has no packets, so nothing is known of the offset between the clocks",
                hint="send probes in both directions, and let firewalls pass the port that listens",
            )
        return self.lines(times)

    def queueing(self, probes: Probes, direction: Way) -> Array:
        """Return each packet's delay above the lowest since the last step, seconds of B: a difference, free of the offset.

        NaN for packets that were on their way when a clock was set.
        """
        delays, which = self._delays(probes, direction), self._stretch_of(self._times_of_a(probes, direction))
        for place in np.unique(which):
            inside = (which == place) & np.isfinite(delays)
            delays[inside] -= delays[inside].min(initial=np.inf)
        return delays

    def one_way(self, probes: Probes, direction: Way, within: float = np.inf) -> Array:
        """Return each packet's delay, seconds of B: absolute, wrong by up to `bound`, equally for all packets of a piece.

        NaN for packets that were on their way when a clock was set.

        Parameters
        ----------
        probes
            Packets of one direction.
        direction
            "forward" from A to B, "backward" from B to A.
        within
            The largest bound that will do, seconds.

        Raises
        ------
        AnalysisError
            One direction has no probes, or the bound is larger.
        """
        self.offsets(np.empty(0, np.int64))
        if not self.bound <= within:
            raise AnalysisError(
                f"one-way delay is known within ±{write(self.bound * 1e3, 'up')} ms only, "
                f"and ±{write(within * 1e3)} ms are asked for",
                hint="run ptp4l or chrony at both ends and give their bound, say how far the base delays can differ, "
                "or ask for queueing delay",
            )
        return self._delays(probes, direction)

    @staticmethod
    def _times_of_a(probes: Probes, direction: Way) -> Integers:
        return probes.sent if direction == "forward" else probes.received

    def _delays(self, probes: Probes, direction: Way) -> Array:
        of_a = self._times_of_a(probes, direction)
        # Clocks since different boots are far apart: only differences of the integers keep their nanoseconds.
        delays = (probes.received - probes.sent) / 1e9
        delays += self.lines(of_a) * (-1 if direction == "forward" else 1)
        for step in self.steps:
            gap = step.forward_gap if direction == "forward" else step.backward_gap
            if gap is not None:
                seconds = (of_a - self.origin) / 1e9
                delays[(seconds > gap[0]) & (seconds < gap[1])] = np.nan
        return delays

    def _stretch_of(self, times: Integers) -> Integers:
        """Return between which steps these times of clock A lie."""
        return np.searchsorted([step.time for step in self.steps], (times - self.origin) / 1e9, side="right")

    def lines(self, times: Integers) -> Array:
        """Return B less A in seconds as `offsets` does; without packets of both directions, up to a constant."""
        seconds, which = (times - self.origin) / 1e9, self._stretch_of(times)
        middles = self.origin + np.rint([piece.middle * 1e9 for piece in self.pieces]).astype(np.int64)
        of_piece = self._stretch_of(middles)
        found = np.zeros(seconds.size)
        for place in np.unique(which):
            pieces = [piece for piece, at in zip(self.pieces, of_piece, strict=True) if at == place]
            found[which == place] = _along(pieces, seconds[which == place])
        return found


def _along(pieces: Sequence[Piece], seconds: Array) -> Array:
    """Return the offsets at times of the pieces between two steps; without packets of both directions, up to a constant."""
    slopes = [0.0 if piece.skew is None else piece.skew.value for piece in pieces]
    if any(piece.offset is None for piece in pieces):
        return float(np.mean(slopes)) * seconds
    middles = np.array([piece.middle for piece in pieces])
    values = np.array([piece.offset.value for piece in pieces if piece.offset is not None])
    found = np.interp(seconds, middles, values)
    found += np.minimum(seconds - middles[0], 0.0) * slopes[0]
    return found + np.maximum(seconds - middles[-1], 0.0) * slopes[-1]
