"""Regression on periods with harmonics, and the test of periods specified in advance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.pooled.phase_randomization import Noise, Plausible, certain, rearranged, residuals
from trialwise.statistics.time.noise_spectra import MIN_CYCLES, frequencies_of, noise_spectra, power

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from trialwise.statistics.checks import Array
    from trialwise.statistics.time.timegrid import TimeGrid

DAY = 86_400.0
WEEK = 7 * DAY
NAMED = {"minute": 60.0, "hour": 3600.0, "day": DAY, "week": WEEK, "year": 365.25 * DAY}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A period and its number of harmonics in a regression."""

    seconds: float
    harmonics: int


@dataclass(frozen=True, slots=True)
class Baseline:
    """The non-periodic part of a record: a line, the times of its level shifts, and whether the line bends."""

    shifts: tuple[float, ...] = ()
    bent: bool = False


STRAIGHT = Baseline()


@dataclass(frozen=True, slots=True)
class CandidateTest:
    """Result of the test of one candidate: partial R² and its uncorrected p-value from surrogates."""

    candidate: Candidate
    strength: float
    p_value: float


# Mean square of scores below which a regression leaves nothing.
NOTHING_LEFT = 1e-12
# METHODS: six harmonics of the day, three of the week (the seventh is the day).
HUMAN = (Candidate(DAY, 6), Candidate(WEEK, 3))


def visible(candidate: Candidate, grid: TimeGrid) -> Candidate | None:
    """Return the candidate with the harmonics that the data can resolve, or None if they cannot show it at all.

    A period needs at least 1.9 cycles, harmonics below the Nyquist frequency of the median spacing, and at least three values per
    coefficient.
    """
    below_nyquist = int(np.ceil(candidate.seconds / (2 * grid.spacing))) - 1
    affordable = grid.index.size // 6 - 1
    harmonics = min(candidate.harmonics, below_nyquist, affordable)
    if grid.duration + grid.spacing < MIN_CYCLES * candidate.seconds or harmonics < 1:
        return None
    return Candidate(candidate.seconds, harmonics)


def waves(times: Array, candidate: Candidate) -> Array:
    """Return sine and cosine columns, shape (n, 2 harmonics)."""
    angles = 2 * np.pi * np.outer(times, np.arange(1, candidate.harmonics + 1)) / candidate.seconds
    return np.hstack([np.cos(angles), np.sin(angles)])


def trend(times: Array) -> Array:
    """Return a constant and a linear column, shape (n, 2)."""
    return np.column_stack([np.ones(times.size), times / times[-1] - 0.5])


def bend(times: Array) -> Array:
    """Return columns for a smooth drift in addition to a line: a square and a cube, shape (n, 2)."""
    line = times / times[-1] - 0.5
    return np.column_stack([line**2, line**3])


def levels(times: Array, shifts: Sequence[float]) -> Array:
    """Return a step at each of some times, shape (n, shifts)."""
    return np.asarray(times[:, None] >= np.asarray(shifts, dtype=np.float64)[None, :], dtype=np.float64)


def baseline_columns(times: Array, baseline: Baseline) -> Array:
    """Return columns for the constant, the line, the level shifts, and the bend."""
    columns = [trend(times), levels(times, baseline.shifts)]
    return np.hstack([*columns, bend(times)] if baseline.bent else columns)


def orthonormal(columns: Array, beside: Array | None = None) -> Array:
    """Return an orthonormal basis of what `columns` add to the orthonormal columns `beside`."""
    if beside is not None:
        columns = residuals(columns.T, beside).T
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    # Columns that sampling makes indistinguishable (a day, sampled once a day) add nothing.
    return left[:, sizes > 1e-6 * np.sqrt(columns.shape[0])]


def extended(basis: Array, times: Array, candidate: Candidate) -> Array:
    """Add a candidate to an orthonormal basis."""
    return np.hstack([basis, orthonormal(waves(times, candidate), basis)])


def design(times: Array, candidates: Sequence[Candidate], baseline: Baseline = STRAIGHT) -> Array:
    """Return an orthonormal basis of baseline and candidates."""
    basis = orthonormal(baseline_columns(times, baseline))
    for candidate in candidates:
        basis = extended(basis, times, candidate)
    return basis


def partial_strength(rows: Array, others: Array, extra: Array) -> Array:
    """Return partial R²: the share of the variation unexplained by `others` that `extra` explains, for each row."""
    left = residuals(rows, others)
    unexplained = np.sum(left**2, axis=-1)
    explained = np.sum((left @ extra) ** 2, axis=-1)
    return np.asarray(explained / np.where(unexplained > 0, unexplained, 1.0))


