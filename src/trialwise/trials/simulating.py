"""Simulations: settings in, arrays out. The trial kind and `trialwise simulate` stand on it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.model import Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.simulation import SimulationTrial, Workload, names_file

Flows: TypeAlias = dict[str, npt.NDArray[np.int64]]
"""A flow list by columns: flow_id, src, dst, size_bytes, start_ps, each of shape (flows,)."""
Progress = Callable[[int, int, int], object]
"""Told the simulated picoseconds, events, and flows that have not ended; what it raises ends the simulation."""

_PICOSECONDS = 1e12


class _Drawing(TypedDict):
    """The arguments of a drawn flow list beside its topology and seed."""

    sizes: str
    size_table: str | None
    arrivals: str
    pattern: str
    load: float
    load_of: str
    duration_ps: int


class NoFlowsError(PlanError):
    """A flow list that is empty: by chance where it was drawn."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which ports, and flows by their places in the list, are looked at every `interval` seconds."""

    interval: float
    ports: Sequence[int] = ()
    flows: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Simulated:
    """One simulated trial: its flow list, what came of it, and the span in which flows began (seconds)."""

    fabric: _core.Fabric
    flows: Flows
    result: _core.SimulationResult
    duration: float

    @cached_property
    def fct(self) -> npt.NDArray[np.float64]:
        """Completion times in seconds, shape (flows,); NaN where a flow did not finish."""
        fct = self.result.fct_ps
        return np.where(fct < 0, np.nan, fct / _PICOSECONDS)

    @property
    def slowdown(self) -> npt.NDArray[np.float64]:
        """Completion times over those of the flows alone, shape (flows,)."""
        return self.fct / (self.result.ideal_ps / _PICOSECONDS)

    @property
    def throughput(self) -> npt.NDArray[np.float64]:
        """Payload over completion times in bit/s, shape (flows,)."""
        return self.flows["size_bytes"] * 8 / self.fct

    @property
    def start(self) -> npt.NDArray[np.float64]:
        """When flows began in seconds, shape (flows,)."""
        return self.flows["start_ps"] / _PICOSECONDS


def filled(trial: SimulationTrial, values: Mapping[str, Level]) -> SimulationTrial:
    """The trial with its placeholders filled."""
    workload = {name: fill(text, values) for name, text in trial.workload.texts}
    return dataclasses.replace(
        trial,
        scheme=fill(trial.scheme, values),
        topology=fill(trial.topology, values),
        routes=fill(trial.routes, values),
        mode=fill(trial.mode, values),
        workload=dataclasses.replace(trial.workload, **workload),
        network=tuple((name, fill(text, values)) for name, text in trial.network),
        controller=tuple((name, fill(text, values)) for name, text in trial.controller),
    )


def open_fabric(trial: SimulationTrial, folder: Path) -> _core.Fabric:
    """The topology of a trial made ready; files are looked up in `folder`.

    Raises
    ------
    PlanError
        What is wrong with the topology, and what to write.
    """
    try:
        if ":" in trial.topology:
            if trial.routes:
                raise PlanError("routes: go with a topology from a file, whose nodes they name")
            return _shape(trial.topology)
        routes = folder / trial.routes if trial.routes else None
        return _core.Fabric.from_file(folder / trial.topology, routes=routes)
    except OSError as error:
        hint = "write a shape, as in dumbbell:10x10,100Gbit/s,1us, or name a file that is there"
        raise PlanError(
            f"topology {trial.topology}: {error.filename} cannot be read: {os.strerror(error.errno or 0)}",
            hint=hint,
        ) from error
    except ValueError as error:
        raise PlanError(f"topology {trial.topology}: {error}") from error


@lru_cache(maxsize=4)
def _shape(topology: str) -> _core.Fabric:
    """Routes of a large network take longer than many trials over it."""
    return _core.Fabric(topology)


def flow_list(workload: Workload, fabric: _core.Fabric, folder: Path, seed: int) -> Flows:
    """The flows of a workload: drawn with `seed`, or read from its file.

    Raises
    ------
    PlanError
        What is wrong with the workload, and what to write.
    """
    try:
        if workload.flows:
            return _core.parse_flows(_read(folder / workload.flows))
        return _core.generate_flows(fabric, **_drawing(workload, fabric, folder), seed=seed)
    except ValueError as error:
        raise PlanError(f"workload: {error}") from error


