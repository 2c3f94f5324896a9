"""The experiment file as a document: what may stand where, and its defaults.

These classes check one key each and give the JSON Schema and the reference; what spans several keys is checked in
`building`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)

from trialwise.experiment.quantity import seconds
from trialwise.experiment.words import (
    CALL_PATTERN,
    COMMIT_PATTERN,
    NAME_PATTERN,
    POINTER_PATTERN,
    SERVICE_PATTERN,
    STREAM_FIELD_PATTERN,
    WORKER_FOLDER_PATTERN,
)

# What a key needs beyond its type


def _duration(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError('must be a duration: "10s", "500ms", "1h 30min", or a number of seconds')  # noqa: TRY004 pydantic reads ValueError
    return seconds(value)


def _positive_duration(value: object) -> float:
    duration = _duration(value)
    if duration <= 0:
        raise ValueError("must be longer than nothing")
    return duration


_DURATION = 'a duration such as "10s", "500ms", "1h 30min", or a number of seconds'
Duration = Annotated[
    float,
    BeforeValidator(_duration),
    WithJsonSchema({"type": ["string", "number"], "minimum": 0, "title": _DURATION}),
]
PositiveDuration = Annotated[
    float,
    BeforeValidator(_positive_duration),
    WithJsonSchema({"type": ["string", "number"], "exclusiveMinimum": 0, "title": f"{_DURATION}, above 0"}),
]
# Beyond these ends the sizes of experiments lose their meaning, and computing them exactly takes for ever.
Percent = Annotated[float, Field(ge=0.0001, le=99.9999)]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Level = str | Whole | float | bool
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=128)]
Text = Annotated[str, Field(min_length=1)]
Words = Text | Annotated[list[str], Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]

Namespace = Literal["network", "ipc"]

REDUCTIONS = ("mean", "median", "min", "max")


def _measure(value: object) -> str | float:
    if isinstance(value, str) and value in REDUCTIONS:
        return value
    try:
        number = float(
            value[1:] if isinstance(value, str) and value[:1] in {"p", "P"} else cast("float", value)
        )
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if (
        isinstance(value, bool)
        or not 0 < number < 100
        or (isinstance(value, str) and not _is_percentile(value))
    ):
        raise ValueError('must be "mean", "median", "min", "max", or a percentile: 95 or "p95"')
    return number


def _is_percentile(text: str) -> bool:
    return text[:1] in {"p", "P"} and text[1:].replace(".", "", 1).isdecimal() and text.isascii()


Measure = Annotated[
    str | float,
    BeforeValidator(_measure),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(REDUCTIONS)},
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100},
                {"type": "string", "pattern": r"^[pP]\d{1,2}(\.\d+)?$"},
            ],
            "title": 'a reduction "mean", "median", "min", "max", or a percentile as 95 or "p95"',
        }
    ),
]


def _shape(value: object) -> str:
    """Which branch of a union a value is meant for, so that what is wrong in it is told for that branch alone."""
    return (
        "<table>"
        if isinstance(value, Mapping | BaseModel)
        else "<list>"
        if isinstance(value, list)
        else "<value>"
    )


_BY_SHAPE = Discriminator(_shape)


class Section(BaseModel):
    """A table of the file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


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


class Range(Section):
    """A range that a value is drawn from, uniformly on its scale."""

    low: Whole | float = Field(
        description="Smallest value; the draws are whole numbers where both ends are.", examples=[1000]
    )
    high: Whole | float = Field(description="Largest value.", examples=[1000000])
    scale: Literal["linear", "log"] = Field(
        "linear", description="Whether values or their logarithms are uniform.", examples=["log"]
    )


class Draw(Section):
    """A factor drawn at random for each round."""

    draw: Annotated[
        Annotated[Text, Tag("<value>")]
        | Annotated[Annotated[list[Level], Field(min_length=1)], Tag("<list>")]
        | Annotated[Range, Tag("<table>")],
        _BY_SHAPE,
    ] = Field(
        description="What to draw from: a file with one value on each line, a list, or a range { low, high }.",
        examples=["prefixes.txt", [1, 2, 3], {"low": 1000, "high": 1000000, "scale": "log"}],
    )


