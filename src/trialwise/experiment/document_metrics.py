"""Metrics in the experiment file: sources, and what is claimed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from trialwise.experiment.document_values import (
    BY_SHAPE,
    Count,
    Extent,
    Measure,
    Percent,
    PositiveDuration,
    Section,
    Text,
)
from trialwise.experiment.words import POINTER_PATTERN, STREAM_FIELD_PATTERN


class ConvergenceSection(Section):
    """When the metric counts as steady within a trial."""

    expected: bool = Field(True, description="Whether a trial is expected to converge.", examples=[False])
    confidence: Percent = Field(
        95.0, description="Confidence of the convergence test, percent.", examples=[90]
    )
    tolerance: Percent = Field(5.0, description="Tolerance of the convergence test, percent.", examples=[10])


class PrecisionSection(Section):
    """When an interval is narrow enough for the experiment to end."""

    precision: Extent = Field(
        description="The half-width that is asked for: in percent of the value, or in the metric's unit.",
        examples=["3%", 0.5],
    )
    confidence: Percent = Field(95.0, description="Confidence of the interval, percent.", examples=[90])


class StopSection(PrecisionSection):
    """When a metric is known well enough for the experiment to end."""

    of: Literal["median", "mean"] | Percent | None = Field(
        None,
        description="What of the trials of a treatment is to be known: the median, the mean, or a percentile. Default: the median, of "
        "kind simulation the mean. A pooled metric has one value for all trials, and takes none.",
        examples=["mean", 90],
    )
    controls: Literal["none", "workload", "fluid"] = Field(
        "none",
        description="Control variates of simulated trials: workload (number of flows, their bytes, the largest), or fluid (these and "
        "the metric of a fluid model of the same flows). From 200 trials on, or a tenth of the forecast if that is less, the interval "
        "with them says when to stop.",
        examples=["fluid"],
    )


class KpiSection(Section):
    """A bound, at a confidence, on a percentile of the metric over a series."""

    percentile: Percent = Field(50.0, description="The percentile that is bounded.", examples=[95])
    confidence: Percent = Field(95.0, description="Confidence of the bound, percent.", examples=[75])
    bound: Literal["lower", "upper"] | None = Field(
        None,
        description="Default: the percentile's own side, upper above 50 and lower below; "
        "at 50, lower where higher is better, else upper.",
        examples=["lower"],
    )
    stop: PrecisionSection | None = Field(
        None,
        description="Run until the interval of that percentile is narrow enough.",
        examples=[{"precision": "3%"}],
    )


class VariabilitySection(Section):
    """The percentile range of KPIs over all series, at a confidence."""

    percentile: Percent = Field(
        50.0, description="The percentile of the KPIs; 25 and 75 mean the same.", examples=[75]
    )
    confidence: Percent = Field(75.0, description="Confidence of the range, percent.", examples=[90])
    stop: PrecisionSection | None = Field(
        None,
        description="Run series until the range is narrow enough.",
        examples=[{"precision": "10%"}],
    )


class MetricSection(Section):
    """One number for one trial: where it comes from, how it is reduced, and what is claimed about it."""

    resource: Literal["wall", "user", "system", "max_rss"] | None = Field(
        None,
        description="What the operating system counted: seconds, or bytes for max_rss.",
        examples=["wall"],
    )
    stdout: Text | None = Field(
        None,
        description="Regular expression with one group, searched in standard output.",
        examples=["([0-9.]+) Mbit/s"],
    )
    file: Text | None = Field(
        None,
        description="File that the trial writes, read with json, csv or pattern.",
        examples=["{directory}/out.csv"],
    )
    json_: Annotated[str, Field(pattern=POINTER_PATTERN)] | None = Field(
        None,
        alias="json",
        description='JSON pointer ("" or "/a/b"), into the file or standard output; JSON lines give samples.',
        examples=["/end/sum/bits_per_second"],
    )
    csv: Text | None = Field(
        None,
        description="Column of a CSV file (or of standard output) whose rows are the samples.",
        examples=["delay"],
    )
    pattern: Text | None = Field(
        None,
        description="Regular expression with one group, searched in the file.",
        examples=["took ([0-9.]+) s"],
    )
    time: Text | None = Field(
        None,
        description="Column (csv) or key (JSON lines) with the time of each sample, seconds.",
        examples=["time"],
    )
    instrument: Text | None = Field(
        None,
        description="What [instrumentation] recorded under this name.",
        examples=["instructions", "machine_steal"],
    )
    source: Annotated[str, Field(pattern=STREAM_FIELD_PATTERN)] | None = Field(
        None,
        description="Field of a measurement stream that the programs of the trial send, as stream.field.",
        examples=["iperf_transfer.size"],
    )
    value: Text | None = Field(
        None,
        description="Kind python: the entry of the returned mapping; default the metric's name.",
        examples=["seconds"],
    )
    quantity: str | None = Field(
        None,
        description="Kinds path and simulation: what the packets are asked for; default the metric's name.",
        examples=["throughput"],
    )
    flow: Count | None = Field(
        None,
        description="Kind path: the number of the flow, from 1; default all flows together.",
        examples=[2],
    )
    bin: PositiveDuration | None = Field(
        None,
        description='Kind path: the width of what a time series is made of; default "100ms".',
        examples=["500ms"],
    )
    sizes: Text | None = Field(
        None,
        description="Kind simulation: only flows of this class of sizes, from the first end to below the second.",
        examples=["0B..100kB", "1MB.."],
    )
    phase: Literal["stable", "all"] | None = Field(
        None,
        description="Kind simulation: flows that start between warmup and cooldown, or all; default stable.",
        examples=["all"],
    )
    measure: Measure = Field(
        "mean",
        description='What reduces the samples of a trial: mean, median, min, max, or a percentile (95 or "p95").',
        examples=["p95"],
    )
    estimand: Literal["per_trial", "pooled", "model_based"] | None = Field(
        None,
        description="What is estimated over several trials: per_trial, the mean over trials of each one's measure, or pooled, the "
        "measure of all samples of all trials; of tilted simulated trials also model_based, CCEval's mean of the quantiles of batches "
        "of 40 trials. Default: pooled for the mean or a percentile of flows (kind simulation: fct, slowdown, "
        "throughput), else per_trial.",
        examples=["pooled"],
    )
    convention: Literal["nearest_rank", "linear"] | None = Field(
        None,
        description="Which sample a percentile is: that of rank ⌈pN⌉, or between two. Default: nearest_rank for kind simulation, "
        "else linear.",
        examples=["linear"],
    )
    few_samples: Literal["refuse", "allow"] = Field(
        "refuse",
        description="Flows of trials (kind simulation; completion_time), per_trial: what becomes of a percentile that fewer than five "
        "flows of a trial lie beyond.",
        examples=["allow"],
    )
    unit: str = Field(
        "", description="Unit, for people; for a resource s or B unless given.", examples=["Mbit/s"]
    )
    better: Literal["higher", "lower"] | None = Field(
        None, description="Which direction is better; for a resource lower unless given.", examples=["higher"]
    )
    convergence: (
        Annotated[
            Annotated[bool, Tag("<value>")] | Annotated[ConvergenceSection, Tag("<table>")],
            BY_SHAPE,
        ]
        | None
    ) = Field(
        None,
        description="Whether samples must have become steady within a trial, and how that is judged; "
        "true takes the defaults.",
        examples=[True, {"confidence": 95, "tolerance": 5}],
    )
    kpi: (
        Annotated[
            Annotated[KpiSection, Tag("<table>")]
            | Annotated[Annotated[list[KpiSection], Field(min_length=1)], Tag("<list>")],
            BY_SHAPE,
        ]
        | None
    ) = Field(
        None,
        description="The bound that is claimed for a series; a list for several.",
        examples=[{"percentile": 95, "confidence": 95}],
    )
    variability: VariabilitySection | None = Field(
        None,
        description="How far the KPIs move from series to series; needs a kpi.",
        examples=[{"percentile": 50, "confidence": 75}],
    )
    limits: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        None, description="Expected extreme values [low, high], used for scaling.", examples=[[0, 12]]
    )
    margin: Extent | None = Field(
        None,
        description="The difference between treatments that would matter, by which verdicts are judged: in percent, or in the "
        "metric's unit.",
        examples=["3%", 0.5],
    )
    stop: StopSection | None = Field(
        None,
        description="Run until the interval of every treatment is narrow enough.",
        examples=[{"precision": "3%", "confidence": 95}],
    )
