"""Noise with the values of the data at the same, possibly gappy, times: the background that a period must stand out from.

An Ornstein-Uhlenbeck process observed at the cells of a grid is an AR(1) series without the empty cells; white noise may be added to
it. `noise_spectra` identifies the noise by indirect inference: the regression that removes trend and candidate periods also removes
part of the noise's memory, so the right noise is the one with surrogates that resemble the data's residual after the same
regression.

Each surrogate is a rearrangement of the scores of the data, because few distinct values cause shifts and peaks that normal noise
does not: rare failures cluster by chance. Surrogates of white noise are permutations (Theiler and others, Physica D 58, 1992).
Surrogates of red noise follow the order of a normal series; the other values weaken its memory, so its memory is chosen stronger to
compensate (Cario and Nelson, INFORMS Journal on Computing 9, 1997).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft

from trialwise.late import special

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialwise.statistics.checks import Array, Indices
    from trialwise.statistics.time.timegrid import TimeGrid

LEVELS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999])
NEGATIVE_LEVELS = np.array([-0.9, -0.7, -0.5, -0.3, -0.15])
BLOCK_CELLS = 1 << 20
# Odd, so that the remainder of a power series, added to its last term, increases too.
HERMITE_TERMS = 101
# Number of steps that represent a quantile function.
MAX_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Noise:
    """Red plus white noise: the correlation between neighbouring cells, and the variance of each part."""

    correlation: float
    red: float = 1.0
    white: float = 0.0

    def correlations(self, lags: Indices) -> Array:
        """Return the correlation of cells at these lags."""
        together = np.where(lags == 0, self.red + self.white, self.red * np.power(self.correlation, lags))
        return np.asarray(together / (self.red + self.white))


@dataclass(frozen=True, slots=True)
class Plausible:
    """The plausible noises of a record with their probabilities, which sum to 1."""

    noises: tuple[Noise, ...]
    chances: Array


def certain(noise: Noise) -> Plausible:
    """Return a single noise with probability 1."""
    return Plausible((noise,), np.ones(1))


def normal_scores(values: Array) -> Array:
    """Return rank-normal scores (Blom 1958): any distribution becomes normal, outliers too; ties share a score."""
    from scipy.stats import rankdata  # half a second that only those who ask for seasons wait for

    ranks = rankdata(values)
    return np.asarray(special.ndtri((ranks - 0.375) / (ranks.size + 0.25)))


def normal_rows(grid: TimeGrid, correlations: Array, count: int, rng: np.random.Generator) -> Array:
    """Draw stationary normal series of variance 1 at the cells with a value, by circulant embedding.

    Parameters
    ----------
    grid
        Its `index` gives the observed cells.
    correlations
        At lags 0, 1, … once around a circle; see `circle`.
    count
        Number of series.
    rng
        Random generator.

    Returns
    -------
    numpy.ndarray
        Shape (count, number of cells with a value).

    Notes ----- Dietrich and Newsam, SIAM Journal on Scientific Computing 18, 1997. Negative power, which invalid correlations would
    require, is set to 0.
    """
    amplitudes = np.sqrt(np.maximum(fft.rfft(correlations).real, 0))
    white = rng.standard_normal((count, correlations.size))
    around = fft.irfft(
        fft.rfft(white, axis=1, workers=1) * amplitudes, n=correlations.size, axis=1, workers=1
    )
    return np.asarray(around[:, grid.index])


def circle(grid: TimeGrid) -> Indices:
    """Return the distance of each cell of a circle from the first; the grid's cells fill less than half of it."""
    length = fft.next_fast_len(2 * grid.size, real=True)
    places = np.arange(length)
    return np.asarray(np.minimum(places, length - places))


