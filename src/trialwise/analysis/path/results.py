"""Frozen records of an analysis of an experiment over paths, read by report, JSON and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise.arrays import Array
from trialwise.experiment.model import Level


@dataclass(frozen=True, slots=True)
class PathScheme:
    """A scheme from its file: its display name, and the colour of its marks if the file sets one."""

    name: str
    title: str
    color: str | None = None


@dataclass(frozen=True, slots=True)
class TreatmentPath:
    """The path of one treatment as text: what packets meet each way, its MTU in bytes, the source of its numbers."""

    treatment: str
    uplink: str
    downlink: str
    mtu: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class PathFacts:
    """Known facts about schemes and paths from outside the store."""

    schemes: tuple[PathScheme, ...] = ()
    paths: tuple[TreatmentPath, ...] = ()


# The throughput-delay plane


@dataclass(frozen=True, slots=True)
class PlaneTrial:
    """One trial on the plane; `reason` says why it is invalid, None if it is valid."""

    number: int
    attempt: int
    treatment: str
    series: str
    delay: float
    throughput: float
    reason: str | None


@dataclass(frozen=True, slots=True)
class AxisRange:
    """One side of a region: from `low` to `high`, unbounded if one is None; `confidence` is its own, in percent.

    `point` is the KPI, or the median. `claim` says it in words.
    """

    low: float | None
    high: float | None
    point: float | None
    confidence: float
    claim: str


@dataclass(frozen=True, slots=True)
class PlaneRegion:
    """The region of a treatment on the plane, in one series.

    For kind `kpi` it is the quadrant bounded by the KPIs of both metrics, each at its own confidence; for kind `median` the
    rectangle of two-sided intervals of both medians. `joint` (percent) is the minimum joint confidence: by Bonferroni's inequality
    the error probabilities add up under any dependence. `delay` and `throughput` are None, with a `note`, if there are too few
    trials. The means and medians are of `n` trials.
    """

    treatment: str
    series: str
    kind: Literal["kpi", "median"]
    n: int
    needed: int
    mean_delay: float
    mean_throughput: float
    median_delay: float
    median_throughput: float
    delay: AxisRange | None
    throughput: AxisRange | None
    joint: float | None
    method: str
    descriptive: bool
    note: str | None


@dataclass(frozen=True, slots=True)
class Plane:
    """One throughput-delay plane: the treatments that share the levels in `factors`, which do not define the schemes.

    `names` identify its treatments.
    """

    factors: Mapping[str, Level]
    treatments: tuple[str, ...]
    names: tuple[str, ...]
    trials: tuple[PlaneTrial, ...]
    regions: tuple[PlaneRegion, ...]


@dataclass(frozen=True, slots=True)
class PlaneAxes:
    """The names of the metrics that span the plane."""

    throughput: str
    delay: str


# Flows


@dataclass(frozen=True, slots=True)
class Typical:
    """A quantity over the trials of a treatment: mean, median and the two-sided interval of the median.

    `low` and `high` are None, with a `note`, if there are too few trials.
    """

    n: int
    mean: float | None
    median: float | None
    low: float | None
    high: float | None
    confidence: float
    method: str
    note: str


@dataclass(frozen=True, slots=True)
class ConvergenceTime:
    """Seconds that a flow takes, over the trials of a treatment, to its fair share: the median and its two-sided interval.

    Of `n` trials in which that can be told, it converged in `converged`. The others count as longer than any: a number that would be
    one of theirs is None.
    """

    n: int
    converged: int
    median: float | None
    low: float | None
    high: float | None
    confidence: float
    method: str
    note: str


@dataclass(frozen=True, slots=True)
class FlowResult:
    """One flow of a treatment, or all of them together (`flow` None), in the direction of the data.

    Throughput is in Mbit/s of IP bytes over the flow's own time, delay the 95th percentile of the one-way delay in ms,
    loss in percent of packets. `share` is what the flow got of its fair share (1 is fair), `convergence` how long it took to get that;
    both are None for all flows together, and for a flow that is alone.
    """

    flow: int | None
    scheme: str
    direction: str
    throughput: Typical
    delay: Typical
    loss: Typical
    share: Typical | None = None
    convergence: ConvergenceTime | None = None


@dataclass(frozen=True, slots=True)
class HarmCell:
    """The harm that another flow does to a flow in one of its metrics.

    `alone` and `beside` are the treatments compared (`alone` empty if there is none), `n` and `means` those of their trials in this
    order. `name` are the levels that they share. `harm` is 1 at most; below 0 the flow does better beside the other. Without bounds,
    or a number, `reason` says why. `p_value` is corrected over all verdicts. `than_itself` says whether this harm is more or less than
    that by another flow of the same scheme; empty if that did not run, or is this cell.
    """

    metric: str
    name: str
    other: str
    alone: str
    beside: str
    n: tuple[int, int]
    means: tuple[float | None, float | None]
    harm: float | None
    low: float | None
    high: float | None
    p_value: float | None
    verdict: str
    trials_needed: int | None
    reason: str
    than_itself: str = ""


@dataclass(frozen=True, slots=True)
class Harm:
    """Who harms whom: `factor` names the scheme of `flows`, which are absent at its level none.

    Each interval holds at `confidence` (percent), and so do all `family` verdicts together.
    """

    factor: str
    flows: tuple[int, ...]
    confidence: float
    family: int
    method: str
    cells: tuple[HarmCell, ...]


@dataclass(frozen=True, slots=True)
class EmulatorFacts:
    """The emulator's self-reported figures, the worst of all trials of a treatment; None if it reported nothing.

    Latenesses are in ms: the 99th percentile each way, the largest, and the 99th percentile of the time that packets may
    have waited unseen; `processor` is in percent of a core, `unlogged` counts packets that were lost without a log line.
    """

    lateness_uplink: float | None
    lateness_downlink: float | None
    lateness_largest: float | None
    unseen: float | None
    processor: float | None
    unlogged: float | None


@dataclass(frozen=True, slots=True)
class PathTreatment:
    """The results of one treatment; `trials` counts the valid ones, `fairness` is Jain's index of several flows."""

    treatment: str
    schemes: tuple[str, ...]
    trials: int
    invalid: int
    flows: tuple[FlowResult, ...]
    fairness: Typical | None
    emulator: EmulatorFacts


