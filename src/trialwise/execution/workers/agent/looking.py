"""What is the case on this machine: clocks, files, programs."""

from __future__ import annotations

import contextlib
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Json = dict[str, Any]


def boot_id() -> str:
    """The kernel's name for this boot."""
    return text_of("/proc/sys/kernel/random/boot_id") or "unknown"


def clocks() -> Json:
    """The clocks, in seconds: of the day, since boot without sleep, since boot with it."""
    boottime = time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", 7))
    return {"realtime": time.time(), "monotonic": time.monotonic(), "boottime": boottime, "boot": boot_id()}


def text_of(path: str) -> str | None:
    """The text of a small file; None where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20).decode(errors="replace").strip()
    except OSError:
        return None


def lines_of(path: str) -> list[str]:
    """The lines of a file of any length; none where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace").splitlines()
    except OSError:
        return []


def facts(patterns: Sequence[str]) -> Json:
    """The texts of files of /proc, /sys and /etc, and what Python knows of the machine."""
    import glob
    import platform
    import socket

    paths: list[str] = [path for pattern in patterns for path in glob.glob("/" + pattern)]
    texts = {path[1:]: text_of(path) for path in paths if os.path.isfile(path)}
    return {
        "files": {path: text for path, text in texts.items() if text is not None},
        "python": platform.python_version(),
        "architecture": platform.machine(),
        "host": socket.gethostname(),
    }


def stats(paths: Sequence[str]) -> list[list[Any]]:
    """Size, time of change and inode of each file that is there."""
    found: list[list[Any]] = []
    for path in paths:
        with contextlib.suppress(OSError):
            status = os.stat(path)
            found.append([path, status.st_size, status.st_mtime_ns, status.st_ino])
    return found


def resolve(query: Json) -> Json:
    """Find a program as it would be started; "script" asks for the file that it is handed, too."""
    words: list[str] = query["words"]
    directory: str = query["directory"]
    if not os.path.isdir(directory):
        return {"problem": "no directory", "files": []}
    path = which(words[0], directory, query.get("path"))
    if path is None:
        return {"problem": "no program", "files": []}
    if not os.access(path, os.X_OK):
        return {"problem": "not executable", "files": []}
    files = [path]
    if query.get("script"):
        first: list[str] = [word for word in words[1:] if not word.startswith("-")][:1]
        files += [each for each in (os.path.join(directory, word) for word in first) if os.path.isfile(each)]
    return {"problem": None, "files": [described(each) for each in files]}


def which(program: str, directory: str, path: str | None) -> str | None:
    """The file that a command's first word names."""
    if "/" in program:
        found = os.path.join(directory, program)
        return found if os.path.isfile(found) else None
    folders = (path if path is not None else os.environ.get("PATH", os.defpath)).split(os.pathsep)
    found = (os.path.join(directory, folder, program) for folder in folders)
    return next((each for each in found if os.path.isfile(each) and os.access(each, os.X_OK)), None)


def described(path: str) -> Json:
    """A file with its SHA-256."""
    real = os.path.realpath(path)
    status = os.stat(real)
    return {"path": real, "sha256": digest_of(real), "size": status.st_size, "modified": status.st_mtime}


def digest_of(path: str) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    import hashlib

    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()
