"""hyperfine's exports: `--export-json` (`benchmark_result.rs`) and `--export-csv`; times are in seconds.

A run is a process. `user` and `system` are means over runs, so they are no values of trials. hyperfine runs all of one command before
the next, and writes no times of day.
"""

from __future__ import annotations

import csv
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan
from typing import TypeGuard

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from trialwise.numbers import counted
from trialwise.readers.appended import apart_at, documents_apart
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader, entries_have
from trialwise.readers.forms import Floats, MaybeWholes, valid
from trialwise.readers.records import Summary

_COLUMNS = ["command", "mean", "stddev", "median", "user", "system", "min", "max"]


class Result(BaseModel):
    """One command."""

    command: str
    mean: float | None = None
    stddev: float | None = None
    times: Floats | None = None
    exit_codes: MaybeWholes | None = None
    """None: a signal ended the run."""
    memory_usage_byte: Floats | None = None
    parameters: dict[str, str] | None = None
    user: float | None = None


class Document(BaseModel):
    """What hyperfine writes."""

    results: list[Result]


def _is_json(content: Content) -> bool:
    return entries_have(content.keys, "results", "command")


def _read_json(content: Content, found: Found) -> None:
    document = valid(Document, content.path, content.keys, "hyperfine")
    for number, (result, levels) in enumerate(zip(document.results, _levels(document.results), strict=True)):
        where = f"/results/{number}"
        if result.times:
            _add_runs(found, result, levels, where)
        else:
            summary = Summary(deviation=result.stddev)
            found.add(
                levels, "time", result.mean, "s", "lower", status="aggregated", summary=summary, where=where
            )
    parameters = [result.parameters or {} for result in document.results]
    if all(parameters) and len({tuple(sorted(each.items())) for each in parameters}) == len(parameters):
        found.named = tuple(dict.fromkeys(name for each in parameters for name in each))
    if len(document.results) > 1:
        found.note("order_blocked")
    if zeros := sum(int((_array(result.times) == 0).sum()) for result in document.results):
        found.remark(
            f"{counted(zeros, 'run')} took no longer than the shell alone, and hyperfine wrote 0 s: use --shell none"
        )
    if any(result.user is not None for result in document.results):
        found.remark("user and system times are means over the runs of a command, and are left out")


def _add_runs(found: Found, result: Result, treatment: Mapping[str, str], where: str) -> None:
    times, codes, memory = _array(result.times), result.exit_codes, _array(result.memory_usage_byte)
    reasons = {} if codes is None else _reasons(codes, len(times))
    runs = np.arange(len(times), dtype=np.int32)
    _add(found, "time", times, "s", treatment, (where, "times"), reasons, runs)
    ran = runs[: len(memory)]
    ran = ran[~np.isin(ran, list(reasons))] if reasons else ran
    if ran.size:
        _add(found, "memory", memory[ran], "byte", treatment, (where, "memory_usage_byte"), {}, ran)


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


def _add(
    found: Found,
    metric: str,
    values: npt.NDArray[np.float64],
    unit: str,
    treatment: Mapping[str, str],
    where: tuple[str, str],
    reasons: Mapping[int, str],
    runs: npt.NDArray[np.int32],
) -> None:
    found.add_block(
        metric,
        values,
        unit,
        "lower",
        treatments=[treatment],
        treatment=np.zeros(len(values), np.int32),
        numbers=runs,
        process=(f"{where[0]}/", ""),
        where=(f"{where[0]}/{where[1]}/", ""),
        reasons=reasons,
        lasts=metric == "time",
    )


def _levels(results: Sequence[Result]) -> list[Mapping[str, str]]:
    """Return the levels of each result: its command with its parameters, and a place where these stand several times."""
    levels = [{"command": result.command, **(result.parameters or {})} for result in results]
    total = Counter(tuple(each.items()) for each in levels)
    seen = Counter[tuple[tuple[str, str], ...]]()
    found: list[Mapping[str, str]] = []
    for each in levels:
        key = tuple(each.items())
        seen[key] += 1
        found.append({**each, "place": str(seen[key])} if total[key] > 1 else each)
    return found


def _is_csv(content: Content) -> bool:
    return not content.is_binary and content.head.split("\n", 1)[0].split(",")[: len(_COLUMNS)] == _COLUMNS


def _read_csv(content: Content, found: Found) -> None:
    for line, row in enumerate(csv.DictReader(content.lines), 2):
        treatment = {"command": row["command"]} | {
            name.removeprefix("parameter_"): level
            for name, level in row.items()
            if name and name.startswith("parameter_")
        }
        try:
            mean, deviation = float(row["mean"]), float(row["stddev"] or "nan")
        except (TypeError, ValueError):
            raise found.wrong(f"line {line}: {row['mean']!r} is no time") from None
        found.add(
            treatment,
            "time",
            mean,
            "s",
            "lower",
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
        runs=apart_at(",".join(_COLUMNS)),
    ),
)
