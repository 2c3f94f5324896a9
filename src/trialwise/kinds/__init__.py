"""Registry of the kinds of trials.

A kind is an entry point of the group `trialwise.kinds`, ``name = "module:class"``. The class is the table [trial] of the experiment
file, a `trialwise.experiment.traits.Trial`, and names the other parts of the kind. Each part is imported on first use. The built-in
kinds are listed here too, in case the installed metadata are older than the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from trialwise.errors import PlanError

GROUP = "trialwise.kinds"
OWN: Mapping[str, str] = MappingProxyType(
    {
        "command": "trialwise.experiment.trials:CommandTable",
        "python": "trialwise.experiment.trials:PythonTable",
        "path": "trialwise.experiment.trials:PathTrialTable",
        "simulation": "trialwise.experiment.simulation:SimulationTable",
    }
)


@cache
def kinds() -> Mapping[str, str]:
    """Return the table of each kind by its name, the built-in kinds first.

    Raises
    ------
    PlanError
        Two packages bring a kind of the same name.
    """
    from importlib.metadata import entry_points

    found = dict(OWN)
    for point in entry_points(group=GROUP):
        if found.setdefault(point.name, point.value) != point.value:
            raise PlanError(
                f'kind = "{point.name}" is both {found[point.name]} and {point.value}',
                hint="uninstall one of the packages that bring it",
            )
    return MappingProxyType(found)


@cache
def part(place: str) -> Any:  # noqa: ANN401 a class or a function
    """Import a part of a kind, given as ``module:name``.

    Raises
    ------
    PlanError
        A part from another package cannot be imported.
    """
    module, _, name = place.partition(":")
    try:
        return getattr(import_module(module), name)
    except Exception as error:
        if module.startswith("trialwise."):
            raise
        raise PlanError(
            f"a kind of trial needs {place}: {type(error).__name__}: {error}",
            hint="install the package of the kind anew",
        ) from error
