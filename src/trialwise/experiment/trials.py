"""Records of trials: a program, a Python callable, or schemes over a path; `simulation` has flows in a simulated network."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from trialwise.experiment.environment import ENVIRONMENT, PASS, SECRET, Environment, Variables
from trialwise.experiment.file.sections import (
    ByShape,
    Key,
    Limits,
    Section,
    Written,
    WrongValueError,
    key,
    made_of,
    table_of,
)
from trialwise.experiment.file.values import (
    Argv,
    Call,
    Duration,
    PositiveDuration,
    Text,
    several,
    without_doubles,
)
from trialwise.experiment.keeping import KeepLimit, Kept
from trialwise.experiment.machine_names import HOW_TO_NAME, machine_named
from trialwise.experiment.mahimahi import path_shells
from trialwise.experiment.retrying import RETRY, Retry
from trialwise.experiment.simulation import KIND, OWN_PROCESS, RUNTIME, WARMUP
from trialwise.experiment.sources import PathSource
from trialwise.experiment.traits import Source, Traits, Trial

if TYPE_CHECKING:
    from trialwise.experiment.file import document as doc
    from trialwise.experiment.file.positions import Key as Place
    from trialwise.experiment.metrics import MetricTable
    from trialwise.experiment.problems import Problems

Namespace = Literal["network", "ipc"]
PathEngine = Literal["emulated", "simulated"]
NO_FLOW = "none"
"""The scheme of a flow that does not run, as in a trial in which another flow is alone."""


DIRECTORY = Key(words="Working directory, relative to the experiment file.", examples=("build",), filled=True)
_TIMEOUT = Key(words="A trial that takes longer is ended and failed.", examples=("30s",))
_Isolate = Annotated[tuple[Namespace, ...], without_doubles(Namespace)]
_ISOLATE = Key(
    words="Fresh namespaces for the program of each trial: a network with a loopback and nothing else; "
    "shared memory, semaphores and message queues.",
    examples=(["network", "ipc"],),
)


@dataclass(frozen=True, slots=True)
class CommandTrial(Trial):
    """A trial that is one execution of a program.

    `command` is already split as a shell would; its placeholders are filled for each trial. Times are in seconds. `keep` names what
    is kept of the files that each trial writes: files, folders and patterns, relative to `directory`, `keep_limit` bytes at most.
    """

    command: Argv = key(
        ...,
        "Command line, split as a shell would (no shell runs it); then placeholders are filled.",
        "gzip -{level} --keep input",
        missing='write the command line, as in command = "sleep {duration}"',
        stand_in=["true"],
        filled=True,
    )
    prepare: Argv | None = key(
        None,
        "Command run before each trial, outside of what is measured; what it leaves running is ended after conclude.",
        "make {target}",
        filled=True,
    )
    conclude: Argv | None = key(
        None, "Command run after each trial, outside of what is measured.", "rm -f output", filled=True
    )
    exit_codes: Annotated[tuple[int, ...], several(Annotated[int, Limits(ge=0, le=255)], min_length=1)] = key(
        (0,), "Exit codes that mean success.", [0, 1]
    )
    output_limit: Annotated[int, Limits(ge=1, lt=2**40)] = key(
        64 * 1024 * 1024, "Bytes of standard output kept; a trial that prints more fails.", 1048576
    )
    keep: Kept = key(
        (),
        'Files, folders and patterns below the working directory: what each trial writes there is kept. Or "failed": everything '
        "in {directory} is kept of trials that fail, nothing of others.",
        ["results/", "*.json"],
        "failed",
        filled=True,
    )
    keep_limit: KeepLimit = key(
        16 << 20,
        "Bytes of files that are kept of a trial, at most 256 MiB; what exceeds it is left out.",
        "10MB",
    )
    leftovers: Literal["fail", "end"] = key(
        "fail",
        "What to do about processes that the program leaves running: fail the trial, or only end them.",
        "end",
    )
    directory: Text = key(".", DIRECTORY)
    environment: Environment = key((), ENVIRONMENT)
    passed: Variables | None = key(None, PASS)
    secret: Variables = key((), SECRET)
    timeout: PositiveDuration | None = key(None, _TIMEOUT)
    retry: Retry | None = key(None, RETRY)
    isolate: _Isolate = key((), _ISOLATE)
    kind: Literal["command"] = key("command", KIND)  # pyright: ignore[reportIncompatibleMethodOverride]

    places = "trial.command or trial.environment"

    @property
    def keeps_failed(self) -> bool:
        """Whether files are kept of trials that fail, and of these alone."""
        return self.keep == "failed"

    @property
    def kept_places(self) -> tuple[str, ...]:
        """The files, folders and patterns that are kept."""
        return ("{directory}",) if self.keep == "failed" else self.keep

    @property
    def traits(self) -> Traits:
        """Traits of a program, whose output is stored."""
        return Traits(
            runs="trialwise.trials.command:CommandKind",
            kept=frozenset({"output"} if self.keeps_failed or not self.keep else {"output", "file"}),
            here_only="",
        )

    @property
    def summary(self) -> str:
        """The command line."""
        return shlex.join(self.command)

    def source(self, key: Place, table: MetricTable, problems: Problems) -> Source:
        """Build the source: a count, or output of the program."""
        from trialwise.experiment.source_building import program_source

        return program_source(key, table, problems)


Process = Literal["trial", "shared"]
_PROCESS = Key(
    words="Whether every trial has a process of its own, or the trials of a treatment share one in each series, which calls "
    "the function again and again.",
    examples=("shared",),
)


@dataclass(frozen=True, slots=True)
class CommandTable(CommandTrial):
    """One execution of a program. Any text may use {factor}."""

    elsewhere = {"call": 'only valid with kind = "python"; a command stands in trial.command'}  # noqa: RUF012 a constant of the class

    runtime: PositiveDuration | None = key(None, RUNTIME)
    warmup: Duration = key(0.0, WARMUP)
    process: Process = key("trial", OWN_PROCESS)

    def record(self, document: doc.Document, problems: Problems) -> CommandTrial:  # noqa: ARG002
        """Build the trial without the keys that only the file has."""
        return made_of(CommandTrial, self)


@dataclass(frozen=True, slots=True)
class PythonTrial(Trial):
    """A trial that is one call of `module:function`, in a process of its own or in one that the trials of a series share."""

    call: Call = key(
        ...,
        "module:function, called with the factors as keywords.",
        "trials:run",
        missing='write call = "module:function"',
        stand_in="module:function",
    )
    process: Process = key("trial", _PROCESS)
    directory: Text = key(".", DIRECTORY)
    environment: Environment = key((), ENVIRONMENT)
    passed: Variables | None = key(None, PASS)
    secret: Variables = key((), SECRET)
    timeout: PositiveDuration | None = key(None, _TIMEOUT)
    retry: Retry | None = key(None, RETRY)
    isolate: _Isolate = key((), _ISOLATE)
    kind: Literal["python"] = key("python", KIND, required=True)  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def traits(self) -> Traits:
        """Traits of a function, which several trials may call in one process."""
        shared = self.process == "shared"
        return Traits(
            runs="trialwise.trials.shared_python:SharedPythonKind"
            if shared
            else "trialwise.trials.python:PythonKind",
            shares_processes=shared,
            here_only="the callable would need Trialwise there",
        )

    @property
    def summary(self) -> str:
        """The function."""
        return self.call

    def source(self, key: Place, table: MetricTable, problems: Problems) -> Source:
        """Build the source: a return value, a count, or output of the process."""
        from trialwise.experiment.source_building import program_source

        return program_source(key, table, problems, returns=True)


@dataclass(frozen=True, slots=True)
class PythonTable(PythonTrial):
    """One call of a Python function."""

    runtime: PositiveDuration | None = key(None, RUNTIME)
    warmup: Duration = key(0.0, WARMUP)

    def record(self, document: doc.Document, problems: Problems) -> PythonTrial:  # noqa: ARG002
        """Build the trial without the keys that only the file has."""
        return made_of(PythonTrial, self)


Groups = tuple[tuple[tuple[str, str], ...], ...]
"""One direction of a path: groups of (key, value), in the order in which a packet meets them."""

See = Literal["capture", "tunnel", "programs"]
"""How packets of a real path are seen."""
Inside = Literal["ipv4", "ipv6"]
"""What programs in a tunnel speak with each other."""
Changes = Literal["series", "expected"]
"""What changes of a real path's route do."""


