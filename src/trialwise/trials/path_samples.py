"""Turn the packets and reports of one path trial into the samples of its metrics."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from trialwise.arrays import Array
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import Experiment
from trialwise.experiment.path_files import judged_as
from trialwise.experiment.sources import PathSource
from trialwise.experiment.traits import sources_of
from trialwise.experiment.trials import PathSettings
from trialwise.measurement import path_metrics as pm
from trialwise.measurement.flow_report import Report, completions, flow_series, frames_of, retransmits
from trialwise.measurement.frames import Frames
from trialwise.measurement.packets import (
    CE,
    DIRECTIONS,
    ECT_0,
    ECT_1,
    HELD,
    Packets,
    joined,
    read_packet_log,
    write_packets,
)
from trialwise.measurement.samples import Samples
from trialwise.trials.base import TrialRequest
from trialwise.trials.frame_samples import FRAMES, MediaFlow, frame_samples
from trialwise.trials.path_plan import FlowPlan, describe, trial_of

_REPORTED = ("rtt", "window", "delivery_rate")


@dataclass(frozen=True, slots=True)
class PathRecord:
    """The record of one trial: its packets, with times in seconds since the first flow started, and the senders' reports.

    `stop` is when the last flow was stopped, `warmup` the part cut from the start, both in seconds; `reports` has the
    report of each flow by number, `started_ns` is the first flow's start on CLOCK_MONOTONIC.
    """

    packets: Packets
    settings: PathSettings
    plans: Sequence[FlowPlan]
    reports: Mapping[int, Report]
    started_ns: int
    stop: float
    warmup: float
    _frames: dict[int, Frames] = field(default_factory=dict[int, Frames], repr=False, compare=False)

    def frames(self, flow: int) -> Frames:
        """Return the frames of a flow that carries media, read once; raise TrialError if its reports have none."""
        if flow not in self._frames:
            self._frames[flow] = frames_of(self.reports[flow], self.started_ns)
        return self._frames[flow]


def packets_of(log: Path, plans: Sequence[FlowPlan], offset: float) -> Packets:
    """Read the packet log of a trial; `offset` is the first flow's start in seconds of the log's clock.

    If a single flow runs, every packet belongs to it.
    """
    packets = read_packet_log(log, {plan.port: plan.number for plan in plans})
    flow = np.full_like(packets.flow, plans[0].number) if len(plans) == 1 else packets.flow
    return dataclasses.replace(packets, time=packets.time - offset, flow=flow)


def metric_samples(experiment: Experiment, record: PathRecord) -> dict[str, Samples]:
    """Compute the samples of an experiment's metrics, by source key.

    Samples of a flow are left out if it does not run in this trial, or if it got nothing while others did: that is a result, which
    its throughput tells, and no failure.

    Raises
    ------
    TrialError
        The trial has no samples of a metric.
    """
    samples: dict[str, Samples] = {}
    absent = set(range(1, len(trial_of(experiment).flows) + 1)) - {plan.number for plan in record.plans}
    for metric, source in sources_of(experiment.metrics, PathSource):
        if source.key not in samples and source.flow not in absent:
            try:
                samples[source.key] = samples_for(source, record)
            except TrialError as error:
                if isinstance(error, NothingDeliveredError) and _is_starved(source, record):
                    continue
                raise TrialError(f"metric {metric.name}: {error.message}", hint=error.hint) from error
    return samples


def check_frames(experiment: Experiment, plans: Sequence[FlowPlan]) -> None:
    """Raise PlanError if a metric is of frames, and no flow that it is of carries media; a flow that does not run has no metric."""
    for metric, source in sources_of(experiment.metrics, PathSource):
        meant = [plan for plan in plans if source.flow in {None, plan.number}]
        if source.quantity in FRAMES and meant and all(plan.load.kind != "media" for plan in meant):
            raise PlanError(
                f"metric {metric.name}: no flow that it is of carries media",
                hint="use a load such as media:rate=150kbit/s..1.5Mbit/s",
            )


def check_certificate(experiment: Experiment, settings: PathSettings) -> None:
    """Raise PlanError if a metric rests on one that the certificate of a calibrated path denies it."""
    for metric, source in sources_of(experiment.metrics, PathSource):
        if denied := [
            name for name in judged_as(source.quantity, metric.measure) if name in settings.refused
        ]:
            told = ",".join(f"despite={name}" for name in denied)
            raise PlanError(
                f"metric {metric.name}: {settings.file} does not stand for the real path in {' and '.join(denied)}: {settings.source}",
                hint=f'leave the metric out, or take it all the same: path = "file:{Path(settings.file).name},{told}"',
            )


class NothingDeliveredError(TrialError):
    """A metric of packets that arrive, of which there are none."""

    def __init__(self) -> None:
        super().__init__("no packet was delivered")


def _is_starved(source: PathSource, record: PathRecord) -> bool:
    """Return True if a source is of one flow and another one got something."""
    others = record.packets.where(record.packets.flow != source.flow) if source.flow else None
    return others is not None and bool(others.delivered.any())


def kept_packets(request: TrialRequest, packets: Packets) -> tuple[Literal["packets"], Path] | None:
    """Write the packets to a file outside the trial's scratch folder, which is about to be deleted; None if they are dropped."""
    if trial_of(request.experiment).packets == "drop":
        return None
    path = request.scratch / f"packets-{request.number}-{request.attempt}.parquet"
    write_packets(path, packets)
    return "packets", path