def rearranged(
    grid: TimeGrid, noise: Plausible, values: Array, count: int, rng: np.random.Generator
) -> Iterator[Array]:
    """Rearrange values into series with the memory of a noise, a bounded number of rows at a time.

    Parameters
    ----------
    grid
        Its `index` gives the observed cells.
    noise
        The noises, of which each series takes one, with their probabilities.
    values
        The scores of the data, one per observed cell.
    count
        Number of series.
    rng
        Random generator.

    Yields
    ------
    numpy.ndarray
        Shape (rows, number of cells with a value).
    """
    ordered, lags = np.sort(values), circle(grid)
    reached = reached_correlations(ordered)
    most = max(1, BLOCK_CELLS // grid.size)
    waiting: list[Array] = []
    for one, series in zip(noise.noises, rng.multinomial(count, noise.chances).tolist(), strict=True):
        left = series
        while left:
            drawn = min(left, most - sum(map(len, waiting)))
            waiting.append(normal_rows(grid, reached.normal(one.correlations(lags)), drawn, rng))
            left -= drawn
            if sum(map(len, waiting)) == most:
                yield _ranked(np.concatenate(waiting), ordered)
                waiting = []
    if waiting:
        yield _ranked(np.concatenate(waiting), ordered)


def _ranked(normal: Array, ordered: Array) -> Array:
    """Give each row these values in the row's own order."""
    drawn = np.empty_like(normal)
    np.put_along_axis(drawn, normal.argsort(axis=1), ordered[None, :], axis=1)
    return drawn


@dataclass(frozen=True, slots=True)
class ReachedCorrelations:
    """Correlation of values assigned to ranks of normal numbers, as a function of the normal numbers' correlation; both increasing."""

    of_values: Array
    of_normal: Array

    def normal(self, wanted: Array) -> Array:
        """Return the correlations that normal numbers need; the nearest possible where values cannot reach the desired one."""
        return np.interp(wanted, self.of_values, self.of_normal)


def reached_correlations(ordered: Array) -> ReachedCorrelations:
    """Compute the correlation that remains when normal numbers are replaced by these values in rank order.

    Parameters
    ----------
    ordered
        The values, ascending.

    Notes ----- With Hermite coefficients c of the quantile function of a normal number, numbers with correlation r become values
    with correlation Σ c_k² r^k/Σ c_k².
    """
    # Dense near 1, where memory is long.
    normal = np.cos(np.linspace(np.pi, 0, 2001))
    reached = np.zeros_like(normal)
    for square in _hermite_squares(ordered)[::-1]:
        reached = (reached + square) * normal
    return ReachedCorrelations(np.maximum.accumulate(reached), normal)


def _hermite_squares(ordered: Array) -> Array:
    """Return the shares of terms 1, 2, … in the variance of a quantile function; the last one includes the remainder."""
    steps = np.unique(np.linspace(0, ordered.size, min(ordered.size, MAX_STEPS) + 1).astype(np.int64))
    heights = np.add.reduceat(ordered, steps[:-1]) / np.diff(steps)
    heights = heights - np.average(heights, weights=np.diff(steps))
    variance = float(np.average(heights**2, weights=np.diff(steps))) or 1.0
    edges = special.ndtri(steps[1:-1] / ordered.size)
    rises = np.diff(heights) * np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi)
    squares = np.zeros(HERMITE_TERMS)
    before, polynomial = np.zeros_like(edges), np.ones_like(edges)
    for order in range(1, HERMITE_TERMS):
        # The integral of a polynomial over a step is a difference of the next lower polynomial at its ends.
        squares[order - 1] = float(rises @ polynomial) ** 2 / order / variance
        before, polynomial = (
            polynomial,
            (edges * polynomial - np.sqrt(order - 1) * before) / np.sqrt(order),
        )
    squares[-1] = max(0.0, 1 - float(squares.sum()))
    return squares


def residuals(rows: Array, basis: Array) -> Array:
    """Return rows (…, n) minus their projection on the orthonormal columns of `basis` (n, p)."""
    return rows - (rows @ basis) @ basis.T
