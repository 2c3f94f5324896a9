"""What a trial is in the experiment file, and what is recorded of it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from trialwise.experiment.document_paths import FlowSection, PathSection
from trialwise.experiment.document_simulation import Parameters, WorkloadSection
from trialwise.experiment.document_values import (
    BY_SHAPE,
    Duration,
    Namespace,
    PositiveDuration,
    Section,
    Text,
    Words,
)
from trialwise.experiment.words import CALL_PATTERN


class TrialSection(Section):
    """One execution of one treatment. Any text may use {factor}."""

    kind: Literal["command", "python", "path", "simulation"] = Field(
        "command",
        description="What a trial is: a program, a Python callable, schemes over an emulated path, or flows in a simulated network.",
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
    process: Literal["trial", "shared"] = Field(
        "trial",
        description="Kind python: whether every trial has a process of its own, or the trials of a treatment share one in "
        "each series, which calls the function again and again.",
        examples=["shared"],
    )
    scheme: Text | None = Field(
        None,
        description="Kind path: the scheme of the one flow; kind simulation: the controller of every flow.",
        examples=["{scheme}"],
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
            BY_SHAPE,
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
        Annotated[Annotated[Text, Tag("<value>")] | Annotated[PathSection, Tag("<table>")], BY_SHAPE] | None
    ) = Field(
        None,
        description="Kind path: the emulated path, or the name of one: [paths.NAME] in this file, or pantheon:NAME.",
        examples=[{"rate": "12Mbit/s", "delay": "28ms"}, "pantheon:nepal-aws-india"],
    )
    engine: Text | None = Field(
        None,
        description="Kind path: emulated (the default) for real packets through an emulated path, simulated for the same queues and "
        "controllers in simulated time. Kind simulation: trialwise (the default), or ns3 (ns-3); may use {factor}.",
        examples=["simulated", "ns3", "{engine}"],
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
    topology: Text | None = Field(
        None,
        description="Kind simulation: dumbbell:SENDERSxRECEIVERS,RATE,DELAY (and the middle link's rate), fat-tree:K,RATE,DELAY, "
        "leaf-spine:LEAVESxSPINESxHOSTS,RATE,DELAY (and the uplinks' rate), or a file in the HPCC simulator's format.",
        examples=["dumbbell:10x10,100Gbit/s,1us", "topology.txt"],
    )
    routes: Text | None = Field(
        None,
        description="Kind simulation: a file with the order of equal next hops, on each line a node, a host and the hops.",
        examples=["routes.txt"],
    )
    workload: WorkloadSection | None = Field(
        None,
        description="Kind simulation: which flows there are.",
        examples=[{"sizes": "websearch", "load": "30%", "duration": "20ms"}],
    )
    network: Parameters = Field(
        default_factory=Parameters,
        description="Kind simulation: parameters of the network, listed below.",
        examples=[{"buffer": "32MiB", "kmin": "400kB", "pfc": True}],
    )
    controller: Parameters = Field(
        default_factory=Parameters,
        description="Kind simulation: parameters of the controller, listed below.",
        examples=[{"gain": 0.0625}],
    )
    mode: Text = Field(
        "clean",
        description="Kind simulation: clean, or compatible for what the public HPCC simulator would compute, to the nanosecond.",
        examples=["compatible"],
    )
    cooldown: Duration = Field(
        0.0,
        description="Kind simulation: the end of the workload's duration, whose flows are set apart as those of warmup are.",
        examples=["2ms"],
    )
    sampling: PositiveDuration = Field(
        1e-5, description="Kind simulation: how often queues are looked at for a metric.", examples=["1us"]
    )
    records: Literal["keep", "drop"] = Field(
        "keep",
        description="Kind simulation: whether a record of every flow stays in the experiment directory.",
        examples=["drop"],
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
        description="Command run before each trial, outside of what is measured; what it leaves running is ended after conclude.",
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
    keep: Annotated[list[Text], Field(max_length=100)] = Field(
        default_factory=list,
        description="Files, folders and patterns below the working directory: what each trial writes there is kept, up to 16 MiB.",
        examples=[["results/", "*.json"]],
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
