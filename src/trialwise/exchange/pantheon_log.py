"""Logs of Pantheon's tunnels: what went in and out at each end, merged into one packet log.

Sizes are those of the packets on the link between the tunnel's ends: the inner packet plus 36 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError
from trialwise.exchange import log_lines
from trialwise.exchange.log_lines import Times, fixed, milliseconds, read_log, rows, whole
from trialwise.exchange.mahimahi_log import MahimahiLog
from trialwise.exchange.packet_matching import keys, left_over, matched
from trialwise.foreign_files import open_foreign
from trialwise.measurement.packets import DELIVERED, DIRECTIONS, DROPPED, HELD, Direction, Packets

Counts = npt.NDArray[np.int64]
FORMS = {"#": "TIME # SIZE", "+": "TIME + SIZE [FLOW]", "-": "TIME - SIZE DELAY [FLOW]"}
_TUNNEL_FORMS = {"-": "TIME - UID - SIZE"}
_LINE = 4096
_ROUNDING = 2
"""Microseconds by which arrival may differ from departure less delay, each rounded to one."""


@dataclass(frozen=True, eq=False)
class TunnelLog:
    """Packets at one end of a tunnel: those that went into it (Pantheon's egress log) or came out of it (ingress log).

    Attributes
    ----------
    init_timestamp
        Milliseconds since the epoch, by the clock of that end.
    time
        Milliseconds since then.
    uid
        The number that the tunnel gave each packet.
    size
        Bytes.
    """

    init_timestamp: float
    time: Times
    uid: Counts
    size: Counts


@dataclass(frozen=True, eq=False)
class MergedLog:
    """Pantheon's merged log ("tunnel log", "datalink log"); times and delays are milliseconds since `init_timestamp`.

    Attributes
    ----------
    init_timestamp
        Milliseconds since the epoch.
    opportunities, opportunity_sizes
        Times at which the link could send, and the bytes it could send then; empty without a log of the link.
    arrivals, arrival_sizes, arrival_flows
        Packets that went into a tunnel. Flows count from 1; 0 if there was one tunnel and nothing has been merged yet.
    departures, departure_sizes, departure_flows, delays
        Packets that came out of it, and their delay.
    """

    init_timestamp: float
    opportunities: Times
    opportunity_sizes: Counts
    arrivals: Times
    arrival_sizes: Counts
    arrival_flows: Counts
    departures: Times
    departure_sizes: Counts
    departure_flows: Counts
    delays: Times

    def packets(self, direction: Direction = "uplink") -> Packets:
        """Return the packets. The log does not say what was dropped.

        A packet that never came out counts as held if it went in after every packet of its flow that came out; otherwise it counts
        as dropped when it went in.
        """
        came = keys(self.arrivals, self.arrival_sizes, self.arrival_flows)
        left = keys(self.departures - self.delays, self.departure_sizes, self.departure_flows)
        stayed = left_over(came.size, matched(came, left, _ROUNDING)[0])
        arrivals, sizes, flows = self.arrivals[stayed], self.arrival_sizes[stayed], self.arrival_flows[stayed]
        held = arrivals > self._last_delivered(flows)
        end = max(self.arrivals.max(initial=0), self.departures.max(initial=0))
        times = np.concatenate([self.departures, np.where(held, end, arrivals)])
        delays = np.concatenate([self.delays, np.where(held, end - arrivals, 0.0)])
        events = np.concatenate([np.full(self.departures.size, DELIVERED), np.where(held, HELD, DROPPED)])
        order = np.argsort(times, kind="stable")
        return Packets(
            time=times[order] / 1e3,
            delay=delays[order] / 1e3,
            direction=np.full(times.size, DIRECTIONS.index(direction), np.uint8),
            flow=np.concatenate([self.departure_flows, flows])[order].astype(np.uint16),
            size=np.concatenate([self.departure_sizes, sizes])[order].astype(np.uint32),
            event=events[order].astype(np.uint8),
        )

    def _last_delivered(self, flows: Counts) -> Times:
        """Return, for each, when the last packet of its flow that came out had gone in."""
        last = np.full(int(max(flows.max(initial=0), self.departure_flows.max(initial=0))) + 1, -np.inf)
        np.maximum.at(last, self.departure_flows, self.departures - self.delays)
        return last[flows]


def read_tunnel_log(path: Path, *, within: Path | None = None) -> TunnelLog:
    """Read an ingress or egress log of a tunnel; `within` is a folder filled by others that must contain it (`foreign_files`).

    Raises
    ------
    AnalysisError
        The file cannot be read, its first line does not end in a time, or a line is not one of a tunnel's.
    """
    text = read_log(path, _TUNNEL_FORMS, "a tunnel's log", within=within)
    found = text.lines["-"]
    start = _after_colon(text.header[0]) if text.header else ""
    return TunnelLog(_timestamp(path, start), found.time, found.counts(0), found.counts(1))


def log_began(path: Path, *, within: Path | None = None) -> float:
    """Return when the log of a tunnel, or a merged one, began: milliseconds since the epoch.

    Raises
    ------
    AnalysisError
        The file cannot be read, or its first line does not end in a time.
    """
    with open_foreign(path, within=within) as file:
        first = file.readline(_LINE).decode("utf-8", "replace")
    return _timestamp(path, _after_colon(first))


def _after_colon(line: str) -> str:
    return line.rpartition(":")[2].strip()


def _timestamp(path: Path, text: str | None) -> float:
    if not text:
        raise AnalysisError(
            f"{path}:1: the time is missing at which the log began",
            hint="the first line of a merged log is `# init timestamp: MILLISECONDS`",
        )
    return milliseconds(text, f"{path}:1: `{text[:40]}` is not the time at which a log began")


def write_tunnel_log(path: Path, log: TunnelLog, name: str = "ingress") -> None:
    """Write an ingress or egress log of a tunnel (`name` goes into its header).

    Raises
    ------
    StoreError
        The file cannot be written.
    """
    header = [f"'trialwise' 'packets' {name}: {log.init_timestamp:.3f}"]
    lines = rows(fixed(log.time), "-", whole(log.uid), "-", whole(log.size))
    log_lines.write_log(path, header, (log.time,), (lines,))


def merge_single(
    ingress: TunnelLog, egress: TunnelLog, *, ingress_offset: float = 0.0, egress_offset: float = 0.0
) -> MergedLog:
    """Merge the two logs of one tunnel, joining packets by their number.

    Parameters
    ----------
    ingress, egress
        What came out of the tunnel, and what went into it at its other end.
    ingress_offset, egress_offset
        Milliseconds by which the clock of that end is behind true time (the offset of `ntpdate -q`); they are added.

    Raises
    ------
    AnalysisError
        A packet came out that never went in, or with another size.
    """
    received, sent = ingress.init_timestamp + ingress_offset, egress.init_timestamp + egress_offset
    start = min(received, sent)
    arrivals, departures = egress.time + (sent - start), ingress.time + (received - start)
    place = _partners(ingress, egress)
    return MergedLog(
        init_timestamp=start,
        opportunities=np.empty(0),
        opportunity_sizes=np.empty(0, np.int64),
        arrivals=arrivals,
        arrival_sizes=egress.size,
        arrival_flows=np.zeros(arrivals.size, np.int64),
        departures=departures,
        departure_sizes=ingress.size,
        departure_flows=np.zeros(departures.size, np.int64),
        delays=departures - arrivals[place],
    )


def _partners(ingress: TunnelLog, egress: TunnelLog) -> npt.NDArray[np.intp]:
    """Return, for each packet that came out, its index among those that went in."""
    order = np.argsort(egress.uid, kind="stable")
    ordered = egress.uid[order]
    rank = np.searchsorted(ordered, ingress.uid, side="right") - 1
    known = (
        (rank >= 0) & (ordered[np.maximum(rank, 0)] == ingress.uid)
        if ordered.size
        else np.zeros(rank.size, np.bool_)
    )
    if not known.all():
        uid = int(ingress.uid[~known][0])
        hint = "are these the two logs of one tunnel, in one direction?"
        raise AnalysisError(f"packet {uid} came out of the tunnel and never went in", hint=hint)
    place = order[rank]
    other = egress.size[place] != ingress.size
    if other.any():
        uid = int(ingress.uid[other][0])
        sizes = f"{int(egress.size[place][other][0])} bytes and came out with {int(ingress.size[other][0])}"
        raise AnalysisError(
            f"packet {uid} went into the tunnel with {sizes}", hint="are these logs of one tunnel?"
        )
    return place


def merge_multiple(tunnels: Sequence[MergedLog], link: MahimahiLog | None = None) -> MergedLog:
    """Merge the logs of several tunnels, whose flows count from 1 in their order, and the opportunities of the link.

    Raises
    ------
    AnalysisError
        There is no tunnel, or one of the logs has no event to merge.
    """
    if not tunnels or any(not log.arrivals.size for log in tunnels) or (link and not link.opportunities.size):
        raise AnalysisError("a log without events cannot be merged", hint="leave it out")
    start = min([log.init_timestamp for log in tunnels] + ([float(link.init_timestamp)] if link else []))
    moved = [_moved(log, flow, start) for flow, log in enumerate(tunnels, start=1)]
    opportunities = np.empty(0)
    if link:
        opportunities = link.opportunities.astype(np.float64) + (link.init_timestamp - start)
    return MergedLog(
        init_timestamp=start,
        opportunities=opportunities,
        opportunity_sizes=np.full(opportunities.size, 1500),
        arrivals=np.concatenate([log.arrivals for log in moved]),
        arrival_sizes=np.concatenate([log.arrival_sizes for log in moved]),
        arrival_flows=np.concatenate([log.arrival_flows for log in moved]),
        departures=np.concatenate([log.departures for log in moved]),
        departure_sizes=np.concatenate([log.departure_sizes for log in moved]),
        departure_flows=np.concatenate([log.departure_flows for log in moved]),
        delays=np.concatenate([log.delays for log in moved]),
    )


def _moved(log: MergedLog, flow: int, start: float) -> MergedLog:
    shift = log.init_timestamp - start
    return replace(
        log,
        arrivals=log.arrivals + shift,
        departures=log.departures + shift,
        arrival_flows=np.full(log.arrivals.size, flow, np.int64),
        departure_flows=np.full(log.departures.size, flow, np.int64),
    )


def merged_from_packets(
    packets: Packets, opportunities: npt.NDArray[np.int64] | None = None, *, init_timestamp: float = 0.0
) -> MergedLog:
    """Build the log that Pantheon would have of these packets (only numbered flows, if there are any).

    Parameters
    ----------
    packets
        Of one direction.
    opportunities
        Times at which a full packet could leave, in milliseconds since the packets' log began.
    init_timestamp
        When that log began: milliseconds since the epoch.
    """
    found = packets.originals()
    found = found.where(found.flow > 0) if np.any(found.flow > 0) else found
    gone = found.where(found.delivered)
    order = np.argsort(found.arrival, kind="stable")
    times = np.empty(0) if opportunities is None else opportunities.astype(np.float64)
    return MergedLog(
        init_timestamp=init_timestamp,
        opportunities=times,
        opportunity_sizes=np.full(times.size, 1500),
        arrivals=found.arrival[order] * 1e3,
        arrival_sizes=found.size[order].astype(np.int64),
        arrival_flows=found.flow[order].astype(np.int64),
        departures=gone.time * 1e3,
        departure_sizes=gone.size.astype(np.int64),
        departure_flows=gone.flow.astype(np.int64),
        delays=gone.delay * 1e3,
    )


def read_merged_log(path: Path, *, within: Path | None = None) -> MergedLog:
    """Read a merged log, of one tunnel or of several; `within` is a folder filled by others that must contain it (`foreign_files`).

    Raises
    ------
    AnalysisError
        The file cannot be read, has no init timestamp, or a line is not one of a merged log's.
    """
    return _merged(path, FORMS, within)


def read_link_as_merged(path: Path, *, within: Path | None = None) -> MergedLog:
    """Read the log of mm-link as Pantheon does without tunnels: all of flow 0, with the sizes that it states.

    Raises
    ------
    AnalysisError
        As for `read_merged_log`.
    """
    return _merged(path, {**FORMS, "d": "TIME d PACKETS BYTES"}, within)


def _merged(path: Path, forms: Mapping[str, str], within: Path | None) -> MergedLog:
    text = read_log(path, forms, "a merged tunnel log", within=within)
    link, came, left = (text.lines[kind] for kind in FORMS)
    return MergedLog(
        init_timestamp=_timestamp(path, text.entry("init timestamp")),
        opportunities=link.time,
        opportunity_sizes=link.counts(0),
        arrivals=came.time,
        arrival_sizes=came.counts(0),
        arrival_flows=came.counts(1),
        departures=left.time,
        departure_sizes=left.counts(0),
        departure_flows=left.counts(2),
        delays=left.numbers[1],
    )


def write_merged_log(path: Path, log: MergedLog) -> None:
    """Write a merged log; at equal times, opportunities come first, then events by flow, arrivals before departures.

    Raises
    ------
    StoreError
        The file cannot be written.
    """
    times: list[Times] = [log.opportunities]
    blocks = [rows(fixed(log.opportunities), "#", whole(log.opportunity_sizes))]
    for flow in np.union1d(log.arrival_flows, log.departure_flows).tolist():
        number = [str(flow)] if flow else []
        came, left = log.arrival_flows == flow, log.departure_flows == flow
        times += [log.arrivals[came], log.departures[left]]
        blocks += [
            rows(fixed(log.arrivals[came]), "+", whole(log.arrival_sizes[came]), *number),
            rows(
                fixed(log.departures[left]),
                "-",
                whole(log.departure_sizes[left]),
                fixed(log.delays[left]),
                *number,
            ),
        ]
    log_lines.write_log(path, [f"init timestamp: {log.init_timestamp:.3f}"], times, blocks)
