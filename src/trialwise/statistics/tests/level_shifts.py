"""Level shifts, blocks and drift: the non-periodic changes of a record.

A single change of level, or a drift, puts much power at low frequencies, so this search precedes the search for periods. A shift
must stand out from red plus white noise at the same times, whose slow waves sometimes look like shifts; the same search in
surrogates of this noise shows how often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.estimates.measures import percentile_of
from trialwise.statistics.pooled.phase_randomization import rearranged, residuals
from trialwise.statistics.tests.slopes import theil_sen
from trialwise.statistics.time.harmonics import (
    NOTHING_LEFT,
    STRAIGHT,
    Baseline,
    Candidate,
    baseline_columns,
    bend,
    design,
    levels,
    orthonormal,
    trend,
    waves,
)
from trialwise.statistics.time.noise_spectra import (
    Frequencies,
    NoiseSpectra,
    frequencies_of,
    noise_spectra,
    power,
)
from trialwise.statistics.time.seasonality_results import LevelDrift, LevelShift

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trialwise.statistics.checks import Array, Indices
    from trialwise.statistics.time.timegrid import TimeGrid, TimeSeries

MAX_SHIFTS = 8
# Minimum number of values on either side of a shift: with fewer, an outlier would be one.
MIN_LEVEL = 5
MIN_SHARE = 0.02
# Number of places at which the two ends of a block are searched for jointly.
MAX_KNOTS = 100
# Relative tolerance within which distances between shifts of one direction are multiples of one length: edges of a wave.
MIN_DISTANCES = 3
EVEN = 0.05
MAX_OF_SLOPE = 2000
FAMILIES = ("shift", "block", "bend")


@dataclass(frozen=True, slots=True)
class Nonstationary:
    """The result of the search: the baseline, and the p-values of its shifts, of a bend, and of a linear drift.

    `more` says that the search ended at the largest number of shifts.
    """

    baseline: Baseline
    p_values: tuple[float, ...]
    bend_p: float | None
    line_p: float
    more: bool


@dataclass(frozen=True, slots=True)
class _Scan:
    """Terms for the sums of squares that a shift at each place, a block between two, or a bend explains.

    `starts` are the places (index of the first value after the shift) of all shifts, `knots` those that begin and end blocks, as
    indices into `starts`; `sizes` are the squared lengths of the shifts' columns orthogonal to the basis, `products` the inner
    products of the knots' columns, `curve` an orthonormal basis of the bend, empty if the baseline has one.
    """

    basis: Array
    starts: Indices
    sizes: Array
    knots: Indices
    products: Array
    curve: Array


@dataclass(frozen=True, slots=True)
class _Best:
    """For each row, by family: the largest sum of squares and the columns that explain it."""

    squares: Array
    places: tuple[Indices, Indices, Indices]


def find_shifts(
    grid: TimeGrid,
    scores: Array,
    calendar: Sequence[Candidate],
    *,
    alpha: float,
    surrogates: int,
    seed: np.random.SeedSequence,
) -> Nonstationary:
    """Find level shifts, blocks and bends one after another, adjusted for a line and the calendar periods.

    Parameters
    ----------
    grid
        The grid of the scores.
    scores
        Rank-normal scores of the values.
    calendar
        Periods that may be present and are not shifts.
    alpha
        The search stops at the first p-value above this, and after eight shifts.
    surrogates
        Their number; the smallest possible p-value is 1/(surrogates + 1).
    seed
        Of the surrogates.
    """
    frequencies = frequencies_of(grid)
    if frequencies is None:
        return Nonstationary(STRAIGHT, (), None, 1.0, more=False)
    steps = seed.spawn(MAX_SHIFTS + 2)
    noises = noise_spectra(grid, design(grid.times, calendar), frequencies)
    baseline, p_values, bend_p = STRAIGHT, dict[float, float](), None
    for step in steps[:-1]:
        basis = design(grid.times, calendar, baseline)
        if float(np.mean(residuals(scores, basis) ** 2)) < NOTHING_LEFT or len(p_values) >= MAX_SHIFTS:
            break
        scan = _scan(grid, basis, baseline)
        family, places, p_value = _test(grid, scores, scan, noises, surrogates, step)
        if p_value > alpha:
            break
        if family == "bend":
            baseline, bend_p = replace(baseline, bent=True), p_value
            continue
        found = _placed(grid, scores, calendar, baseline, places)
        p_values |= dict.fromkeys(found, p_value)
        baseline = replace(baseline, shifts=tuple(sorted(p_values)))
    line_p = _line(grid, scores, calendar, baseline, frequencies, surrogates, steps[-1])
    ordered = tuple(p_values[at] for at in baseline.shifts)
    return Nonstationary(baseline, ordered, bend_p, line_p, more=len(p_values) >= MAX_SHIFTS)


def recurrence(grid: TimeGrid, scores: Array, baseline: Baseline) -> float | None:
    """Return the interval in seconds at which shifts of one direction recur, like the edges of a sawtooth; None if they do not."""
    shifts = np.asarray(baseline.shifts)
    sizes = np.linalg.lstsq(baseline_columns(grid.times, baseline), scores)[0][2 : 2 + shifts.size]
    distances = np.concatenate([np.diff(shifts[sizes > 0]), np.diff(shifts[sizes < 0])])
    if distances.size < MIN_DISTANCES:
        return None
    length = float(np.median(distances))
    cycles = distances / length
    return length if (np.abs(cycles - np.maximum(np.rint(cycles), 1)) <= EVEN).all() else None


def _scan(grid: TimeGrid, basis: Array, baseline: Baseline) -> _Scan:
    n = grid.index.size
    least = max(MIN_LEVEL, int(MIN_SHARE * n))
    starts = np.arange(least, n - least + 1)
    known = np.searchsorted(grid.times, np.asarray(baseline.shifts))
    for place in known.tolist():
        starts = starts[np.abs(starts - place) >= least]
    projected = _sums(basis.T)[:, starts].T
    sizes = n - starts - np.sum(projected**2, axis=1)
    kept = sizes > 1e-6 * n
    starts, sizes, projected = starts[kept], sizes[kept], projected[kept]
    spacing = max(least, -(-n // MAX_KNOTS))
    knots = np.arange(0, starts.size, spacing)
    late = n - np.maximum.outer(starts[knots], starts[knots])
    products = late - projected[knots] @ projected[knots].T
    curve = orthonormal(bend(grid.times), basis) if not baseline.bent else np.empty((n, 0))
    return _Scan(basis, starts, sizes, knots, products, curve)


def _sums(rows: Array) -> Array:
    """Return the sum of each value and all later ones."""
    return np.cumsum(rows[..., ::-1], axis=-1)[..., ::-1]


def _best(scan: _Scan, rows: Array) -> _Best:
    """Find the best shift, block and bend of each row; rows are residuals from the scan's basis."""
    none = np.zeros(rows.shape[0], dtype=np.int64)
    bent = np.sum((rows @ scan.curve) ** 2, axis=1)
    if not scan.starts.size:
        return _Best(np.column_stack([np.zeros_like(bent), np.zeros_like(bent), bent]), (none, none, none))
    sums = _sums(rows)[:, scan.starts]
    single = sums**2 / scan.sizes
    at = single.argmax(axis=1)
    first, second = np.triu_indices(scan.knots.size, 1)
    sizes, cross = scan.sizes[scan.knots], scan.products[first, second]
    determinant = sizes[first] * sizes[second] - cross**2
    apart = determinant > 1e-6 * sizes[first] * sizes[second]
    first, second, cross, determinant = first[apart], second[apart], cross[apart], determinant[apart]
    block, pair = np.zeros_like(bent), none
    if first.size:
        knots = sums[:, scan.knots]
        explained = (
            knots[:, first] ** 2 * sizes[second]
            - 2 * knots[:, first] * knots[:, second] * cross
            + knots[:, second] ** 2 * sizes[first]
        ) / determinant
        pair = explained.argmax(axis=1)
        block = explained.max(axis=1)
    squares = np.column_stack([single.max(axis=1), block, bent])
    begins = scan.knots[first[pair]] if first.size else none
    ends = scan.knots[second[pair]] if first.size else none
    return _Best(squares, (at, begins, ends))


