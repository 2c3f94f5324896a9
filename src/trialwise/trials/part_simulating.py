"""Estimate one trial by packets of parts of its network: of sampled paths with what crosses them, or of each link by itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.simulation import SimulationTrial
from trialwise.trials.drawn_flows import Flows, expected_flows
from trialwise.trials.flow_results import FlowResult

_BEYOND = ("faults", "stop")
"""Parameters of the network that a part of it does not have."""


def check_parts(trial: SimulationTrial, fabric: _core.Fabric) -> None:
    """Raise PlanError for what parts of the network cannot say of a trial with its placeholders filled in."""
    engine = f'engine = "{trial.engine}"'
    without = 'write engine = "trialwise"'
    for name, value in trial.network:
        if name in _BEYOND:
            raise PlanError(
                f"network.{name}: {engine} simulates parts of the network, which have neither failures nor an end of their own",
                hint=without,
            )
        if name == "loss" and trial.engine == "links" and _core.parse_fraction(value) > 0:
            raise PlanError(f"network.loss: {_LOSSES}", hint=_LOSSY)
    if trial.engine == "links" and fabric.losses.any() and "loss" not in dict(trial.network):
        raise PlanError(f"the topology loses packets: {_LOSSES}", hint=_LOSSY)


_LOSSES = 'engine = "links" would count what a loss costs a flow once for each of its links'
_LOSSY = 'write engine = "paths", or engine = "trialwise"'


def simulate_parts(
    trial: SimulationTrial,
    folder: Path,
    fabric: _core.Fabric,
    flows: Flows,
    seed: int,
    progress: Callable[[int, int, int], object] | None = None,
) -> FlowResult:
    """Return the completion times of a flow list, or of a sample of it, by packets of parts of the network.

    `progress` is called a few times a second with zeros: parts are simulated one after another. `seed` is that of marks, losses and
    the sample.

    Raises
    ------
    PlanError
        Parts of the network cannot say it.
    Exception
        Whatever `progress`, or a congestion control in Python, raised.
    """
    from trialwise.trials.simulating import congestion_of

    check_parts(trial, fabric)
    began = time.perf_counter()
    try:
        places, fct, (parts, networks, hops) = _core.estimate(
            trial.engine,
            fabric,
            flows,
            controller=congestion_of(trial, folder),
            parameters=trial.controller,
            network=trial.network,
            mode=trial.mode,
            seed=seed,
            paths=trial.sampled_paths,
            expected=expected_flows(trial.workload, fabric, folder),
            distance=trial.link_distance,
            progress=None if progress is None else lambda: progress(0, 0, 0),
        )
        ideal = fabric.ideal_times(flows)[places]
    except _core.SimulationError as error:
        raise PlanError(str(error)) from error
    took = time.perf_counter() - began
    own = {name: column[places] for name, column in flows.items()}
    end = int((own["start_ps"] + fct)[fct >= 0].max(initial=0))
    return FlowResult(own, fct, ideal, {"parts": parts, "networks": networks, "hops": hops}, end, took)
