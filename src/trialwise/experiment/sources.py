"""The sources of a metric's numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from trialwise.experiment.placeholders import names_in
from trialwise.experiment.quantities import QUANTITIES, quantity_traits
from trialwise.experiment.simulation import SimulationSource
from trialwise.experiment.traits import Source, SourceTraits

Resource = Literal["wall", "user", "system", "max_rss"]
ServiceQuantity = Literal["cpu", "memory"]
RESULTS = "results:"
"""Prefix of the keys of sources that trials found in what a harness prints."""


@dataclass(frozen=True, slots=True)
class ResourceSource(Source):
    """A count by the operating system for the program: seconds, or bytes for `max_rss`."""

    resource: Resource

    @property
    def key(self) -> str:
        """The name under which the ledger stores the values."""
        return f"resource:{self.resource}"

    @property
    def traits(self) -> SourceTraits:
        """Seconds, or bytes of memory: the fewer the better."""
        unit = "B" if self.resource == "max_rss" else "s"
        return SourceTraits(unit=unit, better="lower", of_program=True)

    def written(self, name: str) -> dict[str, Any]:  # noqa: ARG002 the same under every name
        """Return the one key."""
        return {"resource": self.resource}


@dataclass(frozen=True, slots=True)
class TextSource(Source):
    """Text output of the program, its standard output or the file `path`, and how to read numbers from it."""

    path: str | None = None
    pattern: str | None = None
    json: str | None = None
    csv: str | None = None
    time: str | None = None
    matches: Literal["one", "all"] = "one"

    @property
    def key(self) -> str:
        """The name under which the ledger stores the values."""
        where = "stdout" if self.path is None else f"file:{self.path}"
        how = (
            f"{'pattern' if self.matches == 'one' else 'patterns'}:{self.pattern}"
            if self.pattern
            else f"json:{self.json}"
            if self.json is not None
            else f"csv:{self.csv}"
        )
        return f"{where}|{how}" + (f"|time:{self.time}" if self.time else "")

    @property
    def may_be_folder(self) -> bool:
        """True if all that a harness wrote is read, from a place that each trial has for itself."""
        is_whole = self.pattern is None and self.json is None and self.csv is None
        return is_whole and self.path is not None and "directory" in names_in(self.path)

    @property
    def traits(self) -> SourceTraits:
        """A pattern finds one number, unless all matches count; JSON lines and columns have many, and their times where named."""
        is_one = self.pattern is not None and self.matches == "one"
        return SourceTraits(
            samples="timed" if self.time is not None else "one" if is_one else "many",
            of_program=True,
            read_from="output" if self.path is None else "file",
        )

    def written(self, name: str) -> dict[str, Any]:  # noqa: ARG002 the same under every name
        """Return the origin of the text, and how to read it."""
        reader = "stdout" if self.path is None else "pattern"
        return {
            "file": self.path,
            reader: self.pattern,
            "json": self.json,
            "csv": self.csv,
            "time": self.time,
            "matches": None if self.matches == "one" else self.matches,
        }


@dataclass(frozen=True, slots=True)
class ReturnSource(Source):
    """The return value of a Python callable: the number, or the entry `name` of a mapping."""

    name: str

    @property
    def key(self) -> str:
        """The name under which the ledger stores the values."""
        return f"return:{self.name}"

    @property
    def traits(self) -> SourceTraits:
        """As many numbers as the function likes, and their times."""
        return SourceTraits(samples="timed", of_program=True)

    def written(self, name: str) -> dict[str, Any]:
        """Return the entry, unless it has the metric's name."""
        return {"value": None if name == self.name else self.name}


@dataclass(frozen=True, slots=True)
class PathSource(Source):
    """A quantity of the packets of a path trial, from `quantities`, of one flow or of all together.

    `bin` is the bin width of a time series in seconds.
    """

    quantity: str
    flow: int | None = None
    bin: float = 0.1

    @property
    def key(self) -> str:
        """The name under which the ledger stores the values."""
        flow = "" if self.flow is None else f"|flow:{self.flow}"
        width = f"|bin:{self.bin:g}" if self.quantity == "throughput" else ""
        return f"path:{self.quantity}{flow}{width}"

    @property
    def traits(self) -> SourceTraits:
        """Those of the quantity; both estimands are told of transfers, of which a trial has many."""
        is_transfer = self.quantity == "completion_time"
        found = quantity_traits(QUANTITIES.get(self.quantity))
        return replace(found, is_estimated=is_transfer, own_clock=True)

    def written(self, name: str) -> dict[str, Any]:
        """Return the quantity, unless it is the metric's name, the flow, and the bin width."""
        quantity = None if self.quantity == name else self.quantity
        return {"quantity": quantity, "flow": self.flow, "bin": None if self.bin == 0.1 else self.bin}


