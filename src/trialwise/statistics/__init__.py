"""Statistics: pure functions, arrays in, frozen results out.

Each method of a paper is available as published (`method="paper"`); if a better one is known, it is the default. Percentiles and
confidences are in percent.
"""

import ast
from functools import cache
from importlib import import_module, resources


@cache
def _places() -> dict[str, str]:
    """Read from the stub of this package which module each name comes from."""
    stub = resources.files(__name__).joinpath("__init__.pyi").read_text(encoding="utf-8")
    imports = (line for line in ast.parse(stub).body if isinstance(line, ast.ImportFrom))
    return {name.name: line.module for line in imports for name in line.names if line.module is not None}


def __getattr__(name: str) -> object:
    """Import what is used with its first use: few commands need all of SciPy, which takes longer than their start."""
    if name.startswith("_") or name not in _places():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_places()[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the names of the package."""
    return sorted(_places())
