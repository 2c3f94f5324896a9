"""Measurements that YCSB exports as JSON (`JSONArrayMeasurementsExporter`), as one trial."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, RootModel

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.trial_set import MetricFacts, TrialSet
from trialwise.exchange.forms import valid
from trialwise.exchange.trial_cells import Cells, Place

_UNITS = {"(us)": "us", "(ms)": "ms", "(ops/sec)": "1/s"}


class Measurement(BaseModel):
    """One number of one operation."""

    metric: str
    measurement: str
    value: float


class Document(RootModel[list[Measurement]]):
    """What YCSB writes."""


def trials(path: Path, document: object, name: str) -> TrialSet:
    """Return the run: throughput, and the mean latency of each operation.

    Raises
    ------
    AnalysisError
        It has another form, or holds neither.
    """
    cells = Cells(name, treatments={treatment_name({}): {}})
    for each in valid(Document, path, document, "YCSB").root:
        words = each.measurement.partition("(")[0]
        if words in ("Throughput", "AverageLatency"):
            unit = _UNITS.get(each.measurement.removeprefix(words), "")
            metric = f"{each.metric.strip('[]').lower()}_{words.lower()}"
            better = "higher" if words == "Throughput" else "lower"
            cells.metrics[metric] = MetricFacts(metric, unit, better)
            cells.add(metric, treatment_name({}), each.value, Place(trial=name, process=name))
    return cells.trial_set()
