"""The line below all delays: its slope is the difference in rate of two clocks.

A packet is delayed by the path's own delay at least, and by more where it waits. So x = t₂ − t₁ against t₁ lies above a line whose
slope is that of the clocks. Moon, Skelly and Towsley (INFOCOM 1999) take the line below all points that minimises the sum of the
distances: an edge of the lower convex hull, found in linear time with Andrew's chain (Zhang, Liu and Xia, INFOCOM 2002). It is the
maximum of the likelihood if waiting is exponential; the mean over that likelihood is used here, which errs less, takes several
levels and both directions at once, and weighs each by how closely its points crowd above the line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trialwise.arrays import Array, Integers

_REACH = 40.0
"""Beyond the outermost edges, the likelihood is followed until it has fallen by e to this power."""
QUARTER_OF_SCALE = math.log(4 / 3)
"""The lower quartile of an exponential distribution of scale 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """The lower hull of the points of one level, and what else its fit needs of them.

    Attributes
    ----------
    times, values
        Of the vertices, ordered by time; seconds.
    count
        Number of all points.
    mean
        Mean time of all points, seconds.
    """

    times: Array
    values: Array
    count: float
    mean: float

    def level(self, slope: float) -> float:
        """Return the value at time 0 of the highest line of this slope below all points, seconds."""
        return float(np.min(self.values - slope * self.times))


def lower_hull(times: Array, values: Array) -> Integers:
    """Return the indices of the lower convex hull's vertices, by Andrew's chain, in linear time.

    Parameters
    ----------
    times
        In ascending order. Of equal ones, only the first may be a vertex.
    values
        At these times; of equal times, the lowest comes first.
    """
    kept: list[int] = []
    x, y = times.tolist(), values.tolist()
    for new in range(len(x)):
        if kept and x[new] == x[kept[-1]]:
            continue
        while len(kept) > 1:
            before, last = kept[-2], kept[-1]
            if (x[last] - x[before]) * (y[new] - y[last]) > (x[new] - x[last]) * (y[last] - y[before]):
                break
            kept.pop()
        kept.append(new)
    return np.array(kept, np.int64)


def floor_of(times: Array, values: Array) -> Floor:
    """Return the floor of at least one point; times and values in any order, in seconds."""
    order = np.lexsort((values, times))
    ordered, heights = times[order], values[order]
    hull = lower_hull(ordered, heights)
    return Floor(ordered[hull], heights[hull], times.size, float(times.mean()))


def touching_slope(floors: Sequence[Floor]) -> float | None:
    """Return the slope of the lines below all points, one for each floor, whose summed distance is the least (Moon et al.).

    Returns
    -------
    float or None
        Seconds a second; None if no floor has two points at different times.
    """
    slopes, falls, rise = _edges(floors, [1.0] * len(floors))
    if not slopes.size:
        return None
    return float(slopes[min(int(np.searchsorted(np.cumsum(falls), rise)), slopes.size - 1)])


def average_slope(floors: Sequence[Floor], scales: Sequence[float]) -> float | None:
    """Return the mean slope over the likelihood of exponential waiting, with a level for each floor and one slope for all.

    The logarithm of the likelihood is linear between the slopes of the hulls' edges, so the mean has a closed form.

    Parameters
    ----------
    floors
        The floors.
    scales
        Mean waiting of the points above each floor, seconds, above 0.

    Returns
    -------
    float or None
        Seconds a second; None if no floor has two points at different times.
    """
    slopes, falls, rise = _edges(floors, scales)
    if not slopes.size:
        return None
    gains = rise - np.concatenate([[0.0], np.cumsum(falls)])
    if not (gains[0] > 0 > gains[-1]):
        return float(slopes[int(np.searchsorted(np.cumsum(falls), rise).clip(0, slopes.size - 1))])
    origin = slopes[0]
    first, last = -_REACH / gains[0], slopes[-1] - origin - _REACH / gains[-1]
    places = np.concatenate([[first], slopes - origin, [last]])
    widths = np.diff(places)
    likely = np.concatenate([[0.0], np.cumsum(gains * widths)])
    likely -= likely.max()
    return float(origin + _mean_place(places, widths, likely))


def _edges(floors: Sequence[Floor], scales: Sequence[float]) -> tuple[Array, Array, float]:
    """Return the edges' slopes in ascending order, by how much each makes the likelihood's gain fall, and the gain before all."""
    slopes, falls, rise = [np.empty(0)], [np.empty(0)], 0.0
    for floor, scale in zip(floors, scales, strict=True):
        lengths = np.diff(floor.times)
        slopes.append(np.diff(floor.values) / lengths)
        falls.append(lengths * (floor.count / scale))
        rise += floor.count * (floor.mean - float(floor.times[0])) / scale
    every = np.concatenate(slopes)
    order = np.argsort(every, kind="stable")
    return every[order], np.concatenate(falls)[order], rise


def _mean_place(places: Array, widths: Array, likely: Array) -> float:
    """Return the mean of a density whose logarithm is linear between places."""
    drops = np.abs(np.diff(likely))
    flat = drops < 1e-6
    safe = np.where(flat, 1.0, drops)
    masses = np.exp(np.maximum(likely[1:], likely[:-1])) * widths
    masses *= np.where(flat, 1 - drops / 2, -np.expm1(-safe) / safe)
    with np.errstate(over="ignore"):
        shares = np.where(flat, 0.5 - drops / 12, 1 / safe - 1 / np.expm1(safe))
    falling = likely[:-1] >= likely[1:]
    centres = np.where(falling, places[:-1] + shares * widths, places[1:] - shares * widths)
    return float(np.sum(masses * centres) / np.sum(masses))
