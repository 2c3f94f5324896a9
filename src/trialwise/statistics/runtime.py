"""How long a trial must be for its metric to be steady, from long pilot trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import fdtri, ndtri, stdtrit

from trialwise.statistics.checks import as_values, seconds
from trialwise.statistics.drift import (
    BATCHES,
    MSER_BATCH,
    DriftTest,
    Verdict,
    batch_metrics,
    drift_test,
    mser5,
)
from trialwise.statistics.harmonics import strengths
from trialwise.statistics.measures import Measure, as_measure, measured, percentile_of
from trialwise.statistics.scaling import is_constant
from trialwise.statistics.spectrum import blind_search
from trialwise.statistics.surrogates import normal_scores
from trialwise.statistics.timegrid import TimeGrid

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from trialwise.statistics.checks import Array

FEWEST_SAMPLES = 2 * BATCHES
PREFIXES = 60
DEFAULT_SEED = 7
SEARCHED_BINS = 2048
CYCLES = 10
# An oscillation below a twentieth of the variance moves no metric.
WEAKEST_OSCILLATION = 0.05
# With fewer, the bend at the end of a ramp looks like a period.
FEWEST_CYCLES = 3
# Mean corrected lag-1 correlation of 20 independent batches: the correction and the bound at 0 push it up.
IDLE_CORRELATION = 0.1


@dataclass(frozen=True, slots=True)
class PrefixCurve:
    """The metric of the first part of a trial against how long that part is (TriScale, Fig. 4).

    Attributes
    ----------
    times
        Length of each prefix, from the start of the trial.
    values
        Metric of all samples of the prefix.
    verdicts
        Of the drift test on all samples of the prefix.
    values_after_startup
        Metric of the prefix without the start-up; NaN while the prefix holds fewer than 20 samples after it.
    verdicts_after_startup
        Of the drift test on these; "inconclusive" where there are too few.
    """

    times: Array
    values: Array
    verdicts: tuple[Verdict, ...]
    values_after_startup: Array
    verdicts_after_startup: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class RuntimeNeeded:
    """How long a trial must be, start-up included.

    All lengths are in seconds, or in samples where no times were given.

    Attributes
    ----------
    runtime
        Length of a trial whose metric is steady, start-up included. None where the pilot cannot tell;
        `reason` says why.
    startup
        What to cut from the start of each trial.
    steady
        Whether the pilot itself is steady after the start-up.
    reason
        What decided the runtime, or why there is none and what would lift that.
    predicted
        Start-up and the length at which the drift test passes with the stated power. None for extremes,
        whose variance does not shrink with length, and without a runtime.
    observed
        The shortest prefix from which on the pilot without its start-up is steady; None if it is not at
        its end.
    oscillation
        Longest period that makes up at least a twentieth of the variance after the start-up.
    curve
        The metric and the verdict against the length.
    drift
        The test on the pilot after the start-up.
    variation
        Long-run coefficient of variation of one sample, √(variance of the mean · samples)/metric.
    duration
        Of the pilot.
    n
        Samples of the pilot.
    measure, tolerance, confidence, power
        As asked for; the last three in percent.
    method
        What was done.
    """

    runtime: float | None
    startup: float
    steady: bool
    reason: str
    predicted: float | None
    observed: float | None
    oscillation: float | None
    curve: PrefixCurve
    drift: DriftTest
    variation: float
    duration: float
    n: int
    measure: Measure
    tolerance: float
    confidence: float
    power: float
    method: Literal["drift equivalence, MSER-5"]


@dataclass(frozen=True, slots=True)
class RuntimeCombined:
    """What several pilots ask for together.

    Attributes
    ----------
    runtime
        The longest start-up plus the longest need after the start-up; None if a pilot gives none.
    startup
        The longest.
    steady
        Whether every pilot is steady after its start-up.
    reason
        Which pilot (counted from 1) decides, or which give no runtime and why.
    pilots
        How many.
    """

    runtime: float | None
    startup: float
    steady: bool
    reason: str
    pilots: int


@dataclass(frozen=True, slots=True)
class _Pilot:
    """Samples in order, and what one of them is worth in time."""

    samples: Array
    interval: float
    unit: str

    def length(self, samples: float) -> float:
        return samples * self.interval

    def written(self, samples: float) -> str:
        number = f"{self.length(samples):.4g}" if self.unit == "s" else str(int(np.ceil(samples)))
        return f"{number} {self.unit}"


def runtime_needed(
    samples: npt.ArrayLike,
    *,
    times: npt.ArrayLike | None = None,
    measure: Measure = "mean",
    tolerance: float = 5,
    confidence: float = 95,
    power: float = 80,
    seed: int = DEFAULT_SEED,
) -> RuntimeNeeded:
    """How long a trial must be for its metric to be steady, from one long pilot trial.

    Parameters
    ----------
    samples
        Of the pilot, in order of time; at least 40.
    times
        Seconds of each, or `numpy.datetime64`. Samples are then sorted by time and lengths are in
        seconds, at the mean interval.
    measure
        "mean", "median", "min", "max", or a percentile as a number.
    tolerance
        Largest harmless drift over a trial, in percent of the metric.
    confidence
        Of the drift test (each side), in percent.
    power
        Probability, in percent, that a trial without drift passes the test at the predicted length.
    seed
        Of the search for oscillation.

    Raises
    ------
    ValueError
        If a sample or a time is not finite, lengths differ, there are fewer than 40 samples, the metric
        is 0, or a parameter is out of range.

    Notes
    -----
    The start-up is MSER-5's, if its samples differ from the rest by more than the tolerance and by more
    than noise does. The prediction is METHODS b: n = 12 (q + z)² (CV/tolerance)² with CV the long-run
    coefficient of variation, where q is the quantile that the test with its 20 batches really uses (1.96
    instead of 1.645 at 95 %; 23 % more samples), at least ten periods of an oscillation, and for a
    percentile p at least 2.5/min(p, 1 - p) samples in each batch.
    """
    _check(tolerance, confidence, power)
    reduction = _reduction(measure)
    pilot = _read(samples, times)
    least = fewest_samples(reduction)
    startup = startup_samples(pilot.samples, tolerance=tolerance)
    cut = startup or 0
    rest = pilot.samples[cut:]
    test = drift_test(batch_metrics(rest, reduction), tolerance=tolerance, confidence=confidence)
    cycle = longest_oscillation(rest, seed=seed)
    variation = long_run_variation(rest, reduction, cycle=cycle or 0.0)
    needed = None if reduction in {"min", "max"} else _sized(variation, tolerance, confidence, power, least)
    curve = _curve(pilot, cut, reduction, tolerance, confidence)
    observed = _observed(curve)
    seen = None if observed is None else observed / pilot.interval - cut
    length, reason = _decide(_Evidence(pilot, startup, test, needed, cycle, seen, least))
    return RuntimeNeeded(
        runtime=None if length is None else pilot.length(cut + length),
        startup=pilot.length(cut),
        steady=test.verdict == "steady",
        reason=reason,
        predicted=None if needed is None or length is None else pilot.length(cut + needed),
        observed=observed,
        oscillation=None if cycle is None else pilot.length(cycle),
        curve=curve,
        drift=test,
        variation=variation,
        duration=pilot.length(pilot.samples.size),
        n=pilot.samples.size,
        measure=measure,
        tolerance=tolerance,
        confidence=confidence,
        power=power,
        method="drift equivalence, MSER-5",
    )


def combine_pilots(pilots: Sequence[RuntimeNeeded]) -> RuntimeCombined:
    """Find the runtime that suits all of several pilot trials (of one treatment or of many).

    Raises
    ------
    ValueError
        If there is no pilot.
    """
    if not pilots:
        raise ValueError("no pilot to combine; at least one is needed")
    startup = max(pilot.startup for pilot in pilots)
    steady = all(pilot.steady for pilot in pilots)
    missing = [(at, pilot) for at, pilot in enumerate(pilots, start=1) if pilot.runtime is None]
    if missing:
        reason = "; ".join(f"pilot {at}: {pilot.reason}" for at, pilot in missing)
        return RuntimeCombined(None, startup, steady, reason, len(pilots))
    needs = [(pilot.runtime or 0.0) - pilot.startup for pilot in pilots]
    longest = int(np.argmax(needs))
    reason = f"pilot {longest + 1} of {len(pilots)} needs most after its start-up: {pilots[longest].reason}"
    return RuntimeCombined(startup + needs[longest], startup, steady, reason, len(pilots))


def startup_samples(samples: Array, *, tolerance: float = 5) -> int | None:
    """How many samples to cut at the start: MSER-5's number, or 0 where what it cuts is no start-up.

    MSER-5 cuts a few samples from most steady series, too. Its cut counts if the batches of five that it
    cuts differ from the rest, in root mean square, by more than the tolerance (in percent of the rest's
    mean) and by more than the rest's own noise would (F test at 0.001, with the degrees of freedom of
    correlated batches).

    Returns
    -------
    int or None
        None where the best cut is within a tenth of half of the samples, the most that is searched: the
        start-up may last longer than the samples show.
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
    """Mean square that so many batches of mere noise exceed once in a thousand times."""
    squares = float(centred @ centred)
    products = float(centred[1:] @ centred[:-1])
    correlation = max(0.0, products / squares) if squares > 0 else 0.0
    share = (1 - correlation) / (1 + correlation)
    limit = fdtri(max(1.0, cut * share), max(1.0, centred.size * share), 0.999)
    return float(limit) * squares / centred.size


