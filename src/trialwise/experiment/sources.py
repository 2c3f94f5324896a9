"""Where the numbers of a metric come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from trialwise.experiment.quantities import QUANTITIES, Quantity, QuantitySource
from trialwise.experiment.simulation import SimulationSource
from trialwise.experiment.traits import Source

if TYPE_CHECKING:
    from trialwise.experiment.metrics import Better

Resource = Literal["wall", "user", "system", "max_rss"]


@dataclass(frozen=True, slots=True)
class ResourceSource(Source):
    """What the operating system counted for the program: seconds, or bytes for `max_rss`."""

    resource: Resource

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        return f"resource:{self.resource}"

    @property
    def unit(self) -> str:
        """Bytes of memory, seconds of the rest."""
        return "B" if self.resource == "max_rss" else "s"

    @property
    def better(self) -> Better | None:
        """Less of it."""
        return "lower"

    def written(self, name: str) -> dict[str, Any]:  # noqa: ARG002 the same under every name
        """The one key."""
        return {"resource": self.resource}


@dataclass(frozen=True, slots=True)
class TextSource(Source):
    """A text that the program wrote: its standard output, or the file `path`, and how numbers stand in it."""

    path: str | None = None
    pattern: str | None = None
    json: str | None = None
    csv: str | None = None
    time: str | None = None

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        where = "stdout" if self.path is None else f"file:{self.path}"
        how = (
            f"pattern:{self.pattern}"
            if self.pattern
            else f"json:{self.json}"
            if self.json is not None
            else f"csv:{self.csv}"
        )
        return f"{where}|{how}" + (f"|time:{self.time}" if self.time else "")

    @property
    def gives_samples(self) -> bool:
        """A pattern finds one number, JSON lines and columns have many."""
        return self.pattern is None

    @property
    def has_times(self) -> bool:
        """Where a column or key of times is named."""
        return self.time is not None

    @property
    def read_from(self) -> str:
        """Where the text stands."""
        return "output" if self.path is None else "file"

    def written(self, name: str) -> dict[str, Any]:  # noqa: ARG002 the same under every name
        """Where the text stands, and how it is read."""
        reader = "stdout" if self.path is None else "pattern"
        return {
            "file": self.path,
            reader: self.pattern,
            "json": self.json,
            "csv": self.csv,
            "time": self.time,
        }


@dataclass(frozen=True, slots=True)
class ReturnSource(Source):
    """What a Python callable returned: the number itself, or the entry `name` of a mapping."""

    name: str

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        return f"return:{self.name}"

    @property
    def gives_samples(self) -> bool:
        """A function may return several."""
        return True

    @property
    def has_times(self) -> bool:
        """It may return their times too."""
        return True

    def written(self, name: str) -> dict[str, Any]:
        """The entry, unless it is called as the metric is."""
        return {"value": None if name == self.name else self.name}


@dataclass(frozen=True, slots=True)
class PathSource(QuantitySource):
    """What the packets of a path trial say: a quantity of `quantities`, of one flow or of all together.

    `bin` is the width in seconds of what a time series is made of.
    """

    quantity: str
    flow: int | None = None
    bin: float = 0.1

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        flow = "" if self.flow is None else f"|flow:{self.flow}"
        width = f"|bin:{self.bin:g}" if self.quantity == "throughput" else ""
        return f"path:{self.quantity}{flow}{width}"

    own_clock = True

    @property
    def asked(self) -> Quantity | None:
        """The quantity; None where there is none of the name."""
        return QUANTITIES.get(self.quantity)

    @property
    def is_estimated(self) -> bool:
        """Transfers are what a trial has many of."""
        return self.quantity == "completion_time"

    def written(self, name: str) -> dict[str, Any]:
        """The quantity, unless the metric is called so; of which flow, and how wide bins are."""
        quantity = None if self.quantity == name else self.quantity
        return {"quantity": quantity, "flow": self.flow, "bin": None if self.bin == 0.1 else self.bin}


@dataclass(frozen=True, slots=True)
class InstrumentSource(Source):
    """What `[instrumentation]` recorded of the trial under a name of `instruments`."""

    name: str

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        return f"instrument:{self.name}"

    @property
    def unit(self) -> str:
        """That of the instrument."""
        from trialwise.experiment.instruments import instrument_unit

        return instrument_unit(self.name)

    def written(self, name: str) -> dict[str, Any]:  # noqa: ARG002 the same under every name
        """The one key."""
        return {"instrument": self.name}


@dataclass(frozen=True, slots=True)
class StreamSource(Source):
    """A field of a measurement stream that the trial's programs sent to the collector beside them."""

    stream: str
    field: str

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        return f"stream:{self.stream}.{self.field}"

    @property
    def gives_samples(self) -> bool:
        """Every row is one."""
        return True

    @property
    def has_times(self) -> bool:
        """Every row has its time."""
        return True

    def written(self, name: str) -> dict[str, Any]:  # noqa: ARG002 the same under every name
        """Stream and field."""
        return {"source": f"{self.stream}.{self.field}"}


Source.known = (
    ResourceSource,
    TextSource,
    ReturnSource,
    PathSource,
    SimulationSource,
    InstrumentSource,
    StreamSource,
)
