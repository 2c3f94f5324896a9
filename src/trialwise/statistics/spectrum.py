"""Search for periods that nobody named: the largest peak of a whitened Lomb-Scargle spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.harmonics import (
    NOTHING_LEFT,
    STRAIGHT,
    Baseline,
    Candidate,
    design,
    extended,
    visible,
    waves,
)
from trialwise.statistics.noise_spectra import (
    FEWEST_CYCLES,
    Frequencies,
    NoiseSpectra,
    frequencies_of,
    noise_spectra,
    power,
    standard,
)
from trialwise.statistics.surrogates import in_blocks, residuals

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from trialwise.statistics.checks import Array, Indices
    from trialwise.statistics.timegrid import TimeGrid

MOST_PERIODS = 6
HARMONICS = 6


@dataclass(frozen=True, slots=True)
class Discovery:
    """A period that the search found, and the p-value of the largest peak among surrogates."""

    candidate: Candidate
    p_value: float


def blind_search(
    grid: TimeGrid,
    scores: Array,
    known: Sequence[Candidate],
    *,
    alpha: float,
    surrogates: int,
    seed: np.random.SeedSequence,
    baseline: Baseline = STRAIGHT,
) -> list[Discovery]:
    """Find periods one after another, each with its harmonics removed before the next (CLEAN).

    Each peak is measured by the noise that the rest of the spectrum looks like, and so is the largest peak of every
    surrogate by the noise that its own spectrum looks like: what makes the noise uncertain counts on both sides.

    Parameters
    ----------
    grid
        Where the scores are.
    scores
        Rank-normal scores of the values.
    known
        Periods that are found already; they and the baseline are removed first.
    alpha
        The search stops at the first largest peak whose p-value is above it, and after six periods.
    surrogates
        How many; the smallest possible p-value is 1/(surrogates + 1).
    seed
        Of the surrogates.
    baseline
        The levels and the drift that were found.
    """
    frequencies = frequencies_of(grid)
    basis, discoveries = design(grid.times, known, baseline), list[Discovery]()
    # Each step has its own surrogates: a strong period makes the noise seem redder than it is, and what is
    # not so red then has peaks at high frequencies that are none.
    for step in seed.spawn(MOST_PERIODS if frequencies else 0):
        residual = residuals(scores, basis)
        if frequencies is None or float(np.mean(residual**2)) < NOTHING_LEFT:
            break
        found = _largest_peak(grid, residual, basis, frequencies, surrogates, step)
        if found.p_value > alpha:
            break
        discoveries.append(found)
        basis = extended(basis, grid.times, found.candidate)
    return discoveries


def _largest_peak(
    grid: TimeGrid,
    residual: Array,
    basis: Array,
    frequencies: Frequencies,
    surrogates: int,
    seed: np.random.SeedSequence,
) -> Discovery:
    noises = noise_spectra(grid, basis, frequencies)
    spectrum = power(grid, standard(residual[None, :]), frequencies)
    (at,), (height,) = _peaks(noises, spectrum)
    noise = noises.like(spectrum, np.array([at]))
    rng = np.random.Generator(np.random.PCG64DXSM(seed))
    beaten = 0
    for rows in in_blocks(grid, noise, surrogates, rng):
        drawn = power(grid, standard(residuals(rows, basis)), frequencies)
        beaten += int(np.sum(_peaks(noises, drawn)[1] >= height))
    period = 1 / _refined(grid, residual, frequencies, int(at))
    found = visible(Candidate(period, HARMONICS), grid) or Candidate(period, 1)
    return Discovery(found, (1 + beaten) / (1 + surrogates))


def _peaks(noises: NoiseSpectra, spectra: npt.NDArray[np.float32]) -> tuple[Indices, Array]:
    """The place of the largest peak of each spectrum, and its height over the noise that the rest looks like."""
    hidden = noises.frequencies.hidden
    first = noises.whitened(spectra, noises.fit(spectra))
    places = first[:, hidden:].argmax(axis=1) + hidden
    again = noises.whitened(spectra, noises.fit(spectra, places))
    return places, np.asarray(np.take_along_axis(again, places[:, None], axis=1)[:, 0], dtype=np.float64)


def _refined(grid: TimeGrid, residual: Array, frequencies: Frequencies, at: int) -> float:
    """Find the frequency near a peak whose wave explains most, with 1.9 cycles or more in the record."""
    hertz, reach = frequencies.hertz(at, grid.cell), 0.5 / grid.duration
    slowest = FEWEST_CYCLES / (grid.duration + grid.spacing)

    def unexplained(frequency: float) -> float:
        columns, _ = np.linalg.qr(waves(grid.times, Candidate(1 / frequency, 1)))
        return -float(np.sum((residual @ columns) ** 2))

    from scipy.optimize import minimize_scalar

    best = minimize_scalar(
        unexplained,
        bounds=(max(hertz - reach, slowest), hertz + reach),
        method="bounded",
        options={"xatol": reach / 200},
    )
    return float(best.x)
