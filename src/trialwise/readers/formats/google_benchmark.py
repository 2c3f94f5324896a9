"""Google Benchmark's JSON and CSV (`json_reporter.cc`, `csv_reporter.cc`): a row for each repetition, and rows that summarise them.

Repetitions run in one process. Times are per iteration, in the unit of their own row. A row of a failed benchmark has times of 0.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from trialwise.readers.appended import apart_at, documents_apart
from trialwise.readers.content import Content
from trialwise.readers.declared import NO_UNIT, Found, Reader, entries_have
from trialwise.readers.forms import valid
from trialwise.readers.long_lists import Column, Columns, Kind, columns_of
from trialwise.readers.records import Better, Summary
from trialwise.readers.units import normalised

_OPTIONS = ("real_time", "process_time", "manual_time")
_SUMMARY = re.compile(r"^(.+)_(mean|median|stddev|cv|BigO|RMS)$")
_FITS = ("BigO", "RMS")
"""Summaries of a family of benchmarks: how their times grow."""
_RATES: Mapping[str, tuple[str, Better]] = {
    "items_per_second": ("1/s", "higher"),
    "bytes_per_second": ("byte/s", "higher"),
}
_OF_ROWS = {"family_index", "per_family_instance_index", "iterations", "complexity_n", "threads"}
_FACTS = ("host_name", "executable", "num_cpus", "mhz_per_cpu", "library_version", "library_build_type")
_COLUMNS = "name,iterations,real_time,cpu_time,time_unit,"
_HEADER = re.compile(rf"^{_COLUMNS}", re.MULTILINE)


class Entry(BaseModel):
    """One row; further numbers are counters."""

    model_config = ConfigDict(extra="allow")

    name: str
    run_name: str = ""
    run_type: str = ""
    aggregate_name: str = ""
    repetition_index: int | None = None
    repetitions: int | None = None
    real_time: float | None = None
    cpu_time: float | None = None
    time_unit: str = "ns"
    label: str = ""
    error_occurred: bool = False
    error_message: str = ""
    skipped: bool = False
    skip_message: str = ""

    @property
    def counters(self) -> Iterator[tuple[str, float]]:
        """The counters, and rates per second."""
        for name, value in (self.model_extra or {}).items():
            if name not in _OF_ROWS and _is_number(value):
                yield name, value


_TIMES = ("real_time", "cpu_time")
_FAILURES = ("error_occurred", "skipped", "error_message")
_NO_COUNTERS = frozenset((*Entry.model_fields, *_OF_ROWS))
_TEXTS = (
    "name",
    "run_name",
    "run_type",
    "aggregate_name",
    "time_unit",
    "label",
    "error_message",
    "skip_message",
)
_KINDS: Mapping[str, tuple[Kind, ...]] = {
    **dict.fromkeys(_TEXTS, (Kind.TEXT,)),
    **dict.fromkeys(("repetition_index", "repetitions"), (Kind.WHOLE, Kind.NULL)),
    **dict.fromkeys(_TIMES, (Kind.WHOLE, Kind.DOUBLE)),
    **dict.fromkeys(("error_occurred", "skipped"), (Kind.TRUE, Kind.FALSE)),
}
"""What the fields of a row are in JSON, if they are there."""


class Document(BaseModel):
    """What Google Benchmark writes."""

    context: dict[str, Any]
    benchmarks: list[Entry]


def _is_json(content: Content) -> bool:
    keys = content.keys
    return isinstance(keys.get("context"), dict) and entries_have(keys, "benchmarks", "name")


def _read_json(content: Content, found: Found) -> None:
    context = content.keys["context"]
    columns = columns_of(content.keys["benchmarks"])
    if columns is None or (runs := _plain_runs(columns)) is None:
        document = valid(Document, content.path, content.keys, "Google Benchmark")
        _add_context(found, context)
        _read_rows(_with_kinds(document.benchmarks), found)
    else:
        _add_context(found, context)
        _read_columns(columns, runs, found)


def _add_context(found: Found, context: Mapping[str, Any]) -> None:
    found.version = str(context.get("library_version") or "")
    found.facts |= {name: str(context[name]) for name in _FACTS if name in context}
    if context.get("library_build_type") == "debug":
        found.note("debug_build")
    if context.get("cpu_scaling_enabled") is True:
        found.remark("the frequency of the processor was scaled while the benchmarks ran")


def _is_csv(content: Content) -> bool:
    return not content.is_binary and _HEADER.search(content.head) is not None


def _read_csv(content: Content, found: Found) -> None:
    lines = content.lines
    header = next(number for number, line in enumerate(lines) if line.startswith(_COLUMNS))
    rows: list[Entry] = []
    for cells in csv.DictReader(lines[header:]):
        is_short = None in cells.values() and cells.get("error_occurred") != "true"
        if is_short or None in cells:
            found.note("partial", what=f"the row of {cells['name']} is not whole")
            continue
        known = {name: cell for name, cell in cells.items() if cell not in ("", None)}
        counters = {name: _number(cell) for name, cell in known.items() if name not in Entry.model_fields}
        own = {name: cell for name, cell in known.items() if name in Entry.model_fields}
        rows.append(valid(Entry, content.path, {**own, **counters}, "Google Benchmark"))
    _read_rows(_with_kinds(rows), found)


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def _with_kinds(rows: Sequence[Entry]) -> list[Entry]:
    """Tell summaries from repetitions in files of old versions and in CSV, where only names do."""
    names = {row.name for row in rows}
    for row in rows:
        row.run_name = row.run_name or row.name
        if row.run_type or not (found := _SUMMARY.match(row.name)):
            continue
        stem, kind = found[1], found[2]
        if stem in names or {f"{stem}_mean", f"{stem}_median"} <= names or {f"{stem}_BigO"} <= names:
            row.run_type, row.aggregate_name, row.run_name = "aggregate", kind, stem
    return list(rows)


def _read_rows(rows: Sequence[Entry], found: Found) -> None:
    runs = [(number, row) for number, row in enumerate(rows) if row.run_type != "aggregate"]
    measured = {row.run_name for _, row in runs}
    seen: dict[str, int] = {}
    for number, row in runs:
        index = seen[row.run_name] = seen.get(row.run_name, -1) + 1
        _add_run(found, row, index, number)
    summarised: dict[str, dict[str, tuple[int, Entry]]] = {}
    skipped = 0
    for number, row in enumerate(rows):
        if row.run_type == "aggregate" and row.run_name not in measured:
            summarised.setdefault(row.run_name, {})[row.aggregate_name] = number, row
        skipped += row.run_type == "aggregate" and (row.run_name in measured or row.aggregate_name in _FITS)
    for each in summarised.values():
        _add_summary(found, each)
    if summarised and not runs:
        found.unit = NO_UNIT
    _note_rows(found, seen, skipped, is_summarised=bool(summarised))
    _note_names(found, [row.run_name for row in rows], [row.label for row in rows])


def _note_rows(found: Found, seen: Mapping[str, int], skipped: int, *, is_summarised: bool = False) -> None:
    """Note what follows from the index of the last repetition of each benchmark, and from how many summaries were left out."""
    if skipped:
        found.note("aggregates_skipped", n=skipped)
    if is_summarised or any(seen.values()):
        found.note("within_process")
    if len(seen) > 1 and any(seen.values()):
        found.note("order_unknown")


def _note_names(found: Found, names: Iterable[str], labels: Iterable[str]) -> None:
    factors = {
        part: None for name in dict.fromkeys(names) for part in _treatment(name) if part != "benchmark"
    }
    if factors:
        found.note("factors_in_name", what=", ".join(factors))
    if told := dict.fromkeys(filter(None, labels)):
        found.remark(f"labels of benchmarks: {', '.join(told)}")


@dataclass(frozen=True, slots=True)
class _Runs:
    """The rows that are repetitions: their places, the different names of all rows, which of them each row has, and the unit."""

    places: npt.NDArray[np.intp]
    names: Sequence[str]
    which: npt.NDArray[np.intp]
    unit: str


def _plain_runs(columns: Columns) -> _Runs | None:
    """Return the repetitions, if these can be read as columns: fields have their types, nothing failed, units are equal.

    None if not, or if there are summaries of what has no repetitions.
    """
    own = {name: column for (name, *inner), column in columns.items() if not inner}
    if not all(column.has_only(Kind.ABSENT, *_KINDS[name]) for name, column in own.items() if name in _KINDS):
        return None
    kind = own.get("run_type")
    if kind is None or not kind.kinds.all() or "" in kind.texts or _has_failed(own):
        return None
    places = np.flatnonzero(~_is_text(kind, "aggregate"))
    units = _units(own.get("time_unit"), places)
    if len(units) != 1 or not all(name in own and own[name].kinds[places].all() for name in _TIMES):
        return None
    names, which = _named(own)
    return _Runs(places, names, which, units[0]) if np.isin(which, which[places]).all() else None


def _has_failed(own: Mapping[str, Column]) -> bool:
    signs = [own[name] for name in _FAILURES if name in own]
    return any((sign.kinds == Kind.TRUE).any() or any(sign.texts) for sign in signs)


def _is_text(column: Column, text: str) -> npt.NDArray[np.bool_]:
    """Return which rows of a column of texts have this one."""
    return column.codes == (column.texts.index(text) if text in column.texts else len(column.texts))


def _units(column: Column | None, places: npt.NDArray[np.intp]) -> list[str]:
    """Return the different units of times; nanoseconds where none is told."""
    if column is None or not places.size:
        return ["ns"] if places.size else []
    is_told = column.kinds[places] == Kind.TEXT
    codes: list[int] = np.unique(column.codes[places][is_told]).tolist()
    told = [column.texts[code] for code in codes]
    return list(dict.fromkeys([*told, *([] if is_told.all() else ["ns"])]))


def _named(own: Mapping[str, Column]) -> tuple[list[str], npt.NDArray[np.intp]]:
    """Return the different names of benchmarks, and which of them each row has: that of the run, or else its own."""
    known: dict[str, int] = {}

    def codes(column: Column) -> npt.NDArray[np.intp]:
        return np.array([known.setdefault(text, len(known)) for text in column.texts], np.intp)[column.codes]

    which = codes(own["name"])
    if "run_name" in own and own["run_name"].texts:
        of_run = own["run_name"]
        is_told = (of_run.kinds == Kind.TEXT) & ~_is_text(of_run, "")
        which = np.where(is_told, codes(of_run), which)
    return list(known), which


def _read_columns(columns: Columns, runs: _Runs, found: Found) -> None:
    """Add a block for each metric, since a row for each of millions of repetitions takes ten times the file."""
    which = runs.which[runs.places]
    order = _in_order(which)
    seen = [runs.names[code] for code in order]
    ranks = np.zeros(len(runs.names), np.int32)
    ranks[order] = np.arange(len(order))
    of, numbers = ranks[which], _occurrences(which)
    treatments = [_treatment(name) for name in seen]
    for metric in _metrics(columns, runs.places, seen[0]):
        column = columns[metric,]
        own = column.is_number[runs.places]
        chosen = slice(None) if own.all() else own
        unit, better = _RATES.get(metric, ("", None))
        if metric in _TIMES:
            unit, better = runs.unit, "lower"
        found.add_block(
            metric,
            column.values[runs.places][chosen],
            unit,
            better,
            treatments=treatments,
            treatment=of if own.all() else of[chosen],
            numbers=numbers[chosen],
            repetitions=[f"{name}#" for name in seen],
            where=("/benchmarks/", ""),
            places=runs.places[chosen],
        )
    _note_rows(found, dict(zip(seen, np.bincount(of) - 1, strict=True)), len(runs.which) - len(runs.places))
    labels = columns["label",].texts if ("label",) in columns else ()
    _note_names(found, (runs.names[code] for code in _in_order(runs.which)), labels)


def _in_order(codes: npt.NDArray[np.intp]) -> list[int]:
    """Return the different codes in the order in which they occur."""
    return codes[np.sort(np.unique(codes, return_index=True)[1])].tolist()


def _occurrences(codes: npt.NDArray[np.intp]) -> npt.NDArray[np.int32]:
    """Return how often the code of each row occurred before it."""
    order = np.argsort(codes, kind="stable")
    counts = np.unique(codes, return_counts=True)[1]
    found = np.empty(len(codes), np.int32)
    found[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    return found


def _metrics(columns: Columns, places: npt.NDArray[np.intp], first: str) -> list[str]:
    """Return the times of the first benchmark, then the counters in the order in which they occur among the repetitions."""
    begins = {
        name: int(np.argmax(is_number))
        for (name, *inner), column in columns.items()
        if not inner and name not in _NO_COUNTERS and (is_number := column.is_number[places]).any()
    }
    return [*_times(first), *sorted(begins, key=begins.__getitem__)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _treatment(name: str) -> dict[str, str]:
    """Split `BM/8/threads:2`: arguments without a name are numbered, and ways of timing are options."""
    first, *parts = name.split("/")
    found, options = {"benchmark": first}, list[str]()
    for number, part in enumerate((part for part in parts if part not in _OPTIONS and ":" not in part), 1):
        found[f"arg{number}"] = part
    for part in parts:
        if part in _OPTIONS:
            options.append(part)
        elif ":" in part:
            key, _, level = part.partition(":")
            found[key] = level
    return found | ({"options": "/".join(options)} if options else {})


def _add_run(found: Found, row: Entry, index: int, number: int) -> None:
    treatment = _treatment(row.run_name)
    levels = {"repetition": f"{row.run_name}#{index}"}
    where = f"/benchmarks/{number}"
    failed = row.error_occurred or row.skipped or bool(row.error_message)
    reason = row.error_message or row.skip_message or "it failed"
    for metric in _times(row.run_name):
        if failed:
            found.add(
                treatment,
                metric,
                None,
                "s",
                "lower",
                levels=levels,
                status="failed",
                reason=reason,
                where=where,
            )
        else:
            value = row.real_time if metric == "real_time" else row.cpu_time
            found.add(treatment, metric, value, row.time_unit, "lower", levels=levels, where=where)
    if not failed:
        for name, value in row.counters:
            unit, better = _RATES.get(name, ("", None))
            found.add(treatment, name, value, unit, better, levels=levels, where=where)


def _times(name: str) -> tuple[str, str]:
    """Return the two times, first the one that the benchmark is about."""
    options = name.split("/")
    if "real_time" in options or "manual_time" in options:
        return "real_time", "cpu_time"
    return "cpu_time", "real_time"


def _add_summary(found: Found, kinds: Mapping[str, tuple[int, Entry]]) -> None:
    """Add what is left of repetitions that are not in the file; other summaries than means have counters without a meaning."""
    if "mean" not in kinds:
        return
    number, mean = kinds["mean"]
    deviation = kinds["stddev"][1] if "stddev" in kinds else None
    values = {"real_time": mean.real_time, "cpu_time": mean.cpu_time, **dict(mean.counters)}
    spread: dict[str, float | None] = (
        {}
        if deviation is None
        else {
            "real_time": deviation.real_time,
            "cpu_time": deviation.cpu_time,
            **dict(deviation.counters),
        }
    )
    times = _times(mean.run_name)
    for metric in (*times, *(name for name, _ in mean.counters)):
        if (value := values.get(metric)) is None:
            continue
        unit, better = (mean.time_unit, "lower") if metric in times else _RATES.get(metric, ("", None))
        sd = spread.get(metric)
        found.add(
            _treatment(mean.run_name),
            metric,
            value,
            unit,
            better,
            status="aggregated",
            summary=Summary(
                n=mean.repetitions, deviation=None if sd is None else normalised(float(sd), unit)[0]
            ),
            where=f"/benchmarks/{number}",
        )


READERS = (
    Reader(
        name="google-benchmark-json",
        tool="Google Benchmark",
        how="`--benchmark_out=FILE --benchmark_repetitions=10`",
        replicated="repetition",
        unit="repetition (one process)",
        subjects=("benchmark",),
        fits=_is_json,
        read=_read_json,
        runs=documents_apart,
    ),
    Reader(
        name="google-benchmark-csv",
        tool="Google Benchmark",
        how="`--benchmark_out=FILE --benchmark_out_format=csv`",
        replicated="repetition",
        unit="repetition (one process)",
        subjects=("benchmark",),
        fits=_is_csv,
        read=_read_csv,
        runs=apart_at(_COLUMNS),
    ),
)
