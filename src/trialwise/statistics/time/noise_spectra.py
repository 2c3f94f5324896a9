"""The spectra of red and white noise at the times of the data, and the noise that fits a spectrum.

Wandering conditions measured with error look like white plus red noise (an Ornstein-Uhlenbeck process): a random walk, repeated
level changes, slow weather. A single correlation between neighbours cannot distinguish it from noise with short memory, so its slow
part would pass for a period; the spectrum can.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft

from trialwise.statistics.pooled.phase_randomization import LEVELS, NEGATIVE_LEVELS, Noise, Plausible, certain

if TYPE_CHECKING:
    import numpy.typing as npt

    from trialwise.statistics.checks import Array, Indices
    from trialwise.statistics.time.timegrid import TimeGrid

MIN_CYCLES = 1.9
# Shares of the red part in the residual variance of a regression.
SHARES = np.array([1.0, 0.95, 0.85, 0.7, 0.55, 0.4, 0.28, 0.2, 0.13, 0.08, 0.05, 0.03, 0.015])
# With less memory, red plus white noise is indistinguishable from white noise.
MIN_MIXED = 0.3
# Memories in units of the record's length: the longest is a random walk.
LONG_MEMORIES = np.array([0.03, 0.1, 0.3, 1.0])
BAND_GROWTH = 1.04
# Share of the total likelihood below which a noise is ignored; it would occur in fewer than one of a hundred surrogates.
MIN_PLAUSIBLE = 1e-4


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The relevant part of a Fourier transform: from one cycle in the record to the Nyquist frequency.

    `length` is the transform's length, `first` and `last` are indices into it, `searched` is the index at which the search for
    periods starts (1.9 cycles), and `resolution` the number of indices per 1/duration.
    """

    length: int
    first: int
    last: int
    searched: int
    resolution: float

    def hertz(self, place: int, cell: float) -> float:
        """Return the frequency at an index relative to `first`."""
        return (self.first + place) / (self.length * cell)

    @property
    def hidden(self) -> int:
        """Number of indices from `first` on that are not searched."""
        return self.searched - self.first


def frequencies_of(grid: TimeGrid) -> Frequencies | None:
    """Choose 2 or 4 frequencies per 1/duration; None if there are no frequencies to search."""
    length = fft.next_fast_len((4 if grid.size < 16_384 else 2) * grid.size, real=True)
    resolution = length * grid.cell / (grid.duration + grid.spacing)
    searched = int(np.ceil(MIN_CYCLES * resolution))
    last = int(np.ceil(length * grid.cell / (2 * grid.spacing))) - 1
    if last <= searched:
        return None
    return Frequencies(length, max(1, int(np.ceil(resolution))), last, searched, resolution)


def power(grid: TimeGrid, rows: Array, frequencies: Frequencies) -> npt.NDArray[np.float32]:
    """Return the squared Fourier amplitude of rows without trend; empty cells count as 0.

    Without gaps and at multiples of 1/duration this is n times the Lomb-Scargle periodogram. With gaps it differs by the imbalance
    of sine and cosine, which surrogates at the same cells share.
    """
    full = np.zeros((rows.shape[0], grid.size))
    full[:, grid.index] = rows
    spectrum = fft.rfft(full, n=frequencies.length, axis=1, workers=1)[
        :, frequencies.first : frequencies.last + 1
    ]
    return (spectrum.real**2 + spectrum.imag**2).astype(np.float32)