def _likelier(grid: TimeGrid, scan: _Scan, noises: NoiseSpectra, rows: Array, best: _Best) -> Array:
    """Return the log likelihood ratio of each family for each row, each with its own fitted noise."""
    before = _unlikely(grid, noises, rows)
    found = np.zeros((rows.shape[0], len(FAMILIES)))
    for family in range(len(FAMILIES)):
        rest = [residuals(row, _columns(grid, scan, family, best, at)) for at, row in enumerate(rows)]
        found[:, family] = before - _unlikely(grid, noises, np.array(rest))
    return found


def _unlikely(grid: TimeGrid, noises: NoiseSpectra, rows: Array) -> Array:
    """Return the negative log likelihood of each row under its best-fitting noise; minus infinity if only rounding varies."""
    alive = np.mean(rows**2, axis=1) > NOTHING_LEFT
    found = np.full(rows.shape[0], -np.inf)
    if alive.any():
        found[alive] = noises.fit(power(grid, rows[alive], noises.frequencies)).unlikely
    return found


def _columns(grid: TimeGrid, scan: _Scan, family: int, best: _Best, row: int) -> Array:
    """Return an orthonormal basis of what one family explains in one row."""
    if family == FAMILIES.index("bend"):
        return scan.curve
    single, begin, end = (int(places[row]) for places in best.places)
    if not scan.starts.size or (family == FAMILIES.index("block") and begin == end):
        return np.empty((grid.index.size, 0))
    chosen = [single] if family == FAMILIES.index("shift") else [begin, end]
    return orthonormal(levels(grid.times, grid.times[scan.starts[chosen]].tolist()), scan.basis)


