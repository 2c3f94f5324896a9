"""Estimate one trial with the fluid model: the flows that the packets would be of, at max-min fair rates."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.simulation import SimulationTrial
from trialwise.trials.drawn_flows import Flows
from trialwise.trials.flow_results import FlowResult

_OF_HEADERS = ("segment", "header", "acknowledgement")
"""Parameters of the network that change how many bytes a flow has on its links."""
_BEYOND = ("loss", "faults", "stop")
"""Parameters of the network without which the trial would be another, and which the model does not have."""


def check_fluid(trial: SimulationTrial, fabric: _core.Fabric, flows: Flows) -> None:
    """Raise PlanError for what the fluid model cannot say of a trial with its placeholders filled in."""
    without = 'write engine = "trialwise"'
    for name, _ in trial.network:
        if name in _BEYOND:
            raise PlanError(
                f'network.{name}: engine = "fluid" has no packets that could be lost or stopped', hint=without
            )
    if fabric.losses.any():
        raise PlanError('the topology loses packets, and engine = "fluid" has none', hint=without)
    if trial.mode != "clean":
        raise PlanError(f'mode = "{trial.mode}" does not go with engine = "fluid"', hint="leave mode out")
    if "class" in flows and len(np.unique(flows["class"])) > 1:
        raise PlanError(
            'the flow list has several classes, and engine = "fluid" shares links among all flows alike',
            hint=f"{without}, or give all flows one class",
        )


def check_told_apart(trials: Iterable[SimulationTrial]) -> None:
    """Raise PlanError for two trials of the fluid model that differ only in what it does not know: a difference of 0 says nothing."""
    seen: dict[SimulationTrial, SimulationTrial] = {}
    for trial in trials:
        headers = tuple(pair for pair in trial.network if pair[0] in _OF_HEADERS)
        known = dataclasses.replace(trial, scheme="", controller=(), network=headers)
        other = seen.setdefault(known, trial)
        if other != trial:
            what = (
                f"{other.scheme} and {trial.scheme}"
                if other.scheme != trial.scheme
                else "parameters of the controller or of queues"
            )
            raise PlanError(
                f'engine = "fluid" does not tell {what} apart: it has rates, and neither controllers nor queues',
                hint='simulate their packets (engine = "trialwise"); controls = "fluid" makes that cheaper',
            )


def simulate_fluid(
    trial: SimulationTrial,
    folder: Path,
    fabric: _core.Fabric,
    flows: Flows,
    progress: Callable[[int, int, int], object] | None = None,
) -> FlowResult:
    """Return the completion times of a flow list in the fluid model.

    `progress` is called a few times a second with zeros, since the model has neither packets nor one simulated time.

    Raises
    ------
    PlanError
        The model cannot say it.
    Exception
        Whatever `progress` raised.
    """
    from trialwise.trials.simulating import congestion_of

    check_fluid(trial, fabric, flows)
    began = time.perf_counter()
    try:
        fct = _core.fluid(
            fabric,
            flows,
            controller=congestion_of(trial, folder),
            network=trial.network,
            window_ps=round(trial.rate_interval * 1e12),
            progress=None if progress is None else lambda: progress(0, 0, 0),
        )
        ideal = fabric.ideal_times(flows)
    except _core.SimulationError as error:
        raise PlanError(str(error)) from error
    took = time.perf_counter() - began
    return FlowResult(flows, fct, ideal, {}, int((flows["start_ps"] + fct).max(initial=0)), took)