@dataclass(frozen=True, slots=True)
class RealEnds:
    """The two ends of a real path, as workers are named, and what a trial may do to what lies between.

    The end `listens` ("from" or "to") has the address that the other end reaches, by default the one that ssh connects to. Clocks are
    compared for `quiet` seconds before and after the flows. An end without a connection to the runner stops after `lease` seconds.
    `see` is how packets are seen at both ends, and `inside` what flows in a tunnel speak. `clocks` (seconds) is how far apart the
    clocks of the ends are at most, by what somebody else knows (PTP, GPS). Where `changes` are "expected", as of satellites, another
    route begins no series.
    """

    sending: str
    receiving: str
    listens: Literal["from", "to"] = "to"
    address: str = ""
    port: int = 5200
    rate_cap: str = "100Mbit/s"
    bytes_cap: str = "1GB"
    quiet: float = 5.0
    lease: float = 45.0
    clocks: float | None = None
    see: See = "capture"
    changes: Changes = "series"
    inside: Inside = "ipv4"


@dataclass(frozen=True, slots=True)
class PathSettings:
    """An emulated path: what packets meet from the sender to the receiver, and back; `mtu` in bytes.

    Files that the links name are looked up in `folder`, relative to that of the experiment. `source` says where the
    numbers come from, and `shells` mahimahi's words if the path was written in them. `refused` names the metrics that the
    certificate of a calibrated path denies it, `file` is its file, empty if it has none, and `named_in` the folder of that file as
    the experiment names it. A real path has `ends` and nothing else.
    """

    uplink: Groups
    downlink: Groups
    mtu: int = 1500
    folder: str = "."
    source: str = ""
    shells: str = field(default="", compare=False)
    refused: tuple[str, ...] = ()
    file: str = ""
    named_in: str = field(default="", compare=False)
    ends: RealEnds | None = None


