"""Find the files that a Python process has loaded: the modules and libraries that it reports (`trials/invoke.py`)."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise.measurement.file_identity import NamedFile, signature
from trialwise.measurement.followed import library_files

if TYPE_CHECKING:
    from trialwise.measurement.file_identity import Signature

MAX_MODULES = 500
"""Maximum number of named modules whose package has no list of files."""
MAX_BYTES = 16 << 20
"""Longer package file lists are not read."""
_SITES = frozenset({"site-packages", "dist-packages"})


def loaded_files(told: Mapping[str, Sequence[str]]) -> Iterator[NamedFile]:
    """Name the files that make up what a process has loaded.

    Each module of the project counts by itself. An installed package is represented by its list of files and digests, if it has
    one (`RECORD`, https://packaging.python.org/en/latest/specifications/recording-installed-packages/), and Python's own
    modules by the interpreter, which is named elsewhere.

    Parameters
    ----------
    told
        Paths under `modules` and `libraries`.
    """
    yield from library_files(told["libraries"])
    installed: dict[str, dict[str, list[str]]] = {}  # by folder and the first part of the name there
    alone: list[str] = []
    for path in told["modules"]:
        if (place := _site(path)) is not None:
            installed.setdefault(place[0], {}).setdefault(place[1], []).append(path)
        elif not path.startswith(_STANDARD):
            alone.append(path)
    for folder, packages in installed.items():
        lists, without = _lists(folder, packages)
        yield from (NamedFile(Path(each), "script") for each in lists)
        alone += [path for name in without for path in packages[name]]
    yield from (NamedFile(Path(path), "script") for path in alone[:MAX_MODULES])


_STANDARD = tuple(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib"))


def _site(path: str) -> tuple[str, str] | None:
    """Return the folder of installed packages that contains a module, and the first part of its name there."""
    parts = Path(path).parts
    for place in range(len(parts) - 2, 0, -1):
        if parts[place] in _SITES:
            return str(Path(*parts[: place + 1])), _first_part(parts[place + 1])
    return None


def _lists(folder: str, packages: Iterable[str]) -> tuple[list[str], set[str]]:
    """Return the file lists that cover some packages, and the packages that none covers."""
    without = set(packages)
    lists: list[str] = []
    for path in sorted(Path(folder).glob("*.dist-info/RECORD")):
        found = signature(path)
        if found is not None and found[2] <= MAX_BYTES and (named := _named(str(path), found) & without):
            lists.append(str(path))
            without -= named
    return lists, without


@lru_cache(maxsize=4096)
def _named(path: str, state: Signature) -> frozenset[str]:  # noqa: ARG001 the key of the cache
    """Return the first parts of the module names in a file list; none if it cannot be read."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    firsts = {line.split(",", 1)[0].split("/", 1)[0] for line in lines}
    return frozenset(_first_part(first) for first in firsts)


def _first_part(name: str) -> str:
    """Return the name of a module from its file or folder: `six.py`, `_cffi.abi3.so`, `numpy`."""
    return name.split(".", 1)[0] if name.endswith((".py", ".so", ".pyc")) else name
