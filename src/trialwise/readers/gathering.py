"""Reads all result files below some paths, and puts those together that one tool wrote."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trialwise.errors import AnalysisError
from trialwise.foreign_files import absent
from trialwise.readers.content import read_content
from trialwise.readers.records import Reading
from trialwise.readers.register import is_one_result, recognised, recognised_folder, recognised_table
from trialwise.readers.unknown import is_printed, unknown

MOST_FILES = 100_000
"""Files of a folder; of one with more, none is read."""
_PASSED = (".html", ".htm", ".svg", ".png", ".pdf", ".md", ".sh", ".py", ".toml")
_NO_RESULTS = ("machine.json", "benchmarks.json", "expected.json", "package.json")


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that was not read, why, and what to try."""

    path: str
    why: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Readings of one tool in one format, in the order of their paths."""

    tool: str
    format: str
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was found: groups in the order of their first file, files that no reader knows, and copies by the path of the first."""

    groups: tuple[Group, ...]
    unread: tuple[Unread, ...]
    copies: tuple[tuple[str, str], ...]


def gather(paths: Sequence[Path], told: Callable[[int], None] | None = None) -> Gathered:
    """Read files, and the files of folders below them; `told` is called with the number of files read so far.

    No link inside a folder is followed; hidden files, pages, pictures and programs are passed over. A file that is there twice counts
    once.

    Raises
    ------
    AnalysisError
        A path does not exist, or a folder holds more than `MOST_FILES` files.
    """
    readings: dict[tuple[str, str], list[Reading]] = {}
    unread: list[Unread] = []
    copies: list[tuple[str, str]] = []
    seen: dict[str, str] = {}
    for number, (path, within) in enumerate(_files(paths), 1):
        try:
            with _uncollected():
                found = _reading(path, within)
        except AnalysisError as error:
            unread.append(Unread(str(path), error.message.removeprefix(f"{path}: "), error.hint))
        else:
            if (first := seen.setdefault(found.digest, found.path)) != found.path:
                copies.append((found.path, first))
            else:
                readings.setdefault((found.tool, found.format), []).append(found)
        if told is not None:
            told(number)
    groups = tuple(Group(tool, name, tuple(found)) for (tool, name), found in readings.items())
    return Gathered(groups, tuple(unread), tuple(copies))


@contextmanager
def _uncollected() -> Generator[None]:
    """Let no garbage be searched for meanwhile: among the millions of parts of a large document that takes a third of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _reading(path: Path, within: Path | None) -> Reading:
    if path.is_dir():
        found = recognised_folder(path)
        if found is None:
            raise AnalysisError(f"{path}: no format that is known")
        return found[0].reading(found[1])
    content = read_content(path, within=within)
    reader = recognised(content)
    if reader is None and not is_printed(content):
        reader = recognised_table(content)
    if reader is None:
        raise unknown(content)
    return reader.reading(content)


def _files(paths: Sequence[Path]) -> Iterator[tuple[Path, Path | None]]:
    """Yield the files to read, and the folder in which they lie, if one was named."""
    for path in paths:
        if path.is_dir():
            yield from ((file, path) for file in _below(path))
        elif path.exists():
            yield path, None
        else:
            raise absent(path, "name a file or a folder of results")


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        if is_one_result(Path(place)):
            found.append(Path(place))
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += (
            Path(place, name)
            for name in sorted(names)
            if not (name.startswith(".") or name in _NO_RESULTS or name.endswith(_PASSED))
        )
        if len(found) > MOST_FILES:
            raise AnalysisError(
                f"{folder}: holds more than {MOST_FILES} files", hint="name a folder inside it"
            )
    return [path for path in found if not path.is_symlink()]
