"""The metrics of all flows of a packet file at once, by both sets of definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from trialwise.measurement import path_metrics as metrics
from trialwise.measurement.opportunities import OPPORTUNITY
from trialwise.measurement.packets import DIRECTIONS, Direction, Packets


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


@dataclass(frozen=True)
class Capacity:
    """The capacity of a link, Mbit/s: over the scheduled time, and by Pantheon's definition (NaN without opportunities)."""

    scheduled: float
    pantheon: float


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
    """

    file: str
    kind: str
    start: float
    stop: float
    propagation: float
    capacities: dict[str, Capacity]
    metrics: tuple[FlowMetrics, ...]
    notes: tuple[str, ...] = ()


UNKNOWN = Capacity(np.nan, np.nan)


def capacity_of(opportunities: npt.NDArray[np.int64], start: float, stop: float) -> Capacity:
    """Return the capacity that a link's opportunities (milliseconds) give it in [start, stop) seconds."""
    seconds = opportunities / 1000
    inside = int(np.count_nonzero((seconds >= start) & (seconds < stop)))
    return Capacity(
        inside * OPPORTUNITY * 8e-6 / (stop - start), metrics.pantheon_capacity(seconds, OPPORTUNITY)
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
    )
