"""Pantheon's statistics of a merged log, as its `tunnel_graph` computes and prints them, and its pantheon_perf.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise.exchange.pantheon_log import MergedLog
from trialwise.exchange.plain import Json


@dataclass(frozen=True)
class FlowStatistics:
    """Statistics of one flow, or of all together; None where Pantheon says nothing.

    Attributes
    ----------
    throughput
        Mbit/s: bits that came out / (last departure − first departure).
    delay
        95th percentile of one-way delays, rule "nearest"; ms.
    loss
        1 − bytes that came out / bytes that went in; a fraction, not percent.
    """

    throughput: float | None
    delay: float | None
    loss: float | None


@dataclass(frozen=True)
class PantheonStatistics:
    """Statistics of all flows together, of each, and of the link.

    Attributes
    ----------
    capacity
        Mbit/s: bits of all opportunities / (last − first); None without opportunities.
    duration
        Seconds from the first departure to the last; 0 without departures.
    """

    capacity: float | None
    duration: float
    total: FlowStatistics
    flows: Mapping[int, FlowStatistics]

    @property
    def utilization(self) -> float | None:
        """Total throughput / capacity; a fraction."""
        if not self.capacity or self.total.throughput is None:
            return None
        return self.total.throughput / self.capacity


def pantheon_statistics(log: MergedLog) -> PantheonStatistics:
    """Compute what `tunnel_graph` does (Yan et al., USENIX ATC 2018)."""
    numbers = np.union1d(log.arrival_flows, log.departure_flows).tolist()
    link = _rate(log.opportunities, log.opportunity_sizes) if log.opportunities.size else None
    every = np.ones(log.arrivals.size, np.bool_), np.ones(log.departures.size, np.bool_)
    total = _of(log, *every)
    if not log.departures.size:
        total = FlowStatistics(0.0, None, total.loss)
    flows = {flow: _of_flow(log, flow) for flow in numbers}
    return PantheonStatistics(link, _span(log.departures) / 1000, total, flows)


def _of_flow(log: MergedLog, flow: int) -> FlowStatistics:
    came, left = log.arrival_flows == flow, log.departure_flows == flow
    found = _of(log, came, left)
    # For a flow from which nothing came out, Pantheon reports a throughput of 0 and no loss.
    return found if left.any() else FlowStatistics(0.0, None, None)


def _of(log: MergedLog, came: npt.NDArray[np.bool_], left: npt.NDArray[np.bool_]) -> FlowStatistics:
    delays, arrived = log.delays[left], int(log.arrival_sizes[came].sum())
    departed = int(log.departure_sizes[left].sum())
    return FlowStatistics(
        throughput=_rate(log.departures[left], log.departure_sizes[left]) if delays.size else None,
        delay=float(np.percentile(delays, 95, method="nearest")) if delays.size else None,
        loss=1 - departed / arrived if arrived else None,
    )


def _rate(times: npt.NDArray[np.float64], sizes: npt.NDArray[np.int64]) -> float:
    span = _span(times)
    return int(sizes.sum()) * 8 / 1000 / span if span > 0 else 0.0


def _span(times: npt.NDArray[np.float64]) -> float:
    return float(times.max() - times.min()) if times.size else 0.0


def statistics_text(found: PantheonStatistics) -> str:
    """Return the text that Pantheon appends to `<scheme>_stats_run<N>.log`."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: PantheonStatistics) -> Iterator[str]:
    count = len(found.flows)
    yield f"-- Total of {count} flow{'' if count == 1 else 's'}:"
    if found.capacity is not None:
        yield f"Average capacity: {found.capacity:.2f} Mbit/s"
    share = f" ({100 * found.utilization:.1f}% utilization)" if found.utilization is not None else ""
    yield from _flow_lines(found.total, share)
    for number, flow in found.flows.items():
        yield f"-- Flow {number}:"
        yield from _flow_lines(flow, "")


def _flow_lines(found: FlowStatistics, share: str) -> Iterator[str]:
    if found.throughput is not None:
        yield f"Average throughput: {found.throughput:.2f} Mbit/s{share}"
    if found.delay is not None:
        yield f"95th percentile per-packet one-way delay: {found.delay:.3f} ms"
    if found.loss is not None:
        yield f"Loss rate: {100 * found.loss:.2f}%"


def perf_document(runs: Mapping[str, Mapping[int, PantheonStatistics]]) -> dict[str, Json]:
    """Return the content of pantheon_perf.json: scheme, run, `all` or flow, then `tput`, `delay`, `loss` (a fraction).

    Parameters
    ----------
    runs
        The statistics of each run of each scheme.
    """
    return {
        scheme: {str(run): _entries(found) for run, found in each.items()} for scheme, each in runs.items()
    }


def _entries(found: PantheonStatistics) -> dict[str, Json]:
    numbered = {str(number): _entry(flow) for number, flow in found.flows.items() if number}
    return {"all": _entry(found.total), **numbered}


def _entry(found: FlowStatistics) -> Json:
    return {"tput": found.throughput, "delay": found.delay, "loss": found.loss}
