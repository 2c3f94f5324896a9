"""Noise at the same, possibly gappy, times as the data, of the very values that the data have: what a period has to stand out from.

An Ornstein-Uhlenbeck process seen at the cells of a grid is an AR(1) series of which the empty cells are
left out; white noise may stand beside it. Which noise it is, `noise_spectra` finds by indirect inference: the
regression that removes trend and candidate periods also removes part of the noise's own memory, so the noise to use
is the one whose surrogates, after the same regression, look like the data's residual.

Each surrogate is a rearrangement of the scores of the data. Few values, many of them alike, make shifts and peaks that normal
noise does not make: rare failures stand together by chance. Of white noise the surrogates are permutations, which know that
(Theiler and others, Physica D 58, 1992). Of red noise the order is that of a normal series; giving it other values weakens its
memory, so that its own is chosen stronger by as much (Cario and Nelson, INFORMS Journal on Computing 9, 1997).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft
from scipy.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialwise.statistics.checks import Array, Indices
    from trialwise.statistics.time.timegrid import TimeGrid

LEVELS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999])
NEGATIVE_LEVELS = np.array([-0.9, -0.7, -0.5, -0.3, -0.15])
BLOCK_CELLS = 1 << 20
# Odd, so that what is left of a series of powers, taken for the last of them, rises too.
HERMITE_TERMS = 101
# Steps of a quantile function that tell its shape.
MAX_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Noise:
    """Red noise and white noise beside it: the correlation between neighbouring cells, and the variance of each."""

    correlation: float
    red: float = 1.0
    white: float = 0.0

    def correlations(self, lags: Indices) -> Array:
        """The correlation of cells so far apart."""
        together = np.where(lags == 0, self.red + self.white, self.red * np.power(self.correlation, lags))
        return np.asarray(together / (self.red + self.white))


@dataclass(frozen=True, slots=True)
class Plausible:
    """The noises that a record may be of, and how likely each is: shares that sum to 1."""

    noises: tuple[Noise, ...]
    chances: Array


def certain(noise: Noise) -> Plausible:
    """One noise alone."""
    return Plausible((noise,), np.ones(1))


def normal_scores(values: Array) -> Array:
    """Rank-normal scores (Blom 1958): any distribution becomes normal, outliers too; ties share a score."""
    from scipy.stats import rankdata  # half a second that only those who ask for seasons wait for

    ranks = rankdata(values)
    return np.asarray(ndtri((ranks - 0.375) / (ranks.size + 0.25)))


def normal_rows(grid: TimeGrid, correlations: Array, count: int, rng: np.random.Generator) -> Array:
    """Stationary normal series of variance 1 at the cells that hold a value, by circulant embedding.

    Parameters
    ----------
    grid
        Whose `index` says which cells are seen.
    correlations
        Of cells 0, 1, … apart, once around a circle; see `circle`.
    count
        Number of series.
    rng
        Where the noise comes from.

    Returns
    -------
    numpy.ndarray
        Shape (count, number of cells with a value).

    Notes
    -----
    Dietrich and Newsam, SIAM Journal on Scientific Computing 18, 1997. What correlations that no noise has would ask of
    a frequency below 0 is 0.
    """
    amplitudes = np.sqrt(np.maximum(fft.rfft(correlations).real, 0))
    white = rng.standard_normal((count, correlations.size))
    around = fft.irfft(
        fft.rfft(white, axis=1, workers=1) * amplitudes, n=correlations.size, axis=1, workers=1
    )
    return np.asarray(around[:, grid.index])


def circle(grid: TimeGrid) -> Indices:
    """The distance of each cell of a circle from the first; the grid's cells are less than half of it."""
    length = fft.next_fast_len(2 * grid.size, real=True)
    places = np.arange(length)
    return np.asarray(np.minimum(places, length - places))


def rearranged(
    grid: TimeGrid, noise: Plausible, values: Array, count: int, rng: np.random.Generator
) -> Iterator[Array]:
    """Rearrange values into series that have the memory of a noise, a bounded number of rows at a time.

    Parameters
    ----------
    grid
        Whose `index` says which cells are seen.
    noise
        Its memory: one of these for each series, as often as it is likely.
    values
        The scores of the data, one for each of these cells.
    count
        Number of series.
    rng
        Where the noise comes from.

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
    """Give each row these values in the order of its own."""
    drawn = np.empty_like(normal)
    np.put_along_axis(drawn, normal.argsort(axis=1), ordered[None, :], axis=1)
    return drawn


@dataclass(frozen=True, slots=True)
class ReachedCorrelations:
    """Which correlation values have that are given to the ranks of normal numbers, against that of the normal numbers, both rising."""

    of_values: Array
    of_normal: Array

    def normal(self, wanted: Array) -> Array:
        """The correlations that normal numbers need; where values cannot have the wanted one, as near as they get."""
        return np.interp(wanted, self.of_values, self.of_normal)


def reached_correlations(ordered: Array) -> ReachedCorrelations:
    """Find what ranks of normal numbers lose of their correlation once they are given these values.

    Parameters
    ----------
    ordered
        The values, rising.

    Notes
    -----
    With Hermite coefficients c of the quantile function as a function of a normal number, numbers of correlation r become
    values of correlation Σ c_k² r^k/Σ c_k².
    """
    # Close together near 1, where memory is long.
    normal = np.cos(np.linspace(np.pi, 0, 2001))
    reached = np.zeros_like(normal)
    for square in _hermite_squares(ordered)[::-1]:
        reached = (reached + square) * normal
    return ReachedCorrelations(np.maximum.accumulate(reached), normal)


def _hermite_squares(ordered: Array) -> Array:
    """Shares of the terms 1, 2, … in the variance of a quantile function; the last holds all that is left."""
    steps = np.unique(np.linspace(0, ordered.size, min(ordered.size, MAX_STEPS) + 1).astype(np.int64))
    heights = np.add.reduceat(ordered, steps[:-1]) / np.diff(steps)
    heights = heights - np.average(heights, weights=np.diff(steps))
    variance = float(np.average(heights**2, weights=np.diff(steps))) or 1.0
    edges = ndtri(steps[1:-1] / ordered.size)
    rises = np.diff(heights) * np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi)
    squares = np.zeros(HERMITE_TERMS)
    before, polynomial = np.zeros_like(edges), np.ones_like(edges)
    for order in range(1, HERMITE_TERMS):
        # The integral of a polynomial over a step is a difference of the next lower one at its ends.
        squares[order - 1] = float(rises @ polynomial) ** 2 / order / variance
        before, polynomial = (
            polynomial,
            (edges * polynomial - np.sqrt(order - 1) * before) / np.sqrt(order),
        )
    squares[-1] = max(0.0, 1 - float(squares.sum()))
    return squares


def residuals(rows: Array, basis: Array) -> Array:
    """Rows (…, n) without their projection on the orthonormal columns of `basis` (n, p)."""
    return rows - (rows @ basis) @ basis.T
