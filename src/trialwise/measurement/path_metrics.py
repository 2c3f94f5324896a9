"""Metrics of a path trial: pure functions of packets.

Sizes are those of IP packets; throughput and capacity are in Mbit/s (10⁶ bit/s), delays in ms, loss and utilisation in %. For one
flow or one direction, pass the packets of `packets.of(...)`. A metric without data (no packet arrived) is NaN.

There are two sets of definitions: ours, and those of Pantheon's analysis (Yan et al., USENIX ATC 2018; `tunnel_graph`), named
`pantheon_…`, which reproduce its published numbers. How they differ: docs/concepts/path-metrics.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, inf, nan

import numpy as np
import numpy.typing as npt

from trialwise.arrays import Array
from trialwise.measurement.packets import DUPLICATE, ECN_UNKNOWN, Packets

CONVERGENCE_BIN, CONVERGENCE_BAND, CONVERGENCE_BINS = 1.0, 0.25, 5
"""Seconds of a bin, largest distance from the fair share as a share of it, and bins in a row within that distance."""


@dataclass(frozen=True, slots=True)
class Served:
    """The packets of one flow in the direction of its data, and the time in which they count, in seconds."""

    packets: Packets
    start: float
    stop: float


def throughput(packets: Packets, start: float, stop: float) -> float:
    """Return the delivered data over the scheduled time: Σ size of packets delivered in [start, stop) · 8 / (stop − start).

    A flow that starts late or falls silent has a lower throughput, because the time is that of the schedule.

    Parameters
    ----------
    packets
        Of one flow, or of all.
    start, stop
        Seconds: when the flow was scheduled, without the part cut as start-up.

    Returns
    -------
    float
        Mbit/s of IP bytes.

    Raises
    ------
    ValueError
        `stop` is not after `start`.
    """
    if not stop > start:
        raise ValueError(f"throughput from {start} s to {stop} s: the end must lie after the start")
    inside = packets.delivered & (packets.time >= start) & (packets.time < stop)
    return _megabits(packets.size[inside]) / (stop - start)


def throughput_series(packets: Packets, bin_width: float, start: float, stop: float) -> tuple[Array, Array]:
    """Return the throughput in bins [start + k · bin_width, start + (k + 1) · bin_width), the last one ending at `stop`.

    Returns
    -------
    tuple
        The end of each bin in seconds, and its throughput in Mbit/s of IP bytes.

    Raises
    ------
    ValueError
        The width is not above 0, or `stop` is not after `start`.
    """
    if not (bin_width > 0 and stop > start):
        raise ValueError(f"bins of {bin_width} s from {start} s to {stop} s: there is none")
    bins = max(1, int(np.ceil(round((stop - start) / bin_width, 9))))
    edges = np.minimum(start + bin_width * np.arange(bins + 1), stop)
    inside = packets.delivered & (packets.time >= start) & (packets.time < stop)
    place = np.searchsorted(edges, packets.time[inside], side="right") - 1
    counted = np.bincount(place, weights=packets.size[inside], minlength=bins)
    return edges[1:], counted * 8e-6 / np.diff(edges)


def one_way_delays(packets: Packets) -> Array:
    """Return the one-way delay of each packet that arrived: time − arrival, in ms, in the order of the packets."""
    return packets.delay[packets.delivered] * 1e3


def delay_percentile(packets: Packets, percentile: float = 95) -> float:
    """Return a percentile of the one-way delays of packets that arrived, in ms (linear between neighbours, type 7)."""
    delays = one_way_delays(packets)
    return float(np.percentile(delays, percentile)) if delays.size else np.nan


def queueing_delays(packets: Packets, propagation: float) -> Array:
    """Return the time each arrived packet waited and was sent: one-way delay less the path's own (`propagation`), both ms."""
    return one_way_delays(packets) - propagation


def loss(packets: Packets) -> float:
    """Return the share of packets dropped among those whose fate is known: dropped / (delivered + dropped) · 100.

    Packets still inside at the end do not count either way: a bufferbloated flow loses nothing by being stopped.

    Returns
    -------
    float
        Percent of packets; NaN if none arrived or was dropped.
    """
    dropped, delivered = int(packets.dropped.sum()), int(packets.delivered.sum())
    return 100 * dropped / (delivered + dropped) if delivered + dropped else np.nan


