"""The versioned documents that `path --json` prints; their schemas are in `schemas/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise import _linux
from trialwise.experiment.trials import Groups, PathSettings


@dataclass(frozen=True, slots=True)
class EcnDocument:
    """Packets by their ECN field."""

    not_ect: int
    ect1: int
    ect0: int
    ce: int


@dataclass(frozen=True, slots=True)
class LinkDocument:
    """One direction of an emulated path: packets, bytes, and scheduling lag in seconds.

    `copied` are copies that the path made: arrived + copied = delivered + dropped + held. Of `changed` packets it changed a bit.
    """

    arrived: int
    delivered: int
    dropped: int
    held: int
    copied: int
    changed: int
    arrived_ecn: EcnDocument
    delivered_ecn: EcnDocument
    delivered_bytes: int
    unlogged: int
    lateness_p99: float
    lateness_max: float


@dataclass(frozen=True, slots=True)
class PathDocument:
    """What happened to a command in an emulated path; `duration` in seconds, `bottleneck` says why the emulator itself was one."""

    exit_code: int
    duration: float
    processor_share: float
    realtime: bool
    bottleneck: str | None
    uplink: LinkDocument
    downlink: LinkDocument
    format: Literal["trialwise.path/1"] = "trialwise.path/1"


@dataclass(frozen=True, slots=True)
class ShippedPath:
    """A path shipped with Trialwise: what packets meet each way, and the source of the numbers."""

    uplink: Groups
    downlink: Groups
    source: str


@dataclass(frozen=True, slots=True)
class PathsDocument:
    """The paths shipped with Trialwise, by name."""

    paths: Mapping[str, ShippedPath]
    format: Literal["trialwise.paths/1"] = "trialwise.paths/1"


def path_document(report: _linux.PathReport, exit_code: int) -> PathDocument:
    """Return the emulator's report on a command that ended with `exit_code`."""
    return PathDocument(
        exit_code,
        report.duration,
        report.processor_share,
        report.realtime,
        report.bottleneck,
        _link(report.uplink),
        _link(report.downlink),
    )


def paths_document(paths: Mapping[str, PathSettings]) -> PathsDocument:
    """Return a list of paths."""
    return PathsDocument(
        {name: ShippedPath(path.uplink, path.downlink, path.source) for name, path in paths.items()}
    )


def _link(way: _linux.LinkReport) -> LinkDocument:
    return LinkDocument(
        way.arrived,
        way.delivered,
        way.dropped,
        way.held,
        way.copied,
        way.changed,
        EcnDocument(*way.arrived_ecn),
        EcnDocument(*way.delivered_ecn),
        way.delivered_bytes,
        way.unlogged,
        way.lateness.p99,
        way.lateness.largest,
    )
