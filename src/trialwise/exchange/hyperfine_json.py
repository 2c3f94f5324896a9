"""Import the runs in hyperfine's JSON export (`--export-json`) as trials.

A run is a fresh process. Times are in seconds; user and system times are means over a command's runs, so they are not trials. The
fields are those of hyperfine's `benchmark_result.rs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.trial_set import MetricFacts, TrialSet
from trialwise.exchange.forms import valid
from trialwise.exchange.trial_cells import Cells, Place

TIME = MetricFacts("time", "s", "lower")
MEMORY = MetricFacts("memory", "B", "lower")
_SIGNAL = -1


def _code(value: object) -> object:
    """Check an exit code; null means that a signal ended the run."""
    return _SIGNAL if value is None else value


class Result(BaseModel):
    """One command."""

    command: str
    times: list[float] | None = None
    exit_codes: list[Annotated[int, BeforeValidator(_code)]] | None = None
    memory_usage_byte: list[float] | None = None
    parameters: dict[str, str] | None = None
    user: float | None = None


class Document(BaseModel):
    """What hyperfine writes."""

    results: list[Result]


def trials(path: Path, document: object, name: str) -> TrialSet:
    """Return the runs of all commands as trials; a failed run has no value.

    Parameters tell treatments apart if they suffice, otherwise the command does too.

    Raises
    ------
    AnalysisError
        The document has another form, or no run has a value.
    """
    found = valid(Document, path, document, "hyperfine")
    cells, notes = Cells(name), list[str]()
    for number, (result, levels) in enumerate(zip(found.results, _levels(found.results), strict=True)):
        treatment = treatment_name(levels)
        notes += _add(cells, result, treatment, f"{name}#{number}")
        cells.treatments[treatment] = levels
    if any(result.user is not None for result in found.results):
        notes.append("hyperfine gives user and system times as means over runs: not compared")
    return cells.trial_set(notes)


def _levels(results: Sequence[Result]) -> list[Mapping[str, str]]:
    parameters = [dict(result.parameters or {}) for result in results]
    distinct = {tuple(sorted(each.items())) for each in parameters}
    if all(parameters) and len(distinct) == len(results):
        return list[Mapping[str, str]](parameters)
    return _numbered(
        [{"command": result.command, **own} for result, own in zip(results, parameters, strict=True)]
    )


def _numbered(levels: Sequence[dict[str, str]]) -> list[Mapping[str, str]]:
    """Number the occurrences of a command that is listed several times."""
    seen = Counter[str]()
    total = Counter(treatment_name(each) for each in levels)
    found: list[Mapping[str, str]] = []
    for each in levels:
        treatment = treatment_name(each)
        seen[treatment] += 1
        found.append({**each, "place": str(seen[treatment])} if total[treatment] > 1 else each)
    return found


def _add(cells: Cells, result: Result, treatment: str, origin: str) -> list[str]:
    if not result.times:
        return [f"`{result.command}`: only a summary, without the times of its runs"]
    codes = result.exit_codes or [0] * len(result.times)
    for run, seconds in enumerate(result.times):
        if run < len(codes) and codes[run] != 0:
            continue
        place = Place(trial=f"{origin}/{run}", process=f"{origin}/{run}")
        cells.metrics[TIME.name] = TIME
        cells.add(TIME.name, treatment, seconds, place, seconds)
        if result.memory_usage_byte and run < len(result.memory_usage_byte):
            cells.metrics[MEMORY.name] = MEMORY
            cells.add(MEMORY.name, treatment, result.memory_usage_byte[run], place, seconds)
    failed = sum(code != 0 for code in codes)
    return [f"`{result.command}`: {failed} of {len(codes)} runs failed, left out"] if failed else []
