"""How commands write: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def results() -> Console:
    """The console for results."""
    from trialwise.cli.consoles import result_console

    return result_console()


def messages() -> Console:
    """The console for progress and remarks."""
    from trialwise.cli.consoles import message_console

    return message_console()


def print_json(document: Mapping[str, object], to: TextIO | None = None) -> None:
    """Print a document as JSON, to standard output unless told; NaN and infinities must have been turned into null before."""
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False), file=to)
