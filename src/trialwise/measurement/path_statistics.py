"""The metrics of all flows of a packet file at once, by both sets of definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trialwise.measurement import path_metrics as metrics
from trialwise.measurement.clocks.model import FigureKind
from trialwise.measurement.joining import Crossing, Joined
from trialwise.measurement.opportunities import OPPORTUNITY
from trialwise.measurement.packets import CE, DIRECTIONS, ECT_0, ECT_1, Direction, Packets


@dataclass(frozen=True)
class FlowMetrics:
    """The metrics of one flow in one direction, or of all its flows together; definitions: docs/concepts/path-metrics.md.

    Attributes
    ----------
    direction
        The direction.
    flow
        Number of the flow; None for all together.
    delivered, dropped, held
        Packets that arrived, were dropped, were inside at the end.
    throughput
        Mbit/s of IP bytes over the scheduled time.
    delay_median, delay_p95
        Percentiles of one-way delay, ms.
    queueing_p95
        `delay_p95` less the propagation delay, ms; NaN if that is unknown.
    loss
        Percent of the packets whose fate is known.
    utilisation
        Percent of the capacity; NaN if that is unknown, and for single flows.
    pantheon_throughput, pantheon_delay, pantheon_loss, pantheon_utilization
        Pantheon's definitions: Mbit/s, ms, percent of bytes, percent.
    duplicates
        Copies of packets that the path made; they are in no other number.
    ect1, ect0, ce
        Packets that arrived with ECT(1), ECT(0) and CE.
    """

    direction: Direction
    flow: int | None
    delivered: int
    dropped: int
    held: int
    throughput: float
    delay_median: float
    delay_p95: float
    queueing_p95: float
    loss: float
    utilisation: float
    pantheon_throughput: float
    pantheon_delay: float
    pantheon_loss: float
    pantheon_utilization: float
    duplicates: int = 0
    ect1: int = 0
    ect0: int = 0
    ce: int = 0


@dataclass(frozen=True)
class Capacity:
    """The capacity of a link, Mbit/s: over the scheduled time, and by Pantheon's definition (NaN without opportunities)."""

    scheduled: float
    pantheon: float


@dataclass(frozen=True)
class TwoEnds:
    """What is known of packets that both ends of a path saw, each with its own clock.

    Attributes
    ----------
    delay
        "absolute": one-way delays hold within `bound`. "difference": only one direction has packets, and delays are those above its
        lowest.
    bound
        Largest error of one-way delays, ms; NaN if it is not known.
    round_trip
        The lowest delays of both directions together, ms; NaN if one has no packets.
    skew, skew_low, skew_high
        Microseconds that the clock of the second end gains a second, and the interval at level 0.95; NaN with too few packets.
    steps
        How often a clock was set while packets were on their way: seen in the packets, or by a capture.
    routes
        How often the lowest delay of a direction changed.
    contradicted
        Both ends' times of day differ by more than they are said to.
    alike
        So many packets look like others that delays of single ones are not known.
    proxied
        A proxy ends connections of TCP on the way.
    lost
        Packets that the captures missed; null if one did not come to its end.
    uplink, downlink
        Counts of both directions.
    """

    delay: FigureKind
    bound: float
    round_trip: float
    skew: float
    skew_low: float
    skew_high: float
    steps: int
    routes: int
    contradicted: bool
    alike: bool
    proxied: bool
    lost: int | None
    uplink: Crossing
    downlink: Crossing


@dataclass(frozen=True)
class PathStatistics:
    """What `trialwise packets` reports about a file.

    Attributes
    ----------
    file, kind
        What was read.
    start, stop
        The scheduled time, seconds since the log began.
    propagation
        The path's own delay, ms; NaN if unknown.
    capacities
        By direction, where known.
    metrics
        For each direction that has packets: all flows together, then each.
    notes
        What to know about the packets.
    ends
        For packets that were seen at two ends: what is known of their clocks; else null.
    """

    file: str
    kind: str
    start: float
    stop: float
    propagation: float
    capacities: dict[str, Capacity]
    metrics: tuple[FlowMetrics, ...]
    notes: tuple[str, ...] = ()
    ends: TwoEnds | None = None


UNKNOWN = Capacity(np.nan, np.nan)


