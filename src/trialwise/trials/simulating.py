"""Simulations: settings in, arrays out. The base of the trial kind and of `trialwise simulate`."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.engines import ENGINES
from trialwise.experiment.placeholders import fill
from trialwise.experiment.simulation import SimulationTrial
from trialwise.experiment.tilts import DefensiveTilt, SwitchingTilt
from trialwise.schemes.python_class import PREFIX, class_named, class_read
from trialwise.trials.drawn_flows import (
    Flows,
    drawing,
    duration_of,
    expected_flows,
    flow_graph,
    flow_list,
    list_cautions,
    picoseconds,
)
from trialwise.trials.exceptions import reason_of
from trialwise.trials.fabrics import open_fabric
from trialwise.trials.simulation_cost import cost_cautions
from trialwise.trials.tilting import Weights, at_finish, defensive_flows, load_ratio, switching_trial, tilt_of

if TYPE_CHECKING:
    from trialwise.experiment.model import Level
    from trialwise.trials.flow_results import FlowResult

Progress = Callable[[int, int, int], object]
"""Called with the simulated picoseconds, data packets not yet sent, and unfinished flows; an exception from it ends the trial."""

_PICOSECONDS = 1e12


@dataclass(frozen=True, slots=True)
class Sampling:
    """The ports, and flows by their index in the list, that are sampled every `interval` seconds.

    With `most` (even), the interval is doubled until the trial has at most that many samples.
    """

    interval: float
    ports: Sequence[int] = ()
    flows: Sequence[int] = ()
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of the clock that a trial took: its network and flow list (`start`), then its packets (`packets`).

    The packets of ns-3 take the processor time of Simulator::Run.
    """

    start: float
    packets: float


@dataclass(frozen=True, eq=False)
class Simulated:
    """One simulated trial: its flow list, its results, the time span in which flows began (seconds), and weights if it is tilted.

    `took` is how long it took, `horizon` when the network stops (seconds), None if it runs until the last flow ends. `listed` are all
    flows of the list if the results are of some of them.
    """

    fabric: _core.Fabric
    flows: Flows
    result: _core.SimulationResult | FlowResult
    duration: float
    took: Took
    weights: Weights | None = None
    horizon: float | None = None
    listed: Flows | None = None

    @cached_property
    def fct(self) -> npt.NDArray[np.float64]:
        """Return completion times in seconds, shape (flows,); NaN for a flow that did not finish."""
        fct = self.result.fct_ps
        return np.where(fct < 0, np.nan, fct / _PICOSECONDS)

    @property
    def jct(self) -> npt.NDArray[np.float64]:
        """Return completion times of jobs in seconds, shape (jobs,); NaN for one that did not end."""
        if not isinstance(self.result, _core.SimulationResult):
            return np.array([])
        jct = self.result.jct_ps
        return np.where(jct < 0, np.nan, jct / _PICOSECONDS)

    @property
    def slowdown(self) -> npt.NDArray[np.float64]:
        """Return completion times divided by those of the flows alone, shape (flows,)."""
        return self.fct / (self.result.ideal_ps / _PICOSECONDS)

    @property
    def throughput(self) -> npt.NDArray[np.float64]:
        """Return payload divided by completion time in bit/s, shape (flows,).

        For a flow that has not ended when the network stops: what was delivered by then, over the time from its start. NaN
        if neither is known.
        """
        whole = self.flows["size_bytes"] * 8 / self.fct
        if self.horizon is None or not isinstance(self.result, _core.SimulationResult):
            return whole
        lasted = np.maximum(self.horizon - self.start, 0.0)
        lasted[lasted == 0] = np.nan
        return np.where(np.isnan(whole), self.result.delivered * 8 / lasted, whole)

    @property
    def start(self) -> npt.NDArray[np.float64]:
        """Return the start times of flows in seconds, shape (flows,)."""
        return self.flows["start_ps"] / _PICOSECONDS


def filled(trial: SimulationTrial, values: Mapping[str, Level]) -> SimulationTrial:
    """Return the trial with its placeholders filled in."""
    workload = {name: fill(text, values) for name, text in trial.workload.texts}
    return dataclasses.replace(
        trial,
        scheme=fill(trial.scheme, values),
        topology=fill(trial.topology, values),
        routes=fill(trial.routes, values),
        mode=fill(trial.mode, values),
        engine=fill(trial.engine, values),
        workload=dataclasses.replace(trial.workload, **workload),
        network=tuple((name, fill(text, values)) for name, text in trial.network),
        controller=tuple((name, fill(text, values)) for name, text in trial.controller),
    )


