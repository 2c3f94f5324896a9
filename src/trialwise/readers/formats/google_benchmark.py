"""Google Benchmark's JSON and CSV (`json_reporter.cc`, `csv_reporter.cc`): a row for each repetition, and rows that summarise them.

Repetitions run in one process. Times are per iteration, in the unit of their own row. A row of a failed benchmark has times of 0.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from trialwise.readers.content import Content
from trialwise.readers.declared import NO_UNIT, Found, Reader, entries_have
from trialwise.readers.forms import valid
from trialwise.readers.records import Better, Summary
from trialwise.readers.units import normalised

_OPTIONS = ("real_time", "process_time", "manual_time")
_SUMMARY = re.compile(r"^(.+)_(mean|median|stddev|cv|BigO|RMS)$")
_RATES: Mapping[str, tuple[str, Better]] = {
    "items_per_second": ("1/s", "higher"),
    "bytes_per_second": ("byte/s", "higher"),
}
_OF_ROWS = {"family_index", "per_family_instance_index", "iterations", "complexity_n", "threads"}
_FACTS = ("host_name", "executable", "num_cpus", "mhz_per_cpu", "library_version", "library_build_type")
_COLUMNS = "name,iterations,real_time,cpu_time,time_unit,"
_HEADER = re.compile(rf"^{_COLUMNS}", re.MULTILINE)
_NUMBERS = ("real_time", "cpu_time", *_RATES)


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


_TIMES = frozenset(("real_time", "cpu_time"))
_NO_COUNTERS = frozenset((*Entry.model_fields, *_OF_ROWS))
_FAILURES = ("error_occurred", "skipped", "error_message")
_KINDS: Mapping[str, frozenset[type[Any]]] = {
    **dict.fromkeys(
        (
            "name",
            "run_name",
            "run_type",
            "aggregate_name",
            "time_unit",
            "label",
            "error_message",
            "skip_message",
        ),
        frozenset((str,)),
    ),
    **dict.fromkeys(("repetition_index", "repetitions"), frozenset((int, type(None)))),
    **dict.fromkeys(_TIMES, frozenset((int, float))),
    **dict.fromkeys(("error_occurred", "skipped"), frozenset((bool,))),
}
"""Types of the fields of a row as JSON has them."""


class Document(BaseModel):
    """What Google Benchmark writes."""

    context: dict[str, Any]
    benchmarks: list[Entry]


def _is_json(content: Content) -> bool:
    keys = content.keys
    return isinstance(keys.get("context"), dict) and entries_have(keys, "benchmarks", "name")


def _read_json(content: Content, found: Found) -> None:
    context = content.keys["context"]
    if (runs := _plain_runs(content.keys["benchmarks"])) is None:
        document = valid(Document, content.path, content.keys, "Google Benchmark")
        _add_context(found, context)
        _read_rows(_with_kinds(document.benchmarks), found)
    else:
        _add_context(found, context)
        _read_columns(content.keys["benchmarks"], runs, found)


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
        skipped += row.run_type == "aggregate" and row.run_name in measured
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


def _plain_runs(entries: Sequence[Mapping[str, Any]]) -> list[int] | None:
    """Return the places of the repetitions, if these can be read as columns: fields have their types, nothing failed, units are equal.

    None if not, or if there are summaries of what has no repetitions.
    """
    if any(
        not kinds.issuperset(map(type, (entry[name] for entry in entries if name in entry)))
        for name, kinds in _KINDS.items()
    ):
        return None
    if not all(entry.get("run_type") for entry in entries) or any(
        entry.get(sign) for entry in entries for sign in _FAILURES
    ):
        return None
    runs = [place for place, entry in enumerate(entries) if entry["run_type"] != "aggregate"]
    measured = {_run_name(entries[place]) for place in runs}
    of_runs = len({entries[place].get("time_unit", "ns") for place in runs}) == 1 and all(
        "real_time" in entries[place] and "cpu_time" in entries[place] for place in runs
    )
    return runs if of_runs and measured.issuperset(map(_run_name, entries)) else None


def _run_name(entry: Mapping[str, Any]) -> str:
    return entry.get("run_name") or entry["name"]


def _read_columns(entries: Sequence[Mapping[str, Any]], runs: Sequence[int], found: Found) -> None:
    """Add a block for each metric, since a row for each of millions of repetitions takes ten times the file."""
    seen: dict[str, int] = {}
    numbers: list[int] = []
    for place in runs:
        name = _run_name(entries[place])
        seen[name] = seen.get(name, -1) + 1
        numbers.append(seen[name])
    ranks = {name: rank for rank, name in enumerate(seen)}
    of = np.fromiter((ranks[_run_name(entries[place])] for place in runs), np.int32, len(runs))
    treatments = [_treatment(name) for name in seen]
    for metric in _metrics([entries[place] for place in runs]):
        own = [row for row, place in enumerate(runs) if _is_number(entries[place].get(metric))]
        unit, better = _RATES.get(metric, ("", None))
        if metric in _TIMES:
            unit, better = entries[runs[0]].get("time_unit", "ns"), "lower"
        found.add_block(
            metric,
            [entries[runs[row]][metric] for row in own],
            unit,
            better,
            treatments=treatments,
            treatment=of if len(own) == len(runs) else of[own],
            numbers=[numbers[row] for row in own],
            repetitions=[f"{name}#" for name in seen],
            where=("/benchmarks/", ""),
            places=[runs[row] for row in own],
        )
    _note_rows(found, seen, len(entries) - len(runs))
    _note_names(found, map(_run_name, entries), (entry.get("label", "") for entry in entries))


def _metrics(runs: Sequence[Mapping[str, Any]]) -> dict[str, None]:
    """Return the times and counters in the order in which they occur."""
    found: dict[str, None] = {}
    for run in runs:
        if not found:
            found |= dict.fromkeys(_times(_run_name(run)))
        found |= {
            name: None
            for name, value in run.items()
            if name not in found and name not in _NO_COUNTERS and _is_number(value)
        }
    return found


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
    for metric in (*_times(mean.run_name), *_RATES):
        if (value := values.get(metric)) is None:
            continue
        unit, better = _RATES.get(metric, (mean.time_unit, "lower"))
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
    ),
)
