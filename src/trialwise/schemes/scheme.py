"""The records of a scheme: a sender and a receiver under one congestion control."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from trialwise.experiment.elements import element_forms

End = Literal["sender", "receiver"]
_IN_FOLDER = re.compile(r"\{folder\}/([^,\s]+)")
LOADS = tuple(element_forms("load"))
"""Kinds of load."""


@dataclass(frozen=True, slots=True)
class Ready:
    """When a started program counts as ready: after a line that it printed, once a port listens, or after a time.

    Times are in seconds. `timeout` is the maximum time until it is ready.
    """

    line: str | None = None
    port: Literal["tcp", "udp"] | None = None
    after: float = 0.0
    timeout: float = 10.0


@dataclass(frozen=True, slots=True)
class Side:
    """The program at one end; `command` is split as a shell would, and its placeholders are filled in for each flow."""

    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    ready: Ready = field(default_factory=Ready)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a machine, and the path, must have for the scheme.

    `packages` are Debian packages, `feature` is one that Trialwise must be built with, `congestion` is a congestion control that
    the kernel must have. `ecn` is the field that its packets set and that must arrive, or become CE.
    """

    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    congestion: str | None = None
    feature: str | None = None
    root: bool = False
    ecn: Literal["ect1"] | None = None


@dataclass(frozen=True, slots=True)
class Simulated:
    """What replaces a scheme's programs where packets are simulated.

    `congestion` is a controller of the UDP transport, or a Python class whose objects are controllers; `load` is passed to the
    transport's sender. In both, {load} is replaced by the words of `Scheme.loads`, and in `congestion` {folder} by the folder of
    the scheme's file.
    """

    congestion: str | Callable[..., object]
    load: str = "{load}"


@dataclass(frozen=True, slots=True)
class Scheme:
    """A sender and a receiver under one congestion control.

    `first` is the side that is started first and waits for the other. `loads` maps each kind of load that the sender
    supports to the words that request it. `prepare` runs before every flow, outside the path; `setup` once on a machine,
    `each_boot` before the first use after each boot; `attach` names a congestion control that is attached to the kernel
    while the scheme runs. `simulated` is None if the scheme exists only as real programs. `licence` is that of the code in which
    congestion control runs, as an SPDX expression. `pantheon` are the names of the schemes of Pantheon that it stands for,
    `nearest` those of unpublished ones to which it comes nearest. `data` are files that its code reads beside `source`.
    """

    name: str
    title: str
    sender: Side
    receiver: Side
    source: Path
    first: End = "receiver"
    color: str | None = None
    loads: Mapping[str, str] = field(default_factory=lambda: {"bulk": ""})
    needs: Needs = field(default_factory=Needs)
    prepare: tuple[str, ...] | None = None
    setup: tuple[str, ...] | None = None
    each_boot: tuple[str, ...] | None = None
    attach: str | None = None
    simulated: Simulated | None = None
    licence: str | None = None
    pantheon: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()
    data: tuple[Path, ...] = ()

    @property
    def has_programs(self) -> bool:
        """Whether it can run with real packets."""
        return bool(self.sender.command)

    @property
    def notes_packets(self) -> bool:
        """Whether its programs are those of our own over UDP, which note each packet and report round trips."""
        return all(side.command[:2] == ("{flow}", "udp") for side in (self.sender, self.receiver))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files in the folder of the scheme's own that the controller of simulated packets names, and `data`."""
        congestion = self.simulated.congestion if self.simulated else ""
        names = _IN_FOLDER.findall(congestion) if isinstance(congestion, str) else ()
        return (*(self.source.parent / name for name in names), *self.data)

    def side(self, end: End) -> Side:
        """Return the program of one end."""
        return self.sender if end == "sender" else self.receiver
