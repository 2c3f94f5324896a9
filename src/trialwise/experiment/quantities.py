"""What the packets and programs of a path trial can be asked for, with its unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """One thing to ask for: its unit, and which way is better."""

    unit: str
    better: Better | None
    per_flow: bool = True


QUANTITIES: Mapping[str, Quantity] = {
    "throughput": Quantity("Mbit/s", "higher"),
    "delay": Quantity("ms", "lower"),
    "queueing_delay": Quantity("ms", "lower"),
    "loss": Quantity("%", "lower"),
    "utilization": Quantity("%", "higher", per_flow=False),
    "fairness": Quantity("", "higher", per_flow=False),
    "completion_time": Quantity("s", "lower"),
    "rtt": Quantity("ms", "lower"),
    "window": Quantity("B", None),
    "retransmits": Quantity("", "lower"),
    "delivery_rate": Quantity("Mbit/s", "higher"),
    "pantheon_throughput": Quantity("Mbit/s", "higher"),
    "pantheon_delay": Quantity("ms", "lower"),
    "pantheon_loss": Quantity("%", "lower"),
    "pantheon_utilization": Quantity("%", "higher", per_flow=False),
}
