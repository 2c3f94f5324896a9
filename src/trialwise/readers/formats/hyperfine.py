"""hyperfine's exports: `--export-json` (`benchmark_result.rs`) and `--export-csv`; times are in seconds.

A run is a process. Until 1.20, `user` and `system` are means over runs, so they are no values of trials. hyperfine runs all of one
command before the next, and writes no times of day of runs.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Annotated, Any, TypeGuard

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, BeforeValidator

from trialwise.numbers import counted
from trialwise.readers.appended import apart_at, documents_apart
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader, entries_have
from trialwise.readers.formats.hyperfine_measurements import (
    UNITS,
    Measured,
    Runs,
    counted_in,
    metrics_of_table,
    named_and_better,
    parameter,
    runs_of,
)
from trialwise.readers.forms import Floats, MaybeWholes, valid
from trialwise.readers.records import Better, Summary
from trialwise.readers.units import normalised

_COLUMNS = ["command", "mean", "stddev", "median", "user", "system", "min", "max"]


class Spread(BaseModel):
    """What hyperfine 2 tells of a metric of all runs."""

    mean: float | None = None
    stddev: float | None = None
    count: int | None = None
    unit: str = ""


class Result(BaseModel):
    """One command; since 2.0, it has a `name` of its own, and `measurements` in place of times, memory and exit codes."""

    command: str
    name: str | None = None
    measurements: Any = None
    summary: dict[str, Spread] | None = None
    mean: float | None = None
    stddev: float | None = None
    times: Floats | None = None
    exit_codes: MaybeWholes | None = None
    """None: a signal ended the run."""
    memory_usage_byte: Floats | None = None
    parameters: dict[str, Annotated[str, BeforeValidator(parameter)]] | None = None
    user: float | None = None


class Origin(BaseModel):
    """What hyperfine 2 tells of itself."""

    hyperfine_version: str = ""


class Document(BaseModel):
    """What hyperfine writes."""

    results: list[Result]
    metadata: Origin = Origin()


def _is_json(content: Content) -> bool:
    return entries_have(content.keys, "results", "command")


def _read_json(content: Content, found: Found) -> None:
    document = valid(Document, content.path, content.keys, "hyperfine")
    found.version = document.metadata.hyperfine_version
    if document.results and all(
        each.times is each.measurements is each.summary is each.mean is None for each in document.results
    ):
        raise found.wrong("looks like hyperfine's, but has neither runs nor means")
    zeros = 0
    for number, (result, levels) in enumerate(zip(document.results, _levels(document.results), strict=True)):
        where = f"/results/{number}"
        if (runs := _runs(result, found, where)) is not None:
            _add_runs(found, runs, levels)
            zeros += int((runs.measured[0].values == 0).sum())
        else:
            _add_summary(found, result, levels, where)
    parameters = [result.parameters or {} for result in document.results]
    if all(parameters) and len({tuple(sorted(each.items())) for each in parameters}) == len(parameters):
        found.named = tuple(dict.fromkeys(name for each in parameters for name in each))
    if len(document.results) > 1:
        found.note("order_blocked")
    if zeros:
        found.remark(
            f"{counted(zeros, 'run')} took no longer than the shell alone, and hyperfine wrote 0 s: use --shell none"
        )
    if any(result.user is not None for result in document.results):
        found.remark("user and system times are means over the runs of a command, and are left out")


def _runs(result: Result, found: Found, where: str) -> Runs | None:
    """Return the runs of a command; None if its file has only what was computed from them."""
    if result.measurements is not None:
        return runs_of(result.measurements, found, f"{where}/measurements")
    if not result.times:
        return None
    times, memory = _array(result.times), _array(result.memory_usage_byte)[: len(result.times)]
    measured = [Measured("time", times, "s", "lower", f"{where}/times/")]
    if memory.size:
        measured.append(Measured("memory", memory, "byte", "lower", f"{where}/memory_usage_byte/"))
    codes = result.exit_codes
    return Runs(measured, {} if codes is None else _reasons(codes, len(times)))


def _add_runs(found: Found, runs: Runs, treatment: Mapping[str, str]) -> None:
    """Add the metrics of runs; a run that failed is one of the time alone."""
    for each in runs.measured:
        is_time = each is runs.measured[0]
        own = np.arange(len(each.values), dtype=np.int32)
        if not is_time and runs.reasons:
            own = own[~np.isin(own, list(runs.reasons))]
        if not own.size:
            continue
        found.add_block(
            each.metric,
            each.values[own],
            each.unit,
            each.better,
            treatments=[treatment],
            treatment=np.zeros(len(own), np.int32),
            numbers=own,
            process=(each.before.rsplit("/", 2)[0] + "/", ""),
            where=(each.before, each.after),
            reasons=runs.reasons if is_time else {},
            lasts=is_time,
        )


def _add_summary(found: Found, result: Result, treatment: Mapping[str, str], where: str) -> None:
    if result.summary is None:
        summary = Summary(deviation=result.stddev)
        found.add(
            treatment, "time", result.mean, "s", "lower", status="aggregated", summary=summary, where=where
        )
    for key, spread in (result.summary or {}).items():
        metric, better = named_and_better(key)
        found.add(
            treatment,
            metric,
            spread.mean,
            UNITS.get(spread.unit, spread.unit),
            better,
            status="aggregated",
            summary=Summary(n=spread.count, deviation=spread.stddev),
            where=f"{where}/summary/{key}",
        )


def _array(values: Sequence[float] | None) -> npt.NDArray[np.float64]:
    if isinstance(values, array):
        return np.frombuffer(values)
    return np.array([] if values is None else values, np.float64)


def _is_code(code: float | None) -> TypeGuard[float]:
    return code is not None and not (isinstance(code, float) and isnan(code))


def _reasons(codes: Sequence[int | None], runs: int) -> dict[int, str]:
    """Return why runs failed."""
    return {
        run: f"exit code {int(code)}" if _is_code(code) else "a signal ended it"
        for run, code in enumerate(codes[:runs])
        if code != 0
    }


def _levels(results: Sequence[Result]) -> list[Mapping[str, str]]:
    """Return the levels of each result: its command with its parameters, and a place where these stand several times."""
    levels = [{"command": result.name or result.command, **(result.parameters or {})} for result in results]
    total = Counter(tuple(each.items()) for each in levels)
    seen = Counter[tuple[tuple[str, str], ...]]()
    found: list[Mapping[str, str]] = []
    for each in levels:
        key = tuple(each.items())
        seen[key] += 1
        found.append({**each, "place": str(seen[key])} if total[key] > 1 else each)
    return found


def _columns(content: Content) -> list[str]:
    return content.head.split("\n", 1)[0].rstrip("\r").split(",")


def _is_csv(content: Content) -> bool:
    if content.is_binary:
        return False
    columns = _columns(content)
    return columns[: len(_COLUMNS)] == _COLUMNS or bool(metrics_of_table(columns))


def _read_csv(content: Content, found: Found) -> None:
    keys = metrics_of_table(_columns(content))
    for line, row in enumerate(csv.DictReader(content.lines), 2):
        treatment = {"command": row["command"]} | {
            name.removeprefix("parameter_"): level
            for name, level in row.items()
            if name and name.startswith("parameter_")
        }
        for key in keys:
            metric, better = named_and_better(key)
            factor, unit = counted_in(key, row[f"{key}_unit"] or "")
            told = [_number(found, line, row[f"{key}_{what}"]) for what in ("mean", "stddev")]
            _add_row(found, treatment, (metric, unit, better), [each * factor for each in told], line)
        if not keys:
            told = [_number(found, line, row[what]) for what in ("mean", "stddev")]
            _add_row(found, treatment, ("time", "s", "lower"), told, line)


def _number(found: Found, line: int, cell: str | None) -> float:
    try:
        return float(cell or "nan")
    except ValueError:
        raise found.wrong(f"line {line}: {cell!r} is no number") from None


def _add_row(
    found: Found,
    treatment: Mapping[str, str | None],
    kind: tuple[str, str, Better | None],
    told: Sequence[float],
    line: int,
) -> None:
    """Add the mean and the standard deviation of a metric."""
    metric, unit, better = kind
    (mean, unit), (deviation, _) = (normalised(each, unit) for each in told)
    found.add(
        treatment,
        metric,
        mean,
        unit,
        better,
        status="aggregated",
        summary=Summary(deviation=deviation),
        where=f"line {line}",
    )


READERS = (
    Reader(
        name="hyperfine-json",
        tool="hyperfine",
        how="`hyperfine --export-json FILE …`",
        replicated="process",
        unit="run (one process)",
        fits=_is_json,
        read=_read_json,
        runs=documents_apart,
    ),
    Reader(
        name="hyperfine-csv",
        tool="hyperfine",
        how="`hyperfine --export-csv FILE …`",
        replicated="process",
        unit="none (summary)",
        fits=_is_csv,
        read=_read_csv,
        runs=apart_at(re.compile(r"^command,(?:mean,stddev,|\w{1,100}_unit,)", re.MULTILINE)),
    ),
)