def longest_oscillation(samples: Array, *, seed: int = DEFAULT_SEED) -> float | None:
    """Find the longest period, in samples, that makes up at least a twentieth of the variance.

    None where there is none with three cycles or more. Periods are searched as `seasonality` searches those
    without a name, in at most 2,048 means of equal size.
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
        if share >= WEAKEST_OSCILLATION and samples.size >= FEWEST_CYCLES * one.seconds
    ]
    return max(strong, default=None)


def _check(tolerance: float, confidence: float, power: float) -> None:
    if not 0 < tolerance < 100:
        raise ValueError(f"tolerance must be between 0 and 100 percent, not {tolerance}")
    if not 50 < confidence < 100:
        raise ValueError(f"confidence must be between 50 and 100 percent, not {confidence}")
    if not 0 < power < 100:
        raise ValueError(f"power must be between 0 and 100 percent, not {power}")


def _reduction(measure: Measure) -> Measure:
    """Check a measure; the percentiles 0 and 100, which have no sizing rule, are the extremes."""
    if measure in (0, 100):
        return "min" if measure == 0 else "max"
    return as_measure(measure)


def _read(samples: npt.ArrayLike, times: npt.ArrayLike | None) -> _Pilot:
    values = as_values(samples, "samples")
    if times is None:
        pilot = _Pilot(values, 1.0, "samples")
    else:
        when = seconds(times)
        if when.shape != values.shape:
            raise ValueError(f"times and samples must have one length, not {when.shape} and {values.shape}")
        duration = float(np.ptp(when))
        if duration == 0:
            raise ValueError("all samples have the same time; leave times out to count in samples")
        pilot = _Pilot(values[np.argsort(when, kind="stable")], duration / (values.size - 1), "s")
    if values.size < FEWEST_SAMPLES:
        raise ValueError(
            f"{values.size} samples are too few for a pilot; at least {FEWEST_SAMPLES} are needed"
        )
    return pilot


def fewest_samples(measure: Measure) -> int:
    """Count the samples below which 20 batches cannot carry the measure: 50 a batch for P95."""
    if measure in {"mean", "min", "max"}:
        return BATCHES
    percentile = 50.0 if isinstance(measure, str) else float(measure)
    share = min(percentile, 100 - percentile) / 100
    return BATCHES * int(np.ceil(2.5 / share - 1e-9))


def long_run_variation(samples: Array, measure: Measure, *, cycle: float = 0.0) -> float:
    """Long-run coefficient of variation of one sample: √(variance of the metric of n samples · n)/metric.

    From as many batches (100, 50 or 20) as are still nearly independent of each other, large enough for the
    measure and two cycles of an oscillation long, with AR(1)'s factor for what correlation is left.
    """
    shortest = max(fewest_samples(measure) / BATCHES, MSER_BATCH, 2 * cycle)
    counts = [count for count in (100, 50) if samples.size / count >= shortest]
    tests = [drift_test(batch_metrics(samples, measure, batches=count)) for count in (*counts, BATCHES)]
    test = next((one for one in tests if one.correlation <= 0.3), tests[-1])
    inflation = (1 + test.correlation) / (1 - test.correlation)
    return test.deviation * float(np.sqrt(samples.size / test.n * inflation))


def _sized(variation: float, tolerance: float, confidence: float, power: float, least: int) -> float:
    """METHODS b, with the quantile that a test on 20 batches uses in the place of the normal one."""
    freedom = BATCHES * (1 - IDLE_CORRELATION) / (1 + IDLE_CORRELATION) - 2
    test = stdtrit(freedom, confidence / 100) * np.sqrt((BATCHES - 2) / freedom)
    spare = ndtri(1 - (1 - power / 100) / 2)
    return max(float(least), float(np.ceil(12 * (test + spare) ** 2 * (variation / (tolerance / 100)) ** 2)))


def _curve(pilot: _Pilot, cut: int, measure: Measure, tolerance: float, confidence: float) -> PrefixCurve:
    total = pilot.samples.size
    first = max(BATCHES, total // PREFIXES)
    ends = np.unique(np.linspace(first, total, PREFIXES).astype(np.int64))

    def judge(part: Array) -> tuple[float, Verdict]:
        if part.size < BATCHES:
            return float("nan"), "inconclusive"
        metrics = batch_metrics(part, measure)
        # No tolerance is relative to 0: a trial that has not got going yet says nothing.
        if percentile_of(metrics, 0.5) == 0 and not is_constant(metrics):
            return measured(part, measure), "inconclusive"
        return measured(part, measure), drift_test(
            metrics, tolerance=tolerance, confidence=confidence
        ).verdict

    whole = [judge(pilot.samples[:end]) for end in ends]
    after = [judge(pilot.samples[cut:end]) for end in ends] if cut else whole
    return PrefixCurve(
        times=np.asarray(ends * pilot.interval, dtype=np.float64),
        values=np.array([value for value, _ in whole]),
        verdicts=tuple(verdict for _, verdict in whole),
        values_after_startup=np.array([value for value, _ in after]),
        verdicts_after_startup=tuple(verdict for _, verdict in after),
    )


def _observed(curve: PrefixCurve) -> float | None:
    """Find the first length from which on every verdict is steady."""
    unsteady = [at for at, verdict in enumerate(curve.verdicts_after_startup) if verdict != "steady"]
    first = unsteady[-1] + 1 if unsteady else 0
    return float(curve.times[first]) if first < curve.times.size else None


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What a runtime is decided from; lengths in samples after the start-up."""

    pilot: _Pilot
    startup: int | None
    test: DriftTest
    needed: float | None
    cycle: float | None
    seen: float | None
    least: int

    @property
    def rest(self) -> int:
        return self.pilot.samples.size - (self.startup or 0)

    @property
    def whole(self) -> str:
        return self.pilot.written(self.pilot.samples.size)

    @property
    def drift(self) -> str:
        return f"{100 * self.test.drift:.3g} % over {self.pilot.written(self.rest)}"

    def total(self, samples: float) -> str:
        return self.pilot.written((self.startup or 0) + samples)


