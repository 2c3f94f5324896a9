"""What an experiment is: frozen records, free of any file format.

`reading` builds them from an `experiment.toml`; every other stage works on them alone.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from trialwise.experiment.simulation import SimulationTrial
from trialwise.experiment.sources import Source
from trialwise.experiment.trials import PathTrial, PythonTrial, Trial
from trialwise.rules import RuleName

Level = str | int | float | bool
"""One value of a factor."""

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
Looks = RuleName
"""The stopping rules."""
Order = Literal["random", "fixed", "fixed+random", "balanced"]
Method = Literal["default", "paper"]


@dataclass(frozen=True, slots=True)
class FixedFactor:
    """A factor whose levels are all run: the treatments are the combinations of such levels."""

    name: str
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class DrawnFactor:
    """A factor whose value is drawn at random, with replacement, for each round (TriScale, section 5.3).

    A claim then extends to the population that the values are drawn from. Either `values` is that population,
    or `low` and `high` bound it.
    """

    name: str
    values: tuple[Level, ...] = ()
    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    logarithmic: bool = False
    origin: str = ""


Factor = FixedFactor | DrawnFactor


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
class Reset:
    """What puts the machine back into a known state before every round, trial or series.

    `directory` is emptied, then filled from `template`; `check` must succeed afterwards. `timeout` and `settle` are in
    seconds, and the time to settle comes after the check.
    """

    command: tuple[str, ...] | None = None
    every: Literal["round", "trial", "series"] = "round"
    timeout: float = 600.0
    settle: float = 0.0
    service: str | None = None
    directory: str | None = None
    template: str | None = None
    drop_caches: bool = False
    reboot: bool = False
    check: tuple[str, ...] | None = None
    namespace: bool = False

    @property
    def text(self) -> str:
        """What is done, in a line for people."""
        parts = [
            f"fresh directory {self.directory}" if self.directory else "",
            f"restart of {self.service}" if self.service else "",
            "fresh namespace" if self.namespace else "",
            shlex.join(self.command or ()),
            "dropped caches" if self.drop_caches else "",
            "reboot" if self.reboot else "",
        ]
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Instrumentation:
    """What is recorded of every trial beside its metrics, and the CPUs that its program is pinned to.

    `perf` holds names of the kernel's counters, `resources` switches on those of the program, and `interrupts` those of
    the machine; see `instruments`.
    """

    perf: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    resources: bool = False
    interrupts: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """The collector beside each trial: its address, and the file that says which points become which streams.

    After the program it waits `patience` seconds for the last rows. With `losses` a trial fails where anything was lost.
    """

    config: str | None = None
    listen: str = "127.0.0.1"
    patience: float = 5.0
    losses: Literal["fail", "allow"] = "fail"


@dataclass(frozen=True, slots=True)
class Workers:
    """The machines that trials run on, and how those that ssh reaches are made ready. Times are in seconds.

    `use` names them, unless the command `allocate` does. `files` and `exclude` are patterns of what is sent, below the
    experiment's folder; `git` (a repository and a commit) is cloned instead. `setup` runs once for what was sent.
    """

    use: tuple[str, ...] = ("local",)
    files: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    git: tuple[str, str] | None = None
    setup: tuple[str, ...] | None = None
    setup_timeout: float = 3600.0
    allocate: tuple[str, ...] | None = None
    release: tuple[str, ...] | None = None
    python: str = "python3"
    folder: str = "~/.trialwise"
    reconnect: float = 600.0
    heartbeat: float = 30.0


@dataclass(frozen=True, slots=True)
class Design:
    """How many trials, in what order, and when (the four parameters of the experiment in TriScale's Table 2).

    `series` and `rounds` are None where the objectives decide; `span` is the length of a series in seconds, None
    for back to back. With `stop` at verdict, or a metric that says when it is known well enough, the experiment ends before
    `max_trials` of each treatment; `looks` says how that is found without harm to the intervals, and `pilot` is the number of
    trials of each treatment that the forecast is made from. `budget` is in seconds. Comparisons are those of each treatment
    with its like at `base`, a factor and its level; None: of all pairs. The factors `unseen` are known to nobody but the records: what
    runs is not told their levels.
    """

    order: Order = "random"
    series: int | None = None
    rounds: int | None = None
    span: float | None = None
    robustness: int = 0
    warmup_trials: int = 0
    stop: Literal["plan", "verdict"] = "plan"
    looks: Looks = "two-stage"
    pilot: int = 20
    max_trials: int = 1000
    budget: float | None = None
    base: tuple[str, Level] | None = None
    unseen: tuple[str, ...] = ()


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
