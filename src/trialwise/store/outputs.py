"""What programs of finished trials have printed: kept beside the ledger, compressed and within bounds."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trialwise.errors import StoreError
from trialwise.foreign_files import open_foreign

Output = Literal["stdout", "stderr"]

FOLDER = "outputs"
LARGEST = 1 << 20
"""Bytes of each output that are kept whole; of a longer one half of that from its beginning, and from its end."""

MAX_FILES = 64 << 20
"""Bytes that are read of an archive of files; what is packed into one stays well below."""


@dataclass(frozen=True, slots=True)
class KeptOutput:
    """What was kept of an output, and whether something is missing in its middle."""

    data: bytes
    cut: bool


def output_files(number: int, attempt: int, stdout: bytes, stderr: bytes) -> Iterator[tuple[str, bytes]]:
    """Give the files that keep the outputs of a trial: names in the experiment directory, and contents.

    Standard output has one even where nothing was printed; standard error only where something was.
    """
    outputs: tuple[tuple[Output, bytes], ...] = (("stdout", stdout), ("stderr", stderr))
    for what, data in outputs:
        if data or what == "stdout":
            cut = len(data) > LARGEST
            kept = shortened(data, LARGEST // 2)
            yield _name(number, attempt, what, cut=cut), gzip.compress(kept, compresslevel=1, mtime=0)


def read_output(folder: Path, number: int, attempt: int, what: Output) -> KeptOutput | None:
    """Read what was kept of an output of a trial in an experiment directory; None where nothing was, or it cannot be read."""
    for cut in (False, True):
        data = _unpacked(folder, _name(number, attempt, what, cut=cut), 2 * LARGEST)
        if data is not None:
            return KeptOutput(data, cut)
    return None


def files_file(number: int, attempt: int, archive: bytes) -> tuple[str, bytes]:
    """Give the file that keeps what a trial wrote to files: name in the experiment directory, and content."""
    return _files_name(number, attempt), gzip.compress(archive, compresslevel=1, mtime=0)


def read_files(folder: Path, number: int, attempt: int) -> bytes | None:
    """Read the archive (tar) of the files that were kept of a trial; None where there is none, or it cannot be read."""
    return _unpacked(folder, _files_name(number, attempt), MAX_FILES)


def shortened(text: bytes, part: int) -> bytes:
    """Keep `part` bytes of the beginning and as many of the end of what is longer than both, and say so between them."""
    left_out = len(text) - 2 * part
    if left_out <= 0:
        return text
    return text[:part] + f"\n… {left_out} bytes left out …\n".encode() + text[-part:]


def _unpacked(folder: Path, name: str, most: int) -> bytes | None:
    """Read at most so many bytes of a compressed file of an experiment directory; no link is followed."""
    try:
        with (
            open_foreign(folder / name, within=folder, error=StoreError) as file,
            gzip.GzipFile(fileobj=file) as unpacked,
        ):
            return unpacked.read(most)
    except (StoreError, OSError, EOFError, zlib.error):
        return None


def _files_name(number: int, attempt: int) -> str:
    return f"{FOLDER}/{number:06d}-{attempt}.files.tar.gz"


def _name(number: int, attempt: int, what: Output, *, cut: bool) -> str:
    return f"{FOLDER}/{number:06d}-{attempt}.{what}{'.cut' if cut else ''}.gz"
