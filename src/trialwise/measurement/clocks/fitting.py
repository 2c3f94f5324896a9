"""Fit two clocks to the packets between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trialwise.arrays import Integers
from trialwise.errors import AnalysisError
from trialwise.measurement.clocks.changes import Change, Gap, bin_width, changes_of, minima_of, rough_slope
from trialwise.measurement.clocks.model import ClockModel, Estimate, Piece
from trialwise.measurement.clocks.probes import Probes, check_running
from trialwise.measurement.clocks.skews import Side, skew_of, unseen_change
from trialwise.numbers import write

_STEPS = 1_000_000, 1_000
"""Nanoseconds of a clock that tells milliseconds or microseconds, as many captures do."""
Apart = Callable[[int], tuple[float, float]]
MAX_SKEW = 1e-3
"""Clocks of working machines differ by less than 0.0001; more than this is not one."""
LONG, PIECE, MIN_IN_PIECE = 120.0, 60.0, 600
"""Records longer than this have pieces of about this many seconds, each with so many probes in each direction."""


def fit_clocks(
    forward: Probes,
    backward: Probes,
    *,
    seed: int,
    apart: Apart | None = None,
    asymmetry: float | None = None,
) -> ClockModel:
    """Fit the clocks of two ends, A and B, to packets that both stamped.

    Parameters
    ----------
    forward
        From A to B: sent by clock A, received by clock B.
    backward
        From B to A: sent by clock B, received by clock A.
    seed
        Of the resamples that give intervals.
    apart
        Lowest and highest value of B less A in seconds, as others know it, when A shows a time (nanoseconds): where both clocks
        tell the time of day as chrony keeps it, minus and plus the sum of root dispersion and half the root delay of both.
    asymmetry
        Seconds by which the base delays of both directions can differ at most, as the user says.

    Raises
    ------
    AnalysisError
        No probe at all, stamps of clock A that go back, or stamps that no two clocks make.
    """
    if not len(forward) and not len(backward):
        raise AnalysisError("no probe arrived in either direction", hint="is the port open in one of them?")
    check_running(forward.sent, "first")
    origin, sides, base = _sides(forward, backward)
    seconds = max(float(side.times[-1]) for side in sides if side.times.size)
    slope, changes = _changes(sides, seconds)
    gaps = _Gaps.of(changes)
    rng = np.random.Generator(np.random.PCG64DXSM(seed))
    skew = skew_of(sides, gaps.levels, seconds, rng, slope)
    if skew is not None and (skew.low > MAX_SKEW or skew.high < -MAX_SKEW):
        raise AnalysisError(
            f"one clock gains {write(skew.value * 1e6)} µs a second on the other, which no two clocks of machines do",
            hint="stamps must be nanoseconds of each end's own clock, listed as probes were sent",
        )
    outside = _Outside(apart, asymmetry, origin, base, _resolution(forward, backward))
    pieces = [
        _piece(part, gaps, skew, outside, rng)
        for stretch in _stretches(sides, gaps.steps, seconds)
        for part in _parts(stretch)
    ]
    return ClockModel(origin, (len(forward), len(backward)), skew, changes, tuple(pieces))


def _resolution(forward: Probes, backward: Probes) -> float:
    """Return the seconds of the coarser clock's steps, by its stamps: a stamp that was cut tells up to so much less than the time.

    The offset is half a difference of four stamps, two of each clock, so that it may be wrong by as much.
    """
    clocks = (forward.sent, backward.received), (forward.received, backward.sent)
    return max(map(_step_of, map(np.concatenate, clocks))) / 1e9


def _step_of(stamps: Integers) -> int:
    """Return the nanoseconds between the ticks of a clock: a power of a thousand that divides all stamps; 0 if it tells each one."""
    return next((step for step in _STEPS if stamps.size and not (stamps % step).any()), 0)


def _sides(forward: Probes, backward: Probes) -> tuple[int, tuple[Side, Side], float]:
    """Return the origin of clock A, both directions, and the seconds that the origin of B is later."""
    origin_a = int(min(each.min() for each in (forward.sent, backward.received) if each.size))
    origin_b = int(min(each.min() for each in (forward.received, backward.sent) if each.size))

    def side(sign: int, times: Integers, differences: Integers) -> Side:
        seconds = (times - origin_a) / 1e9
        order = np.argsort(seconds, kind="stable")
        return Side(sign, seconds[order], differences[order] / 1e9)

    between = origin_b - origin_a
    there = side(1, forward.sent, forward.received - forward.sent - between)
    back = side(-1, backward.received, backward.received - backward.sent + between)
    return origin_a, (there, back), between / 1e9


def _changes(sides: Sequence[Side], seconds: float) -> tuple[float, tuple[Change, ...]]:
    """Return the rough skew, and what changed."""
    width = bin_width(max(side.times.size for side in sides), seconds)
    bins = int(seconds / width) + 1
    rough = [rough_slope(side.times, side.values, width, bins) for side in sides]
    surest = min(range(2), key=lambda place: rough[place][1])
    slope = sides[surest].sign * rough[surest][0]
    forward, backward = (minima_of(side.times, side.flat(slope), width, bins) for side in sides)
    return slope, changes_of(forward, backward)


@dataclass(frozen=True, slots=True)
class _Gaps:
    """When levels change, seconds: in each direction, and at steps of clocks in both."""

    levels: tuple[list[Gap], list[Gap]]
    steps: list[tuple[Gap, Gap]]

    @staticmethod
    def of(changes: Sequence[Change]) -> _Gaps:
        forward = [change.forward_gap for change in changes if change.forward_gap]
        backward = [change.backward_gap for change in changes if change.backward_gap]
        both = [(change.forward_gap, change.backward_gap) for change in changes if change.kind == "clock"]
        steps = [(one, other) for one, other in both if one and other]
        return _Gaps((sorted(forward), sorted(backward)), steps)


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """The points of a piece."""

    start: float
    stop: float
    sides: tuple[Side, Side]
    is_part: bool = False


def _stretches(sides: Sequence[Side], steps: Sequence[tuple[Gap, Gap]], seconds: float) -> list[_Stretch]:
    """Return what lies between the steps of clocks."""
    times = [0.0, *(float(np.mean([*step[0], *step[1]])) for step in steps), seconds]
    found: list[_Stretch] = []
    for place in range(len(steps) + 1):
        starts = steps[place - 1] if place else ((0.0, 0.0), (0.0, 0.0))
        stops = steps[place] if place < len(steps) else ((np.inf, np.inf), (np.inf, np.inf))
        forward, backward = (
            side.within(start[1], stop[0]) for side, start, stop in zip(sides, starts, stops, strict=True)
        )
        found.append(_Stretch(times[place], times[place + 1], (forward, backward)))
    return found


def _parts(stretch: _Stretch) -> list[_Stretch]:
    """Cut a long stretch into parts of even length."""
    length = stretch.stop - stretch.start
    least = min(side.times.size for side in stretch.sides)
    number = int(min(round(length / PIECE), least / MIN_IN_PIECE)) if length > LONG else 1
    if number < 2:
        return [stretch]
    knots = np.linspace(stretch.start, stretch.stop, number + 1).tolist()
    forward, backward = stretch.sides
    return [
        _Stretch(start, stop, (forward.within(start, stop), backward.within(start, stop)), is_part=True)
        for start, stop in pairwise(knots)
    ]


@dataclass(frozen=True, slots=True)
class _Outside:
    """What is known otherwise: B less A, and the asymmetry; by how much the origin of B is later, and how fine stamps are."""

    apart: Apart | None
    asymmetry: float | None
    origin: int
    base: float
    resolution: float

    def bounded(self, at: float, value: float, round_trip: float, noise: float) -> tuple[Estimate, bool]:
        """Return the offset at a time (seconds of A) with its bound, and whether what is known otherwise contradicts it."""
        half = round_trip / 2
        if self.asymmetry is not None:
            half = min(half, self.asymmetry / 2 + noise)
        half += self.resolution
        low, high = value - half, value + half
        if self.apart is None:
            return Estimate(value, low, high), False
        least, most = self.apart(self.origin + round(at * 1e9))
        narrow = max(low, least), min(high, most)
        if narrow[0] > narrow[1]:
            return Estimate(value, low, high), True
        return Estimate(min(max(value, narrow[0]), narrow[1]), *narrow), False


def _piece(
    stretch: _Stretch,
    gaps: _Gaps,
    skew: Estimate | None,
    outside: _Outside,
    rng: np.random.Generator,
) -> Piece:
    start, stop = stretch.start, stretch.stop
    shifted = [Side(side.sign, side.times - start, side.values) for side in stretch.sides]
    if stretch.is_part:
        own = _shifted(gaps.levels, start, stop)
        skew = skew_of(shifted, own, stop - start, rng, 0.0 if skew is None else skew.value)
    if not all(side.times.size for side in shifted):
        return Piece(start, stop, skew, None, np.nan)
    slope, middle = 0.0 if skew is None else skew.value, (stop - start) / 2
    there, back = (float((side.values - side.sign * slope * (side.times - middle)).min()) for side in shifted)
    noise = sum(unseen_change(side, slope, stop - start, []) for side in shifted)
    offset, contradicted = outside.bounded(
        (start + stop) / 2, (there - back) / 2 + outside.base, there + back, noise
    )
    return Piece(start, stop, skew, offset, there + back, contradicted)


def _shifted(gaps: Sequence[Sequence[Gap]], start: float, stop: float) -> tuple[list[Gap], list[Gap]]:
    forward, backward = (
        [(low - start, high - start) for low, high in each if start < high and low < stop] for each in gaps
    )
    return forward, backward
