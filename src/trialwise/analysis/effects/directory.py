"""Trials and samples of an experiment directory, with the order of levels and the base given in the experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trialwise.analysis.effects.table import SampleSeries
from trialwise.analysis.observations import StoreObservations
from trialwise.analysis.trial_set import TrialSet, chosen_metrics, read_trial_set
from trialwise.experiment.model import Experiment
from trialwise.experiment.placeholders import level_text
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger


@dataclass(frozen=True, slots=True)
class EffectsInput:
    """Input of an analysis of effects; `series` only if the samples inside trials were requested."""

    trials: TrialSet
    orders: Mapping[str, Sequence[str]]
    """The levels of each factor in display order."""
    base: Mapping[str, str]
    series: tuple[SampleSeries, ...]


def read_effects_directory(
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    wanted: Sequence[str],
    *,
    samples: bool,
) -> EffectsInput:
    """Read the finished trials of some or all metrics, and with `samples` all samples of each.

    Raises
    ------
    AnalysisError
        A metric is not in the experiment, or no trial has a value.
    """
    trials = read_trial_set(experiment, directory, ledger, wanted)
    store = StoreObservations(experiment, directory, ledger) if samples else None
    base = experiment.design.base
    return EffectsInput(
        trials=trials,
        orders={factor.name: tuple(map(level_text, factor.levels)) for factor in experiment.fixed_factors},
        base={} if base is None else {base[0]: level_text(base[1])},
        series=tuple(_series(experiment, store, wanted, ledger.fact("identity"))) if store else (),
    )


def _series(
    experiment: Experiment, store: StoreObservations, wanted: Sequence[str], origin: str
) -> Iterator[SampleSeries]:
    for metric in chosen_metrics(experiment, wanted):
        for one in store.of(metric):
            values = one.values[np.isfinite(one.values)]
            if values.size:
                yield SampleSeries(metric.name, one.treatment, f"{origin}/{one.number}", values)