def congestion_of(trial: SimulationTrial, folder: Path) -> str | Callable[..., object]:
    """Return a trial's congestion control as the core takes it: a name, or the class of `python:module:Class` in `folder`.

    Raises
    ------
    PlanError
        The class does not exist.
    """
    return class_named(trial.scheme, folder) if trial.scheme.startswith(PREFIX) else trial.scheme


def congestion_read(trial: SimulationTrial, folder: Path) -> str | Callable[..., object]:
    """Return the result of `congestion_of` without executing the module: an inert class replaces the module's own.

    Raises
    ------
    PlanError
        The class does not exist.
    """
    return class_read(trial.scheme, folder) if trial.scheme.startswith(PREFIX) else trial.scheme


def check_settings(
    trial: SimulationTrial, fabric: _core.Fabric, folder: Path, flows: Flows, *, executes: bool
) -> None:
    """Raise PlanError for an invalid engine, controller, parameter or flow list; nothing is simulated.

    A congestion control in Python is instantiated for each flow if `executes`, otherwise only looked up.
    """
    engine = engine_of(trial)
    if engine != "trialwise":
        _check_starts(engine, flow_graph(trial.workload, fabric, folder, seed=0))
    if engine == "ns3":
        from trialwise.trials.ns3.request import ns3_request, ns3_settings

        ns3_request(ns3_settings(trial, fabric), fabric, flows, seed=0)
        return
    if engine == "fluid":
        from trialwise.trials.fluid_simulating import check_fluid

        check_fluid(trial, fabric, flows)
    if ENGINES[engine].parts:
        from trialwise.trials.part_simulating import check_parts

        check_parts(trial, fabric)
    _checked(trial, fabric, folder, flows, congestion_of if executes else congestion_read)


def _check_starts(engine: str, graph: _core.FlowGraph | None) -> None:
    """Raise PlanError for flows that an engine would have to start when others are over."""
    if graph is not None:
        raise PlanError(
            f'engine = "{engine}" is given the starts of flows, and these wait for others or make jobs',
            hint='write engine = "trialwise"',
        )


def cautions_of(trial: SimulationTrial, fabric: _core.Fabric, folder: Path) -> tuple[str, ...]:
    """List settings that are carried out but hardly intended, and liberties taken with files; raise PlanError if invalid.

    No congestion control in Python is executed.
    """
    of_files = (*fabric.cautions, *list_cautions(trial.workload, fabric, folder))
    if engine_of(trial) == "ns3":
        return of_files
    if said := ENGINES[trial.engine].estimate:
        of_files = (*of_files, f'engine = "{trial.engine}": {said}')
    graph = flow_graph(trial.workload, fabric, folder, seed=0)
    flows = flow_list(trial.workload, fabric, folder, seed=0) if trial.workload.flows else None
    return (*of_files, *_checked(trial, fabric, folder, graph or flows, congestion_read))


def _checked(
    trial: SimulationTrial,
    fabric: _core.Fabric,
    folder: Path,
    flows: Flows | _core.FlowGraph | None,
    congestion: Callable[[SimulationTrial, Path], str | Callable[..., object]],
) -> list[str]:
    try:
        return _core.check_simulation(
            fabric,
            flows,
            controller=congestion(trial, folder),
            parameters=trial.controller,
            network=trial.network,
            mode=trial.mode,
        )
    except PlanError:
        raise
    except _core.SimulationError as error:
        raise PlanError(str(error)) from error
    except Exception as error:  # whatever a congestion control in Python raises
        raise PlanError(f"scheme {trial.scheme}: {reason_of(error)}") from error


def engine_of(trial: SimulationTrial) -> str:
    """Return the engine of a trial with its placeholders filled in; raise PlanError if it is unknown."""
    if trial.engine not in ENGINES:
        raise PlanError(f'engine: "{trial.engine}" is unknown: it is one of {", ".join(ENGINES)}')
    return trial.engine


