"""The content of a table's file or pipe, within bounds, and what to say where there is none."""

from __future__ import annotations

import re
from pathlib import Path

from trialwise.errors import AnalysisError
from trialwise.foreign_files import MEBIBYTE, read_foreign, unpacked_gzip

MOST_BYTES = 1024 * MEBIBYTE
"""Bytes of a file or pipe that is read whole."""
MOST_UNPACKED = 300 * MEBIBYTE
"""Bytes of what gzip packed."""

_GZIP = b"\x1f\x8b"
_URL = re.compile(r"^[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


def content_of(path: Path) -> bytes:
    """Read a regular file or a pipe, and unpack what gzip packed.

    Raises
    ------
    AnalysisError
        There is no such file, it is a URL, a folder or a device, it cannot be read, or it is larger than the bounds.
    """
    if is_url(path) and not path.exists():
        raise absent(path, "")
    content = read_foreign(path, MOST_BYTES, pipe=True)
    return unpacked_gzip(path, content, MOST_UNPACKED) if content.startswith(_GZIP) else content


def absent(path: Path, hint: str) -> AnalysisError:
    """What to say where there is no such file or folder; of a URL, that it is one."""
    if is_url(path):
        address = str(path).replace(":/", "://", 1)
        return AnalysisError(f"{address}: URLs are not read", hint="fetch the file first, and name the file")
    return AnalysisError(f"{path}: no such file or directory", hint=hint)


def is_url(path: Path) -> bool:
    """Whether a path was written as a URL (a path has lost one of its slashes)."""
    return _URL.match(str(path)) is not None