def samples_for(source: PathSource, record: PathRecord) -> Samples:
    """Compute the samples of one source.

    Raises
    ------
    TrialError
        The trial has none: no packet was delivered, or the sender does not report it.
    """
    plans = [plan for plan in record.plans if source.flow in (None, plan.number)]
    if not plans:
        raise TrialError(f"there is no flow {source.flow}: the trial has {len(record.plans)}")
    window = _Window(record, plans)
    match source.quantity:
        case "throughput":
            return window.throughput(source.bin)
        case "delay" | "queueing_delay":
            return window.delays(less_propagation=source.quantity == "queueing_delay")
        case "completion_time":
            return _joined([completions(record.reports[plan.number]) for plan in plans])
        case quantity if quantity in FRAMES:
            return frame_samples(quantity, window.media())
        case quantity if quantity in _REPORTED:
            return _joined(
                [flow_series(record.reports[plan.number], quantity, record.started_ns) for plan in plans]
            )
        case quantity:
            return _single(_SINGLE[quantity](window))


class _Window:
    """The data packets of some flows, in the time that counts."""

    def __init__(self, record: PathRecord, plans: Sequence[FlowPlan]) -> None:
        self.record = record
        self.plans = plans
        self.stop = min(record.stop, max(plan.stop for plan in plans))
        self.first = min(plan.flow.start for plan in plans)
        self.start = max(record.warmup, self.first)
        self.all = joined([self.data_of(plan) for plan in plans])

    def data_of(self, plan: FlowPlan) -> Packets:
        """Return the packets of a flow in the direction of its data."""
        return self.record.packets.of(plan.flow.direction, plan.number, 0, self.stop)

    @property
    def kept(self) -> Packets:
        return self.all.of(start=self.start)

    def entered(self) -> Packets:
        """Return the packets that came to the path in the time that counts; what is not out when it ends is held."""
        ways = [self.record.packets.of(plan.flow.direction, plan.number) for plan in self.plans]
        packets = joined(ways).originals()
        came = packets.time - packets.delay
        late = packets.time >= self.stop
        packets = dataclasses.replace(
            packets, event=np.where(late, HELD, packets.event).astype(packets.event.dtype)
        )
        return packets.where((came >= self.start) & (came < self.stop))

    def throughput(self, width: float) -> Samples:
        """Return the throughput in bins that fill the time from the first start to the stop, so that their mean is the throughput."""
        span = self.stop - self.first
        bins = max(1, round(span / width))
        ends, values = pm.throughput_series(self.all, span / bins, self.first, self.stop)
        return Samples(values[:bins], ends[:bins] - span / bins)

    def delays(self, *, less_propagation: bool) -> Samples:
        """Return the delay of every packet that arrived, ms, by the time of its arrival."""
        arrived = self.all.where(self.all.delivered)
        if not len(arrived):
            raise NothingDeliveredError
        values = arrived.delay * 1e3
        if less_propagation and self.record.settings.ends is not None:
            values = values - _lowest(arrived, values)
        elif less_propagation:
            ways = np.array([describe(self.record.settings, way).base_delay * 1e3 for way in DIRECTIONS])
            own = np.zeros(1 + max(plan.number for plan in self.plans))
            for plan in self.plans:
                own[plan.number] = plan.delay * 1e3
            values = values - ways[arrived.direction] - own[arrived.flow]
        order = np.argsort(arrived.time, kind="stable")
        return Samples(values[order], arrived.time[order])

    def throughputs(self) -> list[float]:
        """Return the throughput of each flow over its own time."""
        return [
            pm.throughput(
                self.data_of(plan), max(plan.flow.start, self.record.warmup), min(plan.stop, self.stop)
            )
            for plan in self.plans
        ]

    def share(self) -> float:
        """Return the share of the one flow, among those whose data go its way."""
        (own,) = self.plans
        rivals = [plan for plan in self.record.plans if plan.flow.direction == own.flow.direction]
        served = [
            pm.Served(
                self.record.packets.of(plan.flow.direction, plan.number),
                max(plan.flow.start, self.record.warmup),
                min(plan.stop, self.record.stop),
            )
            for plan in rivals
        ]
        return pm.fair_shares(served)[rivals.index(own)]

    def media(self) -> list[MediaFlow]:
        """Return the frames of each flow that carries media, in its time."""
        ways = [plan.flow.direction for plan in self.record.plans]
        return [
            MediaFlow(
                self.record.frames(plan.number),
                start=max(plan.flow.start, self.record.warmup),
                stop=min(plan.stop, self.record.stop),
                rates=plan.load.rates,
                fair=self._fair(plan, ways.count(plan.flow.direction)),
            )
            for plan in self.plans
            if plan.load.kind == "media"
        ]

    def _fair(self, plan: FlowPlan, flows: int) -> float | None:
        """Return an equal share of a direction's rate, Mbit/s; None if it has none."""
        capacity = describe(self.record.settings, plan.flow.direction).capacity
        return None if capacity is None else capacity / 1e6 / flows

    def retransmits(self) -> float:
        return sum(retransmits(self.record.reports[plan.number]) for plan in self.plans)

    def carried(self) -> float:
        return pm.throughput(self.all, self.start, self.stop)

    def capacity(self) -> float:
        """Return the joint capacity of the data's directions, Mbit/s."""
        ways = sorted({plan.flow.direction for plan in self.plans})
        rates = [describe(self.record.settings, way).capacity for way in ways]
        if None in rates:
            raise TrialError(
                "the path has no rate, so there is no utilization", hint="give trial.path a rate"
            )
        return sum(rate for rate in rates if rate) / 1e6


