"""JMH's JSON and CSV (`JSONResultFormat.java`, `XSVResultFormat.java`): a fork is a process, and an iteration a sample of it.

A benchmark that threw is missing, so combinations of parameters that others have are named.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice, product
from math import fsum
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from trialwise.readers.appended import documents_apart
from trialwise.readers.content import Content
from trialwise.readers.declared import NO_UNIT, Found, Reader
from trialwise.readers.forms import Floats, valid
from trialwise.readers.long_lists import is_list
from trialwise.readers.records import Better, Inside, Summary
from trialwise.readers.trial import Trial

_FACTS = ("jdk_version", "vm_name", "vm_version", "jvm")
_MOST_COMBINATIONS = 10_000
_MOST_NAMED = 5
_COLUMNS = ["Benchmark", "Mode", "Threads", "Samples", "Score"]
_QUANTILE = re.compile(r"p[01]\.\d{2,4}")
"""Secondary metrics of the mode sample: quantiles of each iteration."""
_LEVEL = 0.999
"""Confidence level of JMH's errors."""


class Metric(BaseModel):
    """What was measured: by fork and iteration the value, or pairs of value and count; "NaN" is text there."""

    model_config = ConfigDict(alias_generator=to_camel)

    score: float | None = None
    score_unit: str = ""
    raw_data: list[Floats] | None = None
    raw_data_histogram: list[list[list[tuple[float, float]]]] | None = None

    @property
    def forks(self) -> Sequence[Sequence[float]]:
        """The values of the iterations of each fork; a histogram counts with its mean."""
        if self.raw_data is not None:
            return self.raw_data
        return [[_mean_of(pairs) for pairs in fork if pairs] for fork in self.raw_data_histogram or []]

    def counted(self, fork: int) -> list[tuple[float, float]]:
        """Return the values of a fork and how often each was counted, in ascending order; empty if it has no histogram."""
        told = self.raw_data_histogram or []
        return sorted(pair for iteration in told[fork] for pair in iteration) if fork < len(told) else []

    def value_of(self, fork: int) -> float | None:
        """Return the mean of a fork's iterations, or of all that a histogram counted in it."""
        if self.raw_data is None and self.raw_data_histogram is not None:
            pairs = [pair for iteration in self.raw_data_histogram[fork] for pair in iteration]
            return _mean_of(pairs) if pairs else None
        values = self.forks[fork]
        return fsum(values) / len(values) if values else None


class Benchmark(BaseModel):
    """One benchmark in one mode with one combination of parameters."""

    model_config = ConfigDict(alias_generator=to_camel)

    jmh_version: str = ""
    benchmark: str
    mode: str
    threads: int = 1
    forks: int = 1
    params: dict[str, str] = Field(default_factory=dict)
    primary_metric: Metric
    secondary_metrics: dict[str, Metric] = Field(default_factory=dict)
    jdk_version: str = ""
    vm_name: str = ""
    vm_version: str = ""
    jvm: str = ""


class Document(BaseModel):
    """What JMH writes, which is a list."""

    entries: list[Benchmark]


def _mean_of(pairs: Sequence[tuple[float, float]]) -> float:
    total = fsum(count for _, count in pairs)
    return fsum(value * count for value, count in pairs) / total if total else float("nan")


def _is_json(content: Content) -> bool:
    return is_list(content.document) and {"benchmark", "primaryMetric"} <= set(content.keys)


def _read_json(content: Content, found: Found) -> None:
    entries = valid(Document, content.path, {"entries": content.document}, "JMH").entries
    found.version = entries[0].jmh_version
    found.facts |= {name: getattr(entries[0], name) for name in _FACTS if getattr(entries[0], name)}
    several = len({each.threads for each in entries}) > 1
    treatments = [
        {"benchmark": each.benchmark, **each.params, "mode": each.mode}
        | ({"threads": str(each.threads)} if several else {})
        for each in entries
    ]
    for number, (each, treatment) in enumerate(zip(entries, treatments, strict=True)):
        _add(found, each, treatment, f"/{number}")
    if any(each.forks == 0 for each in entries):
        found.note("not_forked")
    _note_names(found, entries)
    if missing := list(_missing(entries)):
        said = [_said(each) for each in missing[:_MOST_NAMED]]
        if len(missing) > _MOST_NAMED:
            said.append(f"and {len(missing) - _MOST_NAMED} more")
        found.note("missing_combinations", what="; ".join(said))
    if len(treatments) > 1 and any(len(each.primary_metric.forks) > 1 for each in entries):
        found.note("order_blocked")


def _said(missing: Mapping[str, str]) -> str:
    name, *rest = missing.items()
    return f"{name[1]} " + ", ".join(f"{key}={level}" for key, level in rest)


def _better(mode: str) -> Better:
    return "higher" if mode == "thrpt" else "lower"


