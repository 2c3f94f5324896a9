"""Temporary folders that disappear with their creator, even if it is killed."""

from __future__ import annotations

import os
import subprocess
import tempfile
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_SWEEP = 'read -r _; for _ in 1 2 3 4 5; do rm -rf -- "$1" 2>/dev/null && break; sleep 0.2; done'
"""The read returns when nobody can write any more; the dead process's programs may still write for an instant to what is removed."""


@contextmanager
def vanishing_folder(prefix: str) -> Generator[Path]:
    """Create a folder for as long as the context lasts; it is removed after that, and after the death of this process.

    Raises
    ------
    OSError
        It cannot be created.
    """
    folder = Path(tempfile.gettempdir(), f"{prefix}{uuid.uuid4().hex[:12]}")
    reading, writing = os.pipe()
    try:
        # Started before the folder exists, so that it is never unguarded; in its own session, out of reach of Ctrl-C.
        words = ["/bin/sh", "-c", _SWEEP, "sh", str(folder)]
        with subprocess.Popen(words, stdin=reading, cwd="/", start_new_session=True):
            try:
                folder.mkdir(mode=0o700)
                yield folder
            finally:
                os.close(writing)
    finally:
        os.close(reading)
