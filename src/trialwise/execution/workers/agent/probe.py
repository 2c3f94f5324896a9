"""Inspect this machine: clocks, files, programs."""

from __future__ import annotations

import os
import time
from itertools import islice
from pathlib import Path

from trialwise.measurement.details.collecting import details
from trialwise.measurement.file_identity import described, signature
from trialwise.measurement.inherited import key_here, limits, passed_on, quick_limits, variables
from trialwise.measurement.programs import files_beside, program_files
from trialwise.measurement.tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Json = dict[str, Any]


def boot_id() -> str:
    """Return the kernel's id of this boot."""
    return text_of("/proc/sys/kernel/random/boot_id") or "unknown"


def clocks() -> Json:
    """Return the clocks, in seconds: time of day, since boot without sleep, since boot with it."""
    boottime = time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", 7))
    return {"realtime": time.time(), "monotonic": time.monotonic(), "boottime": boottime, "boot": boot_id()}


def text_of(path: str) -> str | None:
    """Return the text of a small file; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20).decode(errors="replace").strip()
    except OSError:
        return None


def lines_of(path: str) -> list[str]:
    """Return the lines of a file of any length; none if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace").splitlines()
    except OSError:
        return []


def facts(patterns: Sequence[str], own: Sequence[str], passed: Sequence[str], folder: str) -> Json:
    """Return the texts of files of /proc, /sys and /etc, Python's facts about the machine, and what trials inherit except `own`.

    `passed` are the names of variables that trials get besides those that they always get, `folder` is where they run.
    """
    import glob
    import platform
    import socket

    paths: list[str] = [path for pattern in patterns for path in glob.glob("/" + pattern)]
    given = passed_on(os.environ, passed)
    texts = {path[1:]: text_of(path) for path in paths if os.path.isfile(path)}
    return {
        "files": {path: text for path, text in texts.items() if text is not None},
        "python": platform.python_version(),
        "architecture": platform.machine(),
        "host": socket.gethostname(),
        "limits": limits(),
        "variables": variables(given, own, key_here()),
        "details": details(Tree(Path("/")), folder, given),
    }


def stats(paths: Sequence[str]) -> list[Any]:
    """Return signatures of files, and limits that may be changed from outside."""
    return [[[path, signature(path)] for path in paths], quick_limits()]


def resolve(query: Json) -> Json:
    """Find a program as it would be started, and the files that its words name; for a folder without words, the files in it."""
    words: list[str] = query["words"]
    directory: str = query["directory"]
    if not os.path.isdir(directory):
        return {"problem": "no directory", "files": []}
    if not words:
        inside = islice(Path(directory).rglob("*"), query["most"])
        return {"problem": None, "files": [[os.fspath(path), "input"] for path in inside if path.is_file()]}
    path = which(words[0], directory, query.get("path"))
    if path is None:
        return {"problem": "no program", "files": []}
    if not os.access(path, os.X_OK):
        return {"problem": "not executable", "files": []}
    name_files = program_files if query.get("key") == "command" else files_beside
    named = name_files(words, Path(directory), query.get("variables") or {})
    return {"problem": None, "files": [[os.fspath(file.path), file.role] for file in named]}


def which(program: str, directory: str, path: str | None) -> str | None:
    """Return the file that a command's first word names."""
    if "/" in program:
        found = os.path.join(directory, program)
        return found if os.path.isfile(found) else None
    folders = (path if path is not None else os.environ.get("PATH", os.defpath)).split(os.pathsep)
    found = (os.path.join(directory, folder, program) for folder in folders)
    return next((each for each in found if os.path.isfile(each) and os.access(each, os.X_OK)), None)


def descriptions(paths: Sequence[str]) -> Json:
    """Return the real path, SHA-256 and size of each file that exists."""
    found = ((path, described(path)) for path in paths)
    return {path: each for path, each in found if each is not None}
