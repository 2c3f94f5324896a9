"""Sections [metrics.NAME]: one number per trial, and the claims about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from trialwise.experiment.file.sections import (
    ByShape,
    Limits,
    Section,
    Written,
    WrongValueError,
    key,
    table_of,
)
from trialwise.experiment.file.values import (
    Count,
    MeasureValue,
    Percent,
    Pointer,
    PositiveDuration,
    Regex,
    ServiceUse,
    StreamField,
    Text,
    Width,
)
from trialwise.experiment.sources import Resource
from trialwise.experiment.traits import Source

Estimand = Literal["per_trial", "pooled", "model_based"]
"""What a metric's value over several trials estimates: the mean over trials of one number each, or the measure of all samples;
model_based is the latter by CCEval's batches of tilted trials."""
Convention = Literal["nearest_rank", "linear"]
"""Which sample a percentile is: that of rank ⌈pN⌉ (type 1 of Hyndman and Fan 1996), or between two of them (type 7)."""
Better = Literal["higher", "lower"]
Bound = Literal["lower", "upper"]
Controls = str
"""Control variates of a simulated trial: none, workload for what is known of its flow list, or cheap engines with commas between, for
that and the same metric by each of them from the same flows (`engines.controls_of`)."""

Levels = Literal["fixed", "auto"]
"""How many lists engines among controls simulate: always as many, or as many as a pilot says."""


@dataclass(frozen=True, slots=True)
class Convergence(Section):
    """When a metric counts as steady within a trial: confidence and tolerance in percent (TriScale, section 4.1)."""

    confidence: Percent = key(95.0, "Confidence of the convergence test, percent.", 90)
    tolerance: Percent = key(5.0, "Tolerance of the convergence test, percent.", 10)


@dataclass(frozen=True, slots=True)
class ConvergenceTable(Convergence):
    """When the metric counts as steady within a trial."""

    own_keys_first = True

    expected: bool = key(True, "Whether a trial is expected to converge.", False)


def _controls(written: str | list[str]) -> str:
    from trialwise.experiment.engines import controls_of

    try:
        return controls_of([written] if isinstance(written, str) else written)
    except ValueError as error:
        raise WrongValueError(str(error)) from error


def _convergence(written: bool | ConvergenceTable) -> Convergence | None:
    if isinstance(written, bool):
        return Convergence() if written else None
    return Convergence(written.confidence, written.tolerance) if written.expected else None


_Convergence = Annotated[
    Convergence | None,
    Written(
        Annotated[Any, ByShape(value=bool, table=ConvergenceTable)],
        _convergence,
        lambda found: found and table_of(found, whole=True),
    ),
]


@dataclass(frozen=True, slots=True)
class Precision(Section):
    """When an interval is narrow enough for the experiment to end."""

    precision: Width = key(
        ..., "The half-width that is asked for: in percent of the value, or in the metric's unit.", "3%", 0.5
    )
    confidence: Percent = key(95.0, "Confidence of the interval, percent.", 90)


@dataclass(frozen=True, slots=True)
class Stop(Precision):
    """When an interval is narrow enough: its half-width at `confidence` percent is at most `precision`.

    `of` says of what over the trials: the mean, or a percentile. A pooled metric has but one value, whose interval is meant.
    `controls` are the control variates of simulated trials whose interval is looked at.
    """

    of: Annotated[
        Literal["mean"] | float,
        Written(Literal["median", "mean"] | Percent, lambda value: 50.0 if value == "median" else value),
    ] = key(
        50.0,
        "What of the trials of a treatment is to be known: the median, the mean, or a percentile. Default: the median, of "
        "kind simulation the mean. A pooled metric has one value for all trials, and takes none.",
        "mean",
        90,
        derived=True,
    )
    controls: Annotated[
        Controls,
        Written(
            Annotated[
                Any, ByShape(value=Text, items=Annotated[list[Text], Limits(min_length=1, max_length=16)])
            ],
            _controls,
            lambda controls: controls if "," not in controls else controls.split(","),
        ),
    ] = key(
        "none",
        "Control variates of simulated trials: workload (number of flows, their bytes, the largest), or a cheap engine, such as "
        "fluid (these and the metric by that engine from the same flows), or a list of engines. From 200 trials on, or a tenth of "
        "the forecast if that is less, the interval with them says when to stop.",
        "fluid",
    )
    levels: Levels = key(
        "fixed",
        "How many lists each engine among the controls simulates: fixed (400 of those that do so list by list), or auto: a pilot of "
        "50 lists measures variances and costs, engines that do not pay are left out, and the others get their best share "
        "(multilevel Monte Carlo).",
        "auto",
    )


