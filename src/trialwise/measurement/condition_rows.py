"""The condition of a real path over time: a row for each stretch of time, from probes that both ends saw.

Each row holds what a trial of that length would meet without flows of its own: the lowest round trip, what probes wait
above the lowest of the row, what was lost, time to live, and changes of the route. All are differences, free of the offset between
the clocks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from trialwise.arrays import Array
from trialwise.measurement.clocks.changes import Change
from trialwise.measurement.joining import Joined
from trialwise.measurement.packets import Packets
from trialwise.measurement.sightings import CAME, Sightings

LEAST = 0.5
"""Share of a row that must have been measured: minima and percentiles of shorter ones are not comparable."""
PROBE_BYTES = 64 + 48
"""Bytes of the largest IP packet with a probe; larger ones try which sizes pass, and may be lost for that."""
SETTLING = 0.4
"""Share of a flow's time in which it looks for the rate of the path."""
_FEWEST = 20
SECOND, MILLI = 1_000_000_000, 1e3


@dataclass(frozen=True, slots=True)
class Condition:
    """A row: `time` in seconds since 1970, `seconds` its length; None where nothing is known.

    `up` leads from the first end to the second, `down` back. Delays are in milliseconds, those of `up` and `down` above the lowest of
    the row in the same direction; `round_trip_ms` is the sum of the lowest. `route_ms` is by how much other routes changed the lowest
    delays of both directions, `clock_steps` how often a clock was set. `skew_ppm` is what the second clock gains. Rates in Mbit/s are
    of rows that stand for a short trial that fills the path.
    """

    time: float
    seconds: float
    round_trip_ms: float | None = None
    up_p50_ms: float | None = None
    up_p95_ms: float | None = None
    down_p50_ms: float | None = None
    down_p95_ms: float | None = None
    up_sent: int | None = None
    up_lost: int | None = None
    down_sent: int | None = None
    down_lost: int | None = None
    up_ttl: int | None = None
    down_ttl: int | None = None
    route_ms: float | None = None
    clock_steps: int | None = None
    skew_ppm: float | None = None
    up_mbps: float | None = None
    down_mbps: float | None = None


COLUMNS = tuple(field.name for field in fields(Condition))


def conditions_of(joined: Joined, one: Sightings, other: Sightings, every: float) -> Iterator[Condition]:
    """Yield the rows of probes that both ends saw, one for each `every` seconds since the first.

    Parameters
    ----------
    joined
        The probes, joined from `one` and `other`.
    one, other
        What the first and the second end saw.
    every
        Seconds of a row.
    """
    later = float(joined.clocks.lines(np.array([joined.began]))[0])
    # What left before both captures had begun was not lost.
    began = max(one.clocks[1], other.clocks[1] - round(later * SECOND))
    packets = _since(joined, began)
    time = (began + one.clocks[0] - one.clocks[1]) / SECOND
    length = float(packets.arrival.max(initial=0.0))
    ttls = _ttls(began, one, other, later)
    changes_at = (joined.clocks.origin - began) / SECOND
    skew = None if joined.clocks.skew is None else joined.clocks.skew.value * 1e6
    for start in np.arange(0.0, length, every).tolist():
        stop = min(start + every, length)
        if stop - start < LEAST * every:
            continue
        up, down = (_Way.of(packets, direction, start, stop) for direction in (0, 1))
        if not up.sent and not down.sent:
            continue
        changes = [each for each in joined.clocks.changes if start <= each.time + changes_at < stop]
        yield Condition(
            time=time + start,
            seconds=stop - start,
            round_trip_ms=None if up.least is None or down.least is None else up.least + down.least,
            up_p50_ms=up.percentile(50),
            up_p95_ms=up.percentile(95),
            down_p50_ms=down.percentile(50),
            down_p95_ms=down.percentile(95),
            up_sent=up.sent,
            up_lost=up.lost,
            down_sent=down.sent,
            down_lost=down.lost,
            up_ttl=ttls[0].usual(start, stop),
            down_ttl=ttls[1].usual(start, stop),
            route_ms=_moved(changes),
            clock_steps=sum(change.kind == "clock" for change in changes),
            skew_ppm=skew,
        )


def rates_of(joined: Joined, one: Sightings) -> Condition | None:
    """Return a row with the rates of a trial whose first flow filled the path there, and whose second filled it back.

    Counted are the IP bytes that arrived after the first `SETTLING` of a flow's time. None if too little arrived.
    """
    rates = [_rate(joined.packets, flow=1, direction=0), _rate(joined.packets, flow=2, direction=1)]
    if rates == [None, None]:
        return None
    time = (joined.began + one.clocks[0] - one.clocks[1]) / SECOND
    return Condition(time, float(np.ptp(joined.packets.time)), up_mbps=rates[0], down_mbps=rates[1])


def _rate(packets: Packets, flow: int, direction: int) -> float | None:
    """Return the Mbit/s at which a flow's packets arrived."""
    found = packets.where((packets.flow == flow) & (packets.direction == direction) & packets.delivered)
    if len(found) < _FEWEST:
        return None
    first, last = float(found.time.min()), float(found.time.max())
    settled = found.where(found.time >= first + SETTLING * (last - first))
    seconds = float(np.ptp(settled.time)) if len(settled) else 0.0
    # The first packet's bytes came before the time that is counted.
    return float(settled.size.sum() - settled.size[0]) * 8 / seconds / 1e6 if seconds else None


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """The probes of one direction in one row: delays in milliseconds, ascending."""

    delays: Array
    sent: int
    lost: int

    @staticmethod
    def of(packets: Packets, direction: int, start: float, stop: float) -> _Way:
        left = packets.arrival
        inside = packets.where((packets.direction == direction) & (left >= start) & (left < stop))
        delays = inside.delay[inside.delivered & np.isfinite(inside.delay)]
        lost = int(inside.dropped.sum())
        return _Way(np.sort(delays) * MILLI, int(inside.delivered.sum()) + lost, lost)

    @property
    def least(self) -> float | None:
        return float(self.delays[0]) if self.delays.size else None

    def percentile(self, share: float) -> float | None:
        """Return a percentile above the lowest."""
        return float(np.percentile(self.delays, share) - self.delays[0]) if self.delays.size else None


@dataclass(frozen=True, slots=True, eq=False)
class _Ttls:
    """Times to live as packets came, by seconds of the first clock since the first row."""

    times: Array
    values: Array

    def usual(self, start: float, stop: float) -> int | None:
        found = self.values[(self.times >= start) & (self.times < stop)]
        values, counts = np.unique(found, return_counts=True)
        return int(values[counts.argmax()]) if values.size else None


def _since(joined: Joined, began: int) -> Packets:
    """Return the probes that left after a time of the first clock (nanoseconds), with times since then."""
    packets = joined.packets
    moved = dataclasses.replace(packets, time=packets.time + (joined.began - began) / SECOND)
    return moved.where((moved.arrival >= 0) & (moved.size <= PROBE_BYTES))


def _ttls(began: int, one: Sightings, other: Sightings, later: float) -> tuple[_Ttls, _Ttls]:
    """Return the times to live at the second end, whose clock is so many seconds later, and at the first."""

    def of(end: Sightings, by: float) -> _Ttls:
        came = end.column("direction") == CAME
        times = (end.column("time")[came].astype(np.int64) - began) / SECOND - by
        return _Ttls(times, end.column("ttl")[came].astype(np.float64))

    return of(other, later), of(one, 0.0)


def _moved(changes: list[Change]) -> float | None:
    moved = [change.forward + change.backward for change in changes if change.kind != "clock"]
    return sum(moved) * MILLI if moved else None
