"""The experiment file as a document: what may stand where, and its defaults.

These classes check one key each and give the JSON Schema; what spans several keys is checked in `reading`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from trialwise.experiment.quantity import seconds


def _duration(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError('a duration is a text such as "10s" or a number of seconds')  # noqa: TRY004 pydantic reads ValueError
    return seconds(value)


Duration = Annotated[
    float,
    BeforeValidator(_duration, json_schema_input_type=str | float),
    Field(description='A duration: "10s", "500ms", "1h 30min", or a number of seconds.'),
]
Percent = Annotated[float, Field(gt=0, lt=100)]
Level = str | int | float | bool
Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.\-]*$", max_length=128)]


class Section(BaseModel):
    """A table of the file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ExperimentSection(Section):
    """What the experiment is called, and its seed."""

    name: Name = Field(description="Name of the experiment, used for its directory and in the report.")
    seed: int = Field(
        0, ge=0, lt=2**63, description="Every order, draw and trial seed derives from this number."
    )
    description: str = Field(
        "", description="What the experiment is for, in a sentence; stands in the report."
    )


class Range(Section):
    """A range that a value is drawn from, uniformly."""

    low: float | int
    high: float | int
    scale: Literal["linear", "log"] = "linear"


class Draw(Section):
    """A factor drawn at random for each round."""

    draw: str | list[Level] | Range = Field(
        description="A file with one value on each line, a list, or a range { low, high }."
    )


class ConvergenceSection(Section):
    """When the metric counts as steady within a trial."""

    expected: bool = Field(True, description="Whether a trial is expected to converge.")
    confidence: Percent = Field(95.0, description="Confidence of the convergence test, percent.")
    tolerance: Percent = Field(5.0, description="Tolerance of the convergence test, percent.")


class KpiSection(Section):
    """A bound, at a confidence, on a percentile of the metric over a series."""

    percentile: Percent = 50.0
    confidence: Percent = 95.0
    bound: Literal["lower", "upper"] | None = Field(
        None,
        description="Default: the percentile's own side; at 50, lower where higher is better, else upper.",
    )


class VariabilitySection(Section):
    """The percentile range of KPIs over all series, at a confidence."""

    percentile: Percent = 50.0
    confidence: Percent = 75.0


class MetricSection(Section):
    """One number for one trial: where it comes from, how it is reduced, and what is claimed about it."""

    resource: Literal["wall", "user", "system", "max_rss"] | None = Field(
        None, description="What the operating system counted: seconds, or bytes for max_rss."
    )
    stdout: str | None = Field(
        None, description="Regular expression with one group, searched in standard output."
    )
    file: str | None = Field(None, description="File that the trial writes, read with json, csv or pattern.")
    json_: str | None = Field(
        None,
        alias="json",
        description='JSON pointer ("" or "/a/b"), into the file or standard output; JSON lines give samples.',
    )
    csv: str | None = Field(
        None, description="Column of a CSV file (or of standard output) whose rows are the samples."
    )
    pattern: str | None = Field(None, description="Regular expression with one group, searched in the file.")
    time: str | None = Field(
        None, description="Column (csv) or key (JSON lines) with the time of each sample, seconds."
    )
    value: str | None = Field(
        None, description="Kind python: the entry of the returned mapping; default the metric's name."
    )
    measure: (
        Literal["mean", "median", "min", "max"]
        | Percent
        | Annotated[str, Field(pattern=r"^[pP]\d{1,2}(\.\d+)?$")]
    ) = Field(
        "mean",
        description='What reduces the samples of a trial: mean, median, min, max, or a percentile (95 or "p95").',
    )
    unit: str = ""
    better: Literal["higher", "lower"] | None = Field(None, description="Which direction is better.")
    convergence: ConvergenceSection | bool | None = None
    kpi: KpiSection | list[KpiSection] | None = None
    variability: VariabilitySection | None = None
    limits: Annotated[list[float | int], Field(min_length=2, max_length=2)] | None = Field(
        None, description="Expected extreme values [low, high], used for scaling."
    )


class TrialSection(Section):
    """One execution of one treatment. Any text may use {factor}."""

    kind: Literal["command", "python"] = "command"
    command: str | list[str] | None = Field(
        None, description="Command line, split as a shell would; then placeholders are filled."
    )
    call: str | None = Field(
        None, description="Kind python: module:function, called with the factors as keywords."
    )
    environment: dict[str, str] = Field(default_factory=dict)
    directory: str = Field(".", description="Working directory, relative to the experiment file.")
    prepare: str | list[str] | None = Field(
        None, description="Command run before each trial, outside of what is measured."
    )
    conclude: str | list[str] | None = Field(
        None, description="Command run after each trial, outside of what is measured."
    )
    timeout: Duration | None = Field(None, description="A trial that takes longer is ended and failed.")
    exit_codes: list[int] = Field(
        default_factory=lambda: [0], min_length=1, description="Exit codes that mean success."
    )
    output_limit: int = Field(
        64 * 1024 * 1024, ge=1, description="Bytes of standard output kept; a trial that prints more fails."
    )
    leftovers: Literal["fail", "end"] = Field(
        "fail",
        description="What to do about processes that the program leaves running: fail the trial, or only end them.",
    )
    runtime: Duration | None = Field(
        None, description="How long a trial takes, as far as you know; used for planning."
    )
    warmup: Duration = Field(0.0, description="Start of each trial that is cut from samples that have times.")


class DesignSection(Section):
    """How many trials, in what order, and when."""

    order: Literal["random", "fixed"] = "random"
    series: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    rounds: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    span: Duration | None = Field(
        None, description="Time over which the rounds of a series are spread at random."
    )
    robustness: int = Field(0, ge=0, description="Extreme values that an interval must be able to leave out.")
    warmup_trials: int = Field(
        0, ge=0, description="Trials of each treatment run and not counted, before each series."
    )


class ResetSection(Section):
    """What puts the machine back into a known state."""

    command: str | list[str]
    every: Literal["round", "trial"] = "round"
    timeout: Duration = 600.0
    settle: Duration = 0.0


class Document(Section):
    """A whole experiment file."""

    experiment: ExperimentSection
    factors: dict[Name, Annotated[list[Level], Field(min_length=1)] | Draw] = Field(default_factory=dict)
    trial: TrialSection
    metrics: Annotated[dict[Name, MetricSection], Field(min_length=1)]
    design: DesignSection = Field(default_factory=lambda: DesignSection.model_validate({}))
    reset: ResetSection | None = None
