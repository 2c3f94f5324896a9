"""Which files a command consists of: the program that it starts, and the script that it hands to an interpreter."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_INTERPRETER = re.compile(
    r"(python|pypy|perl|ruby|node|deno|lua|Rscript|bash|dash|zsh|sh|java|php|julia|tclsh)[\d.]*"
)


def program_files(words: Sequence[str], directory: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """Name the files whose change makes this another program.

    Parameters
    ----------
    words
        The command, its placeholders filled.
    directory
        Where it runs.
    environment
        What it sets beside the caller's environment; `PATH` matters.
    """
    program = _resolved(words[0], directory, environment.get("PATH"))
    if program is None:
        return
    yield program
    if runs_script(words[0]):
        yield from _script(words[1:], directory)


def runs_script(program: str) -> bool:
    """Whether a program is an interpreter, whose first argument that is no option is what it runs."""
    return _INTERPRETER.fullmatch(Path(program).name) is not None


def _resolved(name: str, directory: Path, path: str | None) -> Path | None:
    if "/" in name:
        found = directory / name
        return found if _is_file(found) else None
    found = shutil.which(name, path=path or os.environ.get("PATH"))
    return None if found is None else Path(found)


def _script(words: Sequence[str], directory: Path) -> Iterator[Path]:
    """The first argument that is no option, where it is a file."""
    first = next((word for word in words if not word.startswith("-")), None)
    if first is not None and _is_file(directory / first):
        yield directory / first


def _is_file(path: Path) -> bool:
    """False also for a word that no file can be called, as the code behind `python3 -c` may be."""
    return os.path.isfile(path)  # noqa: PTH113 Path.is_file raises where a name is too long
