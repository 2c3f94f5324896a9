"""What an experiment is: frozen records, free of any file format.

`reading` builds them from an `experiment.toml`; every other stage works on them alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from trialwise.experiment.design import Design, Looks, Order
from trialwise.experiment.factors import DrawnFactor, Factor, FixedFactor
from trialwise.experiment.instruments import Instrumentation, Measurement
from trialwise.experiment.machines import FreshDirectory, Git, Reset, Workers
from trialwise.experiment.simulation import SimulationTrial
from trialwise.experiment.sources import Source
from trialwise.experiment.trials import PathTrial, PythonTrial, Trial
from trialwise.experiment.values import Level

__all__ = [
    "Better",
    "Bound",
    "Controls",
    "Convention",
    "Convergence",
    "Design",
    "DrawnFactor",
    "Estimand",
    "Experiment",
    "Extent",
    "Factor",
    "FixedFactor",
    "FreshDirectory",
    "Git",
    "Instrumentation",
    "Kpi",
    "Level",
    "Looks",
    "Measure",
    "Measurement",
    "Method",
    "Metric",
    "Order",
    "Reset",
    "Stop",
    "Variability",
    "Workers",
]

Measure = Literal["mean", "median", "min", "max"] | float
"""What turns the samples of a trial into its metric; a number is a percentile."""

Estimand = Literal["per_trial", "pooled", "model_based"]
"""What a metric's value over several trials estimates: the mean over trials of one number for each, or the measure of all samples;
model_based is the latter by CCEval's batches of tilted trials."""
Convention = Literal["nearest_rank", "linear"]
"""Which sample a percentile is: that of rank ⌈pN⌉ (type 1 of Hyndman and Fan 1996), or between two of them (type 7)."""

Better = Literal["higher", "lower"]
Bound = Literal["lower", "upper"]
Controls = Literal["none", "workload", "fluid"]
"""Control variates of a simulated trial: what is known of its flow list, and the same metric by a fluid model of these flows."""
Method = Literal["default", "paper"]


@dataclass(frozen=True, slots=True)
class Convergence:
    """When a metric counts as steady within a trial: confidence and tolerance in percent (TriScale, section 4.1)."""

    confidence: float = 95.0
    tolerance: float = 5.0


@dataclass(frozen=True, slots=True)
class Extent:
    """A width or a difference: in the metric's unit, or, where it is relative, in percent of what it is taken around."""

    value: float
    relative: bool


@dataclass(frozen=True, slots=True)
class Stop:
    """When an interval is narrow enough: its half-width at `confidence` percent is at most `precision`.

    `of` says of what over the trials: the mean, or a percentile. A pooled metric has but one value, whose interval is meant.
    `controls` are the control variates of simulated trials whose interval is looked at.
    """

    precision: Extent
    confidence: float = 95.0
    of: Literal["mean"] | float = 50.0
    controls: Controls = "none"


@dataclass(frozen=True, slots=True)
class Kpi:
    """A bound, at a confidence, on a percentile of the metric over a series (TriScale, section 4.2)."""

    percentile: float
    confidence: float
    bound: Bound
    stop: Stop | None = None


@dataclass(frozen=True, slots=True)
class Variability:
    """How far KPIs move from series to series: a percentile range at a confidence (TriScale, section 4.3)."""

    percentile: float
    confidence: float
    stop: Stop | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """One number for one trial, and what is to be claimed about it (the eight parameters of TriScale's Table 2).

    `margin` is the difference between treatments that would matter; `stop` ends the experiment when the metric is known well
    enough. `few_samples` says what becomes of a percentile of each trial which hardly any samples of a trial lie beyond.
    """

    name: str
    source: Source
    measure: Measure = "mean"
    unit: str = ""
    better: Better | None = None
    convergence: Convergence | None = None
    kpis: tuple[Kpi, ...] = ()
    variability: Variability | None = None
    limits: tuple[float, float] | None = None
    margin: Extent | None = None
    stop: Stop | None = None
    estimand: Estimand = "per_trial"
    convention: Convention = "linear"
    few_samples: Literal["refuse", "allow"] = "refuse"

    @property
    def percentile(self) -> float | None:
        """The percentile that reduces the samples; None for other measures."""
        if isinstance(self.measure, str):
            return 50.0 if self.measure == "median" else None
        return self.measure


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment, as its file states it."""

    name: str
    folder: Path
    trial: Trial
    metrics: tuple[Metric, ...]
    seed: int = 0
    description: str = ""
    factors: tuple[Factor, ...] = ()
    design: Design = field(default_factory=Design)
    reset: Reset | None = None
    workers: Workers = field(default_factory=Workers)
    measurement: Measurement | None = None
    instrumentation: Instrumentation = field(default_factory=Instrumentation)
    runtime: float | None = None
    warmup: float = 0.0

    @property
    def fixed_factors(self) -> tuple[FixedFactor, ...]:
        """The factors whose levels make the treatments."""
        return tuple(factor for factor in self.factors if isinstance(factor, FixedFactor))

    @property
    def shares_processes(self) -> bool:
        """Whether the trials of a treatment share one process in each series."""
        return isinstance(self.trial, PythonTrial) and self.trial.process == "shared"

    @property
    def is_simulated(self) -> bool:
        """Whether trials are computed: how long that takes has nothing to do with the time that they simulate."""
        trial = self.trial
        over_path = isinstance(trial, PathTrial) and trial.engine == "simulated"
        return over_path or isinstance(trial, SimulationTrial)

    @property
    def drawn_factors(self) -> tuple[DrawnFactor, ...]:
        """The factors that are drawn for each round."""
        return tuple(factor for factor in self.factors if isinstance(factor, DrawnFactor))

    def metric(self, name: str) -> Metric:
        """The metric called `name`; KeyError where there is none."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise KeyError(name)
