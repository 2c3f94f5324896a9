"""Frozen records of simulated trials; their texts may contain placeholders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from trialwise.experiment.elements import element_examples
from trialwise.experiment.file.sections import Key, Limits, Section, Written, key, table_of
from trialwise.experiment.file.values import Count, Duration, PositiveDuration, Share, Text
from trialwise.experiment.placeholders import level_text, names_in
from trialwise.experiment.quantities import quantity_traits
from trialwise.experiment.tilts import Tilts, tilt_table
from trialwise.experiment.traits import Source, SourceTraits, Traits, Trial

if TYPE_CHECKING:
    from trialwise.experiment.file import document as doc
    from trialwise.experiment.file.positions import Key as Place
    from trialwise.experiment.metrics import MetricTable
    from trialwise.experiment.model import Experiment
    from trialwise.experiment.problems import Problems


RUNTIME = Key(words="How long a trial takes, as far as you know; used for planning.", examples=("10s",))
WARMUP = Key(words="Start of each trial that is cut from samples that have times.", examples=("2s",))
OWN_PROCESS = Key(words='Shared processes go with kind = "python"; here every trial has its own.')
KIND = Key(words="What a trial is, and so which keys it has.", first=True)
Pairs = tuple[tuple[str, str], ...]
"""Parameters: keys and their texts."""
_Parameters = Annotated[
    Pairs,
    Written(
        dict[str, str | int | float | bool],
        lambda table: tuple((name, level_text(value)) for name, value in table.items()),
        lambda pairs: dict(pairs) or None,
    ),
]

Phase = Literal["stable", "all"]
SOBOL_BLOCK = 256
"""Rounds whose flow lists form one scrambled Sobol sample; several of them show the variance of an estimate."""


@dataclass(frozen=True, slots=True)
class Workload(Section):
    """Which flows a simulated trial has. Any text may use {factor}.

    They are random ones, those of a job, both together, or those of the file `flows`, which then needs nothing else.
    `sizes` names a distribution or a file of one; `load` is a part of the capacity of `load_of` ("host" or "bottleneck"), and
    `pattern` says who sends to whom. Where it is empty, a topology with a bottleneck has one-way traffic, others all-to-all; the
    load is then of the bottleneck if all flows share it, as one-way traffic does, else of the hosts. Flows begin within `duration`.
    `sampling` is random, or sobol for flow lists that the rounds of a block spread evenly. `tilt` names one of the tilts.
    """

    sizes: Text = key(
        "",
        f"How large flows are: {element_examples('sizes')}, or a file with a size in bytes and the percentage of flows up to "
        "it on each line.",
        "websearch",
        "lognormal:mean=100kB,sigma=2",
        "sizes.txt",
        derived=True,
        filled=True,
    )
    load: Annotated[str, Written(Annotated[float, Limits(gt=0, le=1)] | Text, level_text)] = key(
        "", "Payload asked for, as a part of a capacity.", "30%", "{load}", derived=True, filled=True
    )
    load_of: Text = key(
        "",
        "Of which capacity: bottleneck (the link between the two sides of a dumbbell, by the flows that cross it) or "
        "host (the links of the hosts that send); default bottleneck for one-way traffic, which shares it, else host. A load that "
        "asks more of a link than it carries in the mean is refused.",
        "host",
        derived=True,
        filled=True,
    )
    pattern: Text = key(
        "",
        f"Who sends to whom: {element_examples('pattern')}; default one-way where there is a bottleneck, else all-to-all.",
        "incast:8",
        derived=True,
        filled=True,
    )
    arrivals: Text = key(
        "poisson",
        f"When flows begin: {element_examples('arrivals')}.",
        "bursty:mean=10",
        filled=True,
    )
    duration: Text = key(
        "",
        "Flows begin from 0 to this; the trial goes on until the last ends.",
        "20ms",
        derived=True,
        filled=True,
    )
    beside: Text = key(
        "",
        "More drawn flows in the same duration: of each part the pattern, the sizes and the load (of the hosts, as load_of = "
        '"host"), parts separated by semicolons.',
        "incast:60 fixed:500kB 2%; permutation websearch 10%",
        derived=True,
        filled=True,
    )
    job: Text = key(
        "",
        f"Flows that wait for one another: {element_examples('job')}; alone, or with sizes, load and duration of others beside "
        "them.",
        "ring-all-reduce:8MB",
        derived=True,
        filled=True,
    )
    flows: Text = key(
        "",
        "A file with the flows themselves (flow_id, src, dst, size_bytes, start_ns as CSV, and after of flows that wait for "
        "others; the HPCC simulator's format; or HTSIM's), or those of an execution trace (trace.*.et), instead of all other keys.",
        "flows.csv",
        derived=True,
        filled=True,
    )
    sampling: Literal["random", "sobol"] = key(
        "random",
        "How flow lists are drawn: random, each by itself, or sobol: number of flows, sizes and times of each block of "
        "256 rounds are a scrambled Sobol sample, and intervals come from blocks. Rounds are then whole blocks, two or more "
        "(with a stop eight or more), and arrivals poisson.",
        "sobol",
    )
    tilt: Text = key(
        "",
        "The table [tilts.NAME] by which sizes are drawn, so that tail quantiles take fewer trials.",
        "{scheme}",
        derived=True,
        filled=True,
    )

    @property
    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield every key that is given, with its text."""
        for name in self.__slots__:
            if name != "sampling" and (text := getattr(self, name)):
                yield name, text

    @property
    def is_drawn(self) -> bool:
        """True if some flows are drawn at random arrivals."""
        return not self.flows and not (self.job and not self.load)

    @property
    def is_plain(self) -> bool:
        """True if all flows are drawn by one pattern, from one distribution."""
        return not (self.flows or self.job or self.beside)

    @property
    def is_random(self) -> bool:
        """True if trials differ in their flows: they are drawn, or the hosts of a job are."""
        return self.is_drawn or "placement=random" in self.job or bool(names_in(self.job))

    def written(self) -> dict[str, Any]:
        """Return the workload as its table."""
        if self.flows:
            return {"flows": self.flows}
        table: dict[str, Any] = dict(self.texts)
        return table if self.sampling == "random" else table | {"sampling": self.sampling}


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """The mean load that a workload offers to the network.

    `load` is a share of the capacity of `load_of`, and `fullest_load` the resulting share on the most loaded link relative to its
    rate, from its first node to its second; equal-cost paths share evenly. Both refer to payload; `fullest_with_headers` includes
    the headers of the drawn flows' packets, but nothing that a controller adds.
    """

    load: float
    load_of: str
    fullest_link: tuple[int, int]
    fullest_load: float
    fullest_with_headers: float

    @property
    def caution(self) -> str | None:
        """Warn if packets with their headers exceed the capacity of the most loaded link; None otherwise."""
        if self.fullest_with_headers <= 1:
            return None
        first, second = self.fullest_link
        return (
            f"packets with their headers come to {self.fullest_with_headers:.3g} of the link from {first} to {second}: "
            "its queue grows for as long as flows begin"
        )

    @property
    def text(self) -> str:
        """The load in words."""
        of = "the hosts' links" if self.load_of == "host" else "the bottleneck"
        first, second = self.fullest_link
        text = (
            f"load {self.load:.4g} of {of}, {self.fullest_load:.4g} of the fullest link ({first} to {second})"
        )
        if self.fullest_with_headers <= 1:
            return text
        return f"{text}; with headers {self.fullest_with_headers:.3g}, more than it carries"


