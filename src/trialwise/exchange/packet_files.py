"""Packet files from any tool: recognised, read, and written in another format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError
from trialwise.exchange.capture_records import is_capture
from trialwise.exchange.mahimahi_log import read_mahimahi_log, write_mahimahi_log
from trialwise.exchange.pantheon_log import (
    MergedLog,
    merge_single,
    merged_from_packets,
    read_merged_log,
    read_tunnel_log,
    write_merged_log,
)
from trialwise.foreign_files import open_foreign
from trialwise.late import pl
from trialwise.measurement.joining import Joined, join_sightings
from trialwise.measurement.packets import (
    DIRECTIONS,
    ECN_FIELDS,
    ECN_UNKNOWN,
    EVENTS,
    Direction,
    Packets,
    packet_log_start,
    read_packet_log,
    read_packets,
    write_packets,
)
from trialwise.measurement.sightings import MAGIC, read_sightings
from trialwise.whole_files import whole_file

Kind = Literal[
    "packet log", "parquet", "mm-link log", "tunnel log", "merged log", "capture", "captures of both ends",
    "packets of an end", "packets of two ends",
]  # fmt: skip
Format = Literal["parquet", "csv", "mahimahi", "pantheon"]
_HEAD = 4096
_MOST_UNSEEN = 0.01
"""Share of arrivals that may be unknown to the sending end without a word: captures do not begin at the same instant."""
_SEED = 1
"""Of the resamples for the clocks of two ends: the same files say the same."""


@dataclass(frozen=True, eq=False)
class PacketFile:
    """The content of a packet file.

    Attributes
    ----------
    kind
        The kind of file.
    packets
        Its packets.
    opportunities
        Times at which a full packet could leave the link, in milliseconds since the log began; None if not in the file.
    start
        When the log began: milliseconds since the epoch; 0 if not in the file.
    base
        When the trace of the opportunities began: milliseconds since then.
    has_delays, has_losses
        Whether the packets' delays and losses are known.
    notes
        What to know about them.
    joined
        For packets that two ends saw: how they were joined, and the clocks of both.
    """

    kind: Kind
    packets: Packets
    opportunities: npt.NDArray[np.int64] | None
    start: float
    base: int = 0
    has_delays: bool = True
    has_losses: bool = True
    notes: tuple[str, ...] = ()
    joined: Joined | None = None


def kind_of(path: Path) -> Kind:
    """Recognise a file by its beginning.

    Raises
    ------
    AnalysisError
        It cannot be read, or is of no known kind.
    """
    with open_foreign(path) as file:
        head = file.read(_HEAD)
    if head.startswith(b"TWPACKET"):
        return "packet log"
    if head.startswith(b"PAR1"):
        return "parquet"
    if is_capture(head):
        return "capture"
    if head.startswith(MAGIC):
        return "packets of an end"
    found = _kind_of_text(head)
    if found is None:
        hint = (
            "known: packet logs, Parquet of packets, packets of an end, captures (pcap, pcapng), logs of mm-link, "
            "Pantheon's tunnel logs and merged logs"
        )
        if head.startswith(b"\x1f\x8b"):
            hint = "it is packed with gzip: unpack it with gunzip"
        raise AnalysisError(f"{path}: this is not a packet file", hint=hint)
    return found


def _kind_of_text(head: bytes) -> Kind | None:
    lines = head.decode("utf-8", "replace").splitlines()
    if head.startswith(b"# mahimahi"):
        return "mm-link log"
    words = next((line.split() for line in lines if line and not line.startswith("#")), list[str]())
    if head.startswith(b"# init timestamp"):
        return "merged log"
    if head.startswith(b"#") and lines[0].rpartition(":")[0].endswith(("ingress", "egress")):
        return "tunnel log"
    return "mm-link log" if len(words) >= 3 and words[1] in "#+-d" and words[0].isdecimal() else None


def read_packet_file(
    path: Path,
    *,
    flow_of_port: Mapping[int, int] | None = None,
    egress: Path | None = None,
    other: Path | None = None,
    host: str | None = None,
    direction: Direction | None = None,
    clock_error: float | None = None,
    asymmetry: float | None = None,
) -> PacketFile:
    """Read a packet file.

    Parameters
    ----------
    path
        The file.
    flow_of_port
        For a packet log or a capture, the flows of ports.
    egress
        For an ingress log of a tunnel, the egress log of its other end.
    other
        The file of the other end: of a tunnel (whichever of them is which), or of a path whose two ends were captured, or wrote
        down what they saw.
    host
        For a capture, the address of the sender's end; default that which sent most.
    direction
        The direction of logs that do not name one (default "uplink").
    clock_error, asymmetry
        For packets of two ends, as `join_sightings` takes them.

    Raises
    ------
    AnalysisError
        The file cannot be read, is of no known kind, is that of only one end of a path or tunnel, or a second one does not
        belong to it.
    """
    kind = kind_of(path)
    if other is not None:
        _check_pair(path, kind, other)
    if kind == "capture":
        return _captured(path, other, host, flow_of_port or {}, (clock_error, asymmetry))
    if kind == "packets of an end":
        return _of_ends(path, other, clock_error, asymmetry)
    if other is not None:
        path, egress = (path, other) if _is_ingress(path) else (other, path)
    if kind == "packet log":
        packets = read_packet_log(path, flow_of_port)
        return PacketFile(kind, packets, None, packet_log_start(path) / 1e6)
    if kind == "parquet":
        return PacketFile(kind, read_packets(path), None, 0.0)
    if kind == "mm-link log":
        log = read_mahimahi_log(path)
        return PacketFile(
            kind, log.packets(direction), log.opportunities, log.init_timestamp, log.base_timestamp
        )
    return _of_pantheon(kind, _merged(path, kind, egress), direction or "uplink")


def _check_pair(path: Path, kind: Kind, other: Path) -> None:
    second = kind_of(other)
    if kind not in ("capture", "tunnel log", "packets of an end") or second != kind:
        raise AnalysisError(
            f"{path} is a {kind} and {other} a {second}",
            hint="two files are the captures of both ends of a path, or the logs of both ends of a tunnel",
        )
    if kind == "tunnel log" and _is_ingress(path) == _is_ingress(other):
        end = "ingress" if _is_ingress(path) else "egress"
        raise AnalysisError(f"{path} and {other} are both {end} logs", hint="name that of the other end")


def _of_ends(
    path: Path, other: Path | None, clock_error: float | None, asymmetry: float | None
) -> PacketFile:
    if other is None:
        raise AnalysisError(
            f"{path}: this is what one end of a path saw", hint="name the file of its other end behind it"
        )
    ends = read_sightings(path), read_sightings(other)
    joined = join_sightings(*ends, seed=_SEED, clock_error=clock_error, asymmetry=asymmetry)
    start = ends[0].clocks[0] / 1e6
    return PacketFile(
        "packets of two ends",
        joined.packets,
        None,
        start,
        has_delays=not joined.are_alike,
        notes=tuple(_unseen(joined)),
        joined=joined,
    )


def _unseen(joined: Joined) -> Iterator[str]:
    """Note a direction in which packets came that were not seen to leave: rates and losses are without them."""
    for way, found in (("uplink", joined.uplink), ("downlink", joined.downlink)):
        came = found.delivered + found.duplicates + found.strangers
        if found.strangers > _MOST_UNSEEN * came:
            yield (
                f"{way}: {found.strangers} of {came} packets that came were not seen to leave, and are left out: "
                "do they belong to the run, and are both files whole?"
            )


def _is_ingress(path: Path) -> bool:
    with open_foreign(path) as file:
        return file.readline(_HEAD).rpartition(b":")[0].endswith(b"ingress")


def _captured(
    path: Path,
    other: Path | None,
    host: str | None,
    flow_of_port: Mapping[int, int],
    known: tuple[float | None, float | None],
) -> PacketFile:
    from trialwise.exchange.capture_points import read_one_point, read_two_points

    if other is None:
        found, kind = read_one_point(path, host, flow_of_port), "capture"
    else:
        found = read_two_points(path, other, host, flow_of_port, clock_error=known[0], asymmetry=known[1])
        kind = "captures of both ends"
    return PacketFile(
        kind,
        found.packets,
        None,
        found.start / 1e6,
        has_delays=found.joined is not None and not found.joined.are_alike,
        has_losses=found.joined is not None,
        notes=(*found.notes, *(_unseen(found.joined) if found.joined else ())),
        joined=found.joined,
    )


def _merged(path: Path, kind: Kind, egress: Path | None) -> MergedLog:
    if kind == "merged log":
        return read_merged_log(path)
    if egress is None:
        hint = "name the log of its other end: --egress FILE"
        raise AnalysisError(f"{path}: this is what one end of a tunnel saw", hint=hint)
    return merge_single(read_tunnel_log(path), read_tunnel_log(egress))


def _of_pantheon(kind: Kind, log: MergedLog, direction: Direction) -> PacketFile:
    opportunities = np.rint(log.opportunities).astype(np.int64) if log.opportunities.size else None
    return PacketFile(kind, log.packets(direction), opportunities, log.init_timestamp)


def write_packet_file(
    path: Path, found: PacketFile, form: Format, *, direction: Direction = "uplink", propagation: float = 0.0
) -> None:
    """Write packets in a format; logs of mm-link and of Pantheon hold one direction.

    Parameters
    ----------
    path
        The file to write.
    found
        The packets.
    form
        The format.
    direction
        The direction, for logs that hold one.
    propagation
        For a log of mm-link, the seconds of delay behind its queue.

    Raises
    ------
    StoreError
        The file cannot be written.
    AnalysisError
        Delays or losses of the packets are not known.
    """
    if not (found.has_delays and found.has_losses):
        raise AnalysisError(
            "delays or losses of these packets are not known, and other formats have both",
            hint="name the captures of both ends",
        )
    none = np.empty(0, np.int64)
    if form == "parquet":
        write_packets(path, found.packets)
    elif form == "csv":
        _write_csv(path, found.packets)
    elif form == "mahimahi":
        opportunities = none if found.opportunities is None else found.opportunities
        write_mahimahi_log(
            path,
            found.packets,
            opportunities,
            direction=direction,
            init_timestamp=round(found.start),
            propagation=propagation,
        )
    else:
        way = found.packets.of(direction)
        write_merged_log(path, merged_from_packets(way, found.opportunities, init_timestamp=found.start))


def _write_csv(path: Path, packets: Packets) -> None:

    frame = pl.DataFrame(
        {
            "time": packets.time,
            "direction": np.array(DIRECTIONS)[packets.direction],
            "flow": packets.flow,
            "size": packets.size,
            "event": np.array(EVENTS)[packets.event],
            "delay": packets.delay,
        }
        | ({"ecn": np.array(ECN_FIELDS)[packets.ecn]} if (packets.ecn != ECN_UNKNOWN).any() else {})
    )
    with whole_file(path) as aside, aside.open("wb") as file:
        frame.write_csv(file)
