"""Files that commands read and write: `-` for standard input and output, and nothing overwritten unless requested."""

from __future__ import annotations

import sys
from pathlib import Path

from trialwise.errors import AnalysisError, TrialwiseError
from trialwise.extras import require
from trialwise.foreign_files import MEBIBYTE, read_foreign, too_large
from trialwise.whole_files import whole_file

STANDARD = Path("-")
PRINTED = (".svg", ".pdf", ".png")
"""Endings of figures for print."""
MAX_TEXT = 640 * MEBIBYTE
"""Maximum size in bytes, such as of a trace."""


def check_printed(place: Path) -> None:
    """Refuse a figure or a folder of figures for print where what draws them is not installed, before anything is computed.

    Raises
    ------
    PlanError
        A package of the extra `print` is not there.
    """
    require("print", f"{place}: figures for print are drawn by vl-convert and typst")


def check_out(path: Path, *, force: bool, hint: str = "choose another place, or add --force") -> None:
    """Refuse a path that exists or has no folder, before anything is computed; `hint` says what to do with one that exists.

    Raises
    ------
    TrialwiseError
        The path exists and `force` was not given, its folder does not exist, or it is a figure that nothing can draw here.
    """
    if path == STANDARD:
        return
    if path.suffix.lower() in PRINTED:
        check_printed(path)
    if path.is_dir():
        raise TrialwiseError(f"{path}: this is a folder", hint="name a file in it")
    if path.exists() and not force:
        raise TrialwiseError(f"{path}: there is such a file", hint=hint)
    if not path.parent.is_dir():
        raise TrialwiseError(
            f"{path}: there is no folder {path.parent}", hint="make it, or choose another place"
        )


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically.

    Raises
    ------
    StoreError
        The file cannot be written; previous content is kept.
    """
    with whole_file(path) as aside:
        aside.write_text(text, encoding="utf-8")


def read_text(path: Path) -> tuple[str, str]:
    """Return the text of a file, or of standard input for `-`, and its display name.

    Raises
    ------
    TrialwiseError
        It cannot be read; AnalysisError if it is not text.
    """
    name = "standard input" if path == STANDARD else str(path)
    try:
        if path == STANDARD:
            content = sys.stdin.buffer.read(MAX_TEXT + 1)
            if len(content) > MAX_TEXT:
                raise too_large(Path(name), MAX_TEXT, TrialwiseError)
        else:
            content = read_foreign(path, MAX_TEXT, pipe=True, error=TrialwiseError)
        return content.decode("utf-8"), name
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise AnalysisError(f"{name}: line {line} is not text") from error
