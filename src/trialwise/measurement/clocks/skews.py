"""The skew of two clocks from the levels of both directions, with an interval from resampled blocks of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trialwise.arrays import Array, Integers
from trialwise.measurement.clocks.changes import Gap, bin_width, largest_left, minima_of
from trialwise.measurement.clocks.floors import (
    QUARTER_OF_SCALE,
    Floor,
    average_slope,
    floor_of,
    touching_slope,
)
from trialwise.measurement.clocks.model import Estimate

MIN_PROBES, MIN_SECONDS = 20, 5.0
"""Probes of a direction, and seconds from its first to its last, below which its skew has no interval and is not given."""
BLOCK, _MAX_BLOCKS, RESAMPLES, LEVEL = 1.0, 120, 200, 0.95
"""Seconds of a block, their largest number (longer records have longer ones), resamples, and the level of intervals."""
_LEAST_SCALE = 1e-9
"""Seconds: stamps are no finer."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One direction: times of clock A and differences of stamps, ordered by time, seconds from the origins."""

    sign: int
    times: Array
    values: Array

    def flat(self, slope: float) -> Array:
        """Return the values less the line that this skew gives them."""
        return self.values - self.sign * slope * self.times

    def within(self, start: float, stop: float) -> Side:
        """Return the points from start to stop, both included."""
        first, last = np.searchsorted(self.times, [start, np.nextafter(stop, np.inf)])
        return Side(self.sign, self.times[first:last], self.values[first:last])

    def levels(self, gaps: Sequence[Gap]) -> list[tuple[Array, Array]]:
        """Return times and values of the points between each two gaps, where there are any."""
        starts = [-np.inf, *(gap[1] for gap in gaps)]
        stops = [*(gap[0] for gap in gaps), np.inf]
        parts = [self.within(*span) for span in zip(starts, stops, strict=True)]
        return [(part.times, part.values) for part in parts if part.times.size]

    @property
    def is_enough(self) -> bool:
        """Whether it can tell a skew."""
        return self.times.size >= MIN_PROBES and float(np.ptp(self.times)) >= MIN_SECONDS


@dataclass(frozen=True, slots=True, eq=False)
class _Levels:
    """The points of one direction by level, as blocks of time that are drawn anew.

    `corners` are those vertices of each block's hull that any sample of blocks needs; the times are mirrored in the direction in
    which the skew lowers the values, so that it is the slope of all.
    """

    scale: float
    floors: list[Floor]
    blocks: list[tuple[Integers, Array, Array]]
    counts: list[Array]
    sums: list[Array]

    def drawn(self, times: Integers) -> list[Floor]:
        """Return the floors of a sample that holds each block so many times."""
        found: list[Floor] = []
        for (block, at, value), counts, sums in zip(self.blocks, self.counts, self.sums, strict=True):
            count = float(counts @ times)
            if count:
                there = times[block] > 0
                mean = float(sums @ times) / count
                inside = floor_of(at[there], value[there])
                found.append(Floor(inside.times, inside.values, count, mean))
        return found


def skew_of(
    sides: Sequence[Side],
    gaps: Sequence[Sequence[Gap]],
    seconds: float,
    rng: np.random.Generator,
    rough: float,
) -> Estimate | None:
    """Return the skew and its interval: resampled blocks, widened by what the largest unseen change of a floor could do.

    Parameters
    ----------
    sides
        Packets from A to B, and from B to A.
    gaps
        The changes of levels in each.
    seconds
        Length of the record.
    rng
        Of the resamples.
    rough
        The skew, roughly, for points that do not tell one.

    Returns
    -------
    Estimate or None
        Seconds that B gains a second; None if neither direction has enough points.
    """
    usable = [place for place in range(2) if sides[place].is_enough]
    if not usable:
        return None
    length = max(BLOCK, seconds / _MAX_BLOCKS)
    number = int(seconds / length) + 1
    levels = [_levels(sides[place], gaps[place], length, number, rough) for place in usable]
    value = _common_slope(levels, [one.floors for one in levels])
    if value is None:
        return None
    drawn: list[float] = []
    for _ in range(RESAMPLES):
        times = np.bincount(rng.integers(0, number, number), minlength=number)
        found = _common_slope(levels, [one.drawn(times) for one in levels])
        drawn.append(value if found is None else found)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
    shares = np.array([1 / one.scale**2 for one in levels])
    unseen = [unseen_change(sides[place], value, seconds, gaps[place]) for place in usable]
    wider = 2 * float(shares @ unseen / shares.sum()) / seconds
    return Estimate(value, min(low, value) - wider, max(high, value) + wider)


def _common_slope(levels: Sequence[_Levels], floors: Sequence[list[Floor]]) -> float | None:
    every = [floor for there in floors for floor in there]
    scales = [one.scale for one, there in zip(levels, floors, strict=True) for _ in there]
    return average_slope(every, scales)


def unseen_change(side: Side, slope: float, seconds: float, gaps: Sequence[Gap]) -> float:
    """Return the largest difference of neighbouring minima that was taken for noise, seconds."""
    width = bin_width(side.times.size, seconds)
    found = minima_of(side.times, side.flat(slope), width, int(seconds / width) + 1)
    return largest_left(found, gaps)


def _levels(side: Side, gaps: Sequence[Gap], length: float, number: int, rough: float) -> _Levels:
    parts = side.levels(gaps)
    floors = [floor_of(side.sign * at, value) for at, value in parts]
    slope = touching_slope(floors)
    slope = rough if slope is None else slope
    above = np.concatenate(
        [
            value - slope * side.sign * at - floor.level(slope)
            for (at, value), floor in zip(parts, floors, strict=True)
        ]
    )
    # The lower quartile: the waiting of the crowd near the floor counts, not how long the longest waited.
    scale = max(float(np.quantile(above, 0.25)) / QUARTER_OF_SCALE, _LEAST_SCALE)
    blocks, counts, sums = zip(*(_blocks(side.sign, *part, length, number) for part in parts), strict=True)
    return _Levels(scale, floors, list(blocks), list(counts), list(sums))


def _blocks(
    sign: int, times: Array, values: Array, length: float, number: int
) -> tuple[tuple[Integers, Array, Array], Array, Array]:
    """Return the corners of each block (block, mirrored time, value), and the number of points and their summed times by block."""
    which = np.minimum((times / length).astype(np.int64), number - 1)
    mirrored = sign * times
    ends = [*(np.flatnonzero(np.diff(which)) + 1).tolist(), times.size]
    starts = [0, *ends[:-1]]
    hulls = [floor_of(mirrored[a:b], values[a:b]) for a, b in zip(starts, ends, strict=True)]
    names = np.repeat(which[starts], [hull.times.size for hull in hulls])
    corners = (
        names,
        np.concatenate([hull.times for hull in hulls]),
        np.concatenate([hull.values for hull in hulls]),
    )
    counts = np.bincount(which, minlength=number).astype(np.float64)
    sums = np.bincount(which, weights=mirrored, minlength=number).astype(np.float64)
    return corners, counts, sums