def _add(found: Found, each: Benchmark, treatment: Mapping[str, str], where: str) -> None:
    measured = {"score": each.primary_metric} | {
        name.lstrip("·+"): metric
        for name, metric in each.secondary_metrics.items()
        if not (each.primary_metric.raw_data_histogram and _QUANTILE.fullmatch(name))
    }
    for name, metric in measured.items():
        is_of_mode = name == "score" or metric.score_unit == each.primary_metric.score_unit
        better = _better(each.mode) if is_of_mode else None
        forks = metric.forks
        if not forks:
            found.add(
                treatment,
                name,
                metric.score,
                metric.score_unit,
                better,
                as_written=True,
                status="aggregated",
                where=where,
            )
        for fork, values in enumerate(forks):
            levels = {"process": f"{where}/{fork}"}
            if (pairs := metric.counted(fork)) and name == "score":
                _add_quantiles(
                    Trial(found=found, treatment=treatment, levels=levels, where=where, as_written=True),
                    metric,
                    pairs,
                )
            found.add(
                treatment,
                name,
                metric.value_of(fork),
                metric.score_unit,
                better,
                as_written=True,
                levels=levels,
                samples=Inside("iteration", values, repeated=True),
                where=f"{where}/{'primaryMetric' if name == 'score' else 'secondaryMetrics'}/rawData/{fork}",
            )


def _add_quantiles(trial: Trial, metric: Metric, pairs: Sequence[tuple[float, float]]) -> None:
    """Add quantiles of all calls of a fork, which JMH gives of each iteration alone."""
    counts = list(accumulate(count for _, count in pairs))
    n = counts[-1]
    for percent in (50, 95, 99):
        place = bisect_left(counts, n * percent / 100)
        trial.add_quantile("score", percent, pairs[min(place, len(pairs) - 1)][0], metric.score_unit, n)


def _note_names(found: Found, entries: Sequence[Benchmark]) -> None:
    modes: dict[tuple[object, ...], set[str]] = {}
    for each in entries:
        modes.setdefault((each.benchmark, *each.params.items()), set()).add(each.mode)
    twice = dict.fromkeys(str(key[0]) for key, told in modes.items() if len(told) > 1)
    if twice:
        found.note("duplicate_names", what=f"{', '.join(twice)}, once for each mode")


def _missing(entries: Sequence[Benchmark]) -> Iterator[Mapping[str, str]]:
    """Name the combinations of parameters that a benchmark lacks, by the levels that benchmarks with the same parameters have."""
    levels: dict[tuple[str, ...], list[dict[str, None]]] = {}
    present: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    names: dict[tuple[str, str], tuple[str, ...]] = {}
    for each in entries:
        key = tuple(each.params)
        for known, level in zip(levels.setdefault(key, [{} for _ in key]), each.params.values(), strict=True):
            known[level] = None
        present.setdefault((each.benchmark, each.mode), set()).add(tuple(each.params.values()))
        names.setdefault((each.benchmark, each.mode), key)
    for (benchmark, _), there in present.items():
        key = names[benchmark, _]
        for combination in islice(product(*levels[key]), _MOST_COMBINATIONS):
            if combination not in there and key:
                yield {"benchmark": benchmark, **dict(zip(key, combination, strict=True))}


def _is_csv(content: Content) -> bool:
    if content.is_binary:
        return False
    return [cell.strip('"') for cell in re.split("[,;\t]", content.head.split("\n", 1)[0])][:5] == _COLUMNS


def _read_csv(content: Content, found: Found) -> None:
    found.unit = NO_UNIT
    for line, row in enumerate(csv.DictReader(content.lines), 2):
        told = cast("dict[str, Any]", row)
        try:
            score, samples = float(told["Score"]), int(told["Samples"])
            error = float(told["Score Error (99.9%)"])
        except (TypeError, ValueError, KeyError):
            found.note("partial", what=f"line {line} is not whole")
            continue
        mode = str(told["Mode"])
        params = {
            name.removeprefix("Param: "): str(level)
            for name, level in told.items()
            if name and name.startswith("Param: ") and level
        }
        found.add(
            {"benchmark": told["Benchmark"], **params, "mode": mode},
            "score",
            score,
            str(told.get("Unit") or ""),
            _better(mode),
            as_written=True,
            status="aggregated",
            summary=Summary(n=samples, interval=(score - error, score + error), level=_LEVEL),
            where=f"line {line}",
        )


READERS = (
    Reader(
        name="jmh-json",
        tool="JMH",
        how="`-rf json -rff FILE -f 10`",
        replicated="process",
        unit="fork",
        subjects=("benchmark",),
        context=("mode",),
        fits=_is_json,
        read=_read_json,
        runs=documents_apart,
    ),
    Reader(
        name="jmh-csv",
        tool="JMH",
        how="`-rf csv -rff FILE`",
        replicated="process",
        unit=NO_UNIT,
        subjects=("benchmark",),
        context=("mode",),
        fits=_is_csv,
        read=_read_csv,
    ),
)