def expected_flows(workload: Workload, fabric: _core.Fabric, folder: Path) -> float:
    """How many flows a trial has in the mean; PlanError where the workload cannot be."""
    try:
        if workload.flows:
            return float(len(_core.parse_flows(_read(folder / workload.flows))["start_ps"]))
        return _core.expected_flows(fabric, **_drawing(workload, fabric, folder))
    except ValueError as error:
        raise PlanError(f"workload: {error}") from error


def check_settings(trial: SimulationTrial, fabric: _core.Fabric, flows: Flows | None = None) -> None:
    """Raise PlanError for a controller or a parameter that cannot be, and, where they are known, for wrong flows."""
    try:
        _core.check_simulation(
            fabric,
            flows,
            controller=trial.scheme,
            parameters=trial.controller,
            network=trial.network,
            mode=trial.mode,
        )
    except ValueError as error:
        raise PlanError(str(error)) from error


def simulate(
    trial: SimulationTrial,
    folder: Path,
    *,
    flow_seed: int,
    seed: int,
    sampling: Callable[[_core.Fabric, Flows], Sampling] | None = None,
    progress: Progress | None = None,
) -> Simulated:
    """Simulate a trial whose placeholders are filled, until its last flow ends.

    Parameters
    ----------
    trial, folder
        The trial, and where the files stand that it names.
    flow_seed, seed
        Of the flow list, and of marks and losses.
    sampling
        Says what is looked at while it runs; None for nothing.
    progress
        Called some times a second.

    Raises
    ------
    NoFlowsError
        The flow list is empty.
    PlanError
        The trial cannot be as it is written.
    """
    fabric = open_fabric(trial, folder)
    flows = flow_list(trial.workload, fabric, folder, flow_seed)
    if not len(flows["start_ps"]):
        raise NoFlowsError("the flow list is empty", hint="a longer duration or a higher load gives flows")
    looked = sampling(fabric, flows) if sampling else None
    try:
        result = _core.simulate(
            fabric,
            flows,
            controller=trial.scheme,
            parameters=trial.controller,
            network=trial.network,
            mode=trial.mode,
            seed=seed,
            sample_interval_ps=round(looked.interval * _PICOSECONDS) if looked else None,
            ports=looked.ports if looked else (),
            watched_flows=looked.flows if looked else (),
            progress=progress,
        )
    except ValueError as error:
        raise PlanError(str(error)) from error
    return Simulated(fabric, flows, result, duration_of(trial.workload, flows))


def duration_of(workload: Workload, flows: Flows) -> float:
    """The span in seconds in which flows begin: that of the workload, or up to the last flow of a file."""
    if workload.flows:
        return float(flows["start_ps"].max(initial=0) / _PICOSECONDS)
    return picoseconds(workload.duration) / _PICOSECONDS


def picoseconds(text: str) -> int:
    """A span of time in picoseconds; PlanError where the text is none."""
    try:
        return _core.parse_picoseconds(text)
    except ValueError as error:
        raise PlanError(str(error)) from error


def switch_ports(fabric: _core.Fabric) -> list[int]:
    """The ports through which switches send."""
    hosts = set(fabric.hosts.tolist())
    ends = [end for first, second, *_ in fabric.links for end in (first, second)]
    return [port for port, node in enumerate(ends) if node not in hosts]


def _drawing(workload: Workload, fabric: _core.Fabric, folder: Path) -> _Drawing:
    """The arguments of a drawn flow list; what is not said goes by the topology."""
    shared = fabric.bottleneck is not None
    return {
        "sizes": workload.sizes,
        "size_table": _read(folder / workload.sizes) if names_file(workload.sizes) else None,
        "arrivals": workload.arrivals,
        "pattern": workload.pattern or ("one-way" if shared else "all-to-all"),
        "load": _core.parse_fraction(workload.load),
        "load_of": workload.load_of or ("bottleneck" if shared else "host"),
        "duration_ps": _core.parse_picoseconds(workload.duration),
    }


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no text"
        raise PlanError(f"{path}: cannot be read: {said}") from error
