"""Values measured at any times, on a regular grid of cells in which gaps are cells without a value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Masked = np.ma.MaskedArray[Any, Any]

MOST_CELLS = 3 << 16
CELLS_PER_VALUE = 8


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Finite values at strictly increasing times.

    Attributes
    ----------
    times
        Seconds since the first value.
    values
        As many finite values.
    missing
        Values that were NaN and have been left out.
    repeated
        Values that shared their time with another one and have been averaged with it.
    """

    times: Floats
    values: Floats
    missing: int
    repeated: int

    @property
    def duration(self) -> float:
        """Seconds from the first to the last value."""
        return float(self.times[-1])


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """Cells of equal length, some of which hold a value.

    Attributes
    ----------
    cell
        Length of a cell in seconds.
    index
        The cells that hold a value, increasing, from 0 to ``size - 1``.
    values
        The mean of what was measured in each of them.
    regular
        Whether the times themselves lie on this grid (up to a fifth of a cell).
    """

    cell: float
    index: Integers
    values: Floats
    regular: bool

    @property
    def size(self) -> int:
        """Number of cells, empty ones included."""
        return int(self.index[-1]) + 1

    @property
    def times(self) -> Floats:
        """Seconds from the first cell to each cell that holds a value."""
        return np.asarray(self.index * self.cell, dtype=np.float64)

    @property
    def duration(self) -> float:
        """Seconds from the first to the last cell."""
        return float(self.index[-1]) * self.cell

    @property
    def spacing(self) -> float:
        """Median distance in seconds of neighbouring values."""
        return float(np.median(np.diff(self.index))) * self.cell


def seconds(times: npt.ArrayLike | Iterable[datetime]) -> Floats:
    """Read times as seconds since the first of them.

    Parameters
    ----------
    times
        Numbers (seconds), `numpy.datetime64`, or `datetime.datetime`, in one dimension.

    Raises
    ------
    ValueError
        If a time is NaN, infinite, NaT or masked, if there are none, or if they are not one-dimensional.
    """
    array = np.asarray(times)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"times must be a one-dimensional array with at least one time, not shape {array.shape}"
        )
    if isinstance(times, np.ma.MaskedArray) and cast("Masked", times).mask.any():
        raise ValueError("times has masked entries; every value needs its time")
    if array.dtype == object and all(isinstance(time, datetime) for time in array):
        array = np.array([time.timestamp() for time in array])
    if array.dtype.kind == "M":
        return _seconds_of_dates(array)
    instants = numbers(array, "times")
    if not np.isfinite(instants).all():
        raise ValueError(
            f"times[{int(np.argmin(np.isfinite(instants)))}] is not finite; every value needs its time"
        )
    return np.asarray(instants - instants[0], dtype=np.float64)


def numbers(array: npt.ArrayLike, name: str) -> Floats:
    """One-dimensional floats, a masked entry as NaN.

    Raises
    ------
    ValueError
        If they are no numbers, or not in one dimension; `name` says which.
    """
    masked = isinstance(array, np.ma.MaskedArray)
    plain = np.asarray(array)
    if plain.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers, not {plain.dtype}")
    if plain.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of shape {plain.shape}")
    floats = plain.astype(np.float64)
    if masked:
        floats[np.ma.getmaskarray(cast("Masked", array))] = np.nan
    return floats


def _seconds_of_dates(dates: npt.NDArray[Any]) -> Floats:
    if np.isnat(dates).any():
        raise ValueError(f"times[{int(np.argmax(np.isnat(dates)))}] is NaT; every value needs its time")
    # Differences first: a datetime64 of 2026 in nanoseconds has more digits than a float.
    return np.asarray((dates - dates[0]) / np.timedelta64(1, "s"), dtype=np.float64)


def read_series(times: npt.ArrayLike, values: npt.ArrayLike) -> TimeSeries:
    """Sort values by time, leave NaN out, average values of the same time.

    Raises
    ------
    ValueError
        If the lengths differ, a time is not finite, a value is infinite, or fewer than two different times
        have a value.
    """
    when, what = seconds(times), numbers(values, "values")
    if what.shape != when.shape:
        raise ValueError(f"times and values must have one length, not {when.shape} and {what.shape}")
    if np.isinf(what).any():
        raise ValueError(f"values[{int(np.argmax(np.isinf(what)))}] is infinite; mark what is missing as NaN")
    kept = ~np.isnan(what)
    unique, inverse, counts = np.unique(when[kept], return_inverse=True, return_counts=True)
    if unique.size < 2:
        raise ValueError(f"{unique.size} different times have a value; at least 2 are needed")
    means = _means(inverse, what[kept], counts)
    return TimeSeries(unique - unique[0], means, int((~kept).sum()), int(kept.sum()) - unique.size)


def _means(groups: Integers, values: Floats, counts: Integers) -> Floats:
    # Scaled, so that the sum of huge values stays finite.
    scale = float(np.abs(values).max()) or 1.0
    return np.bincount(groups, weights=values / scale, minlength=counts.size) / counts * scale


def lay_out(series: TimeSeries) -> TimeGrid:
    """Make the grid that follows the spacing of the times.

    Regular times (95 % of the distances within a fifth of a multiple of the median distance) get one cell for
    each time. Others get cells of a quarter of the median distance, but at most eight cells for each value
    and 196,608 in all, so that the work stays proportional to the data.
    """
    distances = np.diff(series.times)
    step = float(np.median(distances))
    multiples = np.rint(distances / step)
    regular = float(np.mean(np.abs(distances / step - multiples) <= 0.2)) >= 0.95
    # The median of jittered distances is not exactly the interval of the clock behind them.
    cell = series.duration / float(multiples.sum()) if regular else step / 4
    most = min(MOST_CELLS, max(1024, CELLS_PER_VALUE * series.times.size))
    if series.duration / cell >= most:
        cell, regular = series.duration / (most - 1), False
    return _fill(series, cell, regular=regular)


def with_cells(series: TimeSeries, cell: float) -> TimeGrid:
    """Make the grid with cells of a given length in seconds."""
    return _fill(series, cell, regular=False)


def _fill(series: TimeSeries, cell: float, *, regular: bool) -> TimeGrid:
    nearest = np.rint(series.times / cell).astype(np.int64)
    index, inverse, counts = np.unique(nearest, return_inverse=True, return_counts=True)
    return TimeGrid(cell, index, _means(inverse, series.values, counts), regular)
