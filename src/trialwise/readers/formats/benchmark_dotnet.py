"""BenchmarkDotNet's full JSON: a launch is a process, and its iterations, in nanoseconds, are samples.

Measurements of the stage "Result" have the overhead taken off and outliers left out; those of other stages are no results.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_pascal

from trialwise.readers.appended import documents_apart
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.forms import valid
from trialwise.readers.records import Inside
from trialwise.readers.units import normalised

_FACTS = ("OsVersion", "ProcessorName", "RuntimeVersion", "DotNetCliVersion", "Configuration")


class _Form(BaseModel):
    model_config = ConfigDict(alias_generator=to_pascal)


class Measurement(_Form):
    """One iteration of one launch."""

    iteration_mode: str = ""
    iteration_stage: str = ""
    launch_index: int = 1
    operations: float = 0
    nanoseconds: float | None = None


class Statistics(_Form):
    """Statistics over iterations; `original_values` are their nanoseconds per operation."""

    original_values: list[float] = Field(default_factory=list[float])


class Memory(_Form):
    """What a diagnoser counted."""

    bytes_allocated_per_operation: float | None = None


class Benchmark(_Form):
    """One method with one combination of parameters; without statistics it failed."""

    namespace: str | None = None
    type: str = ""
    method: str
    parameters: str | None = None
    statistics: Statistics | None = None
    memory: Memory | None = None
    measurements: list[Measurement] | None = None


class Document(_Form):
    """What BenchmarkDotNet writes."""

    host_environment_info: dict[str, Any]
    benchmarks: list[Benchmark]


def _fits(content: Content) -> bool:
    host = content.keys.get("HostEnvironmentInfo")
    return isinstance(host, dict) and "BenchmarkDotNetVersion" in host and "Benchmarks" in content.keys


def _read(content: Content, found: Found) -> None:
    document = valid(Document, content.path, content.keys, "BenchmarkDotNet")
    host = document.host_environment_info
    found.version = str(host["BenchmarkDotNetVersion"])
    found.facts |= {name: str(host[name]) for name in _FACTS if isinstance(host.get(name), str)}
    if host.get("Configuration") == "DEBUG":
        found.note("debug_build")
    for number, each in enumerate(document.benchmarks):
        _add(found, each, f"/Benchmarks/{number}")


def _treatment(each: Benchmark) -> Mapping[str, str]:
    name = ".".join(part for part in (each.namespace, each.type, each.method) if part)
    pairs = [part.partition("=") for part in (each.parameters or "").split(", ") if part]
    return {"benchmark": name, **{key: level for key, is_pair, level in pairs if is_pair}}


def _add(found: Found, each: Benchmark, where: str) -> None:
    treatment, launches = _treatment(each), _launches(each)
    if not launches:
        found.add(
            treatment, "time", None, "s", "lower", status="failed", reason="it has no statistics", where=where
        )
    for launch, values in launches.items():
        levels = {"process": f"{where}/{launch}"}
        seconds = [normalised(value, "ns")[0] for value in values]
        mean = fsum(seconds) / len(seconds)
        inside = Inside("iteration", seconds, repeated=True)
        found.add(treatment, "time", mean, "s", "lower", levels=levels, samples=inside, where=where)
    allocated = None if each.memory is None else each.memory.bytes_allocated_per_operation
    if allocated is not None and len(launches) == 1:
        levels = {"process": f"{where}/{next(iter(launches))}"}
        found.add(treatment, "allocated", allocated, "byte", "lower", levels=levels, where=where)


def _launches(each: Benchmark) -> Mapping[int, list[float]]:
    """Return the nanoseconds per operation of each launch; of all as one where the file lacks single measurements."""
    found: dict[int, list[float]] = {}
    for one in each.measurements or []:
        is_result = (one.iteration_mode, one.iteration_stage) == ("Workload", "Result")
        if is_result and one.operations > 0 and one.nanoseconds is not None:
            found.setdefault(one.launch_index, []).append(one.nanoseconds / one.operations)
    values = each.statistics.original_values if each.statistics else []
    return found or ({1: values} if values else {})


READERS = (
    Reader(
        name="benchmarkdotnet-json",
        tool="BenchmarkDotNet",
        how="`--exporters fulljson --launchCount 10`",
        replicated="process",
        unit="launch",
        subjects=("benchmark",),
        fits=_fits,
        read=_read,
        runs=documents_apart,
    ),
)