_SINGLE: Mapping[str, Callable[[_Window], float]] = {
    "loss": lambda window: pm.loss(window.kept),
    "duplicates": lambda window: pm.duplicates(window.kept),
    "ce_share": lambda window: pm.ecn_share(window.kept, CE),
    "ect1_share": lambda window: pm.ecn_share(window.kept, ECT_1),
    "ect0_share": lambda window: pm.ecn_share(window.kept, ECT_0),
    "utilization": lambda window: pm.utilisation(window.carried(), window.capacity()),
    "fairness": lambda window: pm.jain_index(window.throughputs()),
    "share": lambda window: window.share(),
    "retransmits": lambda window: window.retransmits(),
    "pantheon_throughput": lambda window: pm.pantheon_throughput(window.kept),
    "pantheon_delay": lambda window: pm.pantheon_delay(window.kept),
    "pantheon_loss": lambda window: pm.pantheon_loss(window.entered()),
    "pantheon_utilization": lambda window: pm.pantheon_utilization(window.kept, window.capacity()),
}


def _lowest(packets: Packets, values: Array) -> Array:
    """Return for each packet the lowest delay of its direction, which stands for propagation where nobody knows it."""
    found = np.zeros(len(packets))
    for number in range(len(DIRECTIONS)):
        of_way = packets.direction == number
        found[of_way] = values[of_way].min(initial=np.inf)
    return found


def _single(value: float) -> Samples:
    if np.isnan(value):
        raise NothingDeliveredError
    return Samples(np.array([value]))


def _joined(parts: Sequence[Samples]) -> Samples:
    values = np.concatenate([part.values for part in parts])
    times = np.concatenate([part.times for part in parts if part.times is not None])
    order = np.argsort(times, kind="stable")
    return Samples(values[order], times[order])