@dataclass(frozen=True, slots=True)
class LinkTable(Section):
    """What packets meet in one direction of a path."""

    rate: Text | None = key(
        None,
        "The bottleneck's rate, constant, by a trace, or generated.",
        "12Mbit/s",
        "trace:up.trace",
        "poisson:rate=3Mbit/s",
    )
    queue: Text | None = key(
        None,
        "The queue before the bottleneck; infinite unless given.",
        "droptail:packets=50",
        "codel:packets=1000,target=5ms,interval=100ms",
    )
    delay: Text | None = key(None, "One-way propagation delay.", "28ms")
    loss: Text | None = key(None, "Random loss.", "0.4%")
    outage: Text | None = key(None, "Times at which everything is lost.", "exponential:on=5s,off=1s")
    policer: Text | None = key(None, "A token bucket that drops what exceeds it.", "10Mbit/s,burst=30kB")
    batches: Text | None = key(None, "Packets released together.", "every=20ms")
    course: Text | None = key(
        None,
        "Rate, delay, loss and interruptions over time together, recorded or drawn; stands for the keys that it says.",
        "recording:FILE.csv",
        "leo:rate=50Mbit/s..250Mbit/s",
    )
    handover: Text | None = key(
        None, "Times at which packets are held, and let go afterwards.", "every:60s,hold=50ms"
    )
    radio: Text | None = key(
        None,
        "How a radio link lets packets go: in grants, or with retransmissions of its own.",
        "grants:every=5ms",
    )
    ecn: Text | None = key(None, "What happens to the ECN field on the way.", "bleach")
    corrupt: Text | None = key(
        None, "Random corruption, which receivers drop or do not notice.", "0.01%", "0.01%,checksum=fix"
    )
    duplicate: Text | None = key(
        None, "Random duplication; copies are counted apart.", "0.1%", "0.1%,after=0ms..5ms"
    )
    pmtu: Text | None = key(
        None, "Size of the largest packet that passes; larger ones vanish.", "1400", "1400,icmp=no"
    )

    @property
    def pairs(self) -> dict[str, str]:
        """Return the keys of the link with their values, in the order of the keys."""
        texts = {name: getattr(self, name) for name in LinkTable.__slots__}
        return {name: text for name, text in texts.items() if text is not None}