def _test(
    grid: TimeGrid,
    scores: Array,
    scan: _Scan,
    noises: NoiseSpectra,
    surrogates: int,
    seed: np.random.SeedSequence,
) -> tuple[str, list[float], float]:
    """Find the most prominent family, the times of its shifts, and the p-value of the maximum over all families."""
    residual = residuals(scores, scan.basis)
    best = _best(scan, residual[None, :])
    (observed,) = _likelier(grid, scan, noises, residual[None, :], best)
    # Estimate the noise from the residuals of the likeliest family: with the shift left in, noise looks as red as a random walk,
    # among whose surrogates no shift of one standard deviation in 500 values would stand out.
    rest = residuals(residual, _columns(grid, scan, int(np.argmax(observed)), best, 0))
    noise = noises.plausible(power(grid, rest[None, :], noises.frequencies))
    rng = np.random.Generator(np.random.PCG64DXSM(seed))
    drawn: list[Array] = []
    for rows in rearranged(grid, noise, scores, surrogates, rng):
        left = residuals(rows, scan.basis)
        drawn.append(_likelier(grid, scan, noises, left, _best(scan, left)))
    null = np.concatenate(drawn)
    middle = np.median(null, axis=0)
    spread = np.quantile(null, 0.95, axis=0) - middle
    usable = spread > 0
    height = np.where(usable, (observed - middle) / np.where(usable, spread, 1.0), -np.inf)
    heights = np.where(usable, (null - middle) / np.where(usable, spread, 1.0), -np.inf).max(axis=1)
    family = int(np.argmax(height))
    p_value = float((1 + np.sum(heights >= height[family])) / (1 + null.shape[0]))
    chosen = {"shift": best.places[:1], "block": best.places[1:], "bend": ()}[FAMILIES[family]]
    return FAMILIES[family], [float(grid.times[scan.starts[places[0]]]) for places in chosen], p_value


