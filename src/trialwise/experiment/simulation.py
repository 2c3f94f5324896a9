"""What a simulated trial is: frozen records, whose texts may hold placeholders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from trialwise.experiment.tilts import Tilts

Pairs = tuple[tuple[str, str], ...]
"""Parameters: keys and their texts."""

Phase = Literal["stable", "all"]
SOBOL_BLOCK = 256
"""Rounds whose flow lists are one scrambled Sobol sample: the unit of which several say how an estimate varies."""

SIMULATION_ENGINES = ("trialwise", "ns3")
"""What simulates: our own simulator, or ns-3 in a process of its own."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Which flows a trial has: random ones, or those of the file `flows`, which then needs nothing else.

    `sizes` names a distribution or a file of one; `load` is a part of the capacity of `load_of` ("host" or "bottleneck"), and
    `pattern` says who sends to whom. Where it is empty, a topology with a bottleneck has one-way traffic, others all-to-all; the
    load is then of the bottleneck if all flows share it, as one-way traffic does, else of the hosts. Flows begin within `duration`.
    `sampling` is random, or sobol for flow lists that the rounds of a block spread evenly. `tilt` names one of the tilts.
    """

    sizes: str = ""
    load: str = ""
    load_of: str = ""
    pattern: str = ""
    arrivals: str = "poisson"
    duration: str = ""
    flows: str = ""
    sampling: Literal["random", "sobol"] = "random"
    tilt: str = ""

    @property
    def texts(self) -> Iterator[tuple[str, str]]:
        """Every key that is given, and its text."""
        for name in self.__slots__:
            if name != "sampling" and (text := getattr(self, name)):
                yield name, text


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """What a workload asks of the network in the mean.

    `load` is a part of the capacity of `load_of`, and `fullest_load` what that comes to on the link that is fullest for its rate,
    from its first node to its second; equal-cost paths share evenly. Both are of payload; `fullest_with_headers` is of the packets
    of flows as they are drawn, without what a controller adds to them.
    """

    load: float
    load_of: str
    fullest_link: tuple[int, int]
    fullest_load: float
    fullest_with_headers: float

    @property
    def caution(self) -> str | None:
        """Say that packets with their headers are more than the fullest link carries; None where they are not."""
        if self.fullest_with_headers <= 1:
            return None
        first, second = self.fullest_link
        return (
            f"packets with their headers come to {self.fullest_with_headers:.3g} of the link from {first} to {second}: "
            "its queue grows for as long as flows begin"
        )

    @property
    def text(self) -> str:
        """In words."""
        of = "the hosts' links" if self.load_of == "host" else "the bottleneck"
        first, second = self.fullest_link
        text = (
            f"load {self.load:.4g} of {of}, {self.fullest_load:.4g} of the fullest link ({first} to {second})"
        )
        if self.fullest_with_headers <= 1:
            return text
        return f"{text}; with headers {self.fullest_with_headers:.3g}, more than it carries"


@dataclass(frozen=True, slots=True)
class SimulationTrial:
    """A trial in which flows under one controller cross a simulated network, packet by packet.

    `topology` is a shape or a file in the HPCC simulator's format, `routes` a file with the order of equal next hops.
    `network` and `controller` hold parameters by name. Flows that start in the first `warmup` or the last `cooldown` seconds of
    the workload's duration are set apart from the stable phase. Queues are looked at every `sampling` seconds, where a metric
    asks for them. `records` says whether a record of every flow is kept. `engine` is one of `SIMULATION_ENGINES`; a trial of ns-3
    is given up after `timeout` seconds, None: never. `tilts` are those that `workload.tilt` may name.
    """

    scheme: str
    topology: str
    workload: Workload
    network: Pairs = ()
    controller: Pairs = ()
    mode: str = "clean"
    engine: str = SIMULATION_ENGINES[0]
    routes: str = ""
    warmup: float = 0.0
    cooldown: float = 0.0
    sampling: float = 1e-5
    records: Literal["keep", "drop"] = "keep"
    tilts: Tilts = ()
    timeout: float | None = None
    kind: str = "simulation"

    @property
    def texts(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Every text in which placeholders are filled, with its key inside the trial."""
        for name in ("scheme", "topology", "mode", "engine", "routes"):
            if text := getattr(self, name):
                yield (name,), text
        yield from ((("workload", name), text) for name, text in self.workload.texts)
        yield from ((("network", name), text) for name, text in self.network)
        yield from ((("controller", name), text) for name, text in self.controller)


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Flows of at least `low` and less than `high` bytes; None for no such end."""

    low: int = 0
    high: int | None = None


@dataclass(frozen=True, slots=True)
class SimulationSource:
    """What a simulated trial says: a quantity of `simulation_quantities`.

    It is of the flows of a class of sizes ("0B..100kB", empty for all) that start in a phase.
    """

    quantity: str
    sizes: str = ""
    phase: Phase = "stable"

    @property
    def key(self) -> str:
        """The name under which the ledger keeps what was read."""
        sizes = f"|sizes:{self.sizes}" if self.sizes else ""
        phase = "" if self.phase == "stable" else f"|phase:{self.phase}"
        return f"simulation:{self.quantity}{sizes}{phase}"


def names_file(text: str) -> bool:
    """Whether a topology or sizes are those of a file: a shape has a colon, and a name of sizes neither dot nor slash."""
    return ":" not in text and ("/" in text or "." in text)


def files_named(trial: SimulationTrial) -> Iterator[str]:
    """The files that a trial names, as they are written."""
    if ":" not in trial.topology:
        yield trial.topology
    if trial.routes:
        yield trial.routes
    if names_file(trial.workload.sizes):
        yield trial.workload.sizes
    if trial.workload.flows:
        yield trial.workload.flows
