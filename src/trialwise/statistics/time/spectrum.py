"""Blind search for periods: the most prominent wave with harmonics in a whitened Lomb-Scargle spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.pooled.phase_randomization import rearranged, residuals
from trialwise.statistics.time.harmonics import (
    NOTHING_LEFT,
    STRAIGHT,
    Baseline,
    Candidate,
    design,
    extended,
    visible,
    waves,
)
from trialwise.statistics.time.noise_spectra import (
    MIN_CYCLES,
    Frequencies,
    NoiseSpectra,
    frequencies_of,
    noise_spectra,
    power,
    standard,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from trialwise.statistics.checks import Array, Indices
    from trialwise.statistics.time.timegrid import TimeGrid

MAX_PERIODS = 6
NO_NOISE = 4.0
"""Power over its mean that noise at a single frequency exceeds in 2 % of cases."""
HARMONICS = 6
MAX_HARMONIC = 20
"""Number of harmonics removed with a sharp wave, so that those beyond the sixth do not count as further periods."""
SHARP = 16.0
"""Power over its mean that noise exceeds at a wave's second to sixth harmonics together in less than 1 of 100 cases."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """A period found by the search, and the p-value of the largest peak from surrogates."""

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

    Each peak is measured relative to the noise fitted to the rest of the spectrum, and so is the largest peak of every surrogate, so
    that the uncertainty of the noise counts on both sides.

    Parameters
    ----------
    grid
        The grid of the scores.
    scores
        Rank-normal scores of the values.
    known
        Periods already found; they and the baseline are removed first.
    alpha
        The search stops when the p-value of the largest peak is above this, and after six periods.
    surrogates
        Their number; the smallest possible p-value is 1/(surrogates + 1).
    seed
        Of the surrogates.
    baseline
        The levels and the drift that were found.
    """
    frequencies = frequencies_of(grid)
    basis, discoveries = design(grid.times, known, baseline), list[Discovery]()
    # Each step has its own surrogates: a strong period makes the noise seem redder than it is, and less red noise then
    # has spurious peaks at high frequencies.
    for step in seed.spawn(MAX_PERIODS if frequencies else 0):
        if frequencies is None or float(np.mean(residuals(scores, basis) ** 2)) < NOTHING_LEFT:
            break
        found = _largest_peak(grid, scores, basis, frequencies, surrogates, step)
        if found.p_value > alpha:
            break
        discoveries.append(found)
        basis = extended(basis, grid.times, found.candidate)
    return discoveries


def _largest_peak(
    grid: TimeGrid,
    scores: Array,
    basis: Array,
    frequencies: Frequencies,
    surrogates: int,
    seed: np.random.SeedSequence,
) -> Discovery:
    noises = noise_spectra(grid, basis, frequencies)
    residual = residuals(scores, basis)
    spectrum = power(grid, standard(residual[None, :]), frequencies)
    (at,), (height,) = _peaks(noises, spectrum)
    noise = noises.like(spectrum, np.array([at]))
    rng = np.random.Generator(np.random.PCG64DXSM(seed))
    beaten = 0
    for rows in rearranged(grid, noise, scores, surrogates, rng):
        drawn = power(grid, standard(residuals(rows, basis)), frequencies)
        beaten += int(np.sum(_peaks(noises, drawn)[1] >= height))
    whitened = noises.whitened(spectrum, noises.fit(spectrum, np.array([at])))[0]
    place = _fundamental(int(at), spectrum[0], whitened, frequencies)
    sharp = _is_sharp(place, whitened, frequencies)
    period = 1 / _refined(grid, residual, basis, frequencies, place, HARMONICS if sharp else 1)
    found = visible(Candidate(period, MAX_HARMONIC if sharp else HARMONICS), grid) or Candidate(period, 1)
    return Discovery(found, (1 + beaten) / (1 + surrogates))


def _peaks(noises: NoiseSpectra, spectra: npt.NDArray[np.float32]) -> tuple[Indices, Array]:
    """Return the most prominent frequency of each spectrum, and its prominence relative to the noise fitted to the rest."""
    hidden = noises.frequencies.hidden
    first = _combs(noises.whitened(spectra, noises.fit(spectra)), noises.frequencies)
    places = first[:, hidden:].argmax(axis=1) + hidden
    again = _combs(noises.whitened(spectra, noises.fit(spectra, places)), noises.frequencies)
    return places, np.asarray(np.take_along_axis(again, places[:, None], axis=1)[:, 0], dtype=np.float64)


def _combs(whitened: npt.NDArray[np.float32], frequencies: Frequencies) -> npt.NDArray[np.float32]:
    """Return the prominence of each frequency, including its harmonics as far as they help.

    The H statistic: the largest over m of 2 W(f) + ... + 2 W(m f) - 4 m + 4 (de Jager, Raubenheimer and Swanepoel, A&A 221, 1989).
    Harmonics of a sharp wave fall like a red spectrum, so that none of them stands out alone. Each is taken at its largest value
    within the uncertainty of f.
    """
    from scipy.ndimage import maximum_filter1d

    own: Indices = np.array(range(whitened.shape[1]), dtype=np.int64) + frequencies.first
    total = np.zeros_like(whitened)
    best = np.full_like(whitened, -np.inf)
    for order in range(1, HARMONICS + 1):
        at = own * order - frequencies.first
        at = at[at < own.size]
        near = maximum_filter1d(whitened, 2 * (order // 2) + 1, axis=1)
        total[:, : at.size] += near[:, at]
        np.maximum(best[:, : at.size], 2 * total[:, : at.size] - 4 * (order - 1), out=best[:, : at.size])
    return best


def _fundamental(
    at: int, spectrum: npt.NDArray[np.float32], whitened: npt.NDArray[np.float32], frequencies: Frequencies
) -> int:
    """Return the wave behind a comb: its strongest, or a stronger one at a fraction of that frequency that is not noise."""
    strongest = max(
        (_near(at, order, spectrum, frequencies, reach=order // 2) for order in range(1, HARMONICS + 1)),
        key=lambda place: spectrum[place],
    )
    slower = [
        _near(strongest, 1 / order, spectrum, frequencies, reach=1) for order in range(2, HARMONICS + 1)
    ]
    waves_there = [place for place in slower if whitened[place] > NO_NOISE and place >= frequencies.hidden]
    return max([strongest, *waves_there], key=lambda place: spectrum[place])


def _is_sharp(at: int, whitened: npt.NDArray[np.float32], frequencies: Frequencies) -> bool:
    """Return True if a wave has harmonics: the total power at their frequencies exceeds that of noise."""
    places = {_near(at, order, whitened, frequencies, reach=order // 2) for order in range(2, HARMONICS + 1)}
    return float(sum(whitened[place] for place in places - {at})) > SHARP


def _near(
    at: int, times: float, spectrum: npt.NDArray[np.float32], frequencies: Frequencies, *, reach: int
) -> int:
    """Return the index of the largest value near a multiple of a frequency, or the frequency's own if that is beyond the spectrum."""
    middle = round((at + frequencies.first) * times) - frequencies.first
    low, high = max(middle - reach, 0), min(middle + reach + 1, spectrum.size)
    return at if high <= low else low + int(spectrum[low:high].argmax())