def _decide(evidence: _Evidence) -> tuple[float | None, str]:
    """Give the samples that are needed after the start-up, and why."""
    cycles = CYCLES * (evidence.cycle or 0.0)
    if cycles > evidence.rest:
        return cycles, _too_slow(evidence, cycles)
    if evidence.test.verdict == "drifting":
        return None, f"still drifting at the end ({evidence.drift}): run longer than {evidence.whole}"
    if evidence.startup is None and evidence.test.verdict != "steady":
        return None, f"the start-up may last longer than half of the pilot: run longer than {evidence.whole}"
    if evidence.needed is None:
        return _decide_extreme(evidence, cycles)
    if evidence.test.verdict == "inconclusive":
        return _decide_open(evidence, max(evidence.needed, cycles))
    return _decide_steady(evidence, evidence.needed, cycles)


def _too_slow(evidence: _Evidence, cycles: float) -> str:
    period = evidence.cycle or 0.0
    return (
        f"oscillates with a period of {evidence.pilot.written(period)}: at least ten periods are needed "
        f"and the pilot holds {evidence.rest / period:.2g}; confirm with a pilot of {evidence.total(cycles)}"
    )


def _decide_extreme(evidence: _Evidence, cycles: float) -> tuple[float | None, str]:
    """Extremes grow with length instead of settling like 1/√n: only what the pilot showed counts."""
    if evidence.seen is None:
        return None, f"{_undecided(evidence)}, or measure a percentile, which settles"
    length = max(evidence.seen, cycles)
    return length, f"steady in the pilot from {evidence.total(length)} on; extremes allow no prediction"


