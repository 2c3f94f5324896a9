"""Steps of a clock and changes of the route, told apart by what the lowest delays of both directions do.

A step of D of the second clock raises x = t₂ − t₁ by D and lowers y = t₄ − t₃ by as much; another route changes one of them, or both
by whatever it is. Waiting hides the floor for moments only, so minima over five seconds before and after a moment are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trialwise.arrays import Array

Kind = Literal["clock", "route", "either"]
Gap = tuple[float, float]
BIN, MIN_IN_BIN = 1.0, 10
"""Seconds of a bin, and probes that one holds on average at least; bins are longer where probes are rarer."""
SPAN, MIN_SPAN = 5, 3
"""Bins before and after a moment that are compared; at the ends of the record so many are enough."""
MIN_CHANGE = 1e-3
"""Seconds that the lowest delay must change by."""
MIN_NOISES = 8.0
"""Times the usual difference between neighbouring minima that it must change by."""
OF_WAITING = 0.2
"""Share of the median wait above the minima that it must change by: rare moments without a queue are no new level."""
_MAX_CHANGES = 100
_NORMAL = 1.4826
"""Standard deviations of a normal distribution in its median absolute deviation."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the lowest delays.

    Attributes
    ----------
    time
        Seconds of the first clock since its first stamp.
    kind
        "clock": one of the clocks was set. "route": the path's own delay changed, or a queue stood from then on. "either": the
        direction that could tell is silent or too noisy.
    forward, backward
        Seconds by which the lowest x and the lowest y changed; 0 where nothing was seen.
    forward_gap, backward_gap
        From when to when it may have happened to packets of that direction; those between are of neither level. None where nothing
        was seen.
    """

    time: float
    kind: Kind
    forward: float
    backward: float
    forward_gap: Gap | None
    backward_gap: Gap | None


@dataclass(frozen=True, slots=True)
class _Jump:
    """A change of the minima of one direction."""

    size: float
    gap: Gap

    @property
    def time(self) -> float:
        return (self.gap[0] + self.gap[1]) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Minima:
    """The lowest of one direction's differences in each bin, less a line.

    Attributes
    ----------
    times, values
        Of the points, ordered by time, seconds; the values less the line.
    width
        Seconds of a bin.
    bins
        Lowest value of each bin; infinite where there is none.
    jumps
        For the beginning of each bin, the lowest value in the bins after it less that in the bins before it; 0 near the ends.
    noise
        Usual difference between neighbouring minima, as a standard deviation; infinite if nothing can be compared.
    waiting
        Median of the values above the minima around them, seconds.
    """

    times: Array
    values: Array
    width: float
    bins: Array
    jumps: Array
    noise: float
    waiting: float

    @property
    def resolution(self) -> float:
        """Seconds below which changes cannot be told from waiting."""
        return max(MIN_NOISES * self.noise, OF_WAITING * self.waiting)

    @property
    def threshold(self) -> float:
        """Seconds by which a minimum must change to count."""
        return max(MIN_CHANGE, self.resolution)

    def near(self, time: float) -> slice:
        """Return the bins whose beginning is at most a span away."""
        place = int(time / self.width)
        return slice(max(0, place - SPAN), place + SPAN + 1)


def bin_width(count: int, seconds: float) -> float:
    """Return the seconds of a bin for so many points over that time."""
    return max(BIN, MIN_IN_BIN * seconds / max(count, 1))


def minima_of(times: Array, values: Array, width: float, bins: int) -> Minima:
    """Return the minima of points, ordered by time from 0 on."""
    which = np.minimum((times / width).astype(np.int64), bins - 1)
    lowest = np.full(bins, np.inf)
    np.minimum.at(lowest, which, values)
    windows = _lowest_of_windows(np.pad(lowest, SPAN, constant_values=np.inf))
    with np.errstate(invalid="ignore"):
        found = windows[SPAN:-1] - windows[:bins]
    jumps, inner = np.zeros(bins), slice(MIN_SPAN, bins - MIN_SPAN + 1)
    jumps[inner] = np.where(np.isfinite(found), found, 0.0)[inner]
    comparable = bool(jumps[inner].size and times.size)
    noise = _NORMAL * float(np.median(np.abs(jumps[inner]))) if comparable else np.inf
    above = values - np.minimum(windows[:-1], windows[1:])[which]
    waiting = float(np.median(above)) if comparable else np.inf
    return Minima(times, values, width, lowest, jumps, noise, waiting)


def rough_slope(times: Array, values: Array, width: float, bins: int) -> tuple[float, float]:
    """Return the usual slope between minima a span apart, and its spread; infinite spread if there are too few.

    A median, so that a few steps and changes do not move it.
    """
    found = minima_of(times, values, width, bins)
    lowest = _lowest_of_windows(found.bins) if bins > SPAN else np.empty(0)
    with np.errstate(invalid="ignore"):
        slopes = (lowest[SPAN:] - lowest[:-SPAN]) / (SPAN * width)
    slopes = slopes[np.isfinite(slopes)]
    if slopes.size < SPAN:
        return 0.0, np.inf
    middle = float(np.median(slopes))
    return middle, float(np.median(np.abs(slopes - middle)))


def _lowest_of_windows(values: Array) -> Array:
    return np.lib.stride_tricks.sliding_window_view(values, SPAN).min(axis=1)


def changes_of(forward: Minima, backward: Minima) -> tuple[Change, ...]:
    """Return the changes in both directions, ordered by time.

    Parameters
    ----------
    forward, backward
        Minima of x and of y, less the line that one rough skew gives each.
    """
    round_trip = float(np.ptp(forward.values) + np.ptp(backward.values)) if _both(forward, backward) else 0.0
    found: list[Change] = []
    left = _jumps(backward)
    for jump in _jumps(forward):
        kind, against = _kind(jump, backward)
        if against is None:
            found.append(Change(jump.time, kind, jump.size, 0.0, jump.gap, None))
            continue
        left = [one for one in left if not (one.size * jump.size < 0 and _near(one, jump, backward))]
        found.append(_step(jump, against, round_trip))
    for jump in left:
        kind, against = _kind(jump, forward)
        if against is None:
            found.append(Change(jump.time, kind, 0.0, jump.size, None, jump.gap))
        else:
            found.append(_step(against, jump, round_trip))
    return tuple(sorted(found, key=lambda change: change.time))


def largest_left(minima: Minima, gaps: Sequence[Gap]) -> float:
    """Return the largest difference between neighbouring minima that is none of the changes in these gaps, seconds."""
    left = np.abs(minima.jumps)
    for gap in gaps:
        left[minima.near(gap[0]).start : minima.near(gap[1]).stop] = 0.0
    return float(left.max(initial=0.0))


def _both(forward: Minima, backward: Minima) -> bool:
    return bool(forward.times.size and backward.times.size)


def _near(one: _Jump, other: _Jump, minima: Minima) -> bool:
    return abs(one.time - other.time) <= 2 * SPAN * minima.width


def _step(forward: _Jump, backward: _Jump, slack: float) -> Change:
    """Return a step of a clock: what is certain in one direction is so in the other, but for packets on their way."""
    gaps = forward.gap, _common(backward.gap, forward.gap, slack)
    gaps = _common(gaps[0], backward.gap, slack), gaps[1]
    time = float(np.mean([*gaps[0], *gaps[1]]))
    return Change(time, "clock", forward.size, backward.size, *gaps)


def _common(own: Gap, other: Gap, slack: float) -> Gap:
    found = max(own[0], other[0] - slack), min(own[1], other[1] + slack)
    return found if found[0] < found[1] else own


def _kind(jump: _Jump, other: Minima) -> tuple[Kind, _Jump | None]:
    """Return what a jump in one direction is, and the opposite jump of the other direction at that time if it is one of a clock."""
    if not abs(jump.size) > 2 * other.resolution:
        return "either", None
    bins = other.near(jump.time)
    opposite = other.jumps[bins] * -np.sign(jump.size)
    if not opposite.size or opposite.max() <= abs(jump.size) / 2:
        return "route", None
    return "clock", _located(other, bins.start + int(opposite.argmax()))


def _jumps(minima: Minima) -> list[_Jump]:
    """Return the jumps beyond the threshold, ordered by time."""
    left, found = minima.jumps.copy(), list[_Jump]()
    while left.size and len(found) < _MAX_CHANGES:
        place = int(np.abs(left).argmax())
        if abs(left[place]) <= minima.threshold:
            break
        found.append(_located(minima, place))
        for time in (*found[-1].gap, place * minima.width):
            left[minima.near(time)] = 0.0
    return sorted(found, key=lambda jump: jump.time)


def _located(minima: Minima, place: int) -> _Jump:
    """Return the jump near the beginning of a bin.

    A raised floor begins after the last low point, by no more than low points are apart; a lowered one ends before the first.
    """
    size = float(minima.jumps[place])
    middle = float(minima.bins[max(0, place - SPAN) : place].min()) + size / 2
    low = minima.times[minima.values < middle]
    near = low[slice(*np.searchsorted(low, (np.array([-SPAN, SPAN]) + place) * minima.width))]
    if not near.size:
        return _Jump(size, (place * minima.width, (place + 1) * minima.width))
    edge = float(near[-1] if size > 0 else near[0])
    around = low[(low >= edge - 2 * SPAN * minima.width) & (low <= edge + 2 * SPAN * minima.width)]
    usual = float(np.median(np.diff(minima.times))) if minima.times.size > 1 else 0.0
    apart = max(float(np.diff(around).max(initial=0.0)), usual)
    return _Jump(size, (edge, edge + apart) if size > 0 else (edge - apart, edge))
