"""The numbers in which a real and an emulated trial are compared: one of each metric for each trial, from its packets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trialwise.analysis.trial_set import MetricFacts
from trialwise.arrays import Mask
from trialwise.measurement import path_metrics as pm
from trialwise.measurement.packets import DIRECTIONS, Direction, Packets

METRICS = {
    facts.name: facts
    for facts in (
        MetricFacts("throughput", "Mbit/s", "higher"),
        MetricFacts("queueing_delay_p50", "ms", "lower"),
        MetricFacts("queueing_delay_p95", "ms", "lower"),
        MetricFacts("loss", "%", "lower"),
        MetricFacts("completion_time", "s", "lower"),
    )
}
"""Metrics of a likeness by name. Queueing delay is that above the least of its trial: it needs no common clock."""
FLOORS = {
    "throughput": 0.01,
    "queueing_delay_p50": 0.1,
    "queueing_delay_p95": 0.1,
    "loss": 0.01,
    "completion_time": 0.001,
}
"""What is added to a value before its logarithm is taken, in the metric's unit: smaller ones are all alike."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A flow whose data count: number, direction, start and stop in seconds, and whether its load comes to an end."""

    number: int
    direction: Direction
    start: float
    stop: float
    ends: bool


def likeness_values(packets: Packets, flows: Sequence[Counted], warmup: float) -> dict[str, float]:
    """Return the metrics of a trial over the data of all its flows together, without the first `warmup` seconds.

    A metric that the trial does not have is left out: the completion time of loads without end, and delays if nothing arrived.
    """
    start, stop = min(flow.start for flow in flows) + warmup, max(flow.stop for flow in flows)
    data = packets.where(_data(packets, flows))
    inside = data.of(start=start, stop=stop)
    arrived = inside.where(inside.delivered)
    found = {"throughput": pm.throughput(inside, start, stop), "loss": pm.loss(inside)}
    if len(arrived):
        waits = pm.one_way_delays(arrived) - _least(data, arrived)
        found["queueing_delay_p50"] = float(np.percentile(waits, 50))
        found["queueing_delay_p95"] = float(np.percentile(waits, 95))
    if all(flow.ends for flow in flows):
        found["completion_time"] = float(np.mean([_completion(packets, flow) for flow in flows]))
    return {name: found[name] for name in METRICS if np.isfinite(found.get(name, np.nan))}


def _data(packets: Packets, flows: Sequence[Counted]) -> Mask:
    mask = np.zeros(len(packets), bool)
    for flow in flows:
        mask |= (packets.flow == flow.number) & (packets.direction == DIRECTIONS.index(flow.direction))
    return mask


def _least(data: Packets, arrived: Packets) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return, for each packet, the least delay of its direction in the trial; ms."""
    least = np.zeros(len(arrived))
    for number in np.unique(arrived.direction):
        way = data.where((data.direction == number) & data.delivered)
        least[arrived.direction == number] = float(way.delay.min()) * 1e3
    return least


def _completion(packets: Packets, flow: Counted) -> float:
    part = packets.of(flow.direction, flow.number)
    return float(part.time[part.delivered].max(initial=-np.inf)) - flow.start
