"""What is estimated from simulated trials: frozen records, which report, JSON and tests read alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trialwise import statistics as st
from trialwise.arrays import Array
from trialwise.experiment.model import Controls, Estimand


@dataclass(frozen=True, slots=True)
class WeightedTail:
    """Whether the weights of tilted trials can be trusted.

    `effective_trials` is what the tail is worth, (Σ W)²/Σ W² over the tail weights W of the trials, `largest_share` the part that
    one trial has of it, and `mean_likelihood_ratio` that of all flows, 1 in expectation. `load_ratio` is the load that the untilted
    sizes of the trials offer over the one asked for, not 1 where they are those of a fit; `true_load` that load as a part of the
    capacity, None where it is drawn for each trial. `batches` of `batch` trials are those that the estimate is of, None where it is
    of all trials together.
    """

    effective_trials: float
    largest_share: float
    mean_likelihood_ratio: float
    load_ratio: float
    true_load: float | None
    batches: int | None
    batch: int | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """One estimand of one metric and treatment, in the unit of the metric.

    `what` names the estimand in words. Where it cannot be had, the numbers are None and `note` says what would lift that; a bound
    is infinite where there are too few samples for it. `design_effect` is the variance over that of as many independent samples,
    None where that says nothing. `confidence` is in percent. `weights` are those of tilted trials, else None.
    """

    estimand: Estimand
    what: str
    estimate: float | None
    low: float | None
    high: float | None
    confidence: float
    trials: int
    samples: int
    design_effect: float | None
    convention: str
    method: str
    note: str
    weights: WeightedTail | None = None


@dataclass(frozen=True, slots=True)
class ControlledEstimate:
    """The estimand of a metric with control variates beside it.

    `result` holds both intervals, and which is used. `features` are the controls; their means come from `generated` workloads.
    """

    kind: Controls
    features: tuple[str, ...]
    generated: int
    result: st.ControlVariates

    @property
    def used(self) -> str:
        """Which of both intervals is to be used, and why."""
        if self.result.usable:
            return "controlled"
        if self.result.n < self.result.needed:
            return f"plain, until {self.result.needed} trials"
        return "plain: " + ("the controls gain nothing" if self.result.gain <= 1 else "it is narrower")


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """A metric of one treatment: its own estimand, the other one where both make sense, and control variates.

    `controls_note` says why there are no control variates where they were asked for; empty otherwise.
    """

    metric: str
    unit: str
    treatment: str
    own: Estimate
    other: Estimate | None
    controlled: ControlledEstimate | None
    controls_note: str


@dataclass(frozen=True, slots=True)
class PooledStep:
    """A pooled estimate from the first so many trials; a bound is None or infinite where there are too few samples for it."""

    trials: int
    samples: int
    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class PooledCourse:
    """What there is to see of a pooled metric of one treatment, of which single trials have no value that means anything.

    `steps` are its estimates as trials came in, each interval at `confidence` (percent) by itself. `values` (ascending) and `shares`
    (0 to 1) are the empirical distribution of all samples, at most 200 values of it.
    """

    metric: str
    unit: str
    treatment: str
    confidence: float
    steps: tuple[PooledStep, ...]
    values: Array
    shares: Array


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Slowdown of the flows of one treatment of at least `low` and at most `high` bytes: pooled quantiles by percentile."""

    treatment: str
    low: int
    high: int
    flows: int
    quantiles: Mapping[str, st.PooledEstimate]


@dataclass(frozen=True, slots=True)
class DurationStep:
    """What trials of another duration would give, of the same flows: both estimands of one metric.

    `duration` is in seconds. Shorter trials are the flows that begin in the first part of each trial; longer ones (`joined`) are
    several trials put together, which have no start but the one that each has by itself, so that only the number of flows
    changes. `per_trial` and `pooled` are None where there are too few trials. `small_sample` is the first over the second, in
    percent: a bias of few flows, since both are of the same. `transient` is the pooled estimate over that of the flows of the stable
    phase, in percent; of longer trials, by the share that warm-up and cool-down would have. Both are None where too few flows say so.
    """

    duration: float
    joined: bool
    trials: int
    flows_per_trial: float
    per_trial: Estimate | None
    pooled: Estimate | None
    small_sample: st.Ratio | None
    transient: float | None


@dataclass(frozen=True, slots=True)
class DurationAdvice:
    """How the duration of a trial bears on one metric of one treatment.

    `warmup_end` is when the number of active flows reaches its stable level, in seconds, None where it does not before the last
    flow begins; `growth` is that of active flows after the second quarter, in percent; `drain` is the mean time from the end of the
    span in which flows begin to the end of the last flow. Flows that begin in the last `cooldown` seconds of the span meet ever
    fewer others while they last; None where there is no stable phase. The shares are of the flows that begin in each phase.
    `active` are mean numbers of active flows at `active_times`. `transient` is the pooled estimate of these trials over that of
    their stable phase, in percent.

    `needed` is the duration in seconds from which the estimand of the metric is within `tolerance` percent of that of the stable
    phase, `trials_needed` how many such trials are as precise as these `trials`; None where these trials do not say, and `reason`
    says why and the remedy. `sentences` say what is small-sample bias and what is not.
    """

    metric: str
    unit: str
    treatment: str
    estimand: Estimand
    what: str
    trials: int
    duration: float
    warmup_end: float | None
    warmup_share: float
    cooldown: float | None
    cooldown_share: float | None
    stable_share: float | None
    growth: st.Ratio | None
    drain: float
    active_times: tuple[float, ...]
    active: tuple[float, ...]
    steps: tuple[DurationStep, ...]
    transient: st.Ratio | None
    tolerance: float
    confidence: float
    needed: float | None
    trials_needed: int | None
    reason: str
    sentences: tuple[str, ...]

    @property
    def subject(self) -> str:
        """The metric, and of which treatment where there are several."""
        return self.metric if self.treatment == "-" else f"{self.metric} of {self.treatment}"


@dataclass(frozen=True, slots=True)
class Estimation:
    """Everything that is estimated from the simulated trials of an experiment.

    `notes` say what is missing or not to be relied on, and why; `remarks` what else is to be known of all estimates. Of an
    overview, as `analyze` prints it, there are no sizes, durations and courses.
    """

    estimates: tuple[MetricEstimate, ...]
    sizes: tuple[SizeBin, ...]
    durations: tuple[DurationAdvice, ...]
    notes: tuple[str, ...]
    courses: tuple[PooledCourse, ...] = ()
    remarks: tuple[str, ...] = ()
