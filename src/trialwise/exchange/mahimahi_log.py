"""Logs of mahimahi's mm-link: text, a line for each opportunity, arrival, departure and drop, in milliseconds.

Sizes in these logs are those of IP packets plus 4 bytes (the packet information of the TUN device); here they are IP bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise.exchange import log_lines
from trialwise.exchange.log_lines import LogText, milliseconds, read_log, rows, whole
from trialwise.exchange.packet_matching import keys, left_over, matched
from trialwise.measurement.packets import DELIVERED, DIRECTIONS, DROPPED, EVENTS, HELD, Direction, Packets
from trialwise.visible import visible

Milliseconds = npt.NDArray[np.int64]
FORMS = {
    "#": "TIME # SIZE",
    "+": "TIME + SIZE",
    "-": "TIME - SIZE DELAY",
    "d": "TIME d PACKETS BYTES",
}
_OVERHEAD = 4


@dataclass(frozen=True, eq=False)
class MahimahiLog:
    """A log of mm-link; times and delays are milliseconds since `init_timestamp`, sizes IP bytes.

    Attributes
    ----------
    direction
        The direction in the header; None without a header.
    init_timestamp
        Milliseconds since the epoch; 0 without a header.
    base_timestamp
        When the trace began: milliseconds since `init_timestamp`; 0 without a header.
    queue
        The queue and its arguments, from the header.
    opportunities
        Times at which a full packet could leave, used or not.
    arrivals, arrival_sizes
        Of all packets that arrived, dropped or not.
    departures, departure_sizes, delays
        Of packets that left.
    drops, drop_packets, drop_sizes
        Times of drops, the number of packets dropped at each, and their total bytes.
    """

    direction: Direction | None
    init_timestamp: int
    base_timestamp: int
    queue: str
    opportunities: Milliseconds
    arrivals: Milliseconds
    arrival_sizes: npt.NDArray[np.int64]
    departures: Milliseconds
    departure_sizes: npt.NDArray[np.int64]
    delays: Milliseconds
    drops: Milliseconds
    drop_packets: npt.NDArray[np.int64]
    drop_sizes: npt.NDArray[np.int64]

    def packets(self, direction: Direction | None = None) -> Packets:
        """Return the packets, all of flow 0, in the direction of the header unless given.

        The log does not say which packet a drop was: take one that arrived in the same millisecond with that size, else the oldest
        of those that never left. Packets that neither left nor were dropped were held when the log ended.
        """
        number = DIRECTIONS.index(direction or self.direction or "uplink")
        arrivals, sizes = self._unmatched()
        lost, lost_at = self._dropped(arrivals, sizes)
        held = left_over(arrivals.size, lost)
        ends = [each.max(initial=0) for each in (self.opportunities, self.arrivals, self.departures)]
        end = np.full(int(held.sum()), max(ends))
        return _assembled(
            number,
            (self.departures, self.delays, self.departure_sizes, DELIVERED),
            (lost_at, lost_at - arrivals[lost], sizes[lost], DROPPED),
            (end, end - arrivals[held], sizes[held], HELD),
        )

    def _unmatched(self) -> tuple[Milliseconds, npt.NDArray[np.int64]]:
        came = _keys(self.arrivals, self.arrival_sizes)
        left = _keys(self.departures - self.delays, self.departure_sizes)
        stayed = left_over(came.size, matched(came, left)[0])
        return self.arrivals[stayed], self.arrival_sizes[stayed]

    def _dropped(
        self, arrivals: Milliseconds, sizes: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.intp], Milliseconds]:
        """Return the indices of the unmatched arrivals that were dropped, and the times of the drops."""
        counts = _at_most(self.drop_packets, arrivals.size)
        times = np.repeat(self.drops, counts)
        each = np.repeat(self.drop_sizes // np.maximum(self.drop_packets, 1), counts)
        at_once, dropped = matched(_keys(arrivals, sizes), _keys(times, each))
        later = np.flatnonzero(left_over(times.size, dropped))
        oldest = np.flatnonzero(left_over(arrivals.size, at_once))[: later.size]
        later = later[: oldest.size]
        return np.concatenate([at_once, oldest]), np.concatenate([times[dropped], times[later]])


def _at_most(counts: npt.NDArray[np.int64], total: int) -> npt.NDArray[np.int64]:
    """Cap the counts so that their sum does not exceed the total: a line may claim any number."""
    return np.diff(np.minimum(np.cumsum(np.minimum(counts, total)), total), prepend=0)


Row = tuple[Milliseconds, Milliseconds, npt.NDArray[np.int64], int]


def _assembled(direction: int, *parts: Row) -> Packets:
    times = np.concatenate([part[0] for part in parts])
    order = np.argsort(times, kind="stable")
    events = np.concatenate([np.full(part[0].size, part[3], np.uint8) for part in parts])
    return Packets(
        time=times[order] / 1e3,
        delay=np.concatenate([part[1] for part in parts])[order] / 1e3,
        direction=np.full(times.size, direction, np.uint8),
        flow=np.zeros(times.size, np.uint16),
        size=np.concatenate([part[2] for part in parts])[order].astype(np.uint32),
        event=events[order],
    )


def _keys(times: Milliseconds, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return keys(times.astype(np.float64), sizes, np.zeros(times.size, np.int64))


def read_mahimahi_log(path: Path) -> MahimahiLog:
    """Read a log of mm-link, with or without its header.

    Raises
    ------
    AnalysisError
        The file cannot be read, or a line is not one of mm-link's.
    """
    text = read_log(path, FORMS, "an mm-link log")
    came, left, dropped = text.lines["+"], text.lines["-"], text.lines["d"]
    return MahimahiLog(
        direction=_direction(text.header),
        init_timestamp=_number(path, text, "init timestamp"),
        base_timestamp=_number(path, text, "base timestamp"),
        queue=text.entry("queue") or "",
        opportunities=text.lines["#"].time.astype(np.int64),
        arrivals=came.time.astype(np.int64),
        arrival_sizes=np.maximum(came.counts(0) - _OVERHEAD, 0),
        departures=left.time.astype(np.int64),
        departure_sizes=np.maximum(left.counts(0) - _OVERHEAD, 0),
        delays=left.counts(1),
        drops=dropped.time.astype(np.int64),
        drop_packets=dropped.counts(0),
        drop_sizes=np.maximum(dropped.counts(1) - _OVERHEAD * dropped.counts(0), 0),
    )


def _direction(header: Sequence[str]) -> Direction | None:
    first = header[0] if header else ""
    return next((name for name in DIRECTIONS if f"({name.capitalize()})" in first), None)


def _number(path: Path, text: LogText, name: str) -> int:
    entry = text.entry(name) or "0"
    return int(milliseconds(entry, f"{path}: {name} `{entry[:40]}` is not a number of milliseconds"))


def write_mahimahi_log(
    path: Path,
    packets: Packets,
    opportunities: Milliseconds,
    *,
    direction: Direction = "uplink",
    init_timestamp: int = 0,
    queue: str = "infinite",
    trace: str = "-",
    command: Sequence[str] = ("trialwise", "packets"),
    propagation: float = 0.0,
    lost_behind: Sequence[str] = (),
) -> None:
    """Write packets of one direction as mm-link logs them, so that tools for such logs can read them.

    The log is that of one queue. Delay behind the queue (`propagation`) is subtracted from departures. Times are truncated to
    whole milliseconds.

    Parameters
    ----------
    path
        The file to write.
    packets
        Of any directions and flows; those of `direction` are written, without their flows.
    opportunities
        Times at which a full packet could leave: milliseconds since the packets' log began (`measurement.opportunities`).
    direction, queue, trace, command
        For the header.
    init_timestamp
        When that log began: milliseconds since the epoch.
    propagation
        Seconds of delay behind the queue.
    lost_behind
        Events, such as "dropped:loss", that happen to a packet right behind the queue: it is logged as departed, as in a log of
        mm-link inside mm-loss. By default, every drop is logged as a drop.

    Raises
    ------
    StoreError
        The file cannot be written.
    """
    found = packets.of(direction).originals()
    came = _milliseconds(found.arrival)
    left = np.maximum(_milliseconds(found.time - np.where(found.delivered, propagation, 0.0)), came)
    sizes = found.size.astype(np.int64) + _OVERHEAD
    gone = found.delivered | np.isin(found.event, [EVENTS.index(event) for event in lost_behind])
    dropped = found.dropped & ~gone
    header = (
        f"mahimahi mm-link ({direction.capitalize()}) [{trace}] > {path}",
        "command line: " + visible(" ".join(f"'{word}'" for word in command)),
        f"queue: {queue}",
        f"init timestamp: {init_timestamp}",
        "base timestamp: 0",
    )
    blocks = (
        rows(whole(opportunities), f"# {1500 + _OVERHEAD}"),
        rows(whole(came), "+", whole(sizes)),
        rows(whole(left[dropped]), "d 1", whole(sizes[dropped])),
        rows(whole(left[gone]), "-", whole(sizes[gone]), whole(left[gone] - came[gone])),
    )
    log_lines.write_log(path, header, (opportunities, came, left[dropped], left[gone]), blocks)


def _milliseconds(seconds: npt.NDArray[np.float64]) -> Milliseconds:
    return np.floor(np.round(seconds * 1e3, 5)).astype(np.int64)
