"""What trials leave behind: what they printed and wrote, kept beside the ledger, compressed and within bounds."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trialwise.errors import StoreError
from trialwise.experiment.keeping import HIGHEST_KEEP_LIMIT
from trialwise.foreign_files import open_foreign

Output = Literal["stdout", "stderr"]

FOLDER = "outputs"
LARGEST = 1 << 20
"""Maximum bytes of an output that are kept whole; of a longer one, half of that from each end."""

MAX_FILES = HIGHEST_KEEP_LIMIT + (64 << 20)
"""Maximum bytes read of an archive of files: the highest limit of what is kept, and room for names."""


@dataclass(frozen=True, slots=True)
class KeptOutput:
    """The kept part of an output, and whether its middle is missing."""

    data: bytes
    cut: bool


def output_files(number: int, attempt: int, stdout: bytes, stderr: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files that keep a trial's output: names in the experiment directory, and contents.

    Standard output always has a file, even if empty; standard error only if something was printed.
    """
    outputs: tuple[tuple[Output, bytes], ...] = (("stdout", stdout), ("stderr", stderr))
    for what, data in outputs:
        if data or what == "stdout":
            cut = len(data) > LARGEST
            kept = shortened(data, LARGEST // 2)
            yield output_name(number, attempt, what, cut=cut), gzip.compress(kept, compresslevel=1, mtime=0)


def read_output(folder: Path, number: int, attempt: int, what: Output) -> KeptOutput | None:
    """Read the kept output of a trial in an experiment directory; None if there is none or it cannot be read."""
    for cut in (False, True):
        data = _unpacked(folder, output_name(number, attempt, what, cut=cut), 2 * LARGEST)
        if data is not None:
            return KeptOutput(data, cut)
    return None


def log_name(number: int, attempt: int) -> str:
    """Return the file, in the experiment directory, that says why an attempt did not finish, with the ends of what it printed."""
    return f"logs/{number:06d}-{attempt}.txt"


def files_file(number: int, attempt: int, archive: bytes) -> tuple[str, bytes]:
    """Return the file that keeps what a trial wrote to files: name in the experiment directory, and content."""
    return files_name(number, attempt), gzip.compress(archive, compresslevel=1, mtime=0)


def read_files(folder: Path, number: int, attempt: int) -> bytes | None:
    """Read the tar archive of a trial's kept files; None if there is none or it cannot be read."""
    return _unpacked(folder, files_name(number, attempt), MAX_FILES)


def shortened(text: bytes, part: int) -> bytes:
    """Keep `part` bytes of each end of a text longer than both together, with a note between them."""
    left_out = len(text) - 2 * part
    if left_out <= 0:
        return text
    return text[:part] + f"\n… {left_out} bytes left out …\n".encode() + text[-part:]


def _unpacked(folder: Path, name: str, most: int) -> bytes | None:
    """Read at most `most` bytes of a compressed file of an experiment directory, following no links."""
    try:
        with (
            open_foreign(folder / name, within=folder, error=StoreError) as file,
            gzip.GzipFile(fileobj=file) as unpacked,
        ):
            return unpacked.read(most)
    except (StoreError, OSError, EOFError, zlib.error):
        return None


def files_name(number: int, attempt: int) -> str:
    """Return the file, in the experiment directory, that keeps what an attempt wrote to files."""
    return f"{FOLDER}/{number:06d}-{attempt}.files.tar.gz"


def output_name(number: int, attempt: int, what: Output, *, cut: bool) -> str:
    """Return the file, in the experiment directory, that keeps what an attempt printed; `cut` if its middle is missing."""
    return f"{FOLDER}/{number:06d}-{attempt}.{what}{'.cut' if cut else ''}.gz"
