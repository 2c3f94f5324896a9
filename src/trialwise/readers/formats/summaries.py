"""Files of continuous benchmarking: github-action-benchmark's custom lists and history, and Bencher's Metric Format.

All hold one value for each benchmark, or for each benchmark and commit: what they were computed from is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, RootModel

from trialwise.readers.content import Content
from trialwise.readers.declared import NO_UNIT, Found, Reader
from trialwise.readers.forms import valid
from trialwise.readers.long_lists import is_list
from trialwise.readers.parts import moment
from trialwise.readers.records import Better, Summary

_SCRIPT = "window.BENCHMARK_DATA"
_KEYS = {"name", "unit", "value"}
_TOOLS: Mapping[str, Better] = {
    "customSmallerIsBetter": "lower",
    "customBiggerIsBetter": "higher",
    "cargo": "lower",
    "googlecpp": "lower",
    "catch2": "lower",
    "julia": "lower",
    "benchmarkdotnet": "lower",
    "benchmarkjs": "higher",
    "benchmarkluau": "lower",
    "pytest": "higher",
}
"""What is better by the name of the tool that wrote the values (`src/extract.ts`); for Go and JMH it depends on the unit."""
_MEASURES: Mapping[str, tuple[str, Better]] = {
    "latency": ("ns", "lower"),
    "throughput": ("ops/s", "higher"),
    "build-time": ("s", "lower"),
    "file-size": ("byte", "lower"),
}
"""Measures that Bencher has by convention."""


class Bench(BaseModel):
    """One benchmark; `range` is free text."""

    name: str
    unit: str = ""
    value: float


class Benches(RootModel[list[Bench]]):
    """A custom list."""


class Commit(BaseModel):
    """What was measured, and when it was made as ISO 8601."""

    id: str
    timestamp: str = ""


class Run(BaseModel):
    """One run of the action; `date` is in milliseconds."""

    commit: Commit
    date: float | None = None
    tool: str = ""
    benches: list[Bench]


class History(BaseModel):
    """What github-action-benchmark keeps: runs by suite."""

    entries: dict[str, list[Run]]


class Measure(BaseModel):
    """One value of Bencher's, with its bounds."""

    value: float
    lower_value: float | None = None
    upper_value: float | None = None


class Measures(RootModel[dict[str, dict[str, Measure]]]):
    """Bencher's Metric Format."""


def _is_list(content: Content) -> bool:
    document = content.document
    return is_list(document) and all(
        isinstance(each, Mapping) and set(cast("Mapping[str, Any]", each)) >= _KEYS for each in document
    )


def _is_bigger(content: Content) -> bool:
    return _is_list(content) and "bigger" in content.name.lower()


def _is_smaller(content: Content) -> bool:
    return _is_list(content) and "bigger" not in content.name.lower()


def _read_list(content: Content, found: Found) -> None:
    """Read a list, whose direction is known from the name that it has in the action's settings, if from anywhere."""
    name = content.name.lower()
    better: Better | None = "higher" if "bigger" in name else "lower" if "smaller" in name else None
    if better is not None:
        found.note("direction_from_tool_name")
    benches = valid(Benches, content.path, content.document, "github-action-benchmark").root
    for number, each in enumerate(benches):
        _add_bench(found, {"benchmark": each.name}, each, better, f"/{number}")


def _add_bench(
    found: Found,
    treatment: Mapping[str, str],
    each: Bench,
    better: Better | None,
    where: str,
    date: float | None = None,
    order: int | None = None,
) -> None:
    found.add(
        treatment,
        each.name,
        each.value,
        each.unit,
        better,
        as_written=True,
        status="aggregated",
        start=None if date is None else date / 1000,
        order=order,
        where=where,
    )


def _is_history(content: Content) -> bool:
    if not content.is_binary and content.head.lstrip().startswith(_SCRIPT):
        return True
    entries = content.keys.get("entries")
    return isinstance(entries, dict) and bool({"lastUpdate", "repoUrl"} & set(content.keys))


def _read_history(content: Content, found: Found) -> None:
    """Read JSON, or the script that assigns it to a variable of the page."""
    _, _, text = content.text.partition("=")
    is_script = content.head.lstrip().startswith(_SCRIPT)
    source = Content(content.path, text.encode(errors="replace")) if is_script else content
    history = valid(History, content.path, source.keys, "github-action-benchmark")
    if source.is_cut:
        found.note("partial", what="it was cut off, and what is whole was read")
    several = len(history.entries) > 1
    for suite, runs in history.entries.items():
        for number, run in enumerate(runs):
            found.commits[run.commit.id] = moment(run.commit.timestamp)
            labels = {"commit": run.commit.id} | ({"suite": suite} if several else {})
            for place, each in enumerate(run.benches):
                where = f"/entries/{suite}/{number}/benches/{place}"
                treatment = {"benchmark": each.name, **labels}
                _add_bench(found, treatment, each, _TOOLS.get(run.tool), where, run.date, number)
    found.note("direction_from_tool_name")


def _is_bmf(content: Content) -> bool:
    keys = content.keys
    if not keys or content.document is not keys:
        return False
    return all(map(_has_measures, keys.values()))


def _has_measures(told: object) -> bool:
    measures = cast("dict[str, object]", told) if isinstance(told, dict) else {}
    return bool(measures) and all(map(_is_measure, measures.values()))


def _is_measure(told: object) -> bool:
    if not isinstance(told, dict):
        return False
    keys = set(cast("dict[str, object]", told))
    return "value" in keys and keys <= {"value", "lower_value", "upper_value"}


def _read_bmf(content: Content, found: Found) -> None:
    for name, measures in valid(Measures, content.path, content.keys, "Bencher").root.items():
        for measure, told in measures.items():
            unit, better = _MEASURES.get(measure, ("", None))
            bounds = told.lower_value, told.upper_value
            found.add(
                {"benchmark": name},
                measure,
                told.value,
                unit,
                better,
                as_written=True,
                status="aggregated",
                summary=Summary(interval=None if None in bounds else cast("tuple[float, float]", bounds)),
                where=f"/{name}/{measure}",
            )


_ACTION = "github-action-benchmark"

READERS = (
    Reader(
        name="customSmallerIsBetter",
        tool=_ACTION,
        how="a list of `name`, `unit`, `value`; what is better is read from the file's name, with `smaller` in it",
        replicated="file",
        unit=NO_UNIT,
        subjects=("benchmark",),
        fits=_is_smaller,
        read=_read_list,
    ),
    Reader(
        name="customBiggerIsBetter",
        tool=_ACTION,
        how="the same with `bigger` in the file's name",
        replicated="file",
        unit=NO_UNIT,
        subjects=("benchmark",),
        fits=_is_bigger,
        read=_read_list,
    ),
    Reader(
        name="github-action-benchmark",
        tool=_ACTION,
        how="`data.js` of its page: one value for each commit",
        replicated="build",
        unit=NO_UNIT,
        subjects=("benchmark",),
        fits=_is_history,
        read=_read_history,
    ),
    Reader(
        name="bencher-metric-format",
        tool="Bencher",
        how='`bencher run --adapter json`, which reads it: `{BENCHMARK: {MEASURE: {"value": …}}}`',
        replicated="file",
        unit=NO_UNIT,
        subjects=("benchmark",),
        fits=_is_bmf,
        read=_read_bmf,
    ),
)