def standard(rows: Array) -> Array:
    """Scale rows to mean square 1."""
    return rows / np.sqrt(np.mean(rows**2, axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class NoiseFit:
    """The best-fitting noise of each of several spectra: its index among the noises, and its size.

    `unlikely` is the negative log likelihood (Whittle) of each spectrum, up to a constant.
    """

    places: Indices
    sizes: Array
    unlikely: Array


@dataclass(frozen=True, slots=True)
class NoiseSpectra:
    """Mean spectra of noises after a regression, at the same cells as the data.

    Attributes
    ----------
    frequencies
        Frequencies of every spectrum.
    noises
        The noises, each of variance 1 after the regression.
    shares
        Share of the red part in the variance of each noise, shape (noises,).
    colours
        The row of `spectra` with the red part of each noise, shape (noises,); row 0 is white.
    spectra
        Of white noise and of each correlation, shape (1 + correlations, frequencies).
    bands
        Start of each band of neighbouring frequencies; all but the lowest contain several.
    """

    frequencies: Frequencies
    noises: tuple[Noise, ...]
    shares: Array
    colours: Indices
    spectra: npt.NDArray[np.float32]
    bands: Indices

    def spectrum(self, place: int) -> Array:
        """Return the expected spectrum of one noise at every frequency."""
        share = self.shares[place]
        return (1 - share) * self.spectra[0] + share * self.spectra[self.colours[place]]

    def fit(self, spectra: npt.NDArray[np.float32], peaks: Indices | None = None) -> NoiseFit:
        """Find the best-fitting noise of each spectrum (Whittle's likelihood, over bands of frequencies).

        Parameters
        ----------
        spectra
            Shape (rows, frequencies).
        peaks
            Index of a peak in each row, which is ignored, together with its neighbours within 1/duration.
        """
        sizes, unlikely = self._each(spectra, peaks)
        places = unlikely.argmin(axis=1)
        rows: Indices = np.array(range(len(spectra)), dtype=np.int64)
        return NoiseFit(places, sizes[rows, places], unlikely[rows, places])

    def _each(self, spectra: npt.NDArray[np.float32], peaks: Indices | None) -> tuple[Array, Array]:
        """Return the best-fitting size of each noise for each spectrum, and the negative log likelihood; see `NoiseFit`."""
        widths = np.diff([*self.bands, spectra.shape[1]])
        seen = np.add.reduceat(spectra, self.bands, axis=1) / widths
        means = np.add.reduceat(self.spectra, self.bands, axis=1) / widths
        expected = (1 - self.shares[:, None]) * means[0] + self.shares[:, None] * means[self.colours]
        weights = np.broadcast_to(widths / self.frequencies.resolution, seen.shape).copy()
        if peaks is not None:
            reach = self.frequencies.resolution
            ends = self.bands + widths
            near = (ends[None, :] > peaks[:, None] - reach) & (self.bands[None, :] < peaks[:, None] + reach)
            weights[near & (np.sum(~near, axis=1) >= 3)[:, None]] = 0
        total = weights.sum(axis=1, keepdims=True)
        sizes = (weights * seen) @ (1 / expected).T / total
        return sizes, total * np.log(sizes) + weights @ np.log(expected).T

    def along(self, grid: TimeGrid, columns: Array) -> Array:
        """Return the sum of squares of each noise along orthonormal columns (cells, any) that are orthogonal to the regression.

        Returns
        -------
        numpy.ndarray
            Shape (noises,), of noises of variance 1 after the regression.
        """
        full = np.zeros((columns.shape[1], 2 * grid.size))
        full[:, grid.index] = columns.T
        squares = np.sum(np.abs(fft.rfft(full, axis=1, workers=1)) ** 2, axis=0)
        products = np.asarray(fft.irfft(squares), dtype=np.float64)[: grid.size]
        lags = np.arange(grid.size)
        red = {
            correlation: float(2 * products @ np.power(correlation, lags) - products[0])
            for correlation in {noise.correlation for noise in self.noises}
        }
        white = float(products[0])
        return np.array([noise.red * red[noise.correlation] + noise.white * white for noise in self.noises])

    def whitened(self, spectra: npt.NDArray[np.float32], fit: NoiseFit) -> npt.NDArray[np.float32]:
        """Divide each spectrum by the spectrum of its fitted noise."""
        result = np.empty_like(spectra)
        for place in np.unique(fit.places):
            rows = fit.places == place
            result[rows] = spectra[rows] / (fit.sizes[rows, None] * self.spectrum(int(place)))
        return result

    def like(self, spectra: npt.NDArray[np.float32], peaks: Indices | None = None) -> Plausible:
        """Return the best-fitting noise of the first spectrum; see `fit`."""
        return certain(self.noises[int(self.fit(spectra, peaks).places[0])])

    def plausible(self, spectra: npt.NDArray[np.float32]) -> Plausible:
        """Return the plausible noises of the first spectrum, each with its share of the likelihood; see `fit`.

        If the memory is nearly as long as the record, the likeliest estimate is often too short and makes drifts too rare.
        """
        _, unlikely = self._each(spectra[:1], None)
        shares = np.exp(unlikely.min() - unlikely[0])
        kept = np.flatnonzero(shares > MIN_PLAUSIBLE * shares.sum())
        chances = shares[kept] / shares[kept].sum()
        return Plausible(tuple(self.noises[at] for at in kept.tolist()), chances)


def noise_spectra(grid: TimeGrid, basis: Array, frequencies: Frequencies) -> NoiseSpectra:
    """Compute the expected spectra of white and red noise of many correlations after a regression on `basis`.

    They are exact. With covariance Σ at the cells with a value, transform F and basis B, the expected spectrum is the diagonal of
    F(I - BB')Σ(I - BB')F*; for stationary noise the product with Σ is a convolution.
    """
    length, cells = frequencies.length, basis.shape[1]
    columns = np.zeros((cells, length))
    columns[:, grid.index] = basis.T
    mask = np.zeros(length)
    mask[grid.index] = 1.0
    columns_f = fft.rfft(columns, axis=1, workers=1)
    pairs = fft.irfft(np.abs(fft.rfft(mask)) ** 2, n=length)
    lags = np.minimum(np.arange(length), length - np.arange(length))
    kept = slice(frequencies.first, frequencies.last + 1)
    spectra: list[Array] = []
    left: list[float] = []
    correlations = _correlations(grid)
    for correlation in (0.0, *correlations.tolist()):
        covariance = np.where(lags < grid.size, np.power(correlation, lags), 0.0)
        blurred = fft.irfft(columns_f * fft.rfft(covariance), n=length, axis=1, workers=1) * mask
        inner = blurred[:, grid.index] @ basis
        whole = fft.rfft(pairs * covariance).real[kept]
        seen = fft.rfft(blurred, axis=1, workers=1)[:, kept]
        own = columns_f[:, kept]
        taken = 2 * np.sum(own.conj() * seen, axis=0).real - np.sum(own.conj() * (inner @ own), axis=0).real
        rest = 1.0 - float(np.trace(inner)) / grid.index.size
        left.append(max(rest, 1e-12))
        spectra.append(np.maximum(whole - taken, 1e-9 * whole) / left[-1])
    noises, shares, colours = _mixtures(grid, correlations, left)
    return NoiseSpectra(
        frequencies, noises, shares, colours, np.array(spectra, dtype=np.float32), _bands(frequencies)
    )


def _correlations(grid: TimeGrid) -> Array:
    """Return correlations between neighbouring cells, negative ones first."""
    levels = np.concatenate([NEGATIVE_LEVELS, LEVELS[1:]]) if grid.regular else LEVELS[1:]
    per_cell = np.sign(levels) * np.abs(levels) ** (grid.cell / grid.spacing)
    long = np.exp(-1 / (LONG_MEMORIES * grid.size))
    return np.concatenate([per_cell, long[long > per_cell.max()]])


def _mixtures(
    grid: TimeGrid, correlations: Array, left: list[float]
) -> tuple[tuple[Noise, ...], Array, Indices]:
    least = MIN_MIXED ** (grid.cell / grid.spacing)
    noises, shares, colours = [Noise(0.0)], [0.0], [0]
    for colour, correlation in enumerate(correlations.tolist(), start=1):
        for share in SHARES.tolist() if correlation > least else [1.0]:
            noises.append(Noise(correlation, red=share / left[colour], white=(1 - share) / left[0]))
            shares.append(share)
            colours.append(colour)
    return tuple(noises), np.array(shares), np.array(colours, dtype=np.int64)


def _bands(frequencies: Frequencies) -> Indices:
    """Return band edges: widths of 1/duration at first, then 4 % of the frequency."""
    edges: list[int] = []
    place = 0.0
    while place <= frequencies.last - frequencies.first:
        edges.append(int(place))
        place += max(frequencies.resolution, (BAND_GROWTH - 1) * (frequencies.first + place), 1.0)
    return np.unique(np.array(edges, dtype=np.int64))