@dataclass(frozen=True, slots=True)
class InstrumentSource(Source):
    """A value recorded by `[instrumentation]` under a name of `instruments`."""

    name: str

    @property
    def key(self) -> str:
        """The name under which the ledger stores the values."""
        return f"instrument:{self.name}"

    @property
    def traits(self) -> SourceTraits:
        """The unit of the instrument."""
        from trialwise.experiment.instruments import instrument_unit

        return SourceTraits(unit=instrument_unit(self.name))

    def written(self, name: str) -> dict[str, Any]:  # noqa: ARG002 the same under every name
        """Return the one key."""
        return {"instrument": self.name}


@dataclass(frozen=True, slots=True)
class StreamSource(Source):
    """A field of a measurement stream that the trial's programs sent to the collector."""

    stream: str
    field: str

    @property
    def key(self) -> str:
        """The name under which the ledger stores the values."""
        return f"stream:{self.stream}.{self.field}"

    @property
    def traits(self) -> SourceTraits:
        """A number and its time for every row."""
        return SourceTraits(samples="timed")

    def written(self, name: str) -> dict[str, Any]:  # noqa: ARG002 the same under every name
        """Return stream and field."""
        return {"source": f"{self.stream}.{self.field}"}


@dataclass(frozen=True, slots=True)
class ServiceSource(Source):
    """What a service used during a trial: CPU seconds, or the peak of its memory in bytes."""

    service: str
    quantity: ServiceQuantity

    @property
    def key(self) -> str:
        """The name under which the ledger stores the values."""
        return f"service:{self.service}.{self.quantity}"

    @property
    def traits(self) -> SourceTraits:
        """Seconds, or bytes of memory: the fewer the better."""
        return SourceTraits(unit="B" if self.quantity == "memory" else "s", better="lower")

    def written(self, name: str) -> dict[str, Any]:  # noqa: ARG002 the same under every name
        """Return the one key."""
        return {"service": f"{self.service}.{self.quantity}"}


@dataclass(frozen=True, slots=True)
class ResultSource(Source):
    """What a harness prints under a name, found while trials run, with the unit and the direction that its format says."""

    name: str
    unit: str = ""
    better: Literal["lower", "higher"] | None = None

    @property
    def key(self) -> str:
        """The name under which the ledger stores the values; it tells all of the source."""
        return f"{RESULTS}{self.name}|unit:{self.unit}|better:{self.better or 'unknown'}"

    @property
    def told(self) -> str:
        """The unit and the direction, in words."""
        unit = f"in {self.unit}" if self.unit else "without a unit"
        return f"{unit}, {self.better or 'neither lower nor higher'} is better"

    @classmethod
    def from_key(cls, key: str) -> ResultSource | None:
        """Return the source of a key; None if it is that of another source."""
        found = _RESULT_KEY.fullmatch(key)
        if found is None:
            return None
        better = found["better"]
        return cls(
            found["name"],
            found["unit"],
            None if better == "unknown" else cast("Literal['lower', 'higher']", better),
        )

    @property
    def traits(self) -> SourceTraits:
        """Repetitions within a trial are samples."""
        return SourceTraits(unit=self.unit, better=self.better, samples="many")


_RESULT_KEY = re.compile(
    rf"{RESULTS}(?P<name>.*)\|unit:(?P<unit>[^|]*)\|better:(?P<better>lower|higher|unknown)", re.DOTALL
)

Source.known = (
    ResourceSource,
    TextSource,
    ReturnSource,
    PathSource,
    SimulationSource,
    InstrumentSource,
    StreamSource,
    ServiceSource,
    ResultSource,
)