def capacity_of(opportunities: npt.NDArray[np.int64], start: float, stop: float) -> Capacity:
    """Return the capacity that a link's opportunities (milliseconds) give it in [start, stop) seconds."""
    seconds = opportunities / 1000
    inside = int(np.count_nonzero((seconds >= start) & (seconds < stop)))
    return Capacity(
        inside * OPPORTUNITY * 8e-6 / (stop - start), metrics.pantheon_capacity(seconds, OPPORTUNITY)
    )


def two_ends(joined: Joined) -> TwoEnds:
    """Return what is known of packets that were joined from what two ends saw."""
    clocks, skew = joined.clocks, joined.clocks.skew
    kinds = [change.kind for change in clocks.changes]
    is_bounded = bool(np.isfinite(clocks.bound))
    ppm = (np.nan,) * 3 if skew is None else (skew.value * 1e6, skew.low * 1e6, skew.high * 1e6)
    return TwoEnds(
        delay="absolute" if is_bounded else "difference",
        bound=clocks.bound * 1e3 if is_bounded else np.nan,
        round_trip=min(piece.round_trip for piece in clocks.pieces) * 1e3,
        skew=ppm[0],
        skew_low=ppm[1],
        skew_high=ppm[2],
        steps=max(kinds.count("clock"), *joined.steps),
        routes=len(kinds) - kinds.count("clock"),
        contradicted=any(piece.contradicted for piece in clocks.pieces),
        alike=joined.are_alike,
        proxied=joined.proxied,
        lost=None if None in joined.lost else sum(one or 0 for one in joined.lost),
        uplink=joined.uplink,
        downlink=joined.downlink,
    )


def flow_metrics(
    packets: Packets,
    start: float,
    stop: float,
    *,
    capacities: Mapping[str, Capacity] | None = None,
    propagation: float = np.nan,
) -> tuple[FlowMetrics, ...]:
    """Compute the metrics of each direction that has packets: of all its flows together, then of each numbered flow.

    Parameters
    ----------
    packets
        Of any directions and flows.
    start, stop
        The scheduled time, seconds; only packets whose time lies in [start, stop) count.
    capacities
        By direction, where known.
    propagation
        The path's own delay, ms.
    """
    found: list[FlowMetrics] = []
    for direction in DIRECTIONS:
        there = packets.of(direction, start=start, stop=stop)
        if len(there):
            capacity = (capacities or {}).get(direction, UNKNOWN)
            found.append(_of(direction, None, there, (start, stop), capacity, propagation))
        numbered = [flow for flow in there.flows() if flow]
        found += [
            _of(direction, flow, there.of(flow=flow), (start, stop), UNKNOWN, propagation)
            for flow in numbered
        ]
    return tuple(found)


def without_delays(metrics: Iterable[FlowMetrics]) -> tuple[FlowMetrics, ...]:
    """Return the metrics of packets whose delays are not known."""
    unknown = dict.fromkeys(("delay_median", "delay_p95", "queueing_p95", "pantheon_delay"), np.nan)
    return tuple(replace(one, **unknown) for one in metrics)


def without_losses(metrics: Iterable[FlowMetrics]) -> tuple[FlowMetrics, ...]:
    """Return the metrics of packets of which only those that arrived are known."""
    return tuple(replace(one, loss=np.nan, pantheon_loss=np.nan) for one in metrics)


def _of(
    direction: Direction,
    flow: int | None,
    packets: Packets,
    span: tuple[float, float],
    capacity: Capacity,
    propagation: float,
) -> FlowMetrics:
    carried = metrics.throughput(packets, *span)
    delay = metrics.delay_percentile(packets, 95)
    arrived = packets.ecn[packets.delivered]
    return FlowMetrics(
        direction=direction,
        flow=flow,
        delivered=int(packets.delivered.sum()),
        dropped=int(packets.dropped.sum()),
        held=int(packets.held.sum()),
        throughput=carried,
        delay_median=metrics.delay_percentile(packets, 50),
        delay_p95=delay,
        queueing_p95=delay - propagation,
        loss=metrics.loss(packets),
        utilisation=metrics.utilisation(carried, capacity.scheduled),
        pantheon_throughput=metrics.pantheon_throughput(packets),
        pantheon_delay=metrics.pantheon_delay(packets),
        pantheon_loss=metrics.pantheon_loss(packets),
        pantheon_utilization=metrics.pantheon_utilization(packets, capacity.pantheon),
        duplicates=int(packets.copies.sum()),
        **{
            name: int((arrived == field).sum())
            for name, field in (("ect1", ECT_1), ("ect0", ECT_0), ("ce", CE))
        },
    )
