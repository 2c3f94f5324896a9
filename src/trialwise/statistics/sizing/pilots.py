"""Analysis of a long pilot trial: start-up, oscillation, and long-run variation of its metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trialwise.late import special
from trialwise.statistics.estimates.measures import Measure
from trialwise.statistics.pooled.phase_randomization import normal_scores
from trialwise.statistics.scaling import is_constant
from trialwise.statistics.tests.drift import BATCHES, MSER_BATCH, batch_metrics, drift_test, mser5
from trialwise.statistics.time.harmonics import strengths
from trialwise.statistics.time.spectrum import blind_search
from trialwise.statistics.time.timegrid import TimeGrid

if TYPE_CHECKING:
    from trialwise.statistics.checks import Array

DEFAULT_SEED = 7
SEARCHED_BINS = 2048
# An oscillation below a twentieth of the variance does not affect a metric.
WEAKEST_OSCILLATION = 0.05
# With fewer cycles, the bend at the end of a ramp looks like a period.
MIN_CYCLES = 3


def startup_samples(samples: Array, *, tolerance: float = 5) -> int | None:
    """Return the number of samples to discard at the start: MSER-5's, or 0 if what it discards is not a start-up.

    MSER-5 discards a few samples of most steady series, too. Its cut is accepted if the discarded batches of five differ from the
    rest, in root mean square, by more than the tolerance (in percent of the rest's mean) and by more than the noise of the rest
    explains (F test at 0.001, with degrees of freedom for correlated batches).

    Returns
    -------
    int or None
        None if the best cut is in the last tenth of the search, which ends at half of the samples: the start-up may then last longer
        than the samples show.
    """
    cut = mser5(samples)
    if cut is None or cut > 0.9 * (samples.size / 2):
        return None
    scaled = samples / (float(np.abs(samples).max()) or 1.0)
    whole = samples.size // MSER_BATCH * MSER_BATCH
    batches = scaled[:whole].reshape(-1, MSER_BATCH).mean(axis=1)
    start: Array = batches[: cut // MSER_BATCH]
    rest: Array = batches[cut // MSER_BATCH :]
    level = float(rest.mean())
    apart = float(np.mean(np.square(start - level), dtype=np.float64)) if cut else 0.0
    if apart <= (tolerance / 100 * level) ** 2 or apart <= _noise_limit(start.size, rest - level):
        return 0
    return cut


def _noise_limit(cut: int, centred: Array) -> float:
    """Return the mean square that `cut` batches of pure noise exceed once in a thousand times."""
    squares = float(centred @ centred)
    products = float(centred[1:] @ centred[:-1])
    correlation = max(0.0, products / squares) if squares > 0 else 0.0
    share = (1 - correlation) / (1 + correlation)
    limit = special.fdtri(max(1.0, cut * share), max(1.0, centred.size * share), 0.999)
    return float(limit) * squares / centred.size


def longest_oscillation(samples: Array, *, seed: int = DEFAULT_SEED) -> float | None:
    """Find the longest period, in samples, that explains at least a twentieth of the variance.

    Return None if none has three cycles or more. The search is the blind search of `seasonality`, over at most 2,048 means of equal
    size.
    """
    bins = min(SEARCHED_BINS, samples.size)
    means = batch_metrics(samples, "mean", batches=bins)
    if is_constant(means):
        return None
    grid = TimeGrid(samples.size / bins, np.arange(bins), means, regular=True)
    scores = normal_scores(means)
    found = blind_search(grid, scores, (), alpha=0.01, surrogates=199, seed=np.random.SeedSequence(seed))
    candidates = [one.candidate for one in found]
    shares = strengths(grid.times, scores, candidates)
    strong = [
        one.seconds
        for one, share in zip(candidates, shares, strict=True)
        if share >= WEAKEST_OSCILLATION and samples.size >= MIN_CYCLES * one.seconds
    ]
    return max(strong, default=None)


def fewest_samples(measure: Measure) -> int:
    """Return the number of samples that 20 batches need for the measure: 50 per batch for P95."""
    if measure in {"mean", "min", "max"}:
        return BATCHES
    percentile = 50.0 if isinstance(measure, str) else float(measure)
    share = min(percentile, 100 - percentile) / 100
    return BATCHES * int(np.ceil(2.5 / share - 1e-9))


def long_run_variation(samples: Array, measure: Measure, *, cycle: float = 0.0) -> float:
    """Estimate the long-run coefficient of variation of one sample: √(variance of the metric of n samples · n)/metric.

    It uses as many batches (100, 50 or 20) as are nearly independent, large enough for the measure and two oscillation cycles long,
    with the AR(1) factor for the remaining correlation.
    """
    shortest = max(fewest_samples(measure) / BATCHES, MSER_BATCH, 2 * cycle)
    counts = [count for count in (100, 50) if samples.size / count >= shortest]
    tests = [drift_test(batch_metrics(samples, measure, batches=count)) for count in (*counts, BATCHES)]
    test = next((one for one in tests if one.correlation <= 0.3), tests[-1])
    inflation = (1 + test.correlation) / (1 - test.correlation)
    return test.deviation * float(np.sqrt(samples.size / test.n * inflation))
