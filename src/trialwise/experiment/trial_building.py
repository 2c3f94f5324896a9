"""The trial of a checked document, by its kind, and keys that go with other kinds."""

from __future__ import annotations

import json
from collections.abc import Iterator

from trialwise.experiment import document as doc
from trialwise.experiment import trials
from trialwise.experiment.metrics import MetricTable
from trialwise.experiment.path_building import path_trial
from trialwise.experiment.positions import Key
from trialwise.experiment.problems import Problems, either
from trialwise.experiment.sections import keys_of, made_of
from trialwise.experiment.simulation import SimulationTable
from trialwise.experiment.simulation_building import simulation_trial


def build_trial(document: doc.Document, problems: Problems) -> trials.Trial:
    """The trial as the record of its kind; keys that go with another kind are noted."""
    for key, kinds in _keys_of_kinds(document):
        if problems.given(key) and document.trial.kind not in kinds:
            problems.add(key, f"goes with kind = {either(json.dumps(kind) for kind in kinds)}")
    match document.trial:
        case trials.PathTrialTable():
            return path_trial(document.trial, document, problems)
        case SimulationTable():
            return simulation_trial(document.trial, document, problems)
        case trials.PythonTable():
            return made_of(trials.PythonTrial, document.trial)
        case trials.CommandTable():
            return made_of(trials.CommandTrial, document.trial)


def _keys_of_kinds(document: doc.Document) -> Iterator[tuple[Key, tuple[str, ...]]]:
    """The keys of sections and metrics that do not go with every kind, and the kinds that they go with."""
    places: tuple[tuple[Key, type], ...] = (
        ((), doc.Document),
        *((("metrics", name), MetricTable) for name in document.metrics),
    )
    for place, table in places:
        for field in keys_of(table).values():
            if field.key.kinds:
                yield (*place, field.name), field.key.kinds
