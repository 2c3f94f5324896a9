"""What is estimated from simulated trials: frozen records, which report, JSON and tests read alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise import statistics as st
from trialwise.experiment.model import Estimand

Controls = Literal["none", "workload", "fluid"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """One estimand of one metric and treatment, in the unit of the metric.

    `what` names the estimand in words. Where it cannot be had, the numbers are None and `note` says what would lift that; a bound
    is infinite where there are too few samples for it. `design_effect` is the variance over that of as many independent samples,
    None where that says nothing. `confidence` is in percent.
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


@dataclass(frozen=True, slots=True)
class ControlledEstimate:
    """The estimand of a metric with control variates beside it.

    `result` holds both intervals, and which is used. `features` are the controls; their means come from `generated` workloads.
    """

    kind: Controls
    features: tuple[str, ...]
    generated: int
    result: st.ControlVariates


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
class SizeBin:
    """Slowdown of the flows of one treatment of at least `low` and at most `high` bytes: pooled quantiles by percentile."""

    treatment: str
    low: int
    high: int
    flows: int
    quantiles: Mapping[str, st.PooledEstimate]


@dataclass(frozen=True, slots=True)
class DurationStep:
    """What trials of another duration would give, of the same flows: both estimands of one quantile.

    `duration` is in seconds. Shorter trials are the flows that begin in the first part of each trial; longer ones (`joined`) are
    several trials put together, which have no start but the one that each has by itself, so that only the number of flows
    changes. `per_trial` and `pooled` are None where there are too few trials.
    """

    duration: float
    joined: bool
    trials: int
    flows_per_trial: float
    per_trial: Estimate | None
    pooled: Estimate | None


@dataclass(frozen=True, slots=True)
class DurationAdvice:
    """How the duration of a trial bears on one quantile of one treatment.

    `warmup_end` is when the number of active flows reaches its stable level, in seconds, None where it does not before the last
    flow begins; `warmup_share` is the part of all flows that begin before. `active` are mean numbers of active flows at
    `active_times`. `sentences` say what is small-sample bias and what is not.
    """

    metric: str
    unit: str
    treatment: str
    duration: float
    warmup_end: float | None
    warmup_share: float
    drain: float
    active_times: tuple[float, ...]
    active: tuple[float, ...]
    steps: tuple[DurationStep, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Estimation:
    """Everything that is estimated from the simulated trials of an experiment; `notes` say what is missing and why."""

    estimates: tuple[MetricEstimate, ...]
    sizes: tuple[SizeBin, ...]
    durations: tuple[DurationAdvice, ...]
    notes: tuple[str, ...]