class ConvergenceSection(Section):
    """When the metric counts as steady within a trial."""

    expected: bool = Field(True, description="Whether a trial is expected to converge.", examples=[False])
    confidence: Percent = Field(
        95.0, description="Confidence of the convergence test, percent.", examples=[90]
    )
    tolerance: Percent = Field(5.0, description="Tolerance of the convergence test, percent.", examples=[10])


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


class VariabilitySection(Section):
    """The percentile range of KPIs over all series, at a confidence."""

    percentile: Percent = Field(
        50.0, description="The percentile of the KPIs; 25 and 75 mean the same.", examples=[75]
    )
    confidence: Percent = Field(75.0, description="Confidence of the range, percent.", examples=[90])


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
        description="Kind path: what the packets are asked for; default the metric's name.",
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
    measure: Measure = Field(
        "mean",
        description='What reduces the samples of a trial: mean, median, min, max, or a percentile (95 or "p95").',
        examples=["p95"],
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
            _BY_SHAPE,
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
            _BY_SHAPE,
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


class LinkSection(Section):
    """What packets meet in one direction of a path."""

    rate: Text | None = Field(
        None,
        description="The bottleneck's rate, constant, by a trace, or generated.",
        examples=["12Mbit/s", "trace:up.trace", "poisson:rate=3Mbit/s"],
    )
    queue: Text | None = Field(
        None,
        description="The queue before the bottleneck; infinite unless given.",
        examples=["droptail:packets=50", "codel:packets=1000,target=5ms,interval=100ms"],
    )
    delay: Text | None = Field(None, description="One-way propagation delay.", examples=["28ms"])
    loss: Text | None = Field(None, description="Random loss.", examples=["0.4%"])
    outage: Text | None = Field(
        None, description="Times at which everything is lost.", examples=["exponential:on=5s,off=1s"]
    )
    policer: Text | None = Field(
        None, description="A token bucket that drops what exceeds it.", examples=["10Mbit/s,burst=30kB"]
    )
    batches: Text | None = Field(None, description="Packets released together.", examples=["every=20ms"])


class PathSection(LinkSection):
    """An emulated path. What stands in it holds both ways, unless uplink or downlink says otherwise."""

    uplink: LinkSection | None = Field(
        None, description="What differs from the sender to the receiver.", examples=[{"loss": "0.4%"}]
    )
    downlink: LinkSection | None = Field(
        None, description="What differs from the receiver to the sender.", examples=[{"rate": "1Mbit/s"}]
    )
    mtu: Annotated[int, Field(ge=1280, le=1500)] = Field(
        1500, description="Largest IP packet, bytes.", examples=[1400]
    )
    folder: Text = Field(
        ".",
        description="Where files that the links name stand, relative to the experiment file.",
        examples=["traces"],
    )


class FlowSection(Section):
    """One flow, or several alike, over a path."""

    scheme: Text = Field(description="The scheme of the flow.", examples=["cubic"])
    start: Duration = Field(0.0, description="When it starts, after the first flow.", examples=["5s"])
    stop: PositiveDuration | None = Field(
        None, description="When it is ended; default the end of the trial.", examples=["20s"]
    )
    direction: Literal["uplink", "downlink"] = Field(
        "uplink", description="The way of its data.", examples=["downlink"]
    )
    load: Text = Field("bulk", description="What it carries.", examples=["rate:1Mbit/s", "bytes:10MB"])
    count: Annotated[int, Field(ge=1, le=1000)] = Field(
        1, description="How many such flows there are.", examples=[3]
    )


class SchemesSection(Section):
    """Where schemes of your own stand."""

    folders: list[Text] = Field(
        default_factory=list,
        description="Folders with scheme files or Pantheon wrappers, relative to the experiment file.",
        examples=[["schemes"]],
    )


class TrialSection(Section):
    """One execution of one treatment. Any text may use {factor}."""

    kind: Literal["command", "python", "path"] = Field(
        "command",
        description="What a trial is: a program, a Python callable, or schemes over an emulated path.",
        examples=["path"],
    )
    command: Words | None = Field(
        None,
        description="Command line, split as a shell would (no shell runs it); then placeholders are filled.",
        examples=["gzip -{level} --keep input"],
    )
    call: Annotated[str, Field(pattern=CALL_PATTERN)] | None = Field(
        None,
        description="Kind python: module:function, called with the factors as keywords.",
        examples=["trials:run"],
    )
    scheme: Text | None = Field(
        None, description="Kind path: the scheme of the one flow.", examples=["{scheme}"]
    )
    load: Text = Field(
        "bulk",
        description="Kind path: what the flow carries.",
        examples=["bulk", "rate:5Mbit/s", "bytes:10MB"],
    )
    flows: (
        Annotated[
            Annotated[Annotated[int, Field(ge=1, le=1000)], Tag("<value>")]
            | Annotated[Annotated[list[FlowSection], Field(min_length=1)], Tag("<list>")],
            _BY_SHAPE,
        ]
        | None
    ) = Field(
        None,
        description="Kind path: how many flows of the scheme there are, or a list of flows.",
        examples=[3, [{"scheme": "cubic"}, {"scheme": "bbr", "start": "5s"}]],
    )
    interval: Duration = Field(
        0.0, description="Kind path: time between the starts of flows given by number.", examples=["2s"]
    )
    path: (
        Annotated[Annotated[Text, Tag("<value>")] | Annotated[PathSection, Tag("<table>")], _BY_SHAPE] | None
    ) = Field(
        None,
        description="Kind path: the emulated path, or the name of one: [paths.NAME] in this file, or pantheon:NAME.",
        examples=[{"rate": "12Mbit/s", "delay": "28ms"}, "pantheon:nepal-aws-india"],
    )
    packets: Literal["keep", "drop"] = Field(
        "keep",
        description="Kind path: whether a record of every packet stays in the experiment directory.",
        examples=["drop"],
    )
    lateness: PositiveDuration = Field(
        0.001,
        description="Kind path: the trial is invalid when the emulator was later than this for one packet in a hundred.",
        examples=["2ms"],
    )
    environment: dict[str, str] = Field(
        default_factory=dict,
        description="Variables added to the environment.",
        examples=[{"OMP_NUM_THREADS": "{threads}"}],
    )
    directory: Text = Field(
        ".", description="Working directory, relative to the experiment file.", examples=["build"]
    )
    prepare: Words | None = Field(
        None,
        description="Command run before each trial, outside of what is measured.",
        examples=["make {target}"],
    )
    conclude: Words | None = Field(
        None,
        description="Command run after each trial, outside of what is measured.",
        examples=["rm -f output"],
    )
    timeout: PositiveDuration | None = Field(
        None, description="A trial that takes longer is ended and failed.", examples=["30s"]
    )
    exit_codes: Annotated[list[Annotated[int, Field(ge=0, le=255)]], Field(min_length=1)] = Field(
        default_factory=lambda: [0], description="Exit codes that mean success.", examples=[[0, 1]]
    )
    output_limit: Annotated[int, Field(ge=1, lt=2**40)] = Field(
        64 * 1024 * 1024,
        description="Bytes of standard output kept; a trial that prints more fails.",
        examples=[1048576],
    )
    leftovers: Literal["fail", "end"] = Field(
        "fail",
        description="What to do about processes that the program leaves running: fail the trial, or only end them.",
        examples=["end"],
    )
    isolate: list[Namespace] = Field(
        default_factory=list[Namespace],
        description="Fresh namespaces for the program of each trial: a network with a loopback and nothing else; "
        "shared memory, semaphores and message queues.",
        examples=[["network", "ipc"]],
    )
    runtime: PositiveDuration | None = Field(
        None, description="How long a trial takes, as far as you know; used for planning.", examples=["10s"]
    )
    warmup: Duration = Field(
        0.0, description="Start of each trial that is cut from samples that have times.", examples=["2s"]
    )


class InstrumentationSection(Section):
    """What is recorded of every trial beside its metrics, and where its program runs."""

    perf: Annotated[list[Text], Field(max_length=16)] = Field(
        default_factory=list,
        description="Counters of the kernel and the processor, of the program and all that it starts; "
        ":u leaves out the kernel's part.",
        examples=[["task-clock", "instructions", "cycles:u"]],
    )
    cpus: list[Annotated[int, Field(ge=0, le=1023)]] = Field(
        default_factory=list[int],
        description="CPUs that the program is pinned to.",
        examples=[[2, 3]],
    )
    resources: bool = Field(
        False, description="What the operating system counted for the program.", examples=[True]
    )
    interrupts: bool = Field(
        False, description="What the kernel counted for the whole machine meanwhile.", examples=[True]
    )


class DesignSection(Section):
    """How many trials, in what order, and when."""

    order: Literal["random", "fixed", "fixed+random", "balanced"] = Field(
        "random",
        description="Order of the treatments in each round: drawn anew; that of the file; half of the rounds each, "
        "mixed; or each treatment equally often right after each other.",
        examples=["balanced"],
    )
    series: Literal["auto"] | Count = Field(
        "auto", description="Number of series; auto: as many as the variability scores need.", examples=[5]
    )
    rounds: Literal["auto"] | Count = Field(
        "auto", description="Rounds in each series; auto: as many as the KPIs need.", examples=[30]
    )
    span: PositiveDuration | None = Field(
        None,
        description="Time over which the rounds of a series are spread at random; without it they run back to back.",
        examples=["24h"],
    )
    robustness: Annotated[int, Field(ge=0, le=10_000)] = Field(
        0, description="Extreme values that an interval must be able to leave out.", examples=[1]
    )
    warmup_trials: Annotated[int, Field(ge=0, le=10_000)] = Field(
        0,
        description="Trials of each treatment run and not counted, before each series.",
        examples=[1],
    )


class FreshDirectory(Section):
    """A folder that a reset empties, and what it is filled from."""

    path: Text = Field(description="The folder, relative to the experiment file.", examples=["work"])
    template: Text | None = Field(
        None, description="Folder whose contents are copied into it.", examples=["database"]
    )


class ResetSection(Section):
    """What puts the machine back into a known state."""

    directory: (
        Annotated[
            Annotated[Text, Tag("<value>")] | Annotated[FreshDirectory, Tag("<table>")],
            _BY_SHAPE,
        ]
        | None
    ) = Field(
        None,
        description="A folder that is emptied, and filled from a template where there is one.",
        examples=["work", {"path": "work", "template": "database"}],
    )
    service: Annotated[str, Field(pattern=SERVICE_PATTERN)] | None = Field(
        None, description="A service that systemd restarts.", examples=["memcached"]
    )
    namespace: bool = Field(
        False,
        description="A namespace for trials, with empty /tmp, /var/tmp and /dev/shm and no process or shared memory of before.",
        examples=[True],
    )
    command: Words | None = Field(
        None, description="Command line, split as a shell would.", examples=["make clean"]
    )
    drop_caches: bool = Field(
        False, description="Write out and drop the kernel's caches of files; needs root.", examples=[True]
    )
    reboot: bool = Field(
        False, description="Reboot the worker, which must be one reached by ssh.", examples=[True]
    )
    check: Words | None = Field(
        None,
        description="Command that must succeed afterwards; tried again until the timeout.",
        examples=["nc -z localhost 11211"],
    )
    every: Literal["round", "trial", "series"] = Field(
        "round", description="Before what the machine is reset.", examples=["trial"]
    )
    timeout: PositiveDuration = Field(
        600.0,
        description="A reset that takes longer, check included, has failed, and the run ends.",
        examples=["60s"],
    )
    settle: Duration = Field(0.0, description="Time to wait afterwards.", examples=["5s"])


class GitSection(Section):
    """A repository that is cloned on workers, instead of sending files."""

    url: Text = Field(description="What git clones.", examples=["https://example.org/benchmark.git"])
    commit: Annotated[str, Field(pattern=COMMIT_PATTERN)] = Field(
        description="The commit that is checked out, in hexadecimal digits.",
        examples=["4f0c0b7d3e0c2d5a1e8f9b6a7c3d2e1f00a1b2c3"],
    )


class WorkersSection(Section):
    """The machines that trials run on; those beside "local" are reached by ssh."""

    use: Annotated[list[Text], Field(min_length=1)] = Field(
        default_factory=lambda: ["local"],
        description="The workers: local, ssh://host, ssh://user@host:port; each runs the whole plan, in orders of its own.",
        examples=[["ssh://me@node1", "ssh://me@node2:2222"]],
    )
    files: list[Text] = Field(
        default_factory=list,
        description="Patterns of the files that are sent, below the experiment's folder; default all of them.",
        examples=[["bench/**", "input.txt"]],
    )
    exclude: list[Text] = Field(
        default_factory=list,
        description="Patterns of files that are not sent; results, .git and caches never are.",
        examples=[["*.log"]],
    )
    git: GitSection | None = Field(
        None,
        description="Clone a repository on the workers instead of sending files.",
        examples=[
            {
                "url": "https://example.org/benchmark.git",
                "commit": "4f0c0b7d3e0c2d5a1e8f9b6a7c3d2e1f00a1b2c3",
            }
        ],
    )
    setup: Words | None = Field(
        None,
        description="Command run once on each worker, in the folder of what was sent, before its first trial.",
        examples=["make -C bench"],
    )
    setup_timeout: PositiveDuration = Field(
        3600.0, description="A setup that takes longer has failed.", examples=["10min"]
    )
    allocate: Words | None = Field(
        None,
        description="Command run here that prints the names of the workers; used instead of use.",
        examples=["./testbed.sh get 4"],
    )
    release: Words | None = Field(
        None,
        description="Command run here after the run, also after a crash; $TRIALWISE_WORKERS names the workers.",
        examples=["./testbed.sh put"],
    )
    python: Text = Field(
        "python3", description="Python 3.8 or newer on the workers.", examples=["/opt/python/bin/python3"]
    )
    folder: Annotated[str, Field(pattern=WORKER_FOLDER_PATTERN)] = Field(
        "~/.trialwise",
        description="Folder on the workers under which everything of ours stands.",
        examples=["/scratch/me/trialwise"],
    )
    reconnect: Duration = Field(
        600.0,
        description="How long a worker that was reached before is tried again until it counts as lost.",
        examples=["1h"],
    )
    heartbeat: PositiveDuration = Field(
        30.0,
        description="After so much silence a worker is asked whether it is there; shorter trials see no traffic.",
        examples=["5min"],
    )


class MeasurementSection(Section):
    """The collector that runs beside each trial, for programs with measurement points."""

    config: Text | None = Field(
        None,
        description="OML's XML or a TOML file that says which points become which streams; {collector} and {factor} are filled.",
        examples=["streams.toml"],
    )
    listen: Text = Field(
        "127.0.0.1",
        description="Address at which the collector listens, with a free port.",
        examples=["10.0.0.1"],
    )
    patience: Duration = Field(
        5.0, description="How long after the program the last rows are waited for.", examples=["30s"]
    )
    losses: Literal["fail", "allow"] = Field(
        "fail",
        description="Whether a trial fails whose programs dropped samples or sent damaged rows.",
        examples=["allow"],
    )


FactorSection = Annotated[
    Annotated[Annotated[list[Level], Field(min_length=1)], Tag("<list>")] | Annotated[Draw, Tag("<table>")],
    _BY_SHAPE,
]


class Document(Section):
    """A whole experiment file."""

    experiment: ExperimentSection
    factors: dict[Name, FactorSection] = Field(
        default_factory=dict,
        description="What is varied on purpose: factor = [levels], or a draw.",
        json_schema_extra={"additionalProperties": False},
    )
    trial: TrialSection
    metrics: Annotated[
        dict[Name, MetricSection], Field(min_length=1, json_schema_extra={"additionalProperties": False})
    ]
    design: DesignSection = Field(default_factory=lambda: DesignSection.model_validate({}))
    reset: ResetSection | None = None
    workers: WorkersSection = Field(default_factory=lambda: WorkersSection.model_validate({}))
    measurement: MeasurementSection | None = None
    instrumentation: InstrumentationSection = Field(
        default_factory=lambda: InstrumentationSection.model_validate({})
    )
    schemes: SchemesSection = Field(default_factory=lambda: SchemesSection.model_validate({}))
    paths: dict[Name, PathSection] = Field(
        default_factory=dict,
        description="Emulated paths by name, for trial.path.",
        json_schema_extra={"additionalProperties": False},
    )
