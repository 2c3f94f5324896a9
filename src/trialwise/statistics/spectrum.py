"""Search for periods that nobody named: the largest peak of a whitened Lomb-Scargle spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft

from trialwise.statistics.harmonics import FEWEST_CYCLES, Candidate, design, extended, visible, waves
from trialwise.statistics.surrogates import calibrated_correlation, in_blocks, residuals

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from trialwise.statistics.checks import Array
    from trialwise.statistics.timegrid import TimeGrid

MOST_PERIODS = 6
HARMONICS = 6


@dataclass(frozen=True, slots=True)
class Discovery:
    """A period that the search found, and the p-value of the largest peak among surrogates."""

    candidate: Candidate
    p_value: float


@dataclass(frozen=True, slots=True)
class _Frequencies:
    """The part of a Fourier transform that is searched."""

    length: int
    first: int
    last: int

    def hertz(self, at: int, cell: float) -> float:
        return (self.first + at) / (self.length * cell)


def _frequencies(grid: TimeGrid) -> _Frequencies | None:
    """Span 1.9 cycles to the Nyquist frequency of the median spacing, 2 or 4 points for each 1/duration."""
    length = fft.next_fast_len((4 if grid.size < 16_384 else 2) * grid.size, real=True)
    first = int(np.ceil(FEWEST_CYCLES * length * grid.cell / (grid.duration + grid.spacing)))
    last = int(np.ceil(length * grid.cell / (2 * grid.spacing))) - 1
    return _Frequencies(length, first, last) if last > first else None


def power(grid: TimeGrid, rows: Array, frequencies: _Frequencies) -> npt.NDArray[np.float32]:
    """Squared Fourier amplitude of rows without trend, empty cells counting nothing.

    Without gaps and at multiples of 1/duration this is n times the Lomb-Scargle periodogram. With gaps it
    differs from it by the imbalance of sine and cosine, which surrogates at the same cells share.
    """
    full = np.zeros((rows.shape[0], grid.size))
    full[:, grid.index] = rows
    spectrum = fft.rfft(full, n=frequencies.length, axis=1, workers=1)[
        :, frequencies.first : frequencies.last + 1
    ]
    return (spectrum.real**2 + spectrum.imag**2).astype(np.float32)


def blind_search(
    grid: TimeGrid,
    scores: Array,
    known: Sequence[Candidate],
    *,
    alpha: float,
    surrogates: int,
    seed: np.random.SeedSequence,
) -> list[Discovery]:
    """Find periods one after another, each with its harmonics removed before the next (CLEAN).

    Parameters
    ----------
    grid
        Where the scores are.
    scores
        Rank-normal scores of the values.
    known
        Periods that are found already; they and the trend are removed first.
    alpha
        The search stops at the first largest peak whose p-value is above it, and after six periods.
    surrogates
        How many; the smallest possible p-value is 1/(surrogates + 1).
    seed
        Of the calibrations and the surrogates.
    """
    frequencies = _frequencies(grid)
    basis, discoveries = design(grid.times, known), list[Discovery]()
    # Each step has its own surrogates: a strong period makes the noise seem redder than it is, and what is
    # not so red then has peaks at high frequencies that are none.
    for step in seed.spawn(MOST_PERIODS if frequencies else 0):
        residual = residuals(scores, basis)
        if frequencies is None or float(np.mean(residual**2)) < 1e-12:
            break
        null = _null_spectrum(grid, residual, basis, frequencies, surrogates, step)
        found = _largest_peak(grid, residual, frequencies, null)
        if found.p_value > alpha:
            break
        discoveries.append(found)
        basis = extended(basis, grid.times, found.candidate)
    return discoveries


@dataclass(frozen=True, slots=True)
class _NullSpectrum:
    """What surrogates show: their mean spectrum, and the largest ratio of each to the mean of the others."""

    mean: npt.NDArray[np.float32]
    largest: npt.NDArray[np.float32]


def _null_spectrum(
    grid: TimeGrid,
    residual: Array,
    basis: Array,
    frequencies: _Frequencies,
    surrogates: int,
    seed: np.random.SeedSequence,
) -> _NullSpectrum:
    calibration, drawing = seed.spawn(2)
    correlation = calibrated_correlation(grid, residual, basis, calibration)
    blocks = in_blocks(grid, correlation, surrogates, np.random.Generator(np.random.PCG64DXSM(drawing)))
    spectra = np.concatenate([power(grid, _standard(residuals(rows, basis)), frequencies) for rows in blocks])
    total = spectra.sum(axis=0)
    # One at a time: a surrogate must not be measured by a mean that it is part of.
    largest = [float(np.max(one / (total - one))) * (surrogates - 1) for one in spectra]
    return _NullSpectrum(total / surrogates, np.array(largest, dtype=np.float32))


def _largest_peak(
    grid: TimeGrid, residual: Array, frequencies: _Frequencies, null: _NullSpectrum
) -> Discovery:
    whitened = power(grid, _standard(residual[None, :]), frequencies)[0] / null.mean
    at = int(whitened.argmax())
    p_value = float((1 + np.sum(null.largest >= whitened[at])) / (1 + null.largest.size))
    period = 1 / _refined(grid, residual, frequencies.hertz(at, grid.cell))
    return Discovery(visible(Candidate(period, HARMONICS), grid) or Candidate(period, 1), p_value)


def _standard(rows: Array) -> Array:
    return rows / np.sqrt(np.mean(rows**2, axis=1, keepdims=True))


def _refined(grid: TimeGrid, residual: Array, hertz: float) -> float:
    """Find the frequency near a peak whose wave explains most."""
    reach = 0.5 / grid.duration

    def unexplained(frequency: float) -> float:
        columns, _ = np.linalg.qr(waves(grid.times, Candidate(1 / frequency, 1)))
        return -float(np.sum((residual @ columns) ** 2))

    from scipy.optimize import minimize_scalar

    best = minimize_scalar(
        unexplained,
        bounds=(max(hertz - reach, hertz / 2), hertz + reach),
        method="bounded",
        options={"xatol": reach / 200},
    )
    return float(best.x)