@dataclass(frozen=True, slots=True)
class PathTable(LinkTable):
    """An emulated path, or a real one with from and to. Keys hold both ways, unless uplink or downlink says otherwise."""

    uplink: LinkTable | None = key(None, "What differs from the sender to the receiver.", {"loss": "0.4%"})
    downlink: LinkTable | None = key(
        None, "What differs from the receiver to the sender.", {"rate": "1Mbit/s"}
    )
    mtu: Annotated[int, Limits(ge=576, le=9000)] = key(
        1500, "Largest IP packet of the ends, bytes; below 1280 without IPv6.", 1400, 9000
    )
    folder: Text = key(
        ".", "Where files that the links name stand, relative to the experiment file.", "traces"
    )
    mahimahi: Text | None = key(
        None,
        "The path in words of mahimahi's shells, instead of all keys above but mtu and folder.",
        "mm-delay 28 mm-loss uplink .004 mm-link up.trace down.trace --uplink-queue=droptail --uplink-queue-args=packets=50",
    )
    from_: Text | None = key(
        None,
        "Where data of the uplink are sent on a real path: local or ssh://user@host:port.",
        "local",
        name="from",
    )
    to: Text | None = key(None, "Where they are received.", "ssh://me@node1", "ssh://node2:2222")
    listens: Literal["from", "to"] = key(
        "to",
        "The end of a real path that the other one can reach; its programs and probes wait for the other's.",
        "from",
    )
    address: Text | None = key(
        None,
        "Address of that end as the other end reaches it; default the one that ssh connects to.",
        "203.0.113.7",
    )
    port: Annotated[int, Limits(ge=1024, le=64000)] = key(
        5200, "UDP port of the probes of a real path; flow 1 has the port after it, and so on.", 7000
    )
    rate_cap: Text = key(
        "100Mbit/s",
        "A trial over a real path that sends half a second's worth more than this allows is stopped.",
        "1Gbit/s",
    )
    bytes_cap: Text = key("1GB", "A trial over a real path that sends more than this is stopped.", "10GB")
    quiet: PositiveDuration = key(
        5.0,
        "How long the clocks of both ends of a real path are compared before the flows, and after them.",
        "10s",
    )
    lease: PositiveDuration = key(
        45.0,
        "An end of a real path stops by itself when it has had no connection to the runner for so long.",
        "2min",
    )
    see: See = key(
        "capture",
        "How packets of a real path are seen: as the interfaces have them, in a tunnel through one UDP port, or by our own programs.",
        "tunnel",
        "programs",
    )
    inside: Inside = key(
        "ipv4", "What flows in a tunnel speak with each other, whatever the path around it has.", "ipv6"
    )
    clocks: PositiveDuration | None = key(
        None,
        "How far apart the clocks of the ends of a real path are at most, if PTP or GPS says so; one-way delays need it.",
        "50us",
    )
    changes: Changes = key(
        "series",
        "Another TTL or lowest round trip of a real path begins another series; if expected, as over satellites, it is only told.",
        "expected",
    )

    @property
    def settings(self) -> PathSettings:
        """Return the path of the table: its own keys in both directions, overridden by those of uplink or downlink.

        Raises
        ------
        WrongValueError
            Mahimahi's words are invalid, or other keys stand beside them.
        """
        if self.from_ is not None or self.to is not None:
            return self._real()
        if self.mahimahi is not None:
            return self._of_shells(self.mahimahi)
        uplink, downlink = (
            tuple(LinkTable(**(self.pairs | (own.pairs if own else {}))).pairs.items())
            for own in (self.uplink, self.downlink)
        )
        return PathSettings((uplink,), (downlink,), self.mtu, self.folder)

    def _real(self) -> PathSettings:
        if self.from_ is None or self.to is None:
            given, lacks = ("from", "to") if self.to is None else ("to", "from")
            raise WrongValueError(f"{given} stands there without {lacks}", "name both ends of the real path")
        emulated = [
            *self.pairs,
            *(name for name in ("uplink", "downlink", "mahimahi") if getattr(self, name)),
        ]
        if emulated:
            raise WrongValueError(
                f"{emulated[0]} stands beside from and to: a real path is as it is",
                "write the ends of a real path, or what an emulated one does",
            )
        for name, machine in (("from", self.from_), ("to", self.to)):
            if machine_named(machine) is None:
                raise WrongValueError(f"{name}: {machine!r} names no machine", HOW_TO_NAME)
        if self.from_ == self.to:
            raise WrongValueError("from and to are the same end", "name two ends")
        if self.inside != "ipv4" and self.see != "tunnel":
            raise WrongValueError(
                "inside stands there without a tunnel: the path's own addresses say whether it is IPv4 or IPv6",
                'write see = "tunnel", or leave inside out',
            )
        self._check_cap("rate_cap", "rate")
        self._check_cap("bytes_cap", "size")
        ends = RealEnds(
            self.from_,
            self.to,
            self.listens,
            self.address or "",
            self.port,
            self.rate_cap,
            self.bytes_cap,
            self.quiet,
            self.lease,
            self.clocks,
            self.see,
            self.changes,
            self.inside,
        )
        return PathSettings(((),), ((),), self.mtu, self.folder, ends=ends)

    def _check_cap(self, name: str, dimension: Literal["rate", "size"]) -> None:
        from trialwise import _core

        try:
            _core.parse_quantity(getattr(self, name), dimension)
        except ValueError as error:
            raise WrongValueError(f"{name}: {error}") from error

    def _of_shells(self, text: str) -> PathSettings:
        beside = [*self.pairs, *(way for way in ("uplink", "downlink") if getattr(self, way) is not None)]
        if beside:
            raise WrongValueError(
                f"{beside[0]} stands beside mahimahi, which describes the whole path",
                "write one of them: mahimahi's words, or keys of the path",
            )
        shells = path_shells(text)
        return PathSettings(shells.uplink, shells.downlink, self.mtu, self.folder, shells=text)


