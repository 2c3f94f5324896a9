"""Results from the packets of one path trial: its flows, its delays, and its course over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trialwise.analysis.path.results import FlowSeries
from trialwise.arrays import Array
from trialwise.experiment.trials import NO_FLOW, PathFlow
from trialwise.measurement import path_metrics as pm
from trialwise.measurement.packets import Packets, joined

SKETCH = 1000
"""Number of steps of a trial's stored delay distribution; pooled delays are accurate to a thousandth of a trial's packets."""
_MAX_BINS = 150
_WIDTHS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 3600.0)


@dataclass(frozen=True, slots=True)
class FlowNumbers:
    """One flow of one trial: Mbit/s, ms, percent, its fair share, seconds; NaN if unknown."""

    throughput: float
    delay: float
    loss: float
    share: float = np.nan
    convergence: float = np.nan
    """Infinite if the flow did not converge."""


@dataclass(frozen=True, slots=True)
class TrialNumbers:
    """One trial: each flow that runs, all together, Jain's index; delays (ms) at `SKETCH` + 1 evenly spaced shares of its packets."""

    flows: tuple[FlowNumbers, ...]
    together: FlowNumbers
    fairness: float
    packets: int
    delays: Array


@dataclass(frozen=True, slots=True)
class Course:
    """When a trial's flows ran: each flow's schedule, the cut at the start, the end of the trial (seconds)."""

    flows: Sequence[PathFlow]
    warmup: float
    ended: float

    @property
    def running(self) -> list[tuple[int, PathFlow]]:
        """The flows that run, with their numbers."""
        return [(number, flow) for number, flow in enumerate(self.flows, 1) if flow.scheme != NO_FLOW]

    def window(self, flow: PathFlow) -> tuple[float, float]:
        """Return the interval in which a flow counts."""
        return max(flow.start, self.warmup), min(flow.stop or self.ended, self.ended)


def trial_numbers(packets: Packets, course: Course) -> TrialNumbers:
    """Compute the results of one trial, by the default definitions of `path_metrics`, in the direction of each flow's data."""
    running = course.running
    data = [packets.of(flow.direction, number, 0, course.ended) for number, flow in running]
    windows = [course.window(flow) for _, flow in running]
    flows = tuple(map(_numbers, data, windows))
    shares, convergence = _beside_others(course, data, windows)
    flows = tuple(
        replace(flow, share=shares[place], convergence=convergence[place]) for place, flow in enumerate(flows)
    )
    whole = joined(data)
    begin = min(start for start, _ in windows)
    delays = pm.one_way_delays(whole.of(start=begin, stop=course.ended))
    return TrialNumbers(
        flows=flows,
        together=_numbers(whole, (begin, course.ended)),
        fairness=pm.jain_index([flow.throughput for flow in flows]),
        packets=delays.size,
        delays=np.quantile(delays, np.linspace(0, 1, SKETCH + 1)) if delays.size else delays,
    )


def _beside_others(
    course: Course, data: Sequence[Packets], windows: Sequence[tuple[float, float]]
) -> tuple[dict[int, float], dict[int, float]]:
    """Return shares and convergence times by place, each among the flows of the same direction."""
    ways: dict[str, list[int]] = {}
    for place, (_, flow) in enumerate(course.running):
        ways.setdefault(flow.direction, []).append(place)
    shares: dict[int, float] = {}
    convergence: dict[int, float] = {}
    for places in ways.values():
        counted = [pm.Served(data[place], *windows[place]) for place in places]
        flows = [course.running[place][1] for place in places]
        scheduled = [
            pm.Served(data[place], flow.start, min(flow.stop or course.ended, course.ended))
            for place, flow in zip(places, flows, strict=True)
        ]
        shares |= zip(places, pm.fair_shares(counted), strict=True)
        convergence |= zip(places, pm.convergence_times(scheduled), strict=True)
    return shares, convergence


def _numbers(packets: Packets, window: tuple[float, float]) -> FlowNumbers:
    start, stop = window
    if stop <= start:
        return FlowNumbers(np.nan, np.nan, np.nan)
    counted = packets.of(start=start)
    return FlowNumbers(
        pm.throughput(packets, start, stop), pm.delay_percentile(counted, 95), pm.loss(counted)
    )


# Over time


def bin_width(runtime: float) -> float:
    """Return the width of bins (seconds) for a trial: at most 150 bins, at a round number."""
    return next((width for width in _WIDTHS if runtime <= width * _MAX_BINS), runtime / _MAX_BINS)


def flow_series(packets: Packets, number: int, flow: PathFlow, runtime: float) -> FlowSeries:
    """Return one flow over the time of the trial, in bins of `bin_width`."""
    width = bin_width(runtime)
    own = packets.of(flow.direction, number, 0, runtime)
    ends, throughput = pm.throughput_series(own, width, 0.0, runtime)
    low, median, high = _delays(own.where(own.delivered), ends)
    return FlowSeries(number, flow.scheme, flow.direction, throughput, low, median, high)


def _delays(delivered: Packets, ends: Array) -> tuple[Array, Array, Array]:
    """Return the minimum, median and maximum delay (ms) of the packets that arrived in each bin; NaN if none did."""
    order = np.argsort(delivered.time, kind="stable")
    cuts = np.searchsorted(delivered.time[order], ends[:-1])
    low, median, high = np.full((3, ends.size), np.nan)
    for place, part in enumerate(np.split(delivered.delay[order] * 1e3, cuts)):
        if part.size:
            low[place], median[place], high[place] = part.min(), np.median(part), part.max()
    return low, median, high
