"""pyperf's JSON: a run is a process and gives several values, each already per iteration (pyperf, "JSON format").

Metadata of the file apply to each benchmark, those of a benchmark to each of its runs; a key that is equal everywhere moves up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import isfinite, nan
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from trialwise import _core
from trialwise.readers.appended import documents_apart
from trialwise.readers.blocks import Ragged
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader, entries_have
from trialwise.readers.forms import valid
from trialwise.readers.long_lists import Columns, Floats, Kind, columns_of, is_list
from trialwise.readers.parts import Part
from trialwise.readers.records import Better, Inside
from trialwise.readers.trial import mean

_UNITS = {"second": "s", "byte": "byte", "integer": ""}
_METRICS = {"second": "time", "byte": "memory"}
_FACTS = ("hostname", "cpu_model_name", "cpu_config", "cpu_affinity", "aslr", "python_version", "platform")

_PLAIN: frozenset[type[Any]] = frozenset((str, float, int, bool, type(None)))
Places = npt.NDArray[np.intp]
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
    if (columns := _plain_runs(document)) is None:
        document = valid(Document, content.path, document, "pyperf").model_dump()
    calibrations = 0
    for number, benchmark in enumerate(document["benchmarks"]):
        common = {**_metadata(document), **_metadata(benchmark)}
        found.version = str(common.get("perf_version") or found.version)
        found.facts |= {name: str(common[name]) for name in _FACTS if name in common}
        own = None if columns is None else columns[number]
        every = benchmark["runs"]
        runs = _measured_runs(every) if own is None else _measured_columns(own)
        calibrations += len(every) - len(runs)
        if own is None or _differ(own, runs):
            _add_runs(found, number, common, every, runs.tolist())
        elif runs.size:
            _add_columns(found, number, common, own, runs)
    if calibrations:
        found.note("calibration_dropped", n=calibrations)


def _plain_runs(document: Mapping[str, Any]) -> list[Columns] | None:
    """Return the runs of each benchmark as columns, if a document has the types that `Document` has; else None."""
    benchmarks: Sequence[dict[str, Any]] = document["benchmarks"]
    if type(document["version"]) is not str or not _are_plain([document, *benchmarks]):
        return None
    found: list[Columns] = []
    for benchmark in benchmarks:
        columns = columns_of(benchmark["runs"]) if is_list(benchmark["runs"]) else None
        if columns is None or not all(
            column.has_only(Kind.ABSENT, *_kinds(path)) for path, column in columns.items()
        ):
            return None
        found.append(columns)
    return found


def _kinds(path: tuple[str, ...]) -> Iterable[Kind]:
    """Return what may stand under a key of a run, or of its metadata, for it to be read as a column."""
    match path:
        case ("values",):
            return Kind.NULL, Kind.NUMBERS
        case ("metadata",):
            return (Kind.OBJECT,)
        case ("metadata", "hostname" | "boot_time" | "date"):
            return Kind.NULL, Kind.TEXT
        case ("metadata", _):
            return set(Kind) - {Kind.NUMBERS, Kind.LIST, Kind.OBJECT}
        case _:
            return Kind


def _are_plain(parts: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if the metadata of parts of a document have their types."""
    found: list[Any] = [part["metadata"] for part in parts if "metadata" in part]
    return {dict}.issuperset(map(type, found)) and all(
        _PLAIN.issuperset(map(type, each.values())) for each in found
    )


def _measured_runs(every: Sequence[Mapping[str, Any]]) -> Places:
    """Return the places of the runs that have values."""
    return np.array([place for place, run in enumerate(every) if run.get("values")], np.intp)


def _measured_columns(columns: Columns) -> Places:
    """Return the places of the runs that have values."""
    values = columns.get(("values",))
    return np.zeros(0, np.intp) if values is None else np.flatnonzero(np.diff(values.bounds))


def _differ(columns: Columns, runs: Places) -> bool:
    """Return True if runs may differ in what they measure."""
    told = [columns.get(("metadata", name)) for name in ("name", "unit")]
    return any(column is not None and bool(column.kinds[runs].any()) for column in told)


def _add_runs(
    found: Found,
    number: int,
    common: Mapping[str, object],
    every: Sequence[Mapping[str, Any]],
    runs: Sequence[int],
) -> None:
    """Add the runs of a benchmark that have values, of which each may have another metric."""
    for run in runs:
        each = every[run]
        _add(
            found,
            f"/benchmarks/{number}/runs/{run}",
            each["values"],
            {**common, **_metadata(each)},
            number + 1,
        )


def _add_columns(
    found: Found, number: int, common: Mapping[str, object], columns: Columns, runs: Places
) -> None:
    """Add the runs of a benchmark that have values, all of the same metric, as a block."""
    where = f"/benchmarks/{number}/runs/"
    metric, unit, better = _measured(common)
    of_values = columns["values",]
    bounds = np.append(of_values.bounds[runs], len(of_values.inner))
    places, within = _places(common, columns, runs)
    starts, ends = _spans(common, columns, runs)
    found.add_block(
        metric,
        _core.part_means(of_values.inner, bounds),
        unit,
        better,
        treatments=[{"benchmark": common.get("name") or number + 1}],
        treatment=np.zeros(len(runs), np.int32),
        numbers=runs.astype(np.int32),
        process=(where, ""),
        where=(where, ""),
        units=places,
        within=within,
        starts=starts,
        ends=ends,
        samples=Ragged("value", of_values.inner, bounds),
    )


def _told(
    common: Mapping[str, object], columns: Columns, key: str, runs: Places
) -> tuple[list[object], npt.NDArray[np.intp]]:
    """Return what runs are told under a key by texts: the different values, and which of them each run has."""
    column = columns.get(("metadata", key))
    if column is None:
        return [common.get(key)], np.zeros(len(runs), np.intp)
    kinds = column.kinds[runs]
    which = (kinds == Kind.NULL).astype(np.intp)
    if column.texts:
        which = np.where(kinds == Kind.TEXT, column.codes[runs] + 2, which)
    return [common.get(key), None, *column.texts], which


def _places(
    common: Mapping[str, object], columns: Columns, runs: Places
) -> tuple[list[dict[str, str]], npt.NDArray[np.int32]]:
    """Return the levels above the processes, and which of them each run has."""
    hosts, host = _told(common, columns, "hostname", runs)
    boots, boot = _told(common, columns, "boot_time", runs)
    pairs, first, which = np.unique(host * len(boots) + boot, return_index=True, return_inverse=True)
    places = [
        _place({"hostname": hosts[pair // len(boots)], "boot_time": boots[pair % len(boots)]})
        for pair in pairs[np.argsort(first)].tolist()
    ]
    units = list(dict.fromkeys(places))
    numbers = np.array([units.index(place) for place in places], np.int32)
    return list(map(dict, units)), numbers[np.argsort(np.argsort(first))[which]]


def _spans(common: Mapping[str, object], columns: Columns, runs: Places) -> tuple[Floats, Floats]:
    """Return when runs began and ended, NaN where that is unknown."""
    dates, which = _told(common, columns, "date", runs)
    started = np.array([nan if (moment := _moment(date)) is None else moment for date in dates])[which]
    duration = np.full(len(runs), nan)
    told = columns.get(("metadata", "duration"))
    if (usual := Part(common.get("duration")).number) is not None:
        duration[:] = usual
    if told is not None:
        own = told.values[runs] if told.values.size else nan
        duration = np.where(told.kinds[runs] == Kind.ABSENT, duration, own)
    duration[~np.isfinite(duration)] = nan
    return started, started + duration


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
        runs=documents_apart,
    ),
)