_PlainStop = Annotated[
    Stop,
    Written(
        Precision,
        lambda stop: Stop(stop.precision, stop.confidence),
        lambda stop: {"precision": stop.precision.text, "confidence": stop.confidence},
    ),
]
"""A stop of what is a percentile in any case."""


@dataclass(frozen=True, slots=True)
class Kpi(Section):
    """A bound, at a confidence, on a percentile of the metric over a series (TriScale, section 4.2)."""

    percentile: Percent = key(..., "The percentile that is bounded.", 95, default=50.0)
    confidence: Percent = key(..., "Confidence of the bound, percent.", 75, default=95.0)
    bound: Bound = key(
        ...,
        "Default: the percentile's own side, upper above 50 and lower below; at 50, lower where higher is better, else upper.",
        "lower",
        derived=True,
        default="upper",
    )
    stop: _PlainStop | None = key(
        None, "Run until the interval of that percentile is narrow enough.", {"precision": "3%"}
    )


def _kpis(written: Kpi | list[Kpi]) -> tuple[Kpi, ...]:
    return tuple(written) if isinstance(written, list) else (written,)


_Kpis = Annotated[
    tuple[Kpi, ...],
    Written(
        Annotated[Any, ByShape(table=Kpi, items=Annotated[list[Kpi], Limits(min_length=1)])],
        _kpis,
        lambda kpis: [table_of(kpi, whole=True) for kpi in kpis] or None,
    ),
]


@dataclass(frozen=True, slots=True)
class Variability(Section):
    """How far KPIs move from series to series: a percentile range at a confidence (TriScale, section 4.3)."""

    percentile: Percent = key(..., "The percentile of the KPIs; 25 and 75 mean the same.", 75, default=50.0)
    confidence: Percent = key(..., "Confidence of the range, percent.", 90, default=75.0)
    stop: _PlainStop | None = key(None, "Run series until the range is narrow enough.", {"precision": "10%"})


def _limits(limits: list[float]) -> tuple[float, float]:
    low, high = (float(limit) for limit in limits)
    if not low < high:
        raise WrongValueError(f"the first must be less than the second; given: {low} and {high}")
    return low, high


@dataclass(frozen=True, slots=True)
class Metric(Section):
    """One number for one trial, and what is to be claimed about it (the eight parameters of TriScale's Table 2).

    `margin` is the difference between treatments that would matter; `stop` ends the experiment when the metric is known well
    enough. `few_samples` says what becomes of a percentile of each trial which hardly any samples of a trial lie beyond.
    """

    name: str
    source: Source
    measure: MeasureValue = key(
        "mean",
        'What reduces the samples of a trial: mean, median, min, max, or a percentile (95 or "p95").',
        "p95",
    )
    unit: str = key(
        "",
        "Unit, for people; numbers are never converted, so what Trialwise measures itself has its own.",
        "Mbit/s",
    )
    better: Better | None = key(
        None, "Which direction is better; for a resource lower unless given.", "higher"
    )
    convergence: _Convergence = key(
        None,
        "Whether samples must have become steady within a trial, and how that is judged; true takes the defaults.",
        True,
        {"confidence": 95, "tolerance": 5},
    )
    kpis: _Kpis = key(
        (),
        "The bound that is claimed for a series; a list for several.",
        {"percentile": 95, "confidence": 95},
        name="kpi",
    )
    variability: Variability | None = key(
        None,
        "How far the KPIs move from series to series; needs a kpi.",
        {"percentile": 50, "confidence": 75},
    )
    limits: Annotated[
        tuple[float, float] | None,
        Written(Annotated[list[float], Limits(min_length=2, max_length=2)], _limits),
    ] = key(None, "Expected extreme values [low, high], used for scaling.", [0, 12])
    margin: Width | None = key(
        None,
        "The difference between treatments that would matter, by which verdicts are judged: in percent, or in the "
        "metric's unit.",
        "3%",
        0.5,
    )
    stop: Stop | None = key(
        None,
        "Run until the interval of every treatment is narrow enough.",
        {"precision": "3%", "confidence": 95},
    )
    estimand: Estimand = key(
        "per_trial",
        "What is estimated over several trials: per_trial, the mean over trials of each one's measure, or pooled, the "
        "measure of all samples of all trials; of tilted simulated trials also model_based, CCEval's mean of the quantiles of "
        "batches of 40 trials. Default: pooled for the mean or a percentile of flows (kind simulation: fct, slowdown, "
        "throughput), else per_trial.",
        "pooled",
        derived=True,
    )
    convention: Convention = key(
        "linear",
        "Which sample a percentile is: that of rank ⌈pN⌉, or between two. Default: nearest_rank for kind simulation, "
        "else linear.",
        "linear",
        derived=True,
    )
    few_samples: Literal["refuse", "allow"] = key(
        "refuse",
        "Flows of trials (kind simulation; completion_time), per_trial: what becomes of a percentile that fewer than five "
        "flows of a trial lie beyond.",
        "allow",
    )

    @property
    def percentile(self) -> float | None:
        """The percentile that reduces the samples; None for other measures."""
        if isinstance(self.measure, str):
            return 50.0 if self.measure == "median" else None
        return self.measure


