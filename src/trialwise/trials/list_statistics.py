"""A metric's control variates of a flow list, computed by the core for many lists at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from trialwise.arrays import Array
from trialwise.experiment.engines import MODELLED
from trialwise.experiment.model import Metric
from trialwise.experiment.simulation import SimulationSource, SimulationTrial
from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES, size_class
from trialwise.experiment.traits import assumed
from trialwise.measurement.list_controls import FEATURES
from trialwise.trials.drawn_flows import picoseconds

Summary: TypeAlias = float | str | tuple[str, float] | None
Statistic: TypeAlias = tuple[str, Summary, tuple[int, int], tuple[int, int]]
"""In the form that `_core.surrogate_batch` takes."""
SURROGATE = "the metric of a fluid model of the same flows"
_NO_END = 2**63


@dataclass(frozen=True, slots=True)
class ListControls:
    """The controls of one metric: the features of a list, and with `fluid` the metric by the fluid model of the same flows.

    For a per-trial metric, that is the metric of the surrogate's trial. For a pooled one, it is what the list adds to the estimating
    equation at `level`, a value Q near the surrogate's own: samples above Q less (1 - p) times all, or their sum less Q times
    their number. Any Q fixed beforehand leaves the estimate unbiased; a closer Q removes more variance.
    """

    metric: Metric
    fluid: bool
    statistics: tuple[Statistic, ...]
    level: float

    @classmethod
    def of(cls, metric: Metric, trial: SimulationTrial, level: float | None, *, fluid: bool) -> ListControls:
        """Return the controls of a metric; `level` as for `wants_level`, else None."""
        source = assumed(metric.source, SimulationSource)
        if not SIMULATION_QUANTITIES[source.quantity].per_flow:
            return cls(metric, False, (), 0.0)
        counted = statistic_of(source, trial, "count")
        if not (fluid and is_modelled(metric)):
            return cls(metric, False, (counted,), 0.0)
        summary = _per_trial(metric)
        if metric.estimand == "pooled":
            if level is None:
                raise TypeError(level)
            summary = "sum" if metric.percentile is None else ("above", level)
        return cls(metric, True, (counted, statistic_of(source, trial, summary)), level or 0.0)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the controls."""
        return (*FEATURES, SURROGATE) if self.fluid else FEATURES

    def values(self, features: Array, found: Array) -> Array:
        """Return the controls, shape (lists, controls), NaN for a list without a value of the metric.

        Parameters
        ----------
        features
            Flows, bytes and largest flow of each list: shape (lists, 3).
        found
            The statistics of each list: shape (lists, statistics).
        """
        own = self._surrogate(found)[:, None] if self.fluid else np.empty((len(features), 0))
        values = np.hstack([features, own])
        if self._may_be_missing:
            values[found[:, 0] == 0] = np.nan
        return values

    @property
    def _may_be_missing(self) -> bool:
        """Whether a trial without flows has no value: a pooled metric counts it as no samples, and a number of flows as 0."""
        quantity = assumed(self.metric.source, SimulationSource).quantity
        return quantity in ("largest_flow", *MODELLED) and self.metric.estimand == "per_trial"

    def _surrogate(self, found: Array) -> Array:
        counts, own = found.T
        if self.metric.estimand == "per_trial":
            return own
        if self.metric.percentile is None:
            return own - self.level * counts
        return own - (1 - self.metric.percentile / 100) * counts


def is_modelled(metric: Metric) -> bool:
    """Return True if the fluid model covers a metric."""
    return assumed(metric.source, SimulationSource).quantity in MODELLED


def wants_level(metric: Metric) -> bool:
    """Return True if the metric's fluid control needs a level: the surrogate's quantile, or mean, of all samples."""
    return is_modelled(metric) and metric.estimand == "pooled"


def level_of(metric: Metric, lists: Sequence[Array]) -> float:
    """Return the surrogate's quantile (nearest rank) or mean of all samples of some lists; 0 if there are none."""
    samples = np.concatenate(lists) if len(lists) else np.empty(0)
    if not samples.size:
        return 0.0
    if metric.percentile is None:
        return float(samples.mean())
    return float(np.quantile(samples, metric.percentile / 100, method="inverted_cdf"))


def statistic_of(source: SimulationSource, trial: SimulationTrial, summary: Summary) -> Statistic:
    """Return a summary of the flows that a source covers, as selected by `chosen_flows`."""
    ends = size_class(source.sizes) if source.sizes else None
    sizes = (0, _NO_END) if ends is None else (ends.low, _NO_END if ends.high is None else ends.high)
    starts = (0, _NO_END)
    if source.phase == "stable":
        duration = picoseconds(trial.workload.duration)
        end = duration - round(trial.cooldown * 1e12) if trial.cooldown else _NO_END
        starts = (round(trial.warmup * 1e12), max(end, 0))
    quantity = source.quantity if source.quantity in MODELLED else "fct"
    return quantity, summary, sizes, starts


def _per_trial(metric: Metric) -> Summary:
    """Reduce one trial's samples to its metric, by its convention."""
    if metric.percentile is not None:
        share = metric.percentile / 100
        return ("linear", share) if metric.convention == "linear" else share
    return {"mean": None, "min": 0.0, "max": 1.0}[str(metric.measure)]
