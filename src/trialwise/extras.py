"""Packages that come with an extra of Trialwise alone; what needs one asks here, so that a refusal says how to get it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from trialwise.errors import PlanError

MODULES = {
    "print": {"vl_convert": "vl-convert-python", "typst": "typst"},
    "zstd": {"zstandard": "zstandard"},
    "cluster": {
        "distributed": "distributed",
        "dask_jobqueue": "dask-jobqueue",
        "cryptography": "cryptography",
    },
    "serve": {"starlette": "starlette", "uvicorn": "uvicorn"},
}
"""The modules that each extra of `pyproject.toml` brings, with the packages that hold them."""


def require(extra: str, what: str, *, also: str = "") -> None:
    """Raise PlanError if a module of an extra is not installed; `what` begins the message, and `also` ends the hint."""
    for module in MODULES[extra]:
        if find_spec(module) is None:
            raise PlanError(
                f"{what}, and Python finds no {module}", hint=f"pip install 'trialwise[{extra}]'{also}"
            )


def module_of(extra: str, name: str, what: str) -> Any:  # noqa: ANN401 a foreign module
    """Import a module of an extra.

    Raises
    ------
    PlanError
        It is not installed.
    """
    require(extra, what)
    return import_module(name)
