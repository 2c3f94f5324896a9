"""The content of a table's file or pipe, within size limits."""

from __future__ import annotations

from pathlib import Path

from trialwise.foreign_files import MEBIBYTE, read_foreign
from trialwise.readers.packed import unpacked

MAX_BYTES = 1024 * MEBIBYTE
"""Maximum size in bytes of a file or pipe."""
MAX_UNPACKED = 300 * MEBIBYTE
"""Maximum size in bytes after it was unpacked."""


def content_of(path: Path) -> bytes:
    """Read a regular file or a pipe, and unpack it.

    Raises
    ------
    AnalysisError
        The file does not exist, is a URL, a folder or a device, cannot be read, or exceeds the limits.
    """
    return unpacked(path, read_foreign(path, MAX_BYTES, pipe=True), MAX_UNPACKED)
