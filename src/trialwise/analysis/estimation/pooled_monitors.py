"""Convergence of the estimate of a pooled metric over trials, and the distribution of all its samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.distributions import empirical_steps
from trialwise.analysis.estimation.estimates import estimate
from trialwise.analysis.estimation.results import PooledCourse, PooledStep
from trialwise.experiment.model import Metric

_LOOKS = 20
"""Number of looks; each sorts all samples so far, which is slow for millions of samples."""
_FEWEST = 3
"""Minimum number of trials for a meaningful interval with trials as clusters."""


def pooled_courses(
    metrics: Sequence[Metric], treatment: str, trials: st.TrialSamples, confidence: float
) -> Iterator[PooledCourse]:
    """Yield estimates of metrics of the same samples from the first trials of a treatment, in plan order, evenly spread up to all.

    Each interval holds separately: none of them may stop an experiment. Yields nothing if there are too few trials.
    """
    steps: dict[str, list[PooledStep]] = {metric.name: [] for metric in metrics}
    for count in _looks(len(trials)):
        part = trials.first(count)
        for metric in metrics:
            found = estimate(metric, "pooled", part, confidence)
            if found.estimate is not None:
                step = PooledStep(count, found.samples, found.estimate, found.low, found.high)
                steps[metric.name].append(step)
    told = [metric for metric in metrics if steps[metric.name]]
    values, shares = empirical_steps(trials.values) if told else (np.empty(0), np.empty(0))
    for metric in told:
        yield PooledCourse(
            metric.name, metric.unit, treatment, confidence, tuple(steps[metric.name]), values, shares
        )


def _looks(trials: int) -> list[int]:
    if trials < _FEWEST:
        return []
    looks: list[int] = np.unique(np.linspace(_FEWEST, trials, _LOOKS).round().astype(np.int64)).tolist()
    return looks
