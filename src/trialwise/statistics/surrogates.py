"""Red noise at the same, possibly gappy, times as the data: what a period has to stand out from.

An Ornstein-Uhlenbeck process seen at the cells of a grid is an AR(1) series of which the empty cells are
left out; white noise may stand beside it. Which noise it is, `noise_spectra` finds by indirect inference: the
regression that removes trend and candidate periods also removes part of the noise's own memory, so the noise to use
is the one whose surrogates, after the same regression, look like the data's residual.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Noise:
    """Red noise and white noise beside it: the correlation between neighbouring cells, and the variance of each."""

    correlation: float
    red: float = 1.0
    white: float = 0.0


def normal_scores(values: Array) -> Array:
    """Rank-normal scores (Blom 1958): any distribution becomes normal, outliers too; ties share a score."""
    from scipy.stats import rankdata  # half a second that only those who ask for seasons wait for

    ranks = rankdata(values)
    return np.asarray(ndtri((ranks - 0.375) / (ranks.size + 0.25)))


def red_noise(grid: TimeGrid, noise: Noise, count: int, rng: np.random.Generator) -> Array:
    """Stationary Gaussian AR(1) series with white noise beside them, at the cells that hold a value.

    Parameters
    ----------
    grid
        Whose `index` says which cells are seen.
    noise
        Its correlation and variances.
    count
        Number of series.
    rng
        Where the noise comes from.

    Returns
    -------
    numpy.ndarray
        Shape (count, number of cells with a value).
    """
    rows = rng.standard_normal((count, grid.size))
    red = np.sqrt(noise.red) * _coloured(rows, noise.correlation)[:, grid.index]
    if not noise.white:
        return red
    return red + np.sqrt(noise.white) * rng.standard_normal((count, grid.index.size))


def _coloured(white: Array, correlation: float) -> Array:
    from scipy.signal import lfilter

    scaled = white * np.sqrt(1 - correlation**2)
    scaled[:, 0] = white[:, 0]
    return cast("Array", lfilter([1.0], [1.0, -correlation], scaled, axis=1))


def in_blocks(grid: TimeGrid, noise: Noise, count: int, rng: np.random.Generator) -> Iterator[Array]:
    """Draw as `red_noise` does, a bounded number of rows at a time."""
    rows = max(1, BLOCK_CELLS // grid.size)
    for start in range(0, count, rows):
        yield red_noise(grid, noise, min(rows, count - start), rng)


def residuals(rows: Array, basis: Array) -> Array:
    """Rows (…, n) without their projection on the orthonormal columns of `basis` (n, p)."""
    return rows - (rows @ basis) @ basis.T
