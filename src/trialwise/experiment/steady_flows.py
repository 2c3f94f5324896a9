"""Whether the flows of one simulated trial are a steady stream, so that parts of its time stand for others."""

from __future__ import annotations

from collections.abc import Mapping

from trialwise.experiment.model import Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.simulation import SimulationTrial

UNBOUNDED = ("pareto", "lognormal")
"""Sizes without a largest one: with waits that depend on all sizes before, intervals of slices held in 60 to 89 %."""


def not_steady(trial: SimulationTrial, factors: Mapping[str, Level]) -> str:
    """Say why slices of a trial's time do not show all that varies among trials; empty if they do."""
    values = {"series": 0, "round": 0, **factors}
    workload = {name: fill(text, values) for name, text in trial.workload.texts}
    network = {name: fill(str(value), values) for name, value in trial.network}
    if not trial.workload.is_plain or trial.workload.tilt or trial.workload.sampling != "random":
        return "its flows are not all drawn by one pattern (jobs, lists, parts beside each other, tilts and Sobol points)"
    if workload.get("pattern", "").startswith("permutation"):
        return "who sends to whom is drawn once for each trial (permutation), which its slices do not show"
    if workload.get("sizes", "").startswith(UNBOUNDED):
        return (
            "its sizes have no largest one (pareto, lognormal), and rare large flows decide the waits of many; a table of sizes lifts "
            "that"
        )
    if fill(trial.engine, values) == "paths":
        return 'engine = "paths" samples paths once for each trial, which its slices do not show'
    for name in ("faults", "stop"):
        if name in network:
            return f"its network changes with time (network.{name})"
    return ""
