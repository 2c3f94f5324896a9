"""The model of an experiment: frozen records, independent of any file format.

`reading` builds them from an `experiment.toml`; every other stage works only with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from trialwise.experiment.design import Design, Looks, Order
from trialwise.experiment.factors import DrawnFactor, Factor, FixedFactor
from trialwise.experiment.file.sections import Limits, Section, key
from trialwise.experiment.file.values import Extent, Level, Measure, Name
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
    Levels,
    Metric,
    Stop,
    Variability,
)
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.results import Results
from trialwise.experiment.services import Service
from trialwise.experiment.traits import Trial

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
    "ExperimentTable",
    "Extent",
    "Factor",
    "FixedFactor",
    "FreshDirectory",
    "Git",
    "Instrumentation",
    "Kpi",
    "Level",
    "Levels",
    "Looks",
    "Measure",
    "Measurement",
    "Method",
    "Metric",
    "Order",
    "Reset",
    "Service",
    "Stop",
    "Variability",
    "Workers",
]

Method = Literal["default", "paper"]


@dataclass(frozen=True, slots=True)
class ExperimentTable(Section):
    """What the experiment is called, and its seed."""

    name: Name = key(
        ..., "Name of the experiment, used for its directory and in the report.", "tcp-over-12mbit"
    )
    _: KW_ONLY
    seed: Annotated[int, Limits(ge=0, lt=2**63)] = key(
        0, "Every order, draw and trial seed derives from this number.", 7
    )
    description: str = key(
        "",
        "What the experiment is for, in a sentence; stands in the report.",
        "Does the level of compression pay?",
    )


@dataclass(frozen=True, slots=True)
class Experiment(ExperimentTable):
    """One experiment, as its file states it."""

    folder: Path  # pyright: ignore[reportGeneralTypeIssues] the name has no default
    trial: Trial  # pyright: ignore[reportGeneralTypeIssues] the name has no default
    metrics: tuple[Metric, ...]  # pyright: ignore[reportGeneralTypeIssues] the name has no default
    factors: tuple[Factor, ...] = ()
    design: Design = field(default_factory=Design)
    reset: Reset | None = None
    services: tuple[Service, ...] = ()
    workers: Workers = field(default_factory=Workers)
    measurement: Measurement | None = None
    instrumentation: Instrumentation = field(default_factory=Instrumentation)
    results: Results | None = None
    runtime: float | None = None
    warmup: float = 0.0

    @property
    def fixed_factors(self) -> tuple[FixedFactor, ...]:
        """The factors whose levels define the treatments."""
        return tuple(factor for factor in self.factors if isinstance(factor, FixedFactor))

    def includes(self, factors: Mapping[str, Level]) -> bool:
        """Return True if a trial's levels are those of a treatment that is still in the file."""
        return all(
            level_text(factors[factor.name]) in {level_text(level) for level in factor.levels}
            for factor in self.fixed_factors
            if factor.name in factors
        )

    @property
    def service_names(self) -> tuple[str, ...]:
        """The names of the services that run beside the trials."""
        return tuple(service.name for service in self.services)

    @property
    def drawn_factors(self) -> tuple[DrawnFactor, ...]:
        """The factors that are sampled for each round."""
        return tuple(factor for factor in self.factors if isinstance(factor, DrawnFactor))

    def metric(self, name: str) -> Metric:
        """Return the metric called `name`; raise KeyError if there is none."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise KeyError(name)
