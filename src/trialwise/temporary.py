"""Temporary folders that disappear with their creator, even if it is killed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_SHELL = "/bin/sh"
_SWEEP = """read -r _
[ -e "$2/$3" ] && set -- "$1" "$2" || set -- "$1"
for _ in 1 2 3 4 5; do rm -rf -- "$@" 2>/dev/null && break; sleep 0.2; done"""
"""The read returns at the end of the context, or when nobody can write any more; a dead process's programs may still write for an
instant to what is removed.

Arguments: the folder, the one that it may have become, and a file by which that is known to be it.
"""


@contextmanager
def vanishing_folder(
    prefix: str, preferred: str | None = None, within: Path | None = None
) -> Generator[Path]:
    """Create a folder for as long as the context lasts; it is removed after that, and after the death of this process.

    Its name begins with the prefix. What follows is `preferred` unless there is such a file, else what no other folder has. It is
    made in the folder `within`, by default that of the system for temporary files. A system without a shell of POSIX removes none
    after the death of this process.

    Raises
    ------
    OSError
        It cannot be created.
    """
    place = Path(tempfile.gettempdir()) if within is None else within.absolute()
    if not Path(_SHELL).exists():
        with tempfile.TemporaryDirectory(prefix=prefix, dir=place) as plain:
            yield Path(plain)
        return
    token = uuid.uuid4().hex[:12]
    folder, wanted = (place / (prefix + name) for name in (token, preferred or token))
    mark = f".{token}"
    reading, writing = os.pipe()
    try:
        # Started before the folder exists, so that it is never unguarded; in its own session, out of reach of Ctrl-C.
        words = [_SHELL, "-c", _SWEEP, "sh", str(folder), str(wanted), mark]
        with subprocess.Popen(words, stdin=reading, cwd="/", env=_environment(), start_new_session=True):
            try:
                folder.mkdir(mode=0o700)
                yield folder if preferred is None else _renamed(folder, wanted, mark)
            finally:
                # Said, not closed alone: a process that was forked meanwhile may hold the pipe open.
                with contextlib.suppress(OSError):
                    os.write(writing, b"\n")
                os.close(writing)
    finally:
        os.close(reading)


def _environment() -> dict[str, str]:
    """Return an environment in which rm(1) is found, also where this process is told to look for programs elsewhere only."""
    return {"PATH": os.pathsep.join(filter(None, [os.environ.get("PATH"), os.defpath]))}


def _renamed(folder: Path, wanted: Path, mark: str) -> Path:
    """Return where the folder is now: it takes the place of nothing that is not empty (rename(2)), and with the mark none is."""
    (folder / mark).touch()
    with contextlib.suppress(OSError):
        return folder.rename(wanted)
    return folder