def path_table(settings: PathSettings) -> dict[str, Any]:
    """Return a path as its table: mahimahi's words, or one group of pairs per direction."""
    if (ends := settings.ends) is not None:
        return table_of(
            PathTable(
                from_=ends.sending,
                to=ends.receiving,
                listens=ends.listens,
                address=ends.address or None,
                port=ends.port,
                rate_cap=ends.rate_cap,
                bytes_cap=ends.bytes_cap,
                quiet=ends.quiet,
                lease=ends.lease,
                clocks=ends.clocks,
                see=ends.see,
                changes=ends.changes,
                inside=ends.inside,
                mtu=settings.mtu,
                folder=settings.folder,
            )
        )
    if settings.shells:
        return table_of(PathTable(mahimahi=settings.shells, mtu=settings.mtu, folder=settings.folder))
    (uplink,), (downlink,) = settings.uplink, settings.downlink
    ways = [LinkTable(**dict(way)) if way else None for way in (uplink, downlink)]
    return table_of(PathTable(uplink=ways[0], downlink=ways[1], mtu=settings.mtu, folder=settings.folder))


Path = Annotated[PathSettings, Written(PathTable, lambda table: table.settings, path_table)]


def with_ways(settings: PathSettings) -> PathSettings:
    """Return the path with the direction to take of each recording, unless it says one: each way its own."""
    return replace(
        settings,
        **{
            way: tuple(tuple((key, _of_way(key, text, way)) for key, text in group) for group in groups)
            for way, groups in (("uplink", settings.uplink), ("downlink", settings.downlink))
        },
    )


def _of_way(key: str, text: str, way: str) -> str:
    says_way = any(word.strip().startswith("way=") for word in text.split(",")[1:])
    recorded = key == "course" and text.partition(":")[0].strip() == "recording"
    return f"{text},way={way}" if recorded and not says_way else text