def _refined(
    grid: TimeGrid, residual: Array, basis: Array, frequencies: Frequencies, at: int, harmonics: int
) -> float:
    """Find the frequency near a peak whose wave with harmonics explains most, limited to at least 1.9 cycles in the record."""
    hertz, reach = frequencies.hertz(at, grid.cell), 0.5 / grid.duration
    low, high = max(hertz - reach, MIN_CYCLES / (grid.duration + grid.spacing)), hertz + reach

    def unexplained(frequency: float) -> float:
        period = visible(Candidate(1 / frequency, harmonics), grid) or Candidate(1 / frequency, 1)
        columns = waves(grid.times, period)
        known = basis.T @ columns
        products = columns.T @ columns - known.T @ known
        target = columns.T @ residual
        return -float(target @ np.linalg.lstsq(products, target, rcond=1e-10)[0])

    from scipy.optimize import minimize_scalar

    # Within reach the highest harmonic varies by several cycles, so there are as many local optima.
    steps = np.linspace(low, high, 4 * harmonics + 1)
    best = int(np.argmin([unexplained(step) for step in steps.tolist()]))
    found = minimize_scalar(
        unexplained,
        bounds=(steps[max(best - 1, 0)], steps[min(best + 1, steps.size - 1)]),
        method="bounded",
        options={"xatol": reach / 200 / harmonics},
    )
    return float(found.x)
