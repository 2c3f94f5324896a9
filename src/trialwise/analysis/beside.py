"""Analyses that a kind of trials adds to those of the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialwise.analysis.observations import StoreObservations
from trialwise.analysis.results import MetricAnalysis
from trialwise.experiment.model import Experiment, Method
from trialwise.kinds import part
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Input of such an analysis.

    Attributes
    ----------
    store, metrics, treatments
        The source of the metrics, their analysis, and the treatments in the order of the file.
    facts
        Facts from outside the directory (`Trial.knows`); None if none were collected.
    all_trials
        Show every trial over time, not only the first ones.
    """

    experiment: Experiment
    directory: ExperimentDirectory
    ledger: Ledger
    store: StoreObservations
    metrics: Sequence[MetricAnalysis]
    treatments: Sequence[str]
    method: Method
    facts: object = None
    all_trials: bool = False


def analysed_beside(given: Surroundings) -> Mapping[str, object]:
    """Return records by their keys in the analysis JSON; empty if the kind adds none."""
    analyses = given.experiment.trial.analyses
    return part(analyses)(given) if analyses else {}
