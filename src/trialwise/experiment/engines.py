"""The engines of simulated trials: what each computes, and which quantities it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES
from trialwise.numbers import counted

MODELLED = ("fct", "slowdown", "throughput")
"""Quantities of flows that the fluid model gives."""


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine.

    `answers` are quantities by their names. `estimate` is what every reader of its numbers must know, empty for a simulation of
    packets. `tells_controllers` is False if it takes nothing of controllers but the headers of their packets. `parts` is True if it
    simulates packets of parts of the network. `options` are the keys of a trial that are its own, each with its option of
    `trialwise simulate`.
    """

    words: str
    answers: frozenset[str] = frozenset(SIMULATION_QUANTITIES)
    estimate: str = ""
    tells_controllers: bool = True
    parts: bool = False
    options: tuple[str, ...] = ()


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
        options=("rate_interval",),
    ),
    "paths": Engine(
        "packets of sampled paths with their cross traffic, an estimate",
        answers=frozenset(MODELLED),
        estimate="numbers are estimates by packets of sampled paths, each with the flows that cross it: these are not held back "
        "by links off the path, and nothing is paused from there",
        parts=True,
        options=("sampled_paths",),
    ),
    "links": Engine(
        "packets of each link by itself, delays added, an estimate",
        answers=frozenset((*MODELLED, "flows", "bytes", "largest_flow")),
        estimate="numbers are estimates by packets of each link by itself, and a flow's delays at its links are added: what "
        "waits at one link may be counted again at the next, above all of flows that share several links; as a control it "
        "is shown with how far it is off",
        parts=True,
        options=("link_distance",),
    ),
}
"""Engines by name; the first is the default."""
NO_ENGINES = ("none", "workload")
"""Kinds of controls without an engine: no controls, or only what is known of the flow list."""
BATCHED = "fluid"
"""The engine whose lists the core computes by the million; the others simulate list by list."""


def control_names() -> tuple[str, ...]:
    """Return what may be written as controls: the engines among them are those whose numbers are estimates."""
    return (*NO_ENGINES, *(name for name, engine in ENGINES.items() if engine.estimate))


def controls_of(names: str | Sequence[str]) -> str:
    """Return controls as they are kept, "fluid,links", of names or of names with commas between; ValueError says what is wrong."""
    given = names.split(",") if isinstance(names, str) else names
    found = list(dict.fromkeys(name.strip() for name in given))
    known = control_names()
    for name in found:
        if name not in known:
            raise ValueError(
                f"no controls are called {name!r}: write {', '.join(known[:-1])} or {known[-1]}, or several engines"
            )
    if "none" in found and len(found) > 1:
        raise ValueError('"none" stands alone')
    engines = [name for name in found if name not in NO_ENGINES]
    return ",".join(engines or found)


def engines_in(controls: str) -> tuple[str, ...]:
    """Return the engines among controls, which all have what is known of the flow list too."""
    return tuple(name for name in controls.split(",") if name not in NO_ENGINES)


def owner(option: str) -> str:
    """Return the engine whose key of a trial this is."""
    return next(name for name, engine in ENGINES.items() if option in engine.options)


def parts_text(engine: str, totals: Mapping[str, int]) -> str:
    """Say of how many parts the networks were, as in "100 networks of 1203 paths"."""
    return f"{counted(totals['networks'], 'network')} of {counted(totals['parts'], engine.removesuffix('s'))}"
