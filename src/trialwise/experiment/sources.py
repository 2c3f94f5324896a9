"""Where the numbers of a metric come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.experiment.simulation import SimulationSource

Resource = Literal["wall", "user", "system", "max_rss"]


@dataclass(frozen=True, slots=True)
class ResourceSource:
    """What the operating system counted for the program: seconds, or bytes for `max_rss`."""

    resource: Resource

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        return f"resource:{self.resource}"


@dataclass(frozen=True, slots=True)
class TextSource:
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


@dataclass(frozen=True, slots=True)
class ReturnSource:
    """What a Python callable returned: the number itself, or the entry `name` of a mapping."""

    name: str

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        return f"return:{self.name}"


@dataclass(frozen=True, slots=True)
class PathSource:
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


@dataclass(frozen=True, slots=True)
class InstrumentSource:
    """What `[instrumentation]` recorded of the trial under a name of `instruments`."""

    name: str

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        return f"instrument:{self.name}"


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A field of a measurement stream that the trial's programs sent to the collector beside them."""

    stream: str
    field: str

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        return f"stream:{self.stream}.{self.field}"


Source = (
    ResourceSource
    | TextSource
    | ReturnSource
    | PathSource
    | SimulationSource
    | InstrumentSource
    | StreamSource
)