def simulate(
    trial: SimulationTrial,
    folder: Path,
    *,
    flow_seed: int,
    seed: int,
    coordinates: npt.NDArray[np.float64] | None = None,
    sampling: Callable[[_core.Fabric, Flows], Sampling] | None = None,
    progress: Progress | None = None,
    announce: Callable[[str], object] | None = None,
    cancel: int | None = None,
) -> Simulated:
    """Simulate a trial with its placeholders filled in, until its last flow ends or none can make progress.

    Parameters
    ----------
    trial, folder
        The trial, and the folder with the files that it names.
    flow_seed, seed
        Seeds of the flow list, and of marks and losses.
    coordinates
        As for `flow_list`.
    sampling
        Says what is sampled while it runs; None for nothing.
    progress
        Called a few times a second, except by ns-3.
    announce
        Called before a trial of listed or untilted flows that takes long or much memory, with a sentence that says so.
    cancel
        A file descriptor that becomes readable to abandon the trial; only ns-3 checks it.

    Raises
    ------
    InterruptedError
        ns-3 was told to abandon it.
    PlanError
        The trial is invalid.
    TrialError
        ns-3 did not survive it, or took too long.
    Exception
        Whatever `progress`, or a congestion control in Python, raised.
    """
    began = time.perf_counter()
    fabric = open_fabric(trial, folder)
    tilt = tilt_of(trial)
    if isinstance(tilt, SwitchingTilt):
        return _switching(
            tilt, trial, folder, fabric, began=began, flow_seed=flow_seed, seed=seed, progress=progress
        )
    graph = None
    if isinstance(tilt, DefensiveTilt):
        flows, log_ratios = defensive_flows(tilt, fabric, drawing(trial.workload, fabric, folder), flow_seed)
    else:
        graph = flow_graph(trial.workload, fabric, folder, flow_seed)
        if graph is not None:
            flows = graph.flows()
        else:
            flows = flow_list(trial.workload, fabric, folder, flow_seed, coordinates)
        log_ratios = np.zeros(len(flows["start_ps"]))
    if announce is not None:
        for said in cost_cautions(trial, fabric, [flows], float(len(flows["start_ps"]))):
            announce(said)
    looked = sampling(fabric, flows) if sampling else None
    duration = duration_of(trial.workload, flows)
    ready = time.perf_counter()
    if engine_of(trial) != "trialwise":
        _check_starts(trial.engine, graph)
        answer = _of_other(trial, folder, fabric, flows, seed, progress, cancel)
        took = Took(ready - began, answer.seconds)
        return Simulated(fabric, dict(answer.flows), answer, duration, took, listed=flows)
    try:
        result = _core.simulate(
            fabric,
            flows if graph is None else graph,
            controller=congestion_of(trial, folder),
            parameters=trial.controller,
            network=trial.network,
            mode=trial.mode,
            seed=seed,
            sample_interval_ps=round(looked.interval * _PICOSECONDS) if looked else None,
            most_looks=looked.most if looked else None,
            ports=looked.ports if looked else (),
            watched_flows=looked.flows if looked and graph is None else (),
            progress=progress,
        )
    except _core.SimulationError as error:
        raise PlanError(str(error)) from error
    took = Took(ready - began, time.perf_counter() - ready)
    if graph is not None:
        flows = result.started()
        duration = duration_of(trial.workload, flows)
    weights = None
    if trial.workload.tilt:
        logs = at_finish(flows, log_ratios, result.fct_ps)
        weights = Weights(logs, expected_flows(trial.workload, fabric, folder), 1.0)
    return Simulated(fabric, flows, result, duration, took, weights, _horizon(trial))


def _of_other(
    trial: SimulationTrial,
    folder: Path,
    fabric: _core.Fabric,
    flows: Flows,
    seed: int,
    progress: Progress | None,
    cancel: int | None,
) -> FlowResult:
    """Return the result of an engine that is not our packet simulator."""
    if trial.engine == "ns3":
        from trialwise.trials.ns3.simulating import simulate_ns3

        return simulate_ns3(trial, fabric, flows, seed, cancel)
    if ENGINES[trial.engine].parts:
        from trialwise.trials.part_simulating import simulate_parts

        return simulate_parts(trial, folder, fabric, flows, seed, progress)
    from trialwise.trials.fluid_simulating import simulate_fluid

    return simulate_fluid(trial, folder, fabric, flows, progress)


def _horizon(trial: SimulationTrial) -> float | None:
    stop = dict(trial.network).get("stop")
    return None if stop is None else picoseconds(stop) / _PICOSECONDS


def _switching(
    tilt: SwitchingTilt,
    trial: SimulationTrial,
    folder: Path,
    fabric: _core.Fabric,
    *,
    began: float,
    flow_seed: int,
    seed: int,
    progress: Progress | None,
) -> Simulated:
    """Simulate a trial whose sizes depend on what has ended so far, so that its flow list comes with its results."""
    drawn = drawing(trial.workload, fabric, folder)
    ready = time.perf_counter()
    try:
        flows, result, logs, _ = switching_trial(
            tilt,
            trial,
            fabric,
            drawn,
            congestion_of(trial, folder),
            flow_seed=flow_seed,
            seed=seed,
            progress=progress,
        )
    except _core.SimulationError as error:
        raise PlanError(str(error)) from error
    took = Took(ready - began, time.perf_counter() - ready)
    expected = expected_flows(trial.workload, fabric, folder)
    weights = Weights(logs, expected, load_ratio(tilt, fabric, drawn))
    return Simulated(
        fabric, flows, result, duration_of(trial.workload, flows), took, weights, _horizon(trial)
    )
