"""Raw samples of a few trials with their convergence test, for plotting (TriScale, Fig. 3a)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.observations import Observation
from trialwise.analysis.trial_columns import Trials
from trialwise.arrays import Array
from trialwise.errors import StatisticsError
from trialwise.experiment.model import Method, Metric

_MAX_TRIALS = 16
_MAX_POINTS = 300


@dataclass(frozen=True, slots=True)
class TrialTrace:
    """The samples of one trial, and the line that its convergence test fitted.

    A trial with more than 300 samples is drawn as 300 segments: `times` are their starts, `lows` and `highs` their extremes. `line`
    holds the end points of the fitted line as (time, value), `tolerated` the change over the trial that the tolerance allows, in the
    unit of the metric, and `interval` the changes over the trial between which the test's interval of the slope lies; all are None
    without a test or a line. Samples before `warmup_end` were discarded, None if none were. Times
    are in seconds if `timed`, else counts of samples.
    """

    number: int
    attempt: int
    treatment: str
    series: str
    samples: int
    timed: bool
    times: Array
    lows: Array
    highs: Array
    batch_starts: Array
    batches: Array
    line: tuple[tuple[float, float], tuple[float, float]] | None
    tolerated: float | None
    interval: tuple[float, float] | None
    converged: bool | None
    warmup_end: float | None


def trial_traces(
    metric: Metric, observations: Sequence[Observation], trials: Trials, method: Method
) -> tuple[TrialTrace, ...]:
    """Build the traces of at most 16 trials with several samples.

    They are the first of each treatment, then those that did not converge, then the others.
    """
    chosen = sorted(_choice(trials), key=lambda place: trials.places.number[place])
    return tuple(
        _trace(metric, observations[place], trials.tested.get(place, (None, None))[1], method)
        for place in chosen
    )


def _choice(trials: Trials) -> list[int]:
    """Return the places of trials."""
    sampled = np.flatnonzero(trials.samples > 1)
    firsts: dict[str, int] = {}
    for (treatment, _), places in trials.places.groups(sampled).items():
        firsts.setdefault(treatment, int(places[0]))
    unsteady = [
        place
        for place in sampled.tolist()
        if (test := trials.tested.get(place, (None, None))[1]) is not None and not test.converged
    ]
    return list(dict.fromkeys([*firsts.values(), *unsteady, *sampled[:_MAX_TRIALS].tolist()]))[:_MAX_TRIALS]


def _trace(metric: Metric, seen: Observation, test: st.Convergence | None, method: Method) -> TrialTrace:
    times = np.arange(len(seen.values), dtype=np.float64) if seen.times is None else seen.times
    edges = np.unique(np.linspace(0, len(times), min(len(times), _MAX_POINTS) + 1).astype(np.int64))[:-1]
    starts = np.asarray(test.batch_starts if test else (), dtype=np.float64)
    batches = np.asarray(test.batches if test else (), dtype=np.float64)
    scale, told = _scale(metric, seen.values, batches, method), metric.convergence
    return TrialTrace(
        number=seen.number,
        attempt=seen.attempt,
        treatment=seen.treatment,
        series=seen.series,
        samples=len(seen.values),
        timed=seen.times is not None,
        times=times[edges],
        lows=np.minimum.reduceat(seen.values, edges),
        highs=np.maximum.reduceat(seen.values, edges),
        batch_starts=starts,
        batches=batches,
        line=_line(starts, batches),
        tolerated=None if scale is None or told is None else told.tolerance / 100 * scale,
        interval=None if scale is None else _interval(test, scale),
        converged=test.converged if test else None,
        warmup_end=float(times[test.warmup]) if test and test.warmup else None,
    )


def _line(starts: Array, batches: Array) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return the Theil-Sen line through the batches, from the first to the last."""
    try:
        fit = st.theil_sen(starts, batches, 95.0)
    except StatisticsError:
        return None
    first, last = float(starts[0]), float(starts[-1])
    return (first, fit.intercept + fit.slope * first), (last, fit.intercept + fit.slope * last)


def _scale(metric: Metric, values: Array, batches: Array, method: Method) -> float | None:
    """Return the change over a trial that the test takes as one: the median of batches, or the range of samples (paper)."""
    if metric.convergence is None or len(batches) == 0:
        return None
    low, high = metric.limits or (float(values.min()), float(values.max()))
    if method == "paper":
        return high - low
    return abs(float(np.median(batches))) if metric.limits is None else (high - low) / 2


def _interval(test: st.Convergence | None, scale: float) -> tuple[float, float] | None:
    if test is None or test.low is None or test.high is None:
        return None
    ends = scale * test.low, scale * test.high
    return ends if all(map(isfinite, ends)) else None