# Time series and delays


@dataclass(frozen=True, slots=True)
class FlowSeries:
    """One flow of one trial over time, in bins: throughput (Mbit/s), and the delays of arrivals (ms; NaN if there were none)."""

    flow: int
    scheme: str
    direction: str
    throughput: Array
    delay_low: Array
    delay_median: Array
    delay_high: Array


@dataclass(frozen=True, slots=True)
class PathSeries:
    """One trial over time: each bin begins at one of `times` (seconds) and is `bin` seconds wide."""

    number: int
    attempt: int
    treatment: str
    series: str
    reason: str | None
    bin: float
    times: Array
    flows: tuple[FlowSeries, ...]


@dataclass(frozen=True, slots=True)
class TrialDelays:
    """The one-way delays (ms) of a trial at some shares (0 to 1) of its packets."""

    number: int
    attempt: int
    shares: Array
    delays: Array


@dataclass(frozen=True, slots=True)
class DelayDistribution:
    """The one-way delays (ms) of all packets of a treatment's trials, pooled for display, and of each trial separately."""

    treatment: str
    packets: int
    shares: Array
    delays: Array
    trials: tuple[TrialDelays, ...]


@dataclass(frozen=True, slots=True)
class PathAnalysis:
    """Results from the packets and the emulator in addition to the metrics.

    `axes` is None, with the reason in `notes`, if the metrics do not span a plane. `lateness` (ms) is the limit above which a trial
    is invalid. `flows` is 0 if other tools recorded the trials without it. `series` holds the most relevant trials first: the first
    of each treatment, then invalid ones, then others; `recorded` is their total number.
    """

    runtime: float
    flows: int
    lateness: float
    schemes: tuple[PathScheme, ...]
    paths: tuple[TreatmentPath, ...]
    axes: PlaneAxes | None
    planes: tuple[Plane, ...]
    treatments: tuple[PathTreatment, ...]
    distributions: tuple[DelayDistribution, ...]
    series: tuple[PathSeries, ...]
    recorded: int
    notes: tuple[str, ...]
    harm: Harm | None = None
    """None, with the reason in `notes`, unless a factor says which flow runs beside another."""
