"""Packages whose names are imported with their first use: few commands need all of a package, whose import may outlast their start."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


def by_first_use(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package; the stub beside its file says which module each name comes from."""

    @cache
    def places() -> dict[str, str]:
        stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
        imports = (line for line in ast.parse(stub).body if isinstance(line, ast.ImportFrom))
        return {name.name: line.module for line in imports for name in line.names if line.module is not None}

    def imported(name: str) -> object:
        if name.startswith("_") or name not in places():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(places()[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return imported, lambda: sorted(places())