def duplicates(packets: Packets) -> float:
    """Return the copies that the path made and that arrived, as a share of the packets that arrived; percent, NaN if none did."""
    delivered = int(packets.delivered.sum())
    return 100 * int((packets.event == DUPLICATE).sum()) / delivered if delivered else np.nan


def ecn_share(packets: Packets, field: int) -> float:
    """Return the share of the packets that arrived with this ECN field, of all that arrived with a known one; percent.

    Parameters
    ----------
    packets
        Of one flow or of all.
    field
        Index in `packets.ECN_FIELDS`.

    Returns
    -------
    float
        NaN if none arrived, or no field is known.
    """
    fields = packets.ecn[packets.delivered]
    known = int((fields != ECN_UNKNOWN).sum())
    return 100 * int((fields == field).sum()) / known if known else np.nan


def utilisation(carried: float, capacity: float) -> float:
    """Return all flows' throughput as a share of the path's capacity: carried / capacity · 100, both in Mbit/s; percent.

    The capacity is a constant rate, or `opportunities.capacity` of a trace over the same time.
    """
    return 100 * carried / capacity if capacity > 0 else np.nan


def jain_index(throughputs: Sequence[float] | Array) -> float:
    """Return Jain's fairness index, (Σ x)² / (n Σ x²): 1 if all flows are equal, 1/n if one has everything.

    Source: Jain, Chiu, Hawe, DEC-TR-301 (1984), equation 1.

    Returns
    -------
    float
        NaN if there is no flow or none carried anything.
    """
    values = np.asarray(throughputs, dtype=np.float64)
    squares = values.size * float(np.sum(values**2))
    return float(np.sum(values)) ** 2 / squares if squares > 0 else np.nan


def fair_shares(flows: Sequence[Served]) -> list[float]:
    """Return what each flow got as a share of its fair share of what all got: Σ xᵢ(s) / Σ (Σⱼ xⱼ(s) / n(s)).

    The sums are over the spans s between starts and stops in which flow i runs; x(s) are the bytes of a flow that were delivered in
    the span, n(s) the flows that run in it. With equal schedules it is n xᵢ / Σ xⱼ: 1 if the flow has just its share, n if it has all.

    Parameters
    ----------
    flows
        All flows of one direction.

    Returns
    -------
    list
        One number for each flow; NaN if nothing was delivered while it ran.
    """
    amounts = [_Amounts(flow) for flow in flows]
    pairs = (_own_and_fair(amounts, own, own.start, own.stop) for own in amounts)
    return [own / fair if fair > 0 else nan for own, fair in pairs]


def convergence_times(flows: Sequence[Served]) -> list[float]:
    """Return how long each flow takes, from the last start of a flow, to get its fair share and keep it.

    It is the earliest whole second after which five one-second bins in a row lie within 25 % of the fair share of what all got in
    them (`fair_shares`). Source: the convergence time of PCC's evaluation (Dong et al., NSDI 2015, section 4.2), with the fair share
    in place of the ideal rate, so that paths whose rate varies have one too.

    Parameters
    ----------
    flows
        All flows of one direction, each with the time of its schedule.

    Returns
    -------
    list
        Seconds for each flow; infinite if it did not converge before it stopped, NaN if there is nothing to tell: fewer than two
        flows run after the last start, or this one does so for less than five seconds.
    """
    entry = max((flow.start for flow in flows), default=nan)
    amounts = [_Amounts(flow) for flow in flows]
    if sum(flow.stop > entry for flow in flows) < 2:
        return [nan] * len(flows)
    return [_convergence(amounts, own, entry) for own in amounts]