def strengths(
    times: Array, scores: Array, candidates: Sequence[Candidate], baseline: Baseline = STRAIGHT
) -> list[float]:
    """Return partial R² of each candidate adjusted for all others, from the joint normal equations."""
    blocks = [baseline_columns(times, baseline), *(waves(times, candidate) for candidate in candidates)]
    owner = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
    columns = np.hstack(blocks)
    products, target = columns.T @ columns, columns.T @ scores

    def unexplained(kept: npt.NDArray[np.bool_]) -> float:
        solution = np.linalg.lstsq(products[np.ix_(kept, kept)], target[kept], rcond=1e-10)[0]
        return float(scores @ scores - target[kept] @ solution)

    everything = unexplained(owner >= 0)
    without = [unexplained(owner != one) for one in range(1, len(blocks))]
    return [1 - everything / rest if rest > 0 else 0.0 for rest in without]


def _split(
    times: Array, candidates: Sequence[Candidate], one: int, baseline: Baseline
) -> tuple[Array, Array]:
    others = design(times, [candidate for at, candidate in enumerate(candidates) if at != one], baseline)
    return others, orthonormal(waves(times, candidates[one]), others)


def assess_candidates(
    grid: TimeGrid,
    scores: Array,
    candidates: Sequence[Candidate],
    *,
    surrogates: int,
    seed: np.random.SeedSequence,
    baseline: Baseline = STRAIGHT,
) -> list[CandidateTest]:
    """Test periods specified in advance against red noise at the same times.

    Parameters
    ----------
    grid
        The grid of the scores.
    scores
        Rank-normal scores of the values.
    candidates
        Candidates that are `visible`. One that adds nothing to the others at these times is omitted.
    surrogates
        Their number; the smallest possible p-value is 1/(surrogates + 1).
    seed
        Of the surrogates.
    baseline
        The levels and the drift that were found; every candidate is adjusted for them.
    """
    splits = [_split(grid.times, candidates, one, baseline) for one in range(len(candidates))]
    splits = {one: split for one, split in zip(candidates, splits, strict=True) if split[1].shape[1]}
    if not splits:
        return []
    noise, heights = _heights(grid, scores, design(grid.times, candidates, baseline), list(splits.values()))
    rng = np.random.Generator(np.random.PCG64DXSM(seed))
    observed = heights(scores[None, :])[:, 0]
    beaten = np.zeros(observed.size, dtype=np.int64)
    for rows in rearranged(grid, noise, scores, surrogates, rng):
        beaten += np.sum(heights(rows) >= observed[:, None], axis=1)
    p_values = (1 + beaten) / (1 + surrogates)
    return [
        CandidateTest(candidate, float(partial_strength(scores, *split)), float(p_value))
        for (candidate, split), p_value in zip(splits.items(), p_values, strict=True)
    ]


def _heights(
    grid: TimeGrid, scores: Array, basis: Array, splits: Sequence[tuple[Array, Array]]
) -> tuple[Plausible, Callable[[Array], Array]]:
    """Return the residual noise of the scores, and a function for the prominence of candidates: shape (candidates, rows).

    The sum of squares of a candidate is divided by that of the noise fitted to the residual of the same row, so that the uncertainty
    of the noise enters the surrogates too.
    """
    frequencies = frequencies_of(grid)
    left = residuals(scores[None, :], basis)
    if frequencies is None or float(np.mean(left**2)) < NOTHING_LEFT:
        return certain(Noise(0.0)), lambda rows: np.array(
            [partial_strength(rows, *split) for split in splits]
        )
    noises = noise_spectra(grid, basis, frequencies)
    expected = [noises.along(grid, extra) for _, extra in splits]

    def heights(rows: Array) -> Array:
        fit = noises.fit(power(grid, residuals(rows, basis), frequencies))
        explained = (np.sum((rows @ extra) ** 2, axis=1) for _, extra in splits)
        return np.array(
            [one / (fit.sizes * noise[fit.places]) for one, noise in zip(explained, expected, strict=True)]
        )

    return noises.like(power(grid, left, frequencies)), heights


def name_of(seconds: float, resolution: float) -> str | None:
    """Return the common name of a period whose frequency is known to within `resolution` (in hertz), or None."""
    for name, known in NAMED.items():
        if abs(1 / seconds - 1 / known) <= min(resolution, 0.05 / known):
            return name
    return None
