"""Reading of small text files written by people."""

from __future__ import annotations

import codecs
import hashlib
import stat
from pathlib import Path

from trialwise.errors import PlanError
from trialwise.foreign_files import absent, is_url, read_foreign

MAX_FILE = 4 * 1024 * 1024
_UTF_16_OR_32 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def read_text(path: Path, *, within: Path | None = None) -> str:
    """Read a small UTF-8 text file, with or without a byte order mark.

    Parameters
    ----------
    path
        The file.
    within
        A folder with foreign content, for `open_foreign`.

    Raises
    ------
    PlanError
        The file cannot be read, is larger than `MAX_FILE`, or is not text.
    """
    content = _content(path, within)
    if content.startswith(_UTF_16_OR_32):
        raise PlanError(f"{path}: this is UTF-16 or UTF-32", hint="save it as UTF-8")
    if b"\0" in content:
        raise PlanError(f"{path}: byte {content.index(0)} is NUL; this is not a text file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PlanError(
            f"{path}:{line}: byte {error.start} is not UTF-8", hint="save it as UTF-8, if it is a text file"
        ) from error


def frozen_name(draw: str) -> str:
    """Return the path of the copy of `draw` inside an experiment directory: its own name, unless that leads out of the folder."""
    path = Path(draw)
    if path.is_absolute() or ".." in path.parts:
        return f"drawn/{hashlib.sha256(draw.encode()).hexdigest()[:12]}-{path.name}"
    return draw


def frozen_or_named(folder: Path, name: str) -> Path:
    """Return the frozen copy of a file if the folder of an experiment holds one, else the file that is named."""
    frozen = folder / frozen_name(name)
    return frozen if frozen.is_file() else folder / name


def _content(path: Path, within: Path | None) -> bytes:
    try:
        found = path.stat()
    except FileNotFoundError as error:
        if is_url(path):
            raise absent(path, error=PlanError) from error
        raise PlanError(
            f"{path}: there is no such file", hint="`trialwise new` writes an experiment file to start from"
        ) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise PlanError(f"{path}: cannot be read: {reason}") from error
    if stat.S_ISDIR(found.st_mode):
        raise PlanError(f"{path}: this is a directory", hint="name a file, such as experiment.toml")
    if stat.S_ISREG(found.st_mode) and found.st_size > MAX_FILE:
        raise PlanError(f"{path}: larger than {MAX_FILE} bytes; this is not an experiment file")
    # Pipes are accepted only from the command line, as `<(…)`; one in a folder would wait for a writer for ever.
    pipe = path.parts[1:2] in (("dev",), ("proc",))
    return read_foreign(path, MAX_FILE, within=within, pipe=pipe, error=PlanError)