def way_text(way: Groups) -> str:
    """Describe in words what packets meet in one direction of a path."""
    return ", ".join(f"{key} {text}" for group in way for key, text in group)


def _path_text(path: PathSettings | str) -> str:
    if isinstance(path, str):
        return path
    if path.ends is not None:
        return f"the real path from {path.ends.sending} to {path.ends.receiving}"
    ways = [way_text(way) for way in (path.uplink, path.downlink)]
    return ways[0] if ways[0] == ways[1] else f"uplink {ways[0]}; downlink {ways[1]}"


@dataclass(frozen=True, slots=True)
class PathFlow(Section):
    """One flow over a path: a scheme, what it carries and when (seconds since the first flow's start).

    `stop` is None for the end of the trial. `direction` is the way of the data.
    """

    scheme: Text = key(..., "The scheme of the flow; none where it does not run.", "cubic", filled=True)
    start: Duration = key(0.0, "When it starts, after the first flow.", "5s")
    stop: PositiveDuration | None = key(None, "When it is ended; default the end of the trial.", "20s")
    direction: Literal["uplink", "downlink"] = key("uplink", "The way of its data.", "downlink")
    load: Text = key(
        "bulk",
        "What it carries; default the load of the trial.",
        "rate:1Mbit/s",
        "bytes:10MB",
        derived=True,
        default="",
        filled=True,
    )
    delay: Text = key(
        "0s",
        "How much further away than the path both its ends are together, each way, so that its round trip is twice that longer.",
        "20ms",
        "{delay}",
        filled=True,
    )


@dataclass(frozen=True, slots=True)
class FlowTable(PathFlow):
    """One flow, or several alike, over a path."""

    count: Annotated[int, Limits(ge=1, le=1000)] = key(1, "How many such flows there are.", 3)


def _path_of(written: str | PathTable) -> str | PathSettings:
    return written if isinstance(written, str) else written.settings


def _written_path(path: str | PathSettings) -> str | dict[str, Any]:
    return path if isinstance(path, str) else path_table(path)


