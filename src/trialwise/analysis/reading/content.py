"""The content of a table's file or pipe, within bounds."""

from __future__ import annotations

from pathlib import Path

from trialwise.foreign_files import MEBIBYTE, read_foreign, unpacked_gzip

MAX_BYTES = 1024 * MEBIBYTE
"""Bytes of a file or pipe that is read whole."""
MAX_UNPACKED = 300 * MEBIBYTE
"""Bytes of what gzip packed."""

_GZIP = b"\x1f\x8b"


def content_of(path: Path) -> bytes:
    """Read a regular file or a pipe, and unpack what gzip packed.

    Raises
    ------
    AnalysisError
        There is no such file, it is a URL, a folder or a device, it cannot be read, or it is larger than the bounds.
    """
    content = read_foreign(path, MAX_BYTES, pipe=True)
    return unpacked_gzip(path, content, MAX_UNPACKED) if content.startswith(_GZIP) else content
