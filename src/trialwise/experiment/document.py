"""The experiment file as a document: what may stand where, and its defaults.

These classes check one key each and give the JSON Schema and the reference; what spans several keys is checked in
`building`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from trialwise.experiment.design import Design
from trialwise.experiment.document_metrics import MetricSection
from trialwise.experiment.document_paths import PathSection, SchemesSection
from trialwise.experiment.document_simulation import TiltSection
from trialwise.experiment.document_trial import TrialSection
from trialwise.experiment.document_values import Name, Section
from trialwise.experiment.factors import FactorTable
from trialwise.experiment.instruments import Instrumentation, Measurement
from trialwise.experiment.machines import Reset, Workers


class ExperimentSection(Section):
    """What the experiment is called, and its seed."""

    name: Name = Field(
        description="Name of the experiment, used for its directory and in the report.",
        examples=["tcp-over-12mbit"],
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(
        0, description="Every order, draw and trial seed derives from this number.", examples=[7]
    )
    description: str = Field(
        "",
        description="What the experiment is for, in a sentence; stands in the report.",
        examples=["Does the level of compression pay?"],
    )


class Document(Section):
    """A whole experiment file."""

    experiment: ExperimentSection
    factors: dict[Name, FactorTable] = Field(
        default_factory=dict,
        description="What is varied on purpose: factor = [levels], or a draw.",
        json_schema_extra={"additionalProperties": False},
    )
    trial: TrialSection
    metrics: Annotated[
        dict[Name, MetricSection], Field(min_length=1, json_schema_extra={"additionalProperties": False})
    ]
    design: Design = Field(default_factory=Design)
    reset: Reset | None = None
    workers: Workers = Field(default_factory=Workers)
    measurement: Measurement | None = None
    instrumentation: Instrumentation = Field(default_factory=Instrumentation)
    schemes: SchemesSection = Field(default_factory=lambda: SchemesSection.model_validate({}))
    paths: dict[Name, PathSection] = Field(
        default_factory=dict,
        description="Emulated paths by name, for trial.path.",
        json_schema_extra={"additionalProperties": False},
    )
    tilts: dict[Name, TiltSection] = Field(
        default_factory=dict,
        description="Kind simulation: tilted sizes by name, for trial.workload.tilt.",
        json_schema_extra={"additionalProperties": False},
    )