@dataclass(frozen=True, slots=True)
class PathTrial(Trial):
    """A trial in which senders and receivers talk over an emulated path for `runtime` seconds.

    `engine` says whether their packets are real ("emulated") or simulated in integer time.
    `path` is the path itself, or the name of one. Packets were late when one in a hundred was later than `lateness`
    seconds; then the trial is not valid.
    """

    flows: tuple[PathFlow, ...]
    path: Annotated[
        PathSettings | str,
        Written(Annotated[Any, ByShape(value=Text, table=PathTable)], _path_of, _written_path),
    ] = key(
        ...,
        "The emulated path, or the name of one: [paths.NAME] in this file, pantheon:NAME, file:NAME.path for one that was "
        "calibrated to a real path, or a course such as recording:FILE.",
        {"rate": "12Mbit/s", "delay": "28ms"},
        "pantheon:nepal-aws-india",
        "file:nepal.path",
        "recording:train.csv",
        missing='describe it, as in path = { rate = "12Mbit/s", delay = "28ms" }',
        stand_in="missing",
        filled=True,
    )
    runtime: PositiveDuration = key(
        ...,
        "How long the flows run.",
        "10s",
        missing='say how long the flows run, as in runtime = "10s"',
        stand_in="1s",
    )
    named_paths: tuple[tuple[str, PathSettings], ...] = ()
    scheme_folders: tuple[str, ...] = ()
    packets: Literal["keep", "drop"] = key(
        "keep", "Whether a record of every packet stays in the experiment directory.", "drop"
    )
    lateness: PositiveDuration = key(
        0.001,
        "The trial is invalid when the emulator was later than this for one packet in a hundred.",
        "2ms",
    )
    engine: PathEngine = key(
        "emulated",
        "Emulated for real packets through an emulated path, simulated for the same queues and controllers in simulated time.",
        "simulated",
    )
    environment: Environment = key((), ENVIRONMENT)
    retry: Retry | None = key(None, RETRY)
    kind: Literal["path"] = key("path", KIND, required=True)  # pyright: ignore[reportIncompatibleMethodOverride]

    places = "trial.scheme, trial.path or trial.environment"
    analyses = "trialwise.analysis.path.analysing:analyse_path"
    words = "trialwise.report.documents.paths:PathWords"
    knows = "trialwise.study.facts_of_paths:path_facts"

    @property
    def traits(self) -> Traits:
        """Traits of real packets through separate namespaces, or of simulated ones."""
        simulated = self.engine == "simulated"
        if simulated:
            runs = "trialwise.trials.simulated_path:SimulatedPathKind"
        elif self._may_be_real:
            runs = "trialwise.execution.ends.kind:EndsKind"
        else:
            runs = "trialwise.trials.path:PathKind"
        return Traits(
            runs=runs,
            computed=simulated,
            random=not simulated,
            simulates_runtime=simulated,
            own_namespaces=True,
            here_only="an emulated path would need Trialwise and its privileges there",
        )

    @property
    def _may_be_real(self) -> bool:
        """Whether a path that trials may name has real ends."""
        paths = [self.path, *(path for _, path in self.named_paths)]
        return any(isinstance(path, PathSettings) and path.ends is not None for path in paths)

    @property
    def summary(self) -> str:
        """The flows and the path."""
        schemes = ", ".join(dict.fromkeys(flow.scheme for flow in self.flows))
        what = "simulated flow(s)" if self.engine == "simulated" else "flow(s)"
        return f"{len(self.flows)} {what} of {schemes} for {self.runtime:g} s over {_path_text(self.path)}"

    def source(self, key: Place, table: MetricTable, problems: Problems) -> Source:
        """Build the source: a quantity of the packets of one flow, or of all."""
        from trialwise.experiment.quantities import QUANTITIES
        from trialwise.experiment.source_building import named_quantity

        name = named_quantity(key, table, QUANTITIES, "a path trial", "of all flows together", problems)
        return PathSource(name, table.flow, table.bin or PathSource(name).bin)

    def written(self) -> dict[str, Any]:
        """Return the table with flows and runtime first."""
        table = table_of(self)
        first = {"flows": [table_of(flow, load="bulk") for flow in self.flows]}
        return first | {"runtime": table.pop("runtime")} | table

    def sections(self) -> dict[tuple[str, ...], dict[str, Any]]:
        """Return the paths by name, and the location of schemes."""
        schemes = table_of(Schemes(self.scheme_folders))
        paths = {("paths", name): path_table(settings) for name, settings in self.named_paths}
        return paths | ({("schemes",): schemes} if schemes else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTrialTable(PathTrial):
    """Schemes that talk over an emulated path. Any text may use {factor}."""

    elsewhere = {"timeout": "a path trial ends at trial.runtime"}  # noqa: RUF012 a constant of the class

    scheme: Text | None = key(None, "The scheme of the one flow.", "{scheme}", filled=True)
    load: Text = key("bulk", "What the flow carries.", "bulk", "rate:5Mbit/s", "bytes:10MB", filled=True)
    listed: Annotated[
        int | list[FlowTable],
        ByShape(
            value=Annotated[int, Limits(ge=1, le=1000)],
            items=Annotated[list[FlowTable], Limits(min_length=1)],
        ),
    ] = key(
        1,
        "How many flows of the scheme there are, or a list of flows.",
        3,
        [{"scheme": "cubic"}, {"scheme": "bbr", "start": "5s"}],
        name="flows",
    )
    interval: Duration = key(0.0, "Time between the starts of flows given by number.", "2s")
    warmup: Duration = key(0.0, WARMUP)
    process: Process = key("trial", OWN_PROCESS)

    def record(self, document: doc.Document, problems: Problems) -> PathTrial:
        """Build the trial with its flows, one by one, and the paths that it may name."""
        from trialwise.experiment.path_building import path_trial

        return path_trial(self, document, problems)


@dataclass(frozen=True, slots=True)
class Schemes(Section):
    """Where schemes of your own stand."""

    folders: Annotated[tuple[str, ...], several(Text)] = key(
        (), "Folders with scheme files or Pantheon wrappers, relative to the experiment file.", ["schemes"]
    )
