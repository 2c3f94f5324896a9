"""pyperf's JSON: a run is a process and gives several values, each already per iteration (pyperf, "JSON format").

Metadata of the file apply to each benchmark, those of a benchmark to each of its runs; a key that is equal everywhere moves up.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from statistics import fmean

from pydantic import BaseModel, Field

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader, entries_have
from trialwise.readers.forms import valid
from trialwise.readers.parts import Part
from trialwise.readers.records import Inside

_UNITS = {"second": "s", "byte": "byte", "integer": ""}
_METRICS = {"second": "time", "byte": "memory"}
_FACTS = ("hostname", "cpu_model_name", "cpu_config", "cpu_affinity", "aslr", "python_version", "platform")

Metadata = dict[str, str | float | int | bool | None]


class Run(BaseModel):
    """One process; a run without values was for calibration."""

    metadata: Metadata = Field(default_factory=dict)
    values: list[float] | None = None


class Benchmark(BaseModel):
    """One benchmark."""

    metadata: Metadata = Field(default_factory=dict)
    runs: list[Run]


class Document(BaseModel):
    """What pyperf writes."""

    version: str
    metadata: Metadata = Field(default_factory=dict)
    benchmarks: list[Benchmark]


def _fits(content: Content) -> bool:
    return "version" in content.keys and entries_have(content.keys, "benchmarks", "runs")


def _read(content: Content, found: Found) -> None:
    document = valid(Document, content.path, content.keys, "pyperf")
    calibrations = 0
    for number, benchmark in enumerate(document.benchmarks):
        common = {**document.metadata, **benchmark.metadata}
        found.version = str(common.get("perf_version") or found.version)
        found.facts |= {name: str(common[name]) for name in _FACTS if name in common}
        for run, each in enumerate(benchmark.runs):
            if each.values:
                _add(
                    found,
                    f"/benchmarks/{number}/runs/{run}",
                    each.values,
                    {**common, **each.metadata},
                    number + 1,
                )
            else:
                calibrations += 1
    if calibrations:
        found.note("calibration_dropped", n=calibrations)


def _add(found: Found, where: str, values: list[float], metadata: Mapping[str, object], number: int) -> None:
    kind = str(metadata.get("unit") or "second")
    host = str(metadata.get("hostname") or "")
    started, duration = _moment(metadata.get("date")), Part(metadata.get("duration")).number
    booted = _moment(metadata.get("boot_time"))
    found.add(
        {"benchmark": metadata.get("name") or number},
        _METRICS.get(kind, "value"),
        fmean(values),
        _UNITS.get(kind, kind),
        "lower" if kind in _METRICS else None,
        levels={"host": host, "process": where} | ({} if booted is None else {"boot": repr(booted)}),
        start=started,
        end=started + duration
        if started is not None and duration is not None and isfinite(duration)
        else None,
        samples=Inside("value", values, repeated=True),
        where=where,
    )


def _moment(told: object) -> float | None:
    """Return Unix seconds of local time without a zone, which is taken as that of this machine."""
    try:
        return datetime.fromisoformat(str(told)).timestamp()
    except (ValueError, OverflowError):
        return None


READERS = (
    Reader(
        name="pyperf-json",
        tool="pyperf",
        how="`-o FILE`",
        replicated="process",
        unit="process (run)",
        subjects=("benchmark",),
        fits=_fits,
        read=_read,
    ),
)
