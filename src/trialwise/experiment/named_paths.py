"""Emulated paths by name: those of the experiment file, and those shipped with Trialwise."""

from __future__ import annotations

import dataclasses
import pathlib
import tomllib
from collections.abc import Mapping
from functools import cache

from trialwise import _core
from trialwise.errors import PlanError
from trialwise.experiment.file.sections import adapter
from trialwise.experiment.path_files import PREFIX, read_path_file
from trialwise.experiment.problems import nearest
from trialwise.experiment.trials import Path, PathSettings

_FILE = pathlib.Path(__file__).with_name("named_paths.toml")


@cache
def shipped_paths() -> Mapping[str, PathSettings]:
    """Return the paths shipped with Trialwise, by name, each with its source."""
    return {name: _shipped(table) for name, table in tomllib.loads(_FILE.read_text()).items()}


def path_named(
    name: str, own: Mapping[str, PathSettings] | None = None, folder: pathlib.Path = pathlib.Path()
) -> PathSettings:
    """Return the path called `name`, looked up among `own` first; `file:NAME.path` is a file, relative to `folder`.

    A course, such as `recording:FILE`, is a path of that alone.

    Raises
    ------
    PlanError
        No path has this name, and the message suggests the nearest; or a file is none of a path.
    """
    if name.startswith(PREFIX):
        return read_path_file(name, folder)
    known = {**shipped_paths(), **(own or {})}
    if name not in known and name.partition(":")[0] in _courses():
        way = ((("course", name),),)
        return PathSettings(way, way)
    if name not in known:
        meant = nearest(name, list(known))
        did = f"; did you mean {meant}?" if meant else ""
        hint = f"describe it under [paths.{name}], or choose one of: {', '.join(known)}"
        raise PlanError(f"no path is called {name!r}{did}", hint=hint)
    return known[name]


@cache
def _courses() -> frozenset[str]:
    return frozenset(name for name, *_ in _core.elements()["course"])


def _shipped(table: dict[str, object]) -> PathSettings:
    source = str(table.pop("source"))
    settings: PathSettings = adapter(Path).validate_python(table)
    return dataclasses.replace(settings, folder=str(_FILE.parent), source=source)
