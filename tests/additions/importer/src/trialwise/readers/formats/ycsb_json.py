"""Measurements that YCSB exports as JSON (`JSONArrayMeasurementsExporter`): the file is one trial."""

from __future__ import annotations

from pydantic import BaseModel, RootModel

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.forms import valid

_UNITS = {"(us)": "us", "(ms)": "ms", "(ops/sec)": "1/s"}


class Measurement(BaseModel):
    """One number of one operation."""

    metric: str
    measurement: str
    value: float


class Document(RootModel[list[Measurement]]):
    """What YCSB writes."""


def _fits(content: Content) -> bool:
    return isinstance(content.document, list) and {"metric", "measurement", "value"} <= set(content.keys)


def _read(content: Content, found: Found) -> None:
    for number, each in enumerate(valid(Document, content.path, content.document, "YCSB").root):
        words = each.measurement.partition("(")[0]
        if words in ("Throughput", "AverageLatency"):
            unit = _UNITS.get(each.measurement.removeprefix(words), "")
            metric = f"{each.metric.strip('[]').lower()}_{words.lower()}"
            better = "higher" if words == "Throughput" else "lower"
            found.add({}, metric, each.value, unit, better, where=f"/{number}")


READERS = (
    Reader(
        name="ycsb-json",
        tool="YCSB",
        how="`-p measurement.exporter=…JSONArrayMeasurementsExporter`",
        replicated="file",
        unit="file",
        fits=_fits,
        read=_read,
    ),
)