def _placed(
    grid: TimeGrid, scores: Array, calendar: Sequence[Candidate], baseline: Baseline, found: list[float]
) -> list[float]:
    """Move the ends of a block to where they explain most, each given the other; a single shift is already in place."""
    if len(found) < 2:
        return found
    for _ in range(2):
        for at in range(len(found)):
            others = [one for place, one in enumerate(found) if place != at]
            beside = replace(baseline, shifts=(*baseline.shifts, *others))
            basis = design(grid.times, calendar, beside)
            scan = _scan(grid, basis, beside)
            if scan.starts.size:
                best = _best(scan, residuals(scores, basis)[None, :])
                found[at] = float(grid.times[scan.starts[best.places[0][0]]])
    return sorted(found)


def _line(
    grid: TimeGrid,
    scores: Array,
    calendar: Sequence[Candidate],
    baseline: Baseline,
    frequencies: Frequencies,
    surrogates: int,
    seed: np.random.SeedSequence,
) -> float:
    """Return the p-value of a linear drift, adjusted for shifts and calendar, from surrogates."""
    times = grid.times
    beside = [np.ones((times.size, 1)), levels(times, baseline.shifts)]
    basis = orthonormal(np.hstack([*beside, *(waves(times, one) for one in calendar)]))
    line = orthonormal(trend(times)[:, 1:], basis)
    flat = noise_spectra(grid, basis, frequencies)
    tilted = noise_spectra(grid, np.hstack([basis, line]), frequencies)

    def likelier(rows: Array) -> Array:
        rest = residuals(rows, basis)
        return _unlikely(grid, flat, rest) - _unlikely(grid, tilted, residuals(rest, line))

    left = residuals(residuals(scores[None, :], basis), line)
    if not line.shape[1] or float(np.mean(left**2)) < NOTHING_LEFT:
        return 1.0
    # As in the search for shifts: with the line left in, noise would look like a random walk.
    noise = tilted.plausible(power(grid, left, frequencies))
    (observed,) = likelier(scores[None, :])
    rng = np.random.Generator(np.random.PCG64DXSM(seed))
    beaten = sum(
        int(np.sum(likelier(rows) >= observed)) for rows in rearranged(grid, noise, scores, surrogates, rng)
    )
    return (1 + beaten) / (1 + surrogates)


def told(
    series: TimeSeries, found: Nonstationary, alpha: float
) -> tuple[tuple[LevelShift, ...], LevelDrift | None]:
    """Convert the shifts and the drift to the unit of the values."""
    edges = np.searchsorted(series.times, found.baseline.shifts)
    parts = np.split(series.values, edges)
    medians = [percentile_of(part, 0.5) for part in parts]
    shifts = tuple(
        LevelShift(at, before, after, p_value)
        for at, before, after, p_value in zip(
            found.baseline.shifts, medians, medians[1:], found.p_values, strict=False
        )
    )
    if found.bend_p is None and found.line_p > alpha:
        return shifts, None
    p_value = min(found.line_p, 1.0 if found.bend_p is None else found.bend_p)
    bent = found.bend_p is not None
    return shifts, LevelDrift(_change(series, parts, bent=bent), bent, p_value)


def _change(series: TimeSeries, parts: Sequence[Array], *, bent: bool) -> float:
    if bent:
        tenth = max(1, series.values.size // 10)
        ends = (percentile_of(part, 0.5) for part in (series.values[:tenth], series.values[-tenth:]))
        first, last = ends
        return last - first
    # Estimate within each level, so that a shift does not count as slope; thin the record so that all pairs are affordable.
    starts = np.cumsum([0, *(part.size for part in parts)])[:-1]
    slopes = [
        part.size * _slope(series.times[start : start + part.size], part)
        for start, part in zip(starts.tolist(), parts, strict=True)
    ]
    return sum(slopes) / series.values.size * series.duration


def _slope(times: Array, values: Array) -> float:
    if values.size < 2:
        return 0.0
    places = np.unique(np.linspace(0, values.size - 1, MAX_OF_SLOPE).astype(np.int64))
    return theil_sen(times[places], values[places], 95).slope