_PROGRAMS = ("command", "python")


def _size_class(text: str) -> str:
    from trialwise.experiment.simulation_quantities import size_class

    try:
        size_class(text)
    except ValueError as error:
        raise WrongValueError(str(error)) from error
    return text


SizeClassText = Annotated[str, Written(Text, _size_class)]
"""A class of sizes, as in `0B..100kB`."""


@dataclass(frozen=True, slots=True)
class MetricTable(Metric):
    """One number for one trial: where it comes from, how it is reduced, and what is claimed about it."""

    own_keys_first = True

    resource: Resource | None = key(
        None, "What the operating system counted: seconds, or bytes for max_rss.", "wall", kinds=_PROGRAMS
    )
    stdout: Regex | None = key(
        None,
        "Regular expression with one group, searched in standard output.",
        "([0-9.]+) Mbit/s",
        kinds=_PROGRAMS,
    )
    file: Text | None = key(
        None,
        "File that the trial writes, read with json, csv or pattern.",
        "{directory}/out.csv",
        kinds=_PROGRAMS,
        filled=True,
    )
    json: Pointer | None = key(
        None,
        'JSON pointer ("" or "/a/b"), into the file or standard output; JSON lines give samples.',
        "/end/sum/bits_per_second",
        kinds=_PROGRAMS,
    )
    csv: Text | None = key(
        None,
        "Column of a CSV file (or of standard output) whose rows are the samples.",
        "delay",
        kinds=_PROGRAMS,
    )
    matches: Literal["one", "all"] = key(
        "one",
        "Whether stdout or pattern must match exactly once, or each match is a sample of the trial.",
        "all",
        kinds=_PROGRAMS,
    )
    pattern: Regex | None = key(
        None, "Regular expression with one group, searched in the file.", "took ([0-9.]+) s", kinds=_PROGRAMS
    )
    time: Text | None = key(
        None,
        "Column (csv) or key (JSON lines) with the time of each sample, seconds.",
        "time",
        kinds=_PROGRAMS,
    )
    instrument: Text | None = key(
        None,
        "What [instrumentation] recorded under this name.",
        "instructions",
        "machine_steal",
        kinds=_PROGRAMS,
    )
    stream: StreamField | None = key(
        None,
        "Field of a measurement stream that the programs of the trial send, as stream.field.",
        "iperf_transfer.size",
        name="source",
        kinds=_PROGRAMS,
    )
    service: ServiceUse | None = key(
        None,
        "What a service used during the trial: CPU seconds, or the peak of its memory in bytes.",
        "cache.cpu",
        "cache.memory",
        kinds=_PROGRAMS,
    )
    value: Text | None = key(
        None,
        "Kind python: the entry of the returned mapping; default the metric's name.",
        "seconds",
        kinds=_PROGRAMS,
    )
    quantity: str | None = key(
        None,
        "Kinds path and simulation: what the packets are asked for; default the metric's name.",
        "throughput",
        kinds=("path", "simulation"),
    )
    flow: Count | None = key(
        None, "Kind path: the number of the flow, from 1; default all flows together.", 2, kinds=("path",)
    )
    bin: PositiveDuration | None = key(
        None,
        'Kind path: the width of what a time series is made of; default "100ms".',
        "500ms",
        kinds=("path",),
    )
    sizes: SizeClassText | None = key(
        None,
        "Kind simulation: only flows of this class of sizes, from the first end to below the second.",
        "0B..100kB",
        "1MB..",
        kinds=("simulation",),
    )
    phase: Literal["stable", "all"] | None = key(
        None,
        "Kind simulation: flows that start between warmup and cooldown, or all; default stable.",
        "all",
        kinds=("simulation",),
    )
