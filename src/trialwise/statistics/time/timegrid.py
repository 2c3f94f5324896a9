"""Values measured at arbitrary times, on a regular grid of cells in which gaps are cells without a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import as_values_with_gaps, seconds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from trialwise.statistics.checks import Array, Indices

MAX_CELLS = 3 << 16
CELLS_PER_VALUE = 8
FEW_CELLS = 8192


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Finite values at strictly increasing times.

    Attributes
    ----------
    times
        Seconds since the first value.
    values
        One finite value per time.
    missing
        Number of values that were NaN and were dropped.
    repeated
        Number of values that shared their time with another one and were averaged with it.
    """

    times: Array
    values: Array
    missing: int
    repeated: int

    @property
    def duration(self) -> float:
        """Seconds from the first to the last value."""
        return float(self.times[-1])


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """Cells of equal length, some with a value.

    Attributes
    ----------
    cell
        Length of a cell in seconds.
    index
        The cells with a value, increasing, from 0 to ``size - 1``.
    values
        The mean of the values measured in each of them.
    regular
        True if the times themselves lie on this grid (up to a fifth of a cell).
    """

    cell: float
    index: Indices
    values: Array
    regular: bool

    @property
    def size(self) -> int:
        """Number of cells, empty ones included."""
        return int(self.index[-1]) + 1

    @property
    def times(self) -> Array:
        """Seconds from the first cell to each cell with a value."""
        return np.asarray(self.index * self.cell, dtype=np.float64)

    @property
    def duration(self) -> float:
        """Seconds from the first to the last cell."""
        return float(self.index[-1]) * self.cell

    @property
    def spacing(self) -> float:
        """Median distance of neighbouring values in seconds."""
        return float(np.median(np.diff(self.index))) * self.cell


def read_series(times: ArrayLike, values: ArrayLike) -> TimeSeries:
    """Sort values by time, drop NaN, and average values at the same time.

    Raises
    ------
    StatisticsError
        If the lengths differ, a time is not finite, a value is infinite, or fewer than two distinct times have a value.
    """
    when, what = seconds(times), as_values_with_gaps(values)
    if what.shape != when.shape:
        raise StatisticsError(f"times and values must have one length, not {when.shape} and {what.shape}")
    kept = ~np.isnan(what)
    unique, inverse, counts = np.unique(when[kept], return_inverse=True, return_counts=True)
    if unique.size < 2:
        raise StatisticsError(f"{unique.size} different times have a value; at least 2 are needed")
    means = _means(inverse, what[kept], counts)
    return TimeSeries(unique - unique[0], means, int((~kept).sum()), int(kept.sum()) - unique.size)


def _means(groups: Indices, values: Array, counts: Indices) -> Array:
    # Scale first, so that the sum of huge values stays finite.
    scale = float(np.abs(values).max()) or 1.0
    return np.bincount(groups, weights=values / scale, minlength=counts.size) / counts * scale


def lay_out(series: TimeSeries) -> TimeGrid:
    """Build the grid that follows the spacing of the times.

    Regular times (95 % of the distances within a fifth of a multiple of the median distance) get one cell per time. Others get cells
    of a quarter of the median distance, but at most eight cells per value and 196,608 in total, so that the work stays proportional
    to the data.
    """
    distances = np.diff(series.times)
    step = float(np.median(distances))
    multiples = np.rint(distances / step)
    regular = float(np.mean(np.abs(distances / step - multiples) <= 0.2)) >= 0.95
    # With jitter, the median distance is not exactly the interval of the underlying clock.
    cell = series.duration / float(multiples.sum()) if regular else step / 4
    most = min(MAX_CELLS, max(1024, CELLS_PER_VALUE * series.times.size))
    if series.duration / cell >= most:
        cell, regular = series.duration / (most - 1), False
    return _fill(series, cell, regular=regular)


def with_cells(series: TimeSeries, cell: float) -> TimeGrid:
    """Build the grid with cells of a given length in seconds."""
    return _fill(series, cell, regular=False)


def at_most(series: TimeSeries, grid: TimeGrid) -> TimeGrid:
    """Return the grid, or one of 8,192 longer cells if it has more, because surrogates of all of them are slow."""
    return grid if grid.size <= FEW_CELLS else with_cells(series, series.duration / (FEW_CELLS - 1))


def lag_grid(series: TimeSeries, grid: TimeGrid) -> TimeGrid:
    """Return a grid with one cell per median spacing; quarter cells of irregular times would leave few pairs per lag."""
    cell = grid.cell if grid.regular else grid.spacing
    return at_most(series, with_cells(series, cell))


def _fill(series: TimeSeries, cell: float, *, regular: bool) -> TimeGrid:
    nearest = np.rint(series.times / cell).astype(np.int64)
    index, inverse, counts = np.unique(nearest, return_inverse=True, return_counts=True)
    return TimeGrid(cell, index, _means(inverse, series.values, counts), regular)
