"""Quantities of trials, and those of the packets and programs of a path trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trialwise.experiment.traits import SourceTraits

Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity: its unit, which direction is better, its meaning, and whether a single flow has it.

    `samples` says whether a trial gives one number, many, or many with times. `one_flow`: it is of one flow and never of all.
    """

    unit: str
    better: Better | None
    meaning: str
    per_flow: bool = True
    one_flow: bool = False
    samples: Literal["one", "many", "timed"] = "one"


def quantity_traits(quantity: Quantity | None) -> SourceTraits:
    """Return the traits that a source takes from its quantity; None is an unknown quantity."""
    if quantity is None:
        return SourceTraits()
    return SourceTraits(unit=quantity.unit, better=quantity.better, samples=quantity.samples)


QUANTITIES: Mapping[str, Quantity] = {
    "throughput": Quantity(
        "Mbit/s",
        "higher",
        "IP bytes that arrived, over the flow's scheduled time; a series of bins",
        samples="timed",
    ),
    "delay": Quantity("ms", "lower", "one-way delay of every data packet that arrived", samples="timed"),
    "queueing_delay": Quantity("ms", "lower", "the same, less the path's propagation delay", samples="timed"),
    "loss": Quantity(
        "%",
        "lower",
        "data packets dropped, of those dropped or delivered; those in flight at the end do not count",
    ),
    "duplicates": Quantity(
        "%", "lower", "copies made by the path that arrived, of the data packets that arrived"
    ),
    "ce_share": Quantity(
        "%", None, "data packets that arrived with congestion experienced, of all that arrived"
    ),
    "ect1_share": Quantity("%", None, "the same for packets with ECT(1)"),
    "ect0_share": Quantity("%", None, "the same for packets with ECT(0)"),
    "utilization": Quantity("%", "higher", "throughput of all flows, of the path's rate", per_flow=False),
    "fairness": Quantity(
        "", "higher", "Jain's index of the flows' throughputs, from 1/n to 1", per_flow=False
    ),
    "share": Quantity(
        "",
        None,
        "data of the flow, of its fair share of what all flows of its direction got while it ran; 1 is fair",
        one_flow=True,
    ),
    "completion_time": Quantity(
        "s", "lower", "from start to end of each transfer of a load that ends", samples="timed"
    ),
    "frame_delay": Quantity(
        "ms",
        "lower",
        "media: from the capture of a frame to the arrival of its last byte, for each that arrived",
        samples="timed",
    ),
    "late_frames": Quantity(
        "%", "lower", "media: frames that did not arrive within 150 ms of their capture, with those left out"
    ),
    "freezes": Quantity(
        "", "lower", "media: gaps d between displayed frames above max(3 mean d, mean d + 150 ms)"
    ),
    "freeze_share": Quantity("%", "lower", "media: share of time in freezes"),
    "rate_utilization": Quantity(
        "%", "higher", "media: payload of frames that arrived, of an equal share of the path's rate"
    ),
    "rate_variation": Quantity(
        "%", "lower", "media: standard deviation of the encoder's target in seconds, of its mean"
    ),
    "quality": Quantity(
        "",
        "higher",
        "media: log2 of the rate within the encoder's range, 0 to 1, less the frozen share; not VMAF",
    ),
    "rtt": Quantity(
        "ms", "lower", "round-trip time as the sender's transport has it, every 10 ms", samples="timed"
    ),
    "window": Quantity("B", None, "congestion window of the sender, every 10 ms", samples="timed"),
    "retransmits": Quantity("", "lower", "packets sent again"),
    "delivery_rate": Quantity(
        "Mbit/s",
        "higher",
        "delivery rate as the sender's transport estimates it, every 10 ms",
        samples="timed",
    ),
    "pantheon_throughput": Quantity(
        "Mbit/s", "higher", "Pantheon: bits delivered, from the first departure to the last"
    ),
    "pantheon_delay": Quantity("ms", "lower", "Pantheon: 95th percentile of one-way delay"),
    "pantheon_loss": Quantity(
        "%", "lower", "Pantheon: bytes that came and did not leave, with those in flight at the end"
    ),
    "pantheon_utilization": Quantity(
        "%", "higher", "Pantheon: its throughput of all flows, of the path's rate", per_flow=False
    ),
}
