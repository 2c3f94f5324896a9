"""How commands write: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from rich.console import Console


def results() -> Console:
    """The console for results; no colour where `NO_COLOR` is set or the output is no terminal."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def messages() -> Console:
    """The console for progress and remarks."""
    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def print_json(document: Mapping[str, object]) -> None:
    """Print a document as JSON; NaN and infinities must have been turned into null before."""
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))
