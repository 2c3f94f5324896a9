"""Prepare topologies for simulation."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.simulation import SimulationTrial
from trialwise.experiment.text import frozen_or_named


def open_fabric(trial: SimulationTrial, folder: Path) -> _core.Fabric:
    """Prepare the topology of a trial; files are looked up in `folder`.

    Raises
    ------
    PlanError
        The topology is invalid; the message says what to write.
    """
    try:
        if ":" in trial.topology:
            if trial.routes:
                raise PlanError("routes: go with a topology from a file, whose nodes they name")
            return _shape(trial.topology)
        routes = frozen_or_named(folder, trial.routes) if trial.routes else None
        return _core.Fabric.from_file(frozen_or_named(folder, trial.topology), routes=routes)
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
    """Cached, because computing the routes of a large network takes longer than many trials over it."""
    return _core.Fabric(topology)


def switch_ports(fabric: _core.Fabric) -> list[int]:
    """Return the ports through which switches send."""
    hosts = set(fabric.hosts.tolist())
    ends = [end for first, second, *_ in fabric.links for end in (first, second)]
    return [port for port, node in enumerate(ends) if node not in hosts]
