"""What a trial is: a program, a Python callable, or schemes over a path; `simulation` has the flows in a simulated network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trialwise.experiment.simulation import SimulationTrial

Namespace = Literal["network", "ipc"]
PathEngine = Literal["emulated", "simulated"]


@dataclass(frozen=True, slots=True)
class CommandTrial:
    """A trial that is one execution of a program.

    `command` is already split as a shell would; its placeholders are filled for each trial. Times are in seconds. `keep` names what
    is kept of the files that each trial writes: files, folders and patterns, relative to `directory`.
    """

    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    directory: str = "."
    prepare: tuple[str, ...] | None = None
    conclude: tuple[str, ...] | None = None
    timeout: float | None = None
    exit_codes: tuple[int, ...] = (0,)
    output_limit: int = 64 * 1024 * 1024
    leftovers: Literal["fail", "end"] = "fail"
    isolate: tuple[Namespace, ...] = ()
    keep: tuple[str, ...] = ()
    kind: str = "command"


@dataclass(frozen=True, slots=True)
class PythonTrial:
    """A trial that is one call of `module:function`, in a process of its own or in one that the trials of a series share."""

    call: str
    environment: tuple[tuple[str, str], ...] = ()
    directory: str = "."
    timeout: float | None = None
    isolate: tuple[Namespace, ...] = ()
    process: Literal["trial", "shared"] = "trial"
    kind: str = "python"


Groups = tuple[tuple[tuple[str, str], ...], ...]
"""One direction of a path: groups of (key, value), in the order in which a packet meets them."""


@dataclass(frozen=True, slots=True)
class PathSettings:
    """An emulated path: what packets meet from the sender to the receiver, and back; `mtu` in bytes.

    Files that the links name are looked up in `folder`, relative to that of the experiment. `source` says where the
    numbers come from.
    """

    uplink: Groups
    downlink: Groups
    mtu: int = 1500
    folder: str = "."
    source: str = ""


@dataclass(frozen=True, slots=True)
class PathFlow:
    """One flow over a path: a scheme, what it carries and when (seconds since the first flow's start).

    `stop` is None for the end of the trial. `direction` is the way of the data.
    """

    scheme: str
    start: float = 0.0
    stop: float | None = None
    direction: Literal["uplink", "downlink"] = "uplink"
    load: str = "bulk"


@dataclass(frozen=True, slots=True)
class PathTrial:
    """A trial in which senders and receivers talk over an emulated path for `runtime` seconds.

    `engine` says whether their packets are real ("emulated") or simulated in integer time.
    `path` is the path itself, or the name of one. Packets were late when one in a hundred was later than `lateness`
    seconds; then the trial is not valid.
    """

    flows: tuple[PathFlow, ...]
    path: PathSettings | str
    runtime: float
    named_paths: tuple[tuple[str, PathSettings], ...] = ()
    scheme_folders: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    packets: Literal["keep", "drop"] = "keep"
    lateness: float = 0.001
    engine: PathEngine = "emulated"
    kind: str = "path"


Trial = CommandTrial | PythonTrial | PathTrial | SimulationTrial
