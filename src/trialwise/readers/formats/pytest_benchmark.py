"""pytest-benchmark's JSON: rounds of one process, in seconds per call; and the table of its `compare --csv`.

A test that failed after it was measured is written like the others.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from math import isfinite, nan
from typing import Any

from pydantic import BaseModel, Field

from trialwise.readers.appended import apart_at, documents_apart
from trialwise.readers.content import Content
from trialwise.readers.declared import NO_UNIT, Found, Reader, entries_have
from trialwise.readers.forms import valid
from trialwise.readers.parts import moment
from trialwise.readers.records import Inside, Summary

_PARAMETERS = re.compile(r"^([^\[]*)\[(.*)\]$", re.DOTALL)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,16}\b")
_FACTS = ("node", "machine", "python_version", "system", "release")


class Stats(BaseModel):
    """Statistics over rounds; `data` are their times."""

    mean: float | None = None
    stddev: float | None = None
    rounds: int
    iterations: int | None = None
    data: list[Any] | None = None

    @property
    def times(self) -> Sequence[float] | None:
        """The time of each round; None if not all are in the file, as when some were cut out by hand."""
        data = self.data or []
        numbers = [float(value) for value in data if _is_number(value)]
        return numbers if len(numbers) == len(data) == self.rounds and numbers else None


class Benchmark(BaseModel):
    """One benchmark."""

    name: str
    fullname: str = ""
    params: dict[str, Any] | None = None
    stats: Stats


class Document(BaseModel):
    """What pytest-benchmark writes."""

    machine_info: dict[str, Any]
    commit_info: dict[str, Any] = Field(default_factory=dict)
    benchmarks: list[Benchmark]
    datetime: str = ""
    version: str = ""


def _is_number(value: object) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 53)


def _fits(content: Content) -> bool:
    return "machine_info" in content.keys and entries_have(content.keys, "benchmarks", "stats")


def _read(content: Content, found: Found) -> None:
    document = valid(Document, content.path, content.keys, "pytest-benchmark")
    found.version = document.version
    machine = document.machine_info
    found.facts |= {name: str(machine[name]) for name in _FACTS if isinstance(machine.get(name), str)}
    if document.commit_info.get("dirty") is True:
        found.remark("the working tree had changes that were not committed")
    if isinstance(commit := document.commit_info.get("id"), str):
        found.commits[commit] = moment(str(document.commit_info.get("time") or ""))
    names = _names(document.benchmarks)
    written = _moment(document.datetime)
    for number, (name, each) in enumerate(zip(names, document.benchmarks, strict=True)):
        _add(found, name, each, f"/benchmarks/{number}", str(machine.get("node") or ""), written)
    found.note("failed_not_marked")
    found.note("within_process")
    if all(each.stats.times is None for each in document.benchmarks):
        found.unit = NO_UNIT


def _names(benchmarks: Sequence[Benchmark]) -> list[str]:
    """Return the name of each benchmark without its parameters: with the file where two files have the same one."""
    short = [_split(each.name)[0] for each in benchmarks]
    full = [_split(each.fullname or each.name)[0] for each in benchmarks]
    files = Counter(name for name, _ in set(zip(short, full, strict=True)))
    return [
        longer if files[name] > 1 and name else name or longer
        for name, longer in zip(short, full, strict=True)
    ]


def _split(name: str) -> tuple[str, str]:
    found = _PARAMETERS.match(name)
    return (found[1], found[2]) if found else (name, "")


def _parameters(each: Benchmark) -> Mapping[str, object]:
    """Return parameters by name; by number if the file has them in the name of the test alone.

    The address of an object is another in each process: then what stands in the name of the test is the only parameter.
    """
    told = _split(each.name)[1]
    if each.params is not None:
        has_address = any(_ADDRESS.search(str(level)) for level in each.params.values())
        return {"param": told} if has_address and told else each.params
    return {f"param{number}": part for number, part in enumerate(told.split("-"), 1)} if told else {}


def _add(found: Found, name: str, each: Benchmark, where: str, host: str, written: float | None) -> None:
    treatment = {"benchmark": name, **_parameters(each)}
    levels = {"host": host, "process": "1", "repetition": where}
    times = each.stats.times
    if times is None:
        summary = Summary(n=each.stats.rounds, deviation=each.stats.stddev)
        found.add(
            treatment,
            "time",
            each.stats.mean,
            "s",
            "lower",
            status="aggregated",
            summary=summary,
            where=where,
        )
        return
    mean = each.stats.mean if each.stats.mean is not None else sum(times) / len(times)
    inside = Inside("round", times, repeated=True)
    found.add(treatment, "time", mean, "s", "lower", levels=levels, end=written, samples=inside, where=where)


_STATISTICS = ("min", "max", "mean", "stddev", "median", "iqr", "outliers", "ops", "rounds", "iterations")
"""Columns of the table, in the order in which they are written unless another is asked for."""
_TIMES = ("mean", "median", "min")
_COUNTS = {"rounds", "iterations"}
_PARAMETER = "param:"


def _columns(content: Content) -> list[str]:
    return content.head.split("\n", 1)[0].rstrip("\r").split(",")


def _is_csv(content: Content) -> bool:
    if content.is_binary:
        return False
    first, *others = _columns(content)
    statistics = [name for name in others if not name.startswith(_PARAMETER)]
    return (
        first == "name"
        and set(statistics) <= set(_STATISTICS)
        and bool(set(_TIMES) & set(statistics))
        and (len(statistics) < len(others) or set(statistics) >= _COUNTS)
    )


def _read_csv(content: Content, found: Found) -> None:
    """Read the table of `compare`: a row for each benchmark of each file, whose name it does not tell."""
    seen = Counter[str]()
    for line, row in enumerate(csv.DictReader(content.lines), 2):
        name = row["name"] or ""
        levels = {
            key.removeprefix(_PARAMETER): level
            for key, level in row.items()
            if key and key.startswith(_PARAMETER) and level
        }
        seen[name] += 1
        told = {key: _number(found, line, row[key]) for key in (*_TIMES, "stddev", "rounds") if key in row}
        which = next(key for key in _TIMES if key in told)
        rounds = told.get("rounds")
        found.add(
            {"benchmark": _split(name.rpartition("::")[2])[0], **levels},
            "time" if which == "mean" else f"time_{which}",
            told[which],
            "s",
            "lower",
            levels={"process": seen[name]},
            status="aggregated",
            summary=Summary(n=None if rounds is None else int(rounds), deviation=told.get("stddev")),
            where=f"line {line}",
        )
    found.note("failed_not_marked")
    found.remark(
        "the files below .benchmarks from which the table was made are read, too, and have the processes"
    )
    if max(seen.values(), default=0) > 1:
        found.remark("rows of the same benchmark are of several files, whose names the table does not tell")


def _number(found: Found, line: int, cell: str | None) -> float | None:
    try:
        number = float(cell) if cell else None
    except ValueError:
        number = nan
    if number is not None and not isfinite(number):
        raise found.wrong(f"line {line}: {str(cell)[:40]!r} is no number")
    return number


def _moment(told: str) -> float | None:
    """Return Unix seconds of the time at which the file was written."""
    try:
        return datetime.fromisoformat(told).timestamp()
    except (ValueError, OverflowError):
        return None


READERS = (
    Reader(
        name="pytest-benchmark-json",
        tool="pytest-benchmark",
        how="`pytest --benchmark-json FILE`",
        replicated="process",
        unit="process: 1",
        subjects=("benchmark",),
        fits=_fits,
        read=_read,
        runs=documents_apart,
    ),
    Reader(
        name="pytest-benchmark-csv",
        tool="pytest-benchmark",
        how="`pytest-benchmark compare --csv FILE`",
        replicated="process",
        unit=NO_UNIT,
        subjects=("benchmark",),
        fits=_is_csv,
        read=_read_csv,
        runs=apart_at(
            re.compile(rf"^name,(?:{_PARAMETER}|(?:{'|'.join(_STATISTICS)})[,\r\n])", re.MULTILINE)
        ),
    ),
)
