"""The experiment file as a document: what may stand where, and its defaults.

These classes check one key each and give the JSON Schema and the reference; what spans several keys is checked in
`building`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

from trialwise.experiment.design import Design
from trialwise.experiment.document_paths import PathSection, SchemesSection
from trialwise.experiment.document_simulation import TiltSection
from trialwise.experiment.document_trial import TrialSection
from trialwise.experiment.factors import FactorTable
from trialwise.experiment.instruments import Instrumentation, Measurement
from trialwise.experiment.machines import Reset, Workers
from trialwise.experiment.metrics import MetricTable
from trialwise.experiment.sections import Key, Limits, Section, Tables, schema_of
from trialwise.experiment.values import Name


@dataclass(frozen=True, slots=True)
class ExperimentSection(Section):
    """What the experiment is called, and its seed."""

    name: Annotated[
        Name, Key("Name of the experiment, used for its directory and in the report.", "tcp-over-12mbit")
    ]
    seed: Annotated[
        int,
        Limits(ge=0, lt=2**63),
        Key("Every order, draw and trial seed derives from this number.", 7),
    ] = 0
    description: Annotated[
        str,
        Key(
            "What the experiment is for, in a sentence; stands in the report.",
            "Does the level of compression pay?",
        ),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(Section):
    """A whole experiment file."""

    experiment: Annotated[ExperimentSection, Key()]
    factors: Annotated[
        dict[Name, FactorTable],
        Tables(),
        Key("What is varied on purpose: factor = [levels], or a draw."),
    ] = field(default_factory=dict[str, FactorTable])
    trial: Annotated[TrialSection, Key()]
    metrics: Annotated[dict[Name, MetricTable], Tables(least=1), Key()]
    design: Annotated[Design, Key()] = field(default_factory=Design)
    reset: Annotated[Reset | None, Key()] = None
    workers: Annotated[Workers, Key()] = field(default_factory=Workers)
    measurement: Annotated[Measurement | None, Key()] = None
    instrumentation: Annotated[Instrumentation, Key()] = field(default_factory=Instrumentation)
    schemes: Annotated[SchemesSection, Key()] = field(
        default_factory=lambda: SchemesSection.model_validate({})
    )
    paths: Annotated[dict[Name, PathSection], Tables(), Key("Emulated paths by name, for trial.path.")] = (
        field(default_factory=dict[str, PathSection])
    )
    tilts: Annotated[
        dict[Name, TiltSection],
        Tables(),
        Key("Kind simulation: tilted sizes by name, for trial.workload.tilt."),
    ] = field(default_factory=dict[str, TiltSection])


@cache
def document_schema() -> dict[str, Any]:
    """The JSON Schema of the experiment file."""
    return schema_of(Document)


def experiment_schema() -> dict[str, Any]:
    """The same for editors; `schemas/experiment.json` holds a copy."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | document_schema() | {"title": "trialwise experiment"}
