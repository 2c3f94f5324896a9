"""Packets from captures: at one end of a path, what passed; at both, what became of each packet on the way."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trialwise.arrays import Mask
from trialwise.errors import AnalysisError
from trialwise.exchange.captures import Addresses, Capture, address_of, read_capture
from trialwise.exchange.packet_identity import OF_OTHERS, TCP, Hashes, Numbers, Parts, hashed, identities
from trialwise.measurement.joining import Joined, join_sightings
from trialwise.measurement.packets import DELIVERED, Packets
from trialwise.measurement.sightings import CAME, MERGED, RECORD, SENT, Sightings
from trialwise.numbers import counted

_SEED = 1
"""Of the resamples that give the intervals of clocks."""
_MTU = 1500
_FEWEST = 500
"""Bytes of payload below which a packet is no full segment."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Packets from one capture or two.

    Attributes
    ----------
    packets
        Times since the first packet. The uplink is what the sender's end sends; of one capture, all count as delivered, without delay.
    start
        When that was: nanoseconds since the epoch.
    notes
        What to know about them.
    joined
        How the captures of two ends were joined; None of one.
    """

    packets: Packets
    start: int
    notes: tuple[str, ...]
    joined: Joined | None = None


def read_one_point(path: Path, host: str | None, flow_of_port: Mapping[int, int]) -> Points:
    """Read a capture at one point of a path.

    Parameters
    ----------
    path
        The capture.
    host
        Address of the sender's end; None: that of the end that sent most.
    flow_of_port
        The flows of ports.

    Raises
    ------
    AnalysisError
        It cannot be read, or holds no packet of that host.
    """
    capture = read_capture(path)
    end = _End.of(path, capture, host, flow_of_port)
    chosen = np.flatnonzero(end.sent | end.came)
    chosen = chosen[np.argsort(capture.time[chosen], kind="stable")]
    times = capture.time[chosen]
    packets = Packets(
        time=(times - times[0]) / 1e9,
        delay=np.zeros(times.size),
        direction=np.where(end.sent[chosen], 0, 1).astype(np.uint8),
        flow=end.flows[chosen],
        size=capture.size[chosen].astype(np.uint32),
        event=np.full(times.size, DELIVERED, np.uint8),
    )
    missed = [f"the capture missed {capture.dropped} packets, by its own count"] if capture.dropped else []
    notes = (
        *end.notes(),
        *missed,
        "one capture says neither delays nor losses: name that of the other end too",
    )
    return Points(packets, int(times[0]), notes)


def read_two_points(
    first: Path,
    second: Path,
    host: str | None,
    flow_of_port: Mapping[int, int],
    *,
    clock_error: float | None = None,
    asymmetry: float | None = None,
) -> Points:
    """Join the captures of both ends of a path, by the identities of packets (`packet_identity`, `joining`).

    Parameters
    ----------
    first, second
        The captures at the sender's end and at the other.
    host
        Address of the sender's end as the first capture has it; None: that of the end that sent most.
    flow_of_port
        The flows of ports.
    clock_error, asymmetry
        As `join_sightings` takes them.

    Raises
    ------
    AnalysisError
        One cannot be read, or no packet is in both.
    """
    captures = read_capture(first), read_capture(second)
    kept = [_kept(capture.parts) for capture in captures]
    most = min(kept)
    if most < 0:
        cut = captures[kept.index(most)].parts.kept < 0
        raise AnalysisError(
            f"{(first, second)[kept.index(most)]}: {counted(int(cut.sum()), 'packet is', 'packets are')} "
            "cut off within their headers, and cannot be known again at the other end",
            hint="capture 192 bytes of each: `tcpdump -s 192`",
        )
    if most < OF_OTHERS:
        captures = read_capture(first, payload=most), read_capture(second, payload=most)
    one = _End.of(first, captures[0], host, flow_of_port)
    segment = _segment(one, captures[1])
    seen = (
        _sightings(one, segment),
        _sightings(_other_end(one, second, captures[1], flow_of_port, segment), segment),
    )
    both, early = _from_first_common(*seen)
    found = join_sightings(*both, seed=_SEED, clock_error=clock_error, asymmetry=asymmetry)
    if found.clocks.bound < 0:
        raise AnalysisError(
            f"packets that {_written(one.address)} sends are in {second} before they are in {first}",
            hint="name the capture of the sender's end first",
        )
    start = min(int(each.records["time"][0]) for each in both if len(each))
    which = "before the first that both captures have"
    before = counted(early, f"packet {which} is", f"packets {which} are")
    left_out = [f"{before} left out"] if early else []
    notes = (*one.notes(), *_of_capture(second, captures[1]), *left_out)
    return Points(found.packets, start, notes, found)


def _from_first_common(one: Sightings, other: Sightings) -> tuple[tuple[Sightings, Sightings], int]:
    """Leave out what either saw before the first packet that both saw: one capture began before the other. Also count it."""
    common = np.intersect1d(one.column("identity"), other.column("identity"))
    cut: list[Sightings] = []
    for each in (one, other):
        there = np.isin(each.column("identity"), common)
        cut.append(replace(each, records=each.records[int(there.argmax()) :]) if there.any() else each)
    return (cut[0], cut[1]), len(one) + len(other) - len(cut[0]) - len(cut[1])


def _kept(parts: Parts) -> int:
    """Return how many bytes of payload are known of every packet that has so many; -1 if headers are cut off."""
    wanted = np.where(parts.protocol == TCP, 32, OF_OTHERS)
    cut = parts.kept < np.minimum(parts.payload, wanted)
    return int(parts.kept[cut].min(initial=OF_OTHERS))


@dataclass(frozen=True, slots=True, eq=False)
class _End:
    """A capture and whose packets are sent and come there."""

    path: Path
    capture: Capture
    address: Addresses
    sent: Mask
    came: Mask
    flows: np.ndarray[tuple[int], np.dtype[np.uint16]]

    @staticmethod
    def of(path: Path, capture: Capture, host: str | None, flow_of_port: Mapping[int, int]) -> _End:
        if not capture.time.size:
            others = ", ".join(f"{number} {what}" for what, number in capture.others.items())
            raise AnalysisError(
                f"{path}: holds no packets of IP" + (f", only {others}" if others else ""),
                hint="capture on the interface that the packets leave by",
            )
        address = _most(capture.source, capture.size) if host is None else address_of(host)
        return _End.at(path, capture, address, flow_of_port)

    @staticmethod
    def at(path: Path, capture: Capture, address: Addresses, flow_of_port: Mapping[int, int]) -> _End:
        sent = (capture.source == address).all(axis=1)
        came = (capture.destination == address).all(axis=1) & ~sent
        if not (sent | came).any():
            ends = np.unique(np.concatenate([capture.source[:1000], capture.destination[:1000]]), axis=0)
            named = ", ".join(map(_written, ends[:5]))
            raise AnalysisError(f"{path}: holds no packet of {_written(address)}", hint=f"there are: {named}")
        table = np.zeros(65536, np.uint16)
        for port, flow in flow_of_port.items():
            table[port] = flow
        ports = np.sort(np.stack([capture.source_port, capture.destination_port]), axis=0)
        flows = np.where(table[ports[0]] == 0, table[ports[1]], table[ports[0]])
        return _End(path, capture, address, sent, came, flows)

    def notes(self) -> Iterator[str]:
        others = self.capture.time.size - int((self.sent | self.came).sum())
        left = (
            f"; {counted(others, 'packet between others is', 'packets between others are')} left out"
            if others
            else ""
        )
        yield f"the uplink is what {_written(self.address)} sends{left}"
        yield from _of_capture(self.path, self.capture)


def _of_capture(path: Path, capture: Capture) -> Iterator[str]:
    counted = [*capture.others.items(), *capture.portless.items()]
    if counted:
        yield f"{path}: beside these, " + ", ".join(f"{number} {what}" for what, number in counted[:5])
    if capture.is_cut_off:
        yield f"{path}: ends in the middle of a record, which is left out"


def _most(addresses: Addresses, sizes: Numbers) -> Addresses:
    """Return the address of most bytes."""
    _, first, number = np.unique(hashed(addresses), return_index=True, return_inverse=True)
    return addresses[first[np.bincount(number, weights=sizes).argmax()]]


def _written(address: Addresses) -> str:
    found = ipaddress.IPv6Address(address.tobytes())
    return str(found.ipv4_mapped or found)


def _other_end(
    one: _End, path: Path, capture: Capture, flow_of_port: Mapping[int, int], segment: int | None
) -> _End:
    """Find the address of the other end, which NAT may have changed: who gets what the first end sent."""
    known = _Split.of(one.capture, np.flatnonzero(one.sent), segment).identities
    every = _Split.of(capture, np.arange(capture.time.size), segment)
    same = every.place[np.isin(every.identities, known)]
    if not same.size:
        raise AnalysisError(
            f"no packet that {_written(one.address)} sent in {one.path} is in {path}",
            hint="were both captured in one run? --host says whose packets go from the first to the second; "
            "a proxy on the way, or a tunnel, makes packets of its own",
        )
    address = _most(capture.destination[same], np.ones(same.size, np.int64))
    return _End.at(path, capture, address, flow_of_port)


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """Packets of a capture, where larger segments are taken apart: index of the packet, identity, bytes, and whether it was larger."""

    place: Numbers
    identities: Hashes
    size: Numbers
    is_merged: Mask

    @staticmethod
    def of(capture: Capture, chosen: Numbers, segment: int | None) -> _Split:
        parts = capture.parts.at(chosen)
        if segment is None:
            names = identities(parts, with_data=True)
            return _Split(chosen, names, capture.size[chosen], np.zeros(chosen.size, np.bool_))
        large = (parts.protocol == TCP) & (parts.payload > segment)
        counts = np.where(large, -(-parts.payload // segment), 1)
        place = np.repeat(np.arange(chosen.size), counts)
        number = np.arange(place.size) - np.repeat(np.cumsum(counts) - counts, counts)
        begun = number * segment
        each = parts.at(place)
        payload = np.where(large[place], np.minimum(segment, each.payload - begun), each.payload)
        pieces = replace(
            each,
            sequence=(each.sequence + begun) & 0xFFFFFFFF,
            payload=payload,
            is_last=each.is_last & (number == counts[place] - 1),
        )
        return _Split(
            chosen[place], identities(pieces, with_data=False), pieces.headers + payload, large[place]
        )


def _segment(one: _End, other: Capture) -> int | None:
    """Return the payload of full packets on the path, if large segments that hosts took apart or put together were captured."""
    sizes = one.capture.size, other.size
    of_tcp = one.capture.parts.protocol == TCP, other.parts.protocol == TCP
    larger = [np.flatnonzero(tcp & (size > _MTU)) for tcp, size in zip(of_tcp, sizes, strict=True)]
    whole = [
        identities(parts.at(places), with_data=True)
        for parts, places in zip((one.capture.parts, other.parts), larger, strict=True)
    ]
    if 2 * np.intersect1d(whole[0], whole[1]).size >= max(each.size for each in whole):
        return None
    full = [
        parts.payload[tcp & (size <= _MTU) & (parts.payload >= _FEWEST)]
        for parts, tcp, size in zip((one.capture.parts, other.parts), of_tcp, sizes, strict=True)
    ]
    payloads = np.concatenate(full)
    return int(np.bincount(payloads).argmax()) if payloads.size else None


def _sightings(end: _End, segment: int | None) -> Sightings:
    capture = end.capture
    chosen = np.flatnonzero(end.sent | end.came)
    chosen = chosen[np.argsort(capture.time[chosen], kind="stable")]
    split = _Split.of(capture, chosen, segment)
    place = split.place
    if place.size and int(capture.time[place[0]]) < 0:
        raise AnalysisError(f"{end.path}: has packets from before 1970", hint="was its clock set?")
    records = np.zeros(place.size, RECORD)
    records["time"] = capture.time[place]
    records["identity"] = split.identities
    records["size"] = split.size
    records["flow"] = end.flows[place]
    records["direction"] = np.where(end.sent[place], SENT, CAME)
    records["protocol"] = capture.parts.protocol[place]
    records["marks"] = np.where(split.is_merged, MERGED, 0)
    # Captures are stamped by the time of day.
    ends = (
        (int(records["time"][0]),) * 2 + (int(records["time"][-1]) + 1,) * 2 if place.size else (0, 0, 0, 0)
    )
    return Sightings(str(end.path), records, capture.dropped or 0, clocks=ends)
