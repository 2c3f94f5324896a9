"""Frozen records of estimates from simulated trials, read by report, JSON and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trialwise import statistics as st
from trialwise.arrays import Array
from trialwise.experiment.model import Controls, Estimand


@dataclass(frozen=True, slots=True)
class WeightedTail:
    """Diagnostics of the weights of tilted trials.

    `effective_trials` is the effective sample size of the tail, (Σ W)²/Σ W² over the tail weights W of the trials, `largest_share`
    the largest share of one trial in it, and `mean_likelihood_ratio` the mean over all flows, 1 in expectation. `load_ratio` is the
    load offered by the untilted sizes of the trials over the requested one, which differs from 1 for sizes from a fit; `true_load`
    is that load as a share of the capacity, None if it is sampled per trial. The estimate is of `batches` batches of `batch` trials;
    None if it is of all trials together.
    """

    effective_trials: float
    largest_share: float
    mean_likelihood_ratio: float
    load_ratio: float
    true_load: float | None
    batches: int | None
    batch: int | None


@dataclass(frozen=True, slots=True)
class TimeSlices:
    """Slices of the time of few trials, which are the units of an estimate in place of the trials.

    `count` is their number in all trials, `seconds` the length of one, and flows count that begin from `begin` to `end` (s) of each
    trial. `missed` is the share of the variance that dependence between neighbours hides, which the interval has in it.
    """

    count: int
    seconds: float
    begin: float
    end: float
    missed: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """One estimand of one metric and treatment, in the unit of the metric.

    `what` names the estimand in words. If it cannot be estimated, the numbers are None and `note` gives the remedy; a bound is
    infinite if there are too few samples for it. `design_effect` is the variance over that of as many independent samples, None if
    not meaningful. `confidence` is in percent. `weights` are the diagnostics of tilted trials, else None. `slices` are the units of an
    estimate of few long trials, else None.
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
    slices: TimeSlices | None = None


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """A cheap engine beside the trials, whose flow lists it had too.

    `bias` is the metric by the engine over that of the trials, in percent with its interval: what the engine alone would be wrong by.
    The controlled estimate does not depend on it. `seconds` are those of a flow list, drawn and computed on one processor,
    `trial_seconds` those of a trial, None if unknown. `gain_in_time` is what plain trials of the same precision would take, over what
    these trials and all drawn lists took; below 1, controls cost more than they save.
    """

    engine: str
    bias: st.Ratio
    seconds: float
    trial_seconds: float | None
    gain_in_time: float | None


@dataclass(frozen=True, slots=True)
class LevelShare:
    """A level of an estimate: the trials, or engines whose controls stand in it, from the dearest to the cheapest.

    `variance` is that of the difference to the cheaper levels, in the unit of the metric's estimating equation, `seconds` are those of
    a list with all cheaper levels, and `lists` what the level gets for `trials` of the first one; null where lists cost nothing.
    """

    name: str
    variance: float
    seconds: float
    lists: int | None


@dataclass(frozen=True, slots=True)
class ChosenLevels:
    """Levels that a pilot of `pilot` lists chose (Giles 2008), with its variances and costs.

    `gain` is what plain trials of the same precision would take in time, over what all levels take with their best shares, None if it
    is beyond bounds; `dropped` are engines that would make it smaller.
    """

    levels: tuple[LevelShare, ...]
    gain: float | None
    dropped: tuple[str, ...]
    trials: int
    pilot: int


@dataclass(frozen=True, slots=True)
class ControlledEstimate:
    """The estimand of a metric, with control variates.

    `result` holds both intervals, and which is used. `features` are the controls; their means come from `generated` workloads.
    `engine` is the check of the first engine that one of them is of, None if none is, and `others` are those of further engines.
    `dropped` are controls that do not vary or follow from others. `levels` are those that a pilot chose, None if it was not asked.
    """

    kind: Controls
    features: tuple[str, ...]
    generated: int
    result: st.ControlVariates
    engine: EngineCheck | None = None
    others: tuple[EngineCheck, ...] = ()
    dropped: tuple[str, ...] = ()
    levels: ChosenLevels | None = None

    @property
    def engines(self) -> tuple[EngineCheck, ...]:
        """The checks of all engines."""
        return () if self.engine is None else (self.engine, *self.others)

    @property
    def used(self) -> str:
        """Which of the two intervals to use, and why."""
        if self.result.usable:
            return "controlled"
        if self.result.n < self.result.needed:
            return f"plain, until {self.result.needed} trials"
        return "plain: " + ("the controls gain nothing" if self.result.gain <= 1 else "it is narrower")


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """A metric of one treatment: its own estimand, the other one if both make sense, and control variates.

    `controls_note` says why requested control variates are missing; empty otherwise.
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
    """A pooled estimate from the first `trials` trials; a bound is None or infinite if there are too few samples for it."""

    trials: int
    samples: int
    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class PooledCourse:
    """The course of a pooled metric of one treatment, for which single trials have no meaningful value.

    `steps` are its estimates as trials arrived, each interval at `confidence` (percent) separately. `values` (ascending) and
    `shares` (0 to 1) are the empirical distribution of all samples, at most 200 values of it.
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
    """The results that trials of another duration would give from the same flows: both estimands of one metric.

    `duration` is in seconds. Shorter trials consist of the flows that begin in the first part of each trial; longer ones (`joined`)
    are several trials joined, each with its own start, so that only the number of flows changes. `per_trial` and `pooled` are None
    if there are too few trials. `small_sample` is the first over the second, in percent: the bias of few flows, since both use the
    same flows. `transient` is the pooled estimate over that of the flows of the stable phase, in percent; for longer trials, by the
    share that warm-up and cool-down would have. Both are None if there are too few flows.
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
    """The effect of a trial's duration on one metric of one treatment.

    `warmup_end` is when the number of active flows reaches its stable level, in seconds, None if it does not before the last flow
    begins; `growth` is the growth of active flows after the second quarter, in percent; `drain` is the mean time from the end of the
    span in which flows begin to the end of the last flow. Flows that begin in the last `cooldown` seconds of the span meet ever
    fewer others while they last; None if there is no stable phase. The shares are of the flows that begin in each phase. `active`
    are mean numbers of active flows at `active_times`. `transient` is the pooled estimate of these trials over that of their stable
    phase, in percent.

    `needed` is the duration in seconds from which the estimand of the metric is within `tolerance` percent of its value in the
    stable phase, `trials_needed` the number of such trials as precise as these `trials`; both are None if unknown, and `reason`
    gives the cause and the remedy. `sentences` separate small-sample bias from other bias.
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
        """The metric, and its treatment if there are several."""
        return self.metric if self.treatment == "-" else f"{self.metric} of {self.treatment}"


@dataclass(frozen=True, slots=True)
class Estimation:
    """All estimates from the simulated trials of an experiment.

    `notes` say what is missing or unreliable, and why; `remarks` hold other caveats for all estimates. An overview, as `analyze`
    prints it, has no sizes, durations and courses.
    """

    estimates: tuple[MetricEstimate, ...]
    sizes: tuple[SizeBin, ...]
    durations: tuple[DurationAdvice, ...]
    notes: tuple[str, ...]
    courses: tuple[PooledCourse, ...] = ()
    remarks: tuple[str, ...] = ()
