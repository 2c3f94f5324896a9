"""Find which optional parts are installed, and say how to get the others."""

from __future__ import annotations

import sys
from importlib.metadata import version

from trialwise.errors import PlanError
from trialwise.execution.tasks.clusters import CLUSTER_MODULES, require_dask
from trialwise.measurement.documents import OptionalPart
from trialwise.trials.ns3.installation import ns3_installation


def optional_parts() -> tuple[OptionalPart, ...]:
    """Look for ns-3 and Dask where runs look for them, without loading them."""
    return _ns3(), _dask()


def _ns3() -> OptionalPart:
    name, why = "ns-3", 'trials with engine = "ns3" check the simulator with it'
    try:
        found = ns3_installation()
    except PlanError as error:
        return OptionalPart(name, why, None, error.message, error.hint)
    return OptionalPart(name, why, found.version, f"of {found.python}", None)


def _dask() -> OptionalPart:
    name, why = "Dask", "run --cluster has simulated trials computed by it on many machines"
    try:
        require_dask()
    except PlanError as error:
        return OptionalPart(name, why, None, error.message, error.hint)
    return OptionalPart(name, why, version(CLUSTER_MODULES[0]), f"of {sys.executable}", None)
