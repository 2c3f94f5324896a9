"""Import the values in pyperf's JSON files as trials in processes, boots and hosts.

A pyperf run is a process and gives several values, each already per iteration. Metadata of the file apply to each
benchmark, those of a benchmark to each of its runs (pyperf, "JSON format").
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, Field

from trialwise.analysis.boots import with_joined_boots
from trialwise.analysis.trial_set import Boot, MetricFacts, TrialSet
from trialwise.exchange.forms import valid
from trialwise.exchange.trial_cells import Cells, Place

_UNITS = {"second": "s", "byte": "B", "integer": ""}

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


def trials(path: Path, document: object, name: str) -> TrialSet:
    """Return the values of all benchmarks as trials; benchmarks are treatments of one metric per unit.

    Raises
    ------
    AnalysisError
        The document has another form, or no benchmark has a value.
    """
    found = valid(Document, path, document, "pyperf")
    cells = Cells(name)
    for number, benchmark in enumerate(found.benchmarks):
        common = {**found.metadata, **benchmark.metadata}
        treatment = f"benchmark={common.get('name') or number + 1}"
        cells.treatments[treatment] = {"benchmark": str(common.get("name") or number + 1)}
        metric = _metric(common)
        cells.metrics[metric.name] = metric
        for run, each in enumerate(benchmark.runs):
            process = f"{name}#{number}/{run}"
            _add(cells, metric.name, treatment, each, {**common, **each.metadata}, process)
    return with_joined_boots(cells.trial_set())[0]


def _metric(metadata: Metadata) -> MetricFacts:
    unit = str(metadata.get("unit") or "second")
    name = {"second": "time", "byte": "memory"}.get(unit, "value")
    return MetricFacts(name, _UNITS.get(unit, unit), None if name == "value" else "lower")


def _add(cells: Cells, metric: str, treatment: str, run: Run, metadata: Metadata, process: str) -> None:
    values = run.values or []
    host = str(metadata.get("hostname") or "")
    told = str(metadata.get("boot_time") or "")
    boot = f"{host}/{told}"
    moment = _moment(told)
    if moment is not None:
        cells.booted[boot] = Boot(host, moment)
    duration = metadata.get("duration")
    seconds = float(duration) / len(values) if isinstance(duration, int | float) and values else None
    started = _moment(str(metadata.get("date") or ""))
    for place, value in enumerate(values):
        trial = f"{process}/{place}" if len(values) > 1 else process
        where = Place(trial=trial, process=process, host=host, boot=boot, build=boot)
        cells.add(metric, treatment, value, where, seconds, started)


def _moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
