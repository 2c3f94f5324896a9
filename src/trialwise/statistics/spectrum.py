"""Search for periods that nobody named: the largest peak of a whitened Lomb-Scargle spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import fft, optimize

from trialwise.statistics.harmonics import FEWEST_CYCLES, Candidate, design, visible, waves
from trialwise.statistics.surrogates import calibrated_correlation, in_blocks, residuals

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from trialwise.statistics.timegrid import Floats, TimeGrid

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


def power(grid: TimeGrid, rows: Floats, frequencies: _Frequencies) -> npt.NDArray[np.float32]:
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
    scores: Floats,
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
    discoveries: list[Discovery] = []
    removed = list(known)
    for step in seed.spawn(MOST_PERIODS if frequencies else 0):
        basis = design(grid.times, removed)
        residual = residuals(scores, basis)
        if frequencies is None or np.mean(residual**2) < 1e-12:
            break
        at, p_value = _largest_peak(grid, residual, basis, frequencies, surrogates, step)
        if p_value > alpha:
            break
        period = 1 / _refined(grid, residual, frequencies.hertz(at, grid.cell))
        candidate = visible(Candidate(period, HARMONICS), grid) or Candidate(period, 1)
        discoveries.append(Discovery(candidate, p_value))
        removed.append(candidate)
    return discoveries


def _largest_peak(
    grid: TimeGrid,
    residual: Floats,
    basis: Floats,
    frequencies: _Frequencies,
    surrogates: int,
    seed: np.random.SeedSequence,
) -> tuple[int, float]:
    calibration, drawing = seed.spawn(2)
    correlation = calibrated_correlation(grid, residual, basis, calibration)
    rng = np.random.Generator(np.random.PCG64DXSM(drawing))
    spectra = [power(grid, _standard(residual[None, :]), frequencies)]
    blocks = in_blocks(grid, correlation, surrogates, rng)
    spectra.extend(power(grid, _standard(residuals(rows, basis)), frequencies) for rows in blocks)
    whitened = _whitened(np.concatenate(spectra))
    largest = whitened.max(axis=1)
    return int(whitened[0].argmax()), float((1 + np.sum(largest[1:] >= largest[0])) / (1 + surrogates))


def _standard(rows: Floats) -> Floats:
    return rows / np.sqrt(np.mean(rows**2, axis=1, keepdims=True))


def _whitened(spectra: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Each spectrum over the mean of all others, the data's among them, which makes all rows exchangeable."""
    total = spectra.sum(axis=0, dtype=np.float64).astype(np.float32)
    return spectra * (spectra.shape[0] - 1) / np.maximum(total - spectra, np.finfo(np.float32).tiny)


def _refined(grid: TimeGrid, residual: Floats, hertz: float) -> float:
    """Find the frequency near a peak whose wave explains most."""
    reach = 0.5 / grid.duration

    def unexplained(frequency: float) -> float:
        columns, _ = np.linalg.qr(waves(grid.times, Candidate(1 / frequency, 1)))
        return -float(np.sum((residual @ columns) ** 2))

    best = optimize.minimize_scalar(
        unexplained,
        bounds=(max(hertz - reach, hertz / 2), hertz + reach),
        method="bounded",
        options={"xatol": reach / 200},
    )
    return float(best.x)
