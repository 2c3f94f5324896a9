"""Output of commands: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, TextIO

from trialwise.visible import visible_json

if TYPE_CHECKING:
    from rich.console import Console


_PIECES = 10_000
"""Number of JSON pieces written at once; those of an analysis of 100,000 trials, all at once, take gigabytes."""


def stderr_console() -> Console:
    """Return the console for progress and remarks."""
    from trialwise.cli.console import message_console

    return message_console()


def print_json(document: Mapping[str, object], to: TextIO | None = None) -> None:
    """Print a document as JSON, by default to standard output; NaN and infinities must have been converted to null."""
    stream = sys.stdout if to is None else to
    pieces = json.JSONEncoder(indent=2, allow_nan=False, ensure_ascii=False).iterencode(document)
    while text := "".join(islice(pieces, _PIECES)):
        stream.write(visible_json(text))
    stream.write("\n")
