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
from trialwise.experiment.metrics import (
    Better,
    Bound,
    Controls,
    Convention,
    Convergence,
    Estimand,
    Kpi,
    Metric,
    Stop,
    Variability,
)
from trialwise.experiment.simulation import SimulationTrial
from trialwise.experiment.trials import PathTrial, PythonTrial, Trial
from trialwise.experiment.values import Extent, Level, Measure

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

Method = Literal["default", "paper"]


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
