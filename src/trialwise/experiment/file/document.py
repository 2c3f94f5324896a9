"""The experiment file as a document: its structure and defaults.

These classes check single keys and define the JSON Schema and the reference; checks that involve several keys are in `building`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from trialwise.errors import PlanError
from trialwise.experiment.design import Design
from trialwise.experiment.factors import FactorTable
from trialwise.experiment.file.sections import ByTag, Limits, Section, for_editors, key, schema_of
from trialwise.experiment.file.values import Name
from trialwise.experiment.instruments import Instrumentation, Measurement
from trialwise.experiment.machines import Reset, Workers
from trialwise.experiment.metrics import MetricTable
from trialwise.experiment.model import ExperimentTable
from trialwise.experiment.results import ResultsTable
from trialwise.experiment.services import ServiceTable
from trialwise.experiment.tilts import Tilt, TiltTable
from trialwise.experiment.traits import Trial
from trialwise.experiment.trials import Path, PathSettings, Schemes
from trialwise.kinds import kinds, part

_NAMED = {"additionalProperties": False}
"""The table allows any valid name, and no others."""
_WHOLE = "`trialwise new` writes a whole file to start from"


def trial_tables() -> dict[str, type[Trial]]:
    """Return the table [trial] of each kind by its name, without those that cannot be imported."""
    found: dict[str, type[Trial]] = {}
    for name, place in kinds().items():
        with suppress(PlanError):
            found[name] = part(place)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(Section):
    """A whole experiment file."""

    experiment: ExperimentTable = key(..., missing=f'add [experiment] with name = "…"; {_WHOLE}')
    factors: Annotated[dict[Name, FactorTable], Limits(_NAMED)] = key(
        ..., "What is varied on purpose: factor = [levels], or a draw.", factory=dict[str, FactorTable]
    )
    trial: Annotated[Trial, ByTag("kind", known=lambda: list(trial_tables().values()))] = key(
        ..., missing=f'add [trial] with command = "…"; {_WHOLE}'
    )
    metrics: Annotated[dict[Name, MetricTable], Limits(_NAMED)] = key(
        ...,
        missing=f'add [metrics.NAME] with a source, as in resource = "wall"; {_WHOLE}',
        factory=dict[str, MetricTable],
    )
    results: ResultsTable | None = key(None, kinds=("command",))
    design: Design = key(..., factory=Design)
    reset: Reset | None = key(None, kinds=("command", "python", "path"))
    service: Annotated[dict[Name, ServiceTable], Limits(_NAMED)] = key(
        ...,
        "Programs that run beside the trials, by name.",
        kinds=("command", "python"),
        factory=dict[str, ServiceTable],
    )
    workers: Workers = key(..., factory=Workers)
    measurement: Measurement | None = key(None, kinds=("command", "python"))
    instrumentation: Instrumentation = key(..., kinds=("command", "python"), factory=Instrumentation)
    schemes: Schemes = key(..., kinds=("path",), factory=Schemes)
    paths: Annotated[dict[Name, Path], Limits(_NAMED)] = key(
        ..., "Emulated paths by name, for trial.path.", kinds=("path",), factory=dict[str, PathSettings]
    )
    tilts: Annotated[dict[Name, TiltTable], Limits(_NAMED)] = key(
        ...,
        "Tilted sizes by name, for trial.workload.tilt.",
        kinds=("simulation",),
        factory=dict[str, "Tilt | None"],
    )


@cache
def document_schema() -> dict[str, Any]:
    """Return the JSON Schema of the experiment file."""
    return schema_of(Document)


def experiment_schema() -> dict[str, Any]:
    """Return the schema for editors; `schemas/experiment.json` holds a copy."""
    return for_editors(Document, "experiment")
