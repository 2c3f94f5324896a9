"""Autocorrelation of a series on a grid with gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from trialwise.statistics.checks import Array, Indices
    from trialwise.statistics.time.timegrid import TimeGrid


@dataclass(frozen=True, slots=True)
class Correlogram:
    """Autocorrelation coefficients by lag.

    Attributes
    ----------
    lags
        Seconds, from one cell to half of the duration. Empty for constant data.
    values
        The coefficient at each lag.
    pairs
        Number of pairs of values behind each coefficient; fewer where there are gaps. 0 pairs give the coefficient 0.
    threshold
        1.95/√N, beyond which a coefficient is unlikely in independent data (TriScale, section 4.5).
    n
        The number of cells with a value, N.
    """

    lags: Array
    values: Array
    pairs: Indices
    threshold: float
    n: int


def correlogram(grid: TimeGrid) -> Correlogram:
    """Compute the autocorrelation at lags of whole cells.

    Without gaps this is the usual estimate with divisor N. With gaps, the mean product is over the existing pairs, with the same
    taper (N - k)/N.
    """
    centred = standardized(grid.values)
    most = grid.size // 2
    n = centred.size
    threshold = 1.95 / float(np.sqrt(n))
    if not centred.any():
        return Correlogram(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64), threshold, n)
    products, pairs = _lagged_sums(grid, centred, most)
    lags = np.arange(1, most + 1)
    # No division by the variance: it is already 1.
    values = np.where(pairs > 0, products / np.maximum(pairs, 1), 0.0) * (grid.size - lags) / grid.size
    return Correlogram(np.asarray(lags * grid.cell, dtype=np.float64), values, pairs, threshold, n)


def standardized(values: Array) -> Array:
    """Scale values to mean 0 and mean square 1, or to all 0 if they are constant."""
    # Halve before subtracting: the difference of two huge values of opposite sign would overflow.
    half = values / 2
    if half.min() == half.max():
        return np.zeros(values.size)
    scaled = (half - half.min()) / (half.max() - half.min())
    centred = scaled - scaled.mean()
    return np.asarray(centred / np.sqrt(float(centred @ centred) / centred.size))


def _lagged_sums(grid: TimeGrid, centred: Array, most: int) -> tuple[Array, Indices]:
    full, mask = np.zeros(grid.size), np.zeros(grid.size)
    full[grid.index], mask[grid.index] = centred, 1.0
    products, pairs = _autocovariance(full), _autocovariance(mask)
    return products[1 : most + 1], np.rint(pairs[1 : most + 1]).astype(np.int64)


def _autocovariance(array: Array) -> Array:
    from scipy import fft

    length = fft.next_fast_len(2 * array.size, real=True)
    spectrum = np.asarray(fft.rfft(array, n=length), dtype=np.complex128)
    return np.asarray(fft.irfft(spectrum.real**2 + spectrum.imag**2, n=length)[: array.size])