@dataclass(frozen=True, slots=True)
class SimulationTrial(Trial):
    """Flows under one controller that cross a simulated network, packet by packet. Any text may use {factor}.

    Times are in seconds. `network` and `controller` hold parameters by name. `tilts` are those that `workload.tilt` may name.
    """

    scheme: Text = key(
        ...,
        "The controller of every flow.",
        "{scheme}",
        missing='name the controller, as in scheme = "hpcc" or scheme = "{scheme}"',
        stand_in="missing",
        filled=True,
    )
    topology: Text = key(
        ...,
        "dumbbell:SENDERSxRECEIVERS,RATE,DELAY (and the middle link's rate), fat-tree:K,RATE,DELAY, "
        "leaf-spine:LEAVESxSPINESxHOSTS,RATE,DELAY (and the uplinks' rate), or a file in the HPCC simulator's format.",
        "dumbbell:10x10,100Gbit/s,1us",
        "topology.txt",
        missing='write a shape, as in topology = "dumbbell:10x10,100Gbit/s,1us", or name a file',
        stand_in="missing",
        filled=True,
    )
    workload: Workload = key(
        ...,
        "Which flows there are.",
        {"sizes": "websearch", "load": "30%", "duration": "20ms"},
        missing='say which flows there are, as in workload = { sizes = "websearch", load = "30%", duration = "20ms" }',
        stand_in={"flows": "missing"},
    )
    network: _Parameters = key(
        (),
        "Parameters of the network, listed below.",
        {"buffer": "32MiB", "kmin": "400kB", "pfc": True},
        filled=True,
    )
    controller: _Parameters = key(
        (), "Parameters of the controller, listed below.", {"gain": 0.0625}, filled=True
    )
    mode: Text = key(
        "clean",
        "clean, or compatible for what the public HPCC simulator would compute, to the nanosecond.",
        "compatible",
        filled=True,
    )
    engine: Text = key(
        "trialwise",
        "What simulates: trialwise, ns3 (ns-3, in a process of its own), or for estimates fluid (max-min fair rates instead of "
        "packets), paths (packets of sampled paths) or links (packets of each link by itself); may use {factor}.",
        "ns3",
        "{engine}",
        filled=True,
    )
    rate_interval: Duration = key(
        0.0,
        'With engine = "fluid", and for a stop with controls = "fluid": the least time between two searches for the rates of flows; '
        "0 s is at every begin and end of a flow, which is exact.",
        "10us",
    )
    sampled_paths: Count = key(
        100,
        'With engine = "paths": how many paths of a trial are simulated, in the mean; all, if its flows take no more.',
        400,
    )
    link_distance: Share = key(
        0.0,
        'With engine = "links": links whose traffic differs by no more than this are simulated once for all of them; 0 is each by '
        "itself.",
        0.1,
    )
    routes: Text = key(
        "",
        "A file with the order of equal next hops, on each line a node, a host and the hops.",
        "routes.txt",
        derived=True,
        filled=True,
    )
    warmup: Duration = key(
        0.0, "The start of the workload's duration, whose flows are set apart from the stable phase.", "1ms"
    )
    cooldown: Duration = key(
        0.0, "The end of the workload's duration, whose flows are set apart as those of warmup are.", "2ms"
    )
    sampling: PositiveDuration = key(1e-5, "How often queues are looked at for a metric.", "1us")
    records: Literal["keep", "drop"] = key(
        "keep", "Whether a record of every flow stays in the experiment directory.", "drop"
    )
    tilts: Tilts = ()
    timeout: PositiveDuration | None = key(None, "A trial that takes longer is ended and failed.", "30s")
    kind: Literal["simulation"] = key("simulation", KIND, required=True)  # pyright: ignore[reportIncompatibleMethodOverride]

    places = "trial.scheme, trial.topology, trial.workload, trial.network or trial.controller"

    @property
    def traits(self) -> Traits:
        """Traits of computed trials with known flows."""
        return Traits(
            runs="trialwise.trials.simulation:SimulationKind",
            computed=True,
            random=self.workload.is_random,
            cheap=True,
            block=SOBOL_BLOCK if self.workload.sampling == "sobol" else 1,
            weighted=bool(self.workload.tilt),
            workload="drawn" if self.workload.is_plain else "given",
            flow_records=self.records,
            set_apart=(self.warmup, self.cooldown),
        )

    @property
    def summary(self) -> str:
        """The controller, the network and the flows."""
        asked = ", ".join(f"{name} {text}" for name, text in self.workload.texts)
        return f"{self.scheme} over {self.topology}, simulated: {asked}"

    @property
    def workload_texts(self) -> tuple[tuple[str, str], ...]:
        """The texts of the workload, and of its network."""
        return (("topology", self.topology), ("routes", self.routes), *self.workload.texts)

    def source(self, key: Place, table: MetricTable, problems: Problems) -> Source:
        """Build the source: a quantity of flows or of the network."""
        from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES
        from trialwise.experiment.source_building import named_quantity

        name = named_quantity(
            key, table, SIMULATION_QUANTITIES, "a simulated trial", "of the whole network", problems
        )
        return SimulationSource(name, table.sizes or "", table.phase or "stable")

    def check(self, experiment: Experiment, problems: Problems) -> None:
        """Note incomplete blocks of rounds, and metrics that are incompatible with tilted sizes."""
        from trialwise.experiment.simulation_building import check_blocks, check_tilted

        check_blocks(experiment, problems)
        check_tilted(experiment, problems)

    def caveats(self, experiment: Experiment) -> Iterator[str]:
        """Say which trials are estimates by an engine that simulates no packets."""
        from trialwise.experiment.simulation_building import estimate_notes

        yield from estimate_notes(self.engine, experiment)

    def written(self) -> dict[str, Any]:
        """Return the table with the scenario first, then the flows."""
        table = table_of(self)
        first = {name: table.pop(name) for name in ("scheme", "topology", "routes") if name in table}
        return first | table | {"workload": self.workload.written()}

    def sections(self) -> dict[tuple[str, ...], dict[str, Any]]:
        """Return the tilts."""
        return {("tilts", name): tilt_table(tilt) for name, tilt in self.tilts}


