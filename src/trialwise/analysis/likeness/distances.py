"""How far apart real and emulated trials are: energy distances of logarithms, of which the real path's own noise is worth 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trialwise.analysis.likeness.values import FLOORS
from trialwise.arrays import Array
from trialwise.statistics.fitting.energy import energy_distance, null_distance
from trialwise.statistics.fitting.tolerance import tolerance_interval

Values = Mapping[str, Sequence[float]]
"""Values of the trials of one treatment, by metric."""
_STEP = 0.02
"""Least distance that is worth 1: that of two numbers that are 1 % apart."""


def collected(trials: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return the values of several trials by metric."""
    found: dict[str, list[float]] = {}
    for trial in trials:
        for name, value in trial.items():
            found.setdefault(name, []).append(value)
    return found


class Yardstick:
    """The real trials of each treatment, with the noise of each metric."""

    def __init__(self, real: Mapping[str, Values]) -> None:
        self._logs = {
            (treatment, metric): _logs(metric, values)
            for treatment, of_metric in real.items()
            for metric, values in of_metric.items()
            if len(values) >= 2
        }

    def distances(self, treatment: str, emulated: Values) -> dict[str, float]:
        """Return the distance of each metric in which a treatment has real trials; 1 is what noise alone gives on average."""
        found: dict[str, float] = {}
        for metric, values in emulated.items():
            cell = treatment, metric
            if cell in self._logs and values:
                noise = null_distance(self._logs[cell], len(values))
                found[metric] = energy_distance(self._logs[cell], _logs(metric, values)) / max(noise, _STEP)
        return found

    def inside(self, treatment: str, metric: str, emulated: Sequence[float]) -> float | None:
        """Return the share of emulated trials within the tolerance interval of the real ones (90 % of trials, with 95 %)."""
        logs = self._logs.get((treatment, metric))
        if logs is None or not emulated:
            return None
        low, high = tolerance_interval(logs)
        other = _logs(metric, emulated)
        return float(np.mean((other >= low - _STEP / 2) & (other <= high + _STEP / 2)))


def _logs(metric: str, values: Sequence[float]) -> Array:
    return np.log(np.asarray(values, dtype=np.float64) + FLOORS[metric])
