"""hyperfine's exports: `--export-json` (`benchmark_result.rs`) and `--export-csv`; times are in seconds.

A run is a process. `user` and `system` are means over runs, so they are no values of trials. hyperfine runs all of one command before
the next, and writes no times of day.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader, entries_have
from trialwise.readers.forms import valid
from trialwise.readers.records import Summary

_SIGNAL = -1
_COLUMNS = ["command", "mean", "stddev", "median", "user", "system", "min", "max"]


def _code(value: object) -> object:
    """Check an exit code; null means that a signal ended the run."""
    return _SIGNAL if value is None else value


class Result(BaseModel):
    """One command."""

    command: str
    mean: float | None = None
    stddev: float | None = None
    times: list[float] | None = None
    exit_codes: list[Annotated[int, BeforeValidator(_code)]] | None = None
    memory_usage_byte: list[float] | None = None
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
    if any(result.user is not None for result in document.results):
        found.remark("user and system times are means over the runs of a command, and are left out")


def _add_runs(found: Found, result: Result, treatment: Mapping[str, str], where: str) -> None:
    codes, memory = result.exit_codes or [], result.memory_usage_byte or []
    for run, seconds in enumerate(result.times or []):
        code = codes[run] if run < len(codes) else 0
        place = {"process": f"{where}/{run}"}
        if code:
            reason = "a signal ended it" if code == _SIGNAL else f"exit code {code}"
            found.add(
                treatment,
                "time",
                None,
                "s",
                "lower",
                levels=place,
                status="failed",
                reason=reason,
                where=f"{where}/times/{run}",
            )
            continue
        found.add(
            treatment,
            "time",
            seconds,
            "s",
            "lower",
            levels=place,
            seconds=seconds,
            where=f"{where}/times/{run}",
        )
        if run < len(memory):
            found.add(
                treatment,
                "memory",
                memory[run],
                "byte",
                "lower",
                levels=place,
                seconds=seconds,
                where=f"{where}/memory_usage_byte/{run}",
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
    ),
    Reader(
        name="hyperfine-csv",
        tool="hyperfine",
        how="`hyperfine --export-csv FILE …`",
        replicated="process",
        unit="none (summary)",
        fits=_is_csv,
        read=_read_csv,
    ),
)