@dataclass(frozen=True, slots=True)
class SimulationTable(SimulationTrial):
    """Flows in a simulated network."""

    runtime: PositiveDuration | None = key(None, RUNTIME)
    process: Literal["trial", "shared"] = key("trial", OWN_PROCESS)

    @property
    def cut(self) -> float:
        """Nothing: `warmup` sets flows apart."""
        return 0.0

    def record(self, document: doc.Document, problems: Problems) -> SimulationTrial:
        """Build the trial with its tilts."""
        from trialwise.experiment.simulation_building import simulation_trial

        return simulation_trial(self, document, problems)


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Flows of at least `low` and less than `high` bytes; None means unbounded."""

    low: int = 0
    high: int | None = None


@dataclass(frozen=True, slots=True)
class SimulationSource(Source):
    """A quantity of a simulated trial, from `simulation_quantities`.

    It covers the flows of a size class ("0B..100kB", empty for all) that start in a phase.
    """

    quantity: str
    sizes: str = ""
    phase: Phase = "stable"

    @property
    def key(self) -> str:
        """The name under which the ledger stores the values."""
        sizes = f"|sizes:{self.sizes}" if self.sizes else ""
        phase = "" if self.phase == "stable" else f"|phase:{self.phase}"
        return f"simulation:{self.quantity}{sizes}{phase}"

    @property
    def traits(self) -> SourceTraits:
        """Those of the quantity, of which flows have many."""
        from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES

        pools = self.quantity in ("fct", "slowdown", "throughput", "jct")
        found = quantity_traits(SIMULATION_QUANTITIES.get(self.quantity))
        return replace(found, pools=pools, is_sample=True, is_estimated=True)

    def written(self, name: str) -> dict[str, Any]:
        """Return the quantity, unless it is the metric's name, and the selection of flows."""
        return {
            "quantity": None if self.quantity == name else self.quantity,
            "sizes": self.sizes or None,
            "phase": None if self.phase == "stable" else self.phase,
        }


def names_file(text: str) -> bool:
    """Return True if a topology or sizes come from a file: a shape has a colon, and a name of sizes neither dot nor slash."""
    return ":" not in text and ("/" in text or "." in text)


def files_named(trial: SimulationTrial) -> Iterator[str]:
    """Yield the files that a trial names, as written."""
    if ":" not in trial.topology:
        yield trial.topology
    if trial.routes:
        yield trial.routes
    if names_file(trial.workload.sizes):
        yield trial.workload.sizes
    if trial.workload.flows:
        yield trial.workload.flows
