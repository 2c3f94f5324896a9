"""Red noise at the same, possibly gappy, times as the data: what a period has to stand out from.

An Ornstein-Uhlenbeck process seen at the cells of a grid is an AR(1) series of which the empty cells are
left out. Its correlation is calibrated by indirect inference: the regression that removes trend and
candidate periods also removes part of the noise's own memory, so the correlation to use is the one whose
surrogates, after the same regression, look like the data's residual.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialwise.statistics.checks import Array
    from trialwise.statistics.timegrid import TimeGrid

LEVELS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999])
NEGATIVE_LEVELS = np.array([-0.9, -0.7, -0.5, -0.3, -0.15])
BLOCK_CELLS = 1 << 20


def normal_scores(values: Array) -> Array:
    """Rank-normal scores (Blom 1958): any distribution becomes normal, outliers too; ties share a score."""
    from scipy.stats import rankdata  # half a second that only those who ask for seasons wait for

    ranks = rankdata(values)
    return np.asarray(ndtri((ranks - 0.375) / (ranks.size + 0.25)))


def red_noise(grid: TimeGrid, correlation: float, count: int, rng: np.random.Generator) -> Array:
    """Stationary Gaussian AR(1) series of variance 1 at the cells that hold a value.

    Parameters
    ----------
    grid
        Whose `index` says which cells are seen.
    correlation
        Between neighbouring cells.
    count
        Number of series.
    rng
        Where the noise comes from.

    Returns
    -------
    numpy.ndarray
        Shape (count, number of cells with a value).
    """
    return _coloured(rng.standard_normal((count, grid.size)), correlation)[:, grid.index]


def _coloured(white: Array, correlation: float) -> Array:
    from scipy.signal import lfilter

    scaled = white * np.sqrt(1 - correlation**2)
    scaled[:, 0] = white[:, 0]
    return cast("Array", lfilter([1.0], [1.0, -correlation], scaled, axis=1))


def in_blocks(grid: TimeGrid, correlation: float, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """Draw as `red_noise` does, a bounded number of rows at a time."""
    rows = max(1, BLOCK_CELLS // grid.size)
    for start in range(0, count, rows):
        yield red_noise(grid, correlation, min(rows, count - start), rng)


def residuals(rows: Array, basis: Array) -> Array:
    """Rows (…, n) without their projection on the orthonormal columns of `basis` (n, p)."""
    return rows - (rows @ basis) @ basis.T


def neighbour_correlation(rows: Array) -> Array:
    """Correlation of each value with the next one that exists, for each row."""
    return np.asarray(np.sum(rows[..., 1:] * rows[..., :-1], axis=-1) / np.sum(rows**2, axis=-1))


def calibrated_correlation(
    grid: TimeGrid, residual: Array, basis: Array, seed: np.random.SeedSequence
) -> float:
    """Find the correlation between neighbouring cells whose surrogates look like the residual.

    Parameters
    ----------
    grid
        The cells.
    residual
        Of the data, after the regression on `basis`.
    basis
        Orthonormal columns.
    seed
        Every level of correlation sees the same noise, so that levels differ by nothing else.
    """
    observed = float(neighbour_correlation(residual))
    levels = np.concatenate([NEGATIVE_LEVELS, LEVELS]) if grid.regular else LEVELS
    per_cell = np.sign(levels) * np.abs(levels) ** (grid.cell / grid.spacing)
    count = int(np.clip(400_000 // grid.size, 4, 64))
    white = np.random.Generator(np.random.PCG64DXSM(seed)).standard_normal((count, grid.size))

    @cache
    def expected(level: int) -> float:
        rows = _coloured(white, per_cell[level])[:, grid.index]
        return float(neighbour_correlation(residuals(rows, basis)).mean())

    above = bisect_left(range(len(levels)), observed, key=expected)
    if above in {0, len(levels)}:
        return float(per_cell[min(above, len(levels) - 1)])
    below = above - 1
    return float(np.interp(observed, [expected(below), expected(above)], per_cell[[below, above]]))
