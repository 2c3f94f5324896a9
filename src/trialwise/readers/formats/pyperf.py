"""pyperf's JSON: a run is a process and gives several values, each already per iteration (pyperf, "JSON format").

Metadata of the file apply to each benchmark, those of a benchmark to each of its runs; a key that is equal everywhere moves up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from trialwise.readers.blocks import Ragged
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader, entries_have
from trialwise.readers.forms import valid
from trialwise.readers.parts import Part
from trialwise.readers.records import Better, Inside
from trialwise.readers.trial import mean

_UNITS = {"second": "s", "byte": "byte", "integer": ""}
_METRICS = {"second": "time", "byte": "memory"}
_FACTS = ("hostname", "cpu_model_name", "cpu_config", "cpu_affinity", "aslr", "python_version", "platform")

_PLAIN: frozenset[type[Any]] = frozenset((str, float, int, bool, type(None)))
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
    document: Mapping[str, Any] = content.keys
    if not _is_plain(document):
        document = valid(Document, content.path, document, "pyperf").model_dump()
    calibrations = 0
    for number, benchmark in enumerate(document["benchmarks"]):
        common = {**_metadata(document), **_metadata(benchmark)}
        found.version = str(common.get("perf_version") or found.version)
        found.facts |= {name: str(common[name]) for name in _FACTS if name in common}
        runs = [place for place, run in enumerate(benchmark["runs"]) if run.get("values")]
        calibrations += len(benchmark["runs"]) - len(runs)
        if runs:
            _add_runs(found, number, common, benchmark["runs"], runs)
    if calibrations:
        found.note("calibration_dropped", n=calibrations)


def _is_plain(document: Mapping[str, Any]) -> bool:
    """Return True if a document has the types that `Document` has, so that no copy is made."""
    benchmarks: list[dict[str, Any]] = document["benchmarks"]
    return (
        type(document["version"]) is str
        and _are_plain([document, *benchmarks])
        and all(type(each["runs"]) is list and _are_runs(each["runs"]) for each in benchmarks)
    )


def _are_runs(runs: list[Any]) -> bool:
    if not {dict}.issuperset(map(type, runs)) or not _are_plain(runs):
        return False
    values = [run["values"] for run in runs if run.get("values") is not None]
    return {list}.issuperset(map(type, values)) and all(
        {float}.issuperset(map(type, each)) for each in values
    )


def _are_plain(parts: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if the metadata of parts of a document have their types."""
    found: list[Any] = [part["metadata"] for part in parts if "metadata" in part]
    return {dict}.issuperset(map(type, found)) and all(
        _PLAIN.issuperset(map(type, each.values())) for each in found
    )


def _add_runs(
    found: Found,
    number: int,
    common: Mapping[str, object],
    every: Sequence[Mapping[str, Any]],
    runs: Sequence[int],
) -> None:
    """Add the runs of a benchmark that have values: as a block, unless they differ in what they measure."""
    where = f"/benchmarks/{number}/runs/"
    told = [_metadata(every[run]) for run in runs]
    if any(name in each for each in told for name in ("name", "unit")):
        for run, each in zip(runs, told, strict=True):
            _add(found, f"{where}{run}", every[run]["values"], {**common, **each}, number + 1)
        return
    metric, unit, better = _measured(common)
    places = [_place({**common, **each}) for each in told]
    units = list(dict.fromkeys(places))
    within = {place: at for at, place in enumerate(units)}
    times = [_times({**common, **each}) for each in told]
    values = [every[run]["values"] for run in runs]
    found.add_block(
        metric,
        list(map(mean, values)),
        unit,
        better,
        treatments=[{"benchmark": common.get("name") or number + 1}],
        treatment=np.zeros(len(runs), np.int32),
        numbers=runs,
        process=(where, ""),
        where=(where, ""),
        units=list(map(dict, units)),
        within=np.array([within[place] for place in places], np.int32),
        starts=[start for start, _ in times],
        ends=[end for _, end in times],
        samples=Ragged.of("value", values),
    )


def _metadata(part: Mapping[str, Any]) -> Mapping[str, object]:
    return part.get("metadata") or {}


def _measured(metadata: Mapping[str, object]) -> tuple[str, str, Better | None]:
    """Return the metric, its unit and its direction."""
    kind = str(metadata.get("unit") or "second")
    return _METRICS.get(kind, "value"), _UNITS.get(kind, kind), "lower" if kind in _METRICS else None


def _place(metadata: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the levels above the process."""
    host = ("host", str(metadata.get("hostname") or ""))
    booted = _moment(metadata.get("boot_time"))
    return (host,) if booted is None else (host, ("boot", repr(booted)))


def _times(metadata: Mapping[str, object]) -> tuple[float | None, float | None]:
    """Return when a run began and ended."""
    started, duration = _moment(metadata.get("date")), Part(metadata.get("duration")).number
    if started is None or duration is None or not isfinite(duration):
        return started, None
    return started, started + duration


def _add(
    found: Found, where: str, values: Sequence[float], metadata: Mapping[str, object], number: int
) -> None:
    metric, unit, better = _measured(metadata)
    started, ended = _times(metadata)
    found.add(
        {"benchmark": metadata.get("name") or number},
        metric,
        mean(values),
        unit,
        better,
        levels={**dict(_place(metadata)), "process": where},
        start=started,
        end=ended,
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
