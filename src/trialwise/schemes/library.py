"""Find schemes: in the user's folders, and among those shipped with Trialwise."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trialwise.errors import PlanError
from trialwise.experiment.problems import nearest
from trialwise.schemes.pantheon import is_wrapper, read_wrapper
from trialwise.schemes.reading import read_scheme
from trialwise.schemes.scheme import Scheme

SHIPPED = Path(__file__).with_name("library")
"""Folder of the schemes shipped with Trialwise."""


def scheme_files(folders: Iterable[Path] = ()) -> Mapping[str, Path]:
    """Return the file of each scheme by name; the user's folders come before the shipped ones.

    Raises
    ------
    PlanError
        A folder does not exist, or the user's folders contain a name twice.
    """
    files: dict[str, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise PlanError(f"schemes.folders: {folder} is not a directory")
        for path in _in_folder(folder):
            if path.stem in files:
                raise PlanError(
                    f"scheme {path.stem!r} occurs twice: {files[path.stem]} and {path}", hint="rename one"
                )
            files[path.stem] = path
    return {path.stem: path for path in _in_folder(SHIPPED)} | files


def scheme_named(name: str, folders: Iterable[Path] = ()) -> Scheme:
    """Return the scheme called `name`.

    Raises
    ------
    PlanError
        It does not exist; the message names the nearest one and the folders searched.
    """
    files = scheme_files(folders)
    if name not in files:
        meant = nearest(name, files)
        did = f"; did you mean {meant!r}?" if meant else ""
        hint = f"known: {', '.join(sorted(files))}; add NAME.toml to a folder of [schemes] folders for one of your own"
        raise PlanError(f"no scheme is called {name!r}{did}", hint=hint)
    return read_file(files[name])


def read_file(path: Path) -> Scheme:
    """Read a scheme file, or a Pantheon wrapper."""
    return read_scheme(path) if path.suffix == ".toml" else read_wrapper(path)


@dataclass(frozen=True, slots=True)
class StandIn:
    """A shipped scheme that stands for one of Pantheon's; `is_same` is False if it only comes nearest to one that nobody published."""

    scheme: str
    is_same: bool


def stand_ins() -> Mapping[str, tuple[StandIn, ...]]:
    """Return, for each name of a scheme of Pantheon, the shipped schemes that stand for it, by name."""
    found: dict[str, tuple[StandIn, ...]] = {}
    for path in _in_folder(SHIPPED):
        scheme = read_file(path)
        for names, is_same in ((scheme.pantheon, True), (scheme.nearest, False)):
            for name in names:
                found[name] = (*found.get(name, ()), StandIn(scheme.name, is_same))
    return found


def _in_folder(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        paths = sorted(Path(entry.path) for entry in entries if entry.is_file())
    yield from (path for path in paths if path.suffix == ".toml" or is_wrapper(path))
