"""Finding schemes: in folders of the user, and among those that come with Trialwise."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from trialwise.errors import PlanError
from trialwise.experiment.problems import nearest
from trialwise.schemes.pantheon import is_wrapper, read_wrapper
from trialwise.schemes.reading import read_scheme
from trialwise.schemes.scheme import Scheme

SHIPPED = Path(__file__).with_name("library")
"""Where the schemes that come with Trialwise stand."""


def scheme_files(folders: Iterable[Path] = ()) -> Mapping[str, Path]:
    """The file of each scheme by name; the folders of the user come before what is shipped.

    Raises
    ------
    PlanError
        A folder is not there, or one name stands twice in the user's folders.
    """
    files: dict[str, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise PlanError(f"schemes.folders: {folder} is not a directory")
        for path in _in_folder(folder):
            if path.stem in files:
                raise PlanError(
                    f"scheme {path.stem!r} stands twice: {files[path.stem]} and {path}", hint="rename one"
                )
            files[path.stem] = path
    return {path.stem: path for path in _in_folder(SHIPPED)} | files


def scheme_named(name: str, folders: Iterable[Path] = ()) -> Scheme:
    """The scheme called `name`.

    Raises
    ------
    PlanError
        There is none; the message tells the nearest, and where one is looked for.
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


def _in_folder(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        paths = sorted(Path(entry.path) for entry in entries if entry.is_file())
    yield from (path for path in paths if path.suffix == ".toml" or is_wrapper(path))
