"""Frozen records of an analysis, read by report, JSON and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trialwise import statistics as st
from trialwise.analysis.changes import Change
from trialwise.analysis.context import PlanSummary, Population, SessionFacts
from trialwise.analysis.distributions import Distribution
from trialwise.analysis.estimation.results import Estimation
from trialwise.analysis.exclusions import ChangedAnswer
from trialwise.analysis.path.results import PathAnalysis
from trialwise.analysis.traces import TrialTrace
from trialwise.analysis.treatment_means import TreatmentMean
from trialwise.analysis.trial_columns import Trials
from trialwise.experiment.model import Kpi, Method, Metric, Variability
from trialwise.store.records import Head


@dataclass(frozen=True, slots=True)
class SeriesKpi:
    """One KPI of one treatment in one series. `descriptive` if a test failed: shown, but not to be generalised."""

    objective: Kpi
    treatment: str
    series: str
    n: int
    result: st.Kpi | None
    descriptive: bool
    note: str | None


@dataclass(frozen=True, slots=True)
class SeriesVariability:
    """The variability score of one KPI of one treatment over all series; `kpi` is None if the values are finished KPIs."""

    objective: Variability
    kpi: Kpi | None
    treatment: str
    n: int
    result: st.Variability | None
    descriptive: bool
    note: str | None


@dataclass(frozen=True, slots=True)
class SeriesIndependence:
    """The independence test of one treatment's metrics in one series, in time order."""

    treatment: str
    series: str
    n: int
    result: st.Independence | None
    note: str | None


@dataclass(frozen=True, slots=True)
class MetricAnalysis:
    """Everything about one metric."""

    metric: Metric
    trials: Trials
    independence: tuple[SeriesIndependence, ...]
    kpis: tuple[SeriesKpi, ...]
    variability: tuple[SeriesVariability, ...]
    distributions: tuple[Distribution, ...] = ()
    traces: tuple[TrialTrace, ...] = ()
    means: tuple[TreatmentMean, ...] = ()
    """Of a metric without KPIs: what is measured, though nothing is claimed."""


@dataclass(frozen=True, slots=True)
class TrialFailure:
    """A trial that did not finish: kept, counted and shown."""

    number: int
    attempt: int
    treatment: str
    series: str
    round: int
    status: str
    exit_code: int | None
    reason: str | None
    log: str | None
    tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """The results of an experiment on three timescales: trials, series, and all series together."""

    name: str
    description: str
    method: Method
    seed: int | None
    treatments: tuple[str, ...]
    series: tuple[str, ...]
    planned: int
    counts: Mapping[str, int]
    metrics: tuple[MetricAnalysis, ...]
    failures: tuple[TrialFailure, ...]
    notes: tuple[str, ...]
    boots: tuple[str, ...]
    plan: PlanSummary | None = None
    populations: tuple[Population, ...] = ()
    sessions: tuple[SessionFacts, ...] = ()
    path: PathAnalysis | None = None
    estimation: Estimation | None = None
    exclusions: tuple[ChangedAnswer, ...] = ()
    """Answers that rest on other trials where those that somebody left out count."""
    changes: tuple[Change, ...] = ()
    """What was changed after the experiment had begun, and trials that were tried again."""
    chain: Head | None = None
    """The head of the ledger's chain."""
    further: Mapping[str, object] = field(default_factory=dict[str, object])
    """Records that a kind from another package adds, by their keys in the JSON document."""
