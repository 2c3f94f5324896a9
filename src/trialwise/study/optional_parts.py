"""Find which optional parts are installed, and say how to get the others."""

from __future__ import annotations

import sys
from importlib.metadata import version

from trialwise.errors import PlanError
from trialwise.extras import MODULES, require
from trialwise.measurement.documents import OptionalPart
from trialwise.trials.ns3.installation import ns3_installation


def optional_parts() -> tuple[OptionalPart, ...]:
    """Look for ns-3 and the packages of extras where commands look for them, without loading them."""
    return (
        _ns3(),
        _extra("cluster", "Dask", "run --cluster has simulated trials computed by it on many machines"),
        _extra("print", "vl-convert", "it and typst write figures and reports as SVG, PNG and PDF"),
        _extra("serve", "Starlette", "it and uvicorn serve the page of trialwise serve"),
        _extra("zstd", "zstandard", "it packs and reads archives .tar.zst, and reads results packed so"),
    )


def _ns3() -> OptionalPart:
    name, why = "ns-3", 'trials with engine = "ns3" check the simulator with it'
    try:
        found = ns3_installation()
    except PlanError as error:
        return OptionalPart(name, why, None, error.message, error.hint)
    return OptionalPart(name, why, found.version, f"of {found.python}", None)


def _extra(extra: str, name: str, why: str) -> OptionalPart:
    try:
        require(extra, f"{name} is not there")
    except PlanError as error:
        return OptionalPart(name, why, None, error.message, error.hint)
    return OptionalPart(name, why, version(next(iter(MODULES[extra].values()))), f"of {sys.executable}", None)