def _decide_open(evidence: _Evidence, length: float) -> tuple[float | None, str]:
    if length <= evidence.rest:
        return None, _undecided(evidence)
    return length, (
        f"too noisy to tell a drift of {evidence.drift} from the tolerance: a trial of "
        f"{evidence.total(length)} would; confirm with a pilot of that length"
    )


def _undecided(evidence: _Evidence) -> str:
    return (
        f"a drift of {evidence.drift} can be told neither from 0 nor from the tolerance: "
        f"run longer than {evidence.whole}"
    )


def _decide_steady(evidence: _Evidence, needed: float, cycles: float) -> tuple[float, str]:
    # The prediction knows noise; how soon an oscillation averages out is read from the pilot.
    averaged = max(cycles, evidence.seen or 0.0)
    if evidence.cycle and averaged >= needed:
        period = evidence.pilot.written(evidence.cycle)
        return averaged, f"{averaged / evidence.cycle:.3g} periods of the oscillation of {period}"
    if needed == evidence.least:
        return needed, f"so quiet that the fewest samples for 20 batches are enough ({evidence.least})"
    spare = (
        "" if needed <= evidence.rest else "; that is longer than the pilot: confirm with one of that length"
    )
    return needed, f"a trial of {evidence.total(needed)} passes the drift test with the stated power{spare}"