class _Amounts:
    """The bytes of a flow that were delivered in any part of its time."""

    def __init__(self, flow: Served) -> None:
        self.start, self.stop = flow.start, flow.stop
        there = flow.packets.where(flow.packets.delivered).of(start=flow.start, stop=flow.stop)
        order = np.argsort(there.time, kind="stable")
        self._times = there.time[order]
        self._sums = np.concatenate([[0], np.cumsum(there.size[order], dtype=np.uint64)])

    def between(self, start: float, stop: float) -> float:
        """Return the bytes in [start, stop)."""
        first, last = np.searchsorted(self._times, [start, stop])
        return float(self._sums[last] - self._sums[first])


def _own_and_fair(flows: Sequence[_Amounts], own: _Amounts, start: float, stop: float) -> tuple[float, float]:
    """Return the bytes of a flow in [start, stop), and its fair share of those of all."""
    changes = {edge for flow in flows for edge in (flow.start, flow.stop) if start < edge < stop}
    fair = 0.0
    for begin, end in pairwise(sorted({start, stop, *changes})):
        running = [flow for flow in flows if flow.start <= begin and end <= flow.stop]
        fair += sum(flow.between(begin, end) for flow in running) / max(1, len(running))
    return own.between(start, stop), fair


def _convergence(flows: Sequence[_Amounts], own: _Amounts, entry: float) -> float:
    bins = floor((own.stop - entry) / CONVERGENCE_BIN + 1e-9)
    if bins < CONVERGENCE_BINS:
        return nan
    edges = [entry + CONVERGENCE_BIN * place for place in range(bins + 1)]
    amounts = [_own_and_fair(flows, own, *span) for span in pairwise(edges)]
    near = [fair > 0 and abs(got - fair) <= CONVERGENCE_BAND * fair for got, fair in amounts]
    for place in range(bins - CONVERGENCE_BINS + 1):
        if all(near[place : place + CONVERGENCE_BINS]):
            return CONVERGENCE_BIN * place
    return inf


def pantheon_throughput(packets: Packets) -> float:
    """Return Pantheon's throughput: bits of all departures / (last departure − first departure).

    A flow that falls silent keeps the throughput that it had; its start-up counts from its first packet.

    Returns
    -------
    float
        Mbit/s; 0 if all departed at one instant, NaN if none did.
    """
    times = packets.time[packets.delivered]
    if not times.size:
        return np.nan
    span = float(times.max() - times.min())
    return _megabits(packets.size[packets.delivered]) / span if span > 0 else 0.0


def pantheon_delay(packets: Packets) -> float:
    """Return Pantheon's delay: the 95th percentile, by NumPy's rule "nearest", of the delays of packets that arrived; ms."""
    delays = one_way_delays(packets)
    return float(np.percentile(delays, 95, method="nearest")) if delays.size else np.nan


def pantheon_loss(packets: Packets) -> float:
    """Return Pantheon's loss: 1 − departed bytes / arrived bytes, so that data in flight at the end counts as lost.

    Returns
    -------
    float
        Percent of bytes; NaN if none arrived.
    """
    arrived = int(packets.originals().size.sum())
    departed = int(packets.size[packets.delivered].sum())
    return 100 * (1 - departed / arrived) if arrived else np.nan


def pantheon_capacity(
    times: npt.NDArray[np.float64] | npt.NDArray[np.int64], opportunity: int = 1500
) -> float:
    """Return Pantheon's capacity: bits of all opportunities / (last − first).

    Parameters
    ----------
    times
        Of the opportunities, in seconds or, as in logs, milliseconds divided by 1000.
    opportunity
        Bytes per opportunity.

    Returns
    -------
    float
        Mbit/s; 0 if all are at one instant, NaN if there are none.
    """
    if not times.size:
        return np.nan
    span = float(times.max() - times.min())
    return times.size * opportunity * 8e-6 / span if span > 0 else 0.0


def pantheon_utilization(packets: Packets, capacity: float) -> float:
    """Return Pantheon's utilization: `pantheon_throughput` of all flows together / `pantheon_capacity` · 100; percent."""
    return utilisation(pantheon_throughput(packets), capacity)


def _megabits(sizes: npt.NDArray[np.uint32]) -> float:
    return float(sizes.sum(dtype=np.uint64)) * 8e-6
