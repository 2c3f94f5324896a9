"""The engines of simulated trials: what each computes, and which quantities it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES

MODELLED = ("fct", "slowdown", "throughput")
"""Quantities of flows that the fluid model gives."""


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine.

    `answers` are quantities by their names. `estimate` is what every reader of its numbers must know, empty for a simulation of
    packets. `tells_controllers` is False if it takes nothing of controllers but the headers of their packets.
    """

    words: str
    answers: frozenset[str] = frozenset(SIMULATION_QUANTITIES)
    estimate: str = ""
    tells_controllers: bool = True


ENGINES: Mapping[str, Engine] = {
    "trialwise": Engine("our own, packet by packet"),
    "ns3": Engine(
        "ns-3, in a process of its own",
        answers=frozenset(SIMULATION_QUANTITIES) - {"queue", "peak_queue", "peak_buffer", "pauses", "jct"},
    ),
    "fluid": Engine(
        "max-min fair rates instead of packets, an estimate",
        answers=frozenset((*MODELLED, "flows", "bytes", "largest_flow")),
        estimate="numbers are estimates by a fluid model, not of packets: flows share links max-min fairly at every instant, without "
        "queues, losses, pauses or controllers; small flows hardly wait in it, so that the tail of slowdown is too low",
        tells_controllers=False,
    ),
}
"""Engines by name; the first is the default."""
