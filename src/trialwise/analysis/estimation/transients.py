"""The effect of warm-up and cool-down on an estimate of all flows: stable flows separated, and other trial durations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.analysis.estimation.flow_records import FlowRecords
from trialwise.analysis.estimation.phases import Phases
from trialwise.analysis.estimation.trial_values import MIN_BEYOND
from trialwise.arrays import Array
from trialwise.experiment.model import Metric
from trialwise.experiment.quantity import duration_text
from trialwise.numbers import useful_change, write
from trialwise.statistics.estimates.quantiles import MIN_BEYOND as BEYOND_IN_A_TRIAL

_MIN_STABLE = 0.1
"""Minimum length of the stable phase as a share of a trial, for statements about it."""
_FAR = 99.0
"""Percentile of completion times that represents the flows that dominate a mean."""


@dataclass(frozen=True, slots=True)
class Edges:
    """The stable phase for the flows of one metric: those that begin from `warmup` to `cooldown` before the end.

    A flow as slow as the quantile that begins in the last `cooldown` seconds of the duration ends after the last flow begins.
    Times are in seconds, `stable` marks flows, and `stable_flows` and `edge_flows` are their numbers in a trial of `duration`.
    """

    duration: float
    warmup: float
    cooldown: float
    stable: npt.NDArray[np.bool_]
    stable_flows: float
    edge_flows: float

    def share(self, duration: float) -> float | None:
        """Return the share of warm-up and cool-down flows in trials of another duration; None if the two phases exceed it.

        Both have the same length in every trial, so that only the stable phase changes.
        """
        inside = duration - self.warmup - self.cooldown
        if inside < 0:
            return None
        stable = self.stable_flows * inside / (self.duration - self.warmup - self.cooldown)
        return self.edge_flows / (self.edge_flows + stable) if self.edge_flows else 0.0

    def duration_of(self, share: float) -> float:
        """Return the duration at which warm-up and cool-down have a share of the flows, above 0."""
        stable = self.edge_flows * (1 - min(share, 1.0)) / min(share, 1.0)
        length = self.duration - self.warmup - self.cooldown
        return self.warmup + self.cooldown + length * stable / self.stable_flows


@dataclass(frozen=True, slots=True)
class Transient:
    """The pooled estimate of all flows over that of the stable ones, `bias` in percent with its interval, in trials as they are."""

    edges: Edges
    bias: st.Ratio

    @property
    def far(self) -> float:
        """The bound of the interval farther from 0, in percent."""
        return max(abs(self.bias.low), abs(self.bias.high))

    def bias_at(self, duration: float) -> float | None:
        """Return the bias in percent in trials of another duration: to first order proportional to the share of edge flows."""
        return self._scaled(self.bias.estimate, duration)

    def far_at(self, duration: float) -> float | None:
        """Return `far` for another duration."""
        return self._scaled(self.far, duration)

    def _scaled(self, bias: float, duration: float) -> float | None:
        now, then = self.edges.share(self.edges.duration), self.edges.share(duration)
        return None if then is None else bias * then / now if now else 0.0

    def duration_for(self, tolerance: float) -> float:
        """Return the duration from which the whole interval of the bias is within a tolerance in percent, of either sign."""
        now = self.edges.share(self.edges.duration)
        if not now or not self.far:
            return self.edges.warmup + self.edges.cooldown
        return self.edges.duration_of(now * tolerance / self.far)


def edges_of(
    metric: Metric, flows: FlowRecords, chosen: npt.NDArray[np.bool_], phases: Phases
) -> Edges | str:
    """Find the stable phase of a metric's flows, or say why there is none and the remedy."""
    duration, warmup = phases.duration, phases.warmup_end
    if warmup is None:
        return (
            f"no stable phase: {growth_words(phases.growth)}; take trials several times as long as {duration_text(duration)}, or a "
            "lower load"
        )
    percentile = _FAR if metric.percentile is None else max(metric.percentile, 100 - metric.percentile)
    cooldown = float(np.percentile(flows.fct[chosen], percentile)) if chosen.any() else 0.0
    if duration - warmup - cooldown < _MIN_STABLE * duration:
        return (
            f"warm-up and cool-down ({duration_text(warmup)} and {duration_text(cooldown)}) fill the trials: take trials of at least "
            f"{duration_text(2 * (warmup + cooldown))}"
        )
    stable = chosen & (flows.start >= warmup) & (flows.start < duration - cooldown)
    inside, trials = float(stable.sum()), len(flows.rows)
    if lacking := flows_lacking(inside, metric.percentile, MIN_BEYOND):
        return f"of the stable phase, {lacking}"
    return Edges(duration, warmup, cooldown, stable, inside / trials, (float(chosen.sum()) - inside) / trials)


def growth_words(growth: st.Ratio | None) -> str:
    """Describe in words how the number of active flows continues after the first half."""
    if growth is None:
        return "no flow is active in the second quarter of the trials"
    return (
        f"active flows of the second half over the second quarter of a trial {change_text(growth.estimate)} "
        f"({change_text(growth.low)} to {change_text(growth.high)})"
    )


def change_text(percent: float) -> str:
    """Write a change in percent with its sign and two significant digits."""
    return f"{useful_change(percent)} %"


def transient_of(
    metric: Metric, trials: Sequence[Array], stable: Sequence[Array], edges: Edges, confidence: float
) -> Transient | None:
    """Estimate the bias by the flows of warm-up and cool-down; None if the interval is unbounded."""
    whole, inside = (st.pooled_influence(each, metric.percentile) for each in (trials, stable))
    bias = st.paired_ratio(inside, whole, confidence=confidence).in_percent()
    return Transient(edges, bias) if bias.bounded else None


def flows_lacking(flows: float, percentile: float | None, wanted: int = BEYOND_IN_A_TRIAL) -> str:
    """Say if fewer than `wanted` flows are beyond a quantile, and by what factor more would do; empty if they suffice.

    With fewer flows than the quantile of a single trial needs, its rank in a sample is not informative.
    """
    if percentile is None:
        return "" if flows >= wanted else f"there are {round(flows)} flows and {wanted} are needed"
    beyond = flows * min(percentile, 100 - percentile) / 100
    if beyond >= wanted:
        return ""
    more = f": {ceil(wanted / beyond)} times the trials would do" if beyond else ""
    return f"about {write(beyond, digits=2)} flows lie beyond the quantile and {wanted} are needed{more}"
