"""The length that a trial needs for a steady metric, from long pilot trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.statistics.checks import as_values, seconds
from trialwise.statistics.estimates.measures import Measure, as_measure, measured, percentile_of
from trialwise.statistics.scaling import is_constant
from trialwise.statistics.sizing.pilots import (
    DEFAULT_SEED,
    fewest_samples,
    long_run_variation,
    longest_oscillation,
    startup_samples,
)
from trialwise.statistics.sizing.runtime_decision import Evidence, PilotSamples, decide
from trialwise.statistics.sizing.runtime_results import PrefixCurve, RuntimeCombined, RuntimeNeeded
from trialwise.statistics.tests.drift import BATCHES, Verdict, batch_metrics, drift_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from trialwise.statistics.checks import Array

MIN_SAMPLES = 2 * BATCHES
PREFIXES = 60
# Mean corrected lag-1 correlation of 20 independent batches, which the correction and the bound at 0 push up.
IDLE_CORRELATION = 0.1


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
    """Estimate how long a trial must be for its metric to be steady, from one long pilot trial.

    Parameters
    ----------
    samples
        Samples of the pilot, in time order; at least 40.
    times
        Seconds of each sample, or `numpy.datetime64`. Samples are then sorted by time, and lengths are in seconds at the mean
        interval.
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
    StatisticsError
        If a sample or a time is not finite, lengths differ, there are fewer than 40 samples, the metric
        is 0, or a parameter is out of range.

    Notes ----- The start-up is MSER-5's, if its samples differ from the rest by more than the tolerance and by more than noise. The
    prediction is METHODS b: n = 12 (q + z)² (CV/tolerance)² with CV the long-run coefficient of variation, where q is the quantile
    that the test with its 20 batches actually uses (1.96 instead of 1.645 at 95 %; 23 % more samples), at least ten periods of an
    oscillation, and for a percentile p at least 2.5/min(p, 1 - p) samples per batch.
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
    length, reason = decide(Evidence(pilot, startup, test, needed, cycle, seen, least))
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
    """Combine several pilot trials, of one treatment or of many, into the runtime that suits all.

    Raises
    ------
    StatisticsError
        If there are no pilots.
    """
    if not pilots:
        raise StatisticsError("no pilot to combine; at least one is needed")
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


def _check(tolerance: float, confidence: float, power: float) -> None:
    if not 0 < tolerance < 100:
        raise StatisticsError(f"tolerance must be between 0 and 100 percent, not {tolerance}")
    if not 50 < confidence < 100:
        raise StatisticsError(f"confidence must be between 50 and 100 percent, not {confidence}")
    if not 0 < power < 100:
        raise StatisticsError(f"power must be between 0 and 100 percent, not {power}")


def _reduction(measure: Measure) -> Measure:
    """Check a measure; percentiles 0 and 100, which have no sizing rule, become the extremes."""
    if measure in (0, 100):
        return "min" if measure == 0 else "max"
    return as_measure(measure)


def _read(samples: npt.ArrayLike, times: npt.ArrayLike | None) -> PilotSamples:
    values = as_values(samples, "samples")
    if times is None:
        pilot = PilotSamples(values, 1.0, "samples")
    else:
        when = seconds(times)
        if when.shape != values.shape:
            raise StatisticsError(
                f"times and samples must have one length, not {when.shape} and {values.shape}"
            )
        duration = float(np.ptp(when))
        if duration == 0:
            raise StatisticsError("all samples have the same time; leave times out to count in samples")
        pilot = PilotSamples(values[np.argsort(when, kind="stable")], duration / (values.size - 1), "s")
    if values.size < MIN_SAMPLES:
        raise StatisticsError(
            f"{values.size} samples are too few for a pilot; at least {MIN_SAMPLES} are needed"
        )
    return pilot


def _sized(variation: float, tolerance: float, confidence: float, power: float, least: int) -> float:
    """Return the length by METHODS b, with the quantile of a test on 20 batches instead of the normal one."""
    freedom = BATCHES * (1 - IDLE_CORRELATION) / (1 + IDLE_CORRELATION) - 2
    test = special.stdtrit(freedom, confidence / 100) * np.sqrt((BATCHES - 2) / freedom)
    spare = special.ndtri(1 - (1 - power / 100) / 2)
    return max(float(least), float(np.ceil(12 * (test + spare) ** 2 * (variation / (tolerance / 100)) ** 2)))


def _curve(
    pilot: PilotSamples, cut: int, measure: Measure, tolerance: float, confidence: float
) -> PrefixCurve:
    total = pilot.samples.size
    first = max(BATCHES, total // PREFIXES)
    ends = np.unique(np.linspace(first, total, PREFIXES).astype(np.int64))

    def judge(part: Array) -> tuple[float, Verdict]:
        if part.size < BATCHES:
            return float("nan"), "inconclusive"
        metrics = batch_metrics(part, measure)
        # A tolerance relative to 0 is meaningless: a trial that has not started up yet shows nothing.
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
    """Return the first length from which on every verdict is steady."""
    unsteady = [at for at, verdict in enumerate(curve.verdicts_after_startup) if verdict != "steady"]
    first = unsteady[-1] + 1 if unsteady else 0
    return float(curve.times[first]) if first < curve.times.size else None
