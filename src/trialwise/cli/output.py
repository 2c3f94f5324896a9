"""How commands write: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TextIO

from rich.console import Console


def results() -> Console:
    """The console for results; no colour where `NO_COLOR` is set or the output is no terminal."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


class _Messages(Console):
    """A console that falls silent when nobody reads it any more: an experiment goes on without its log."""

    def on_broken_pipe(self) -> None:
        """Say nothing from now on."""
        self.quiet = True

    def _write_buffer(self) -> None:
        try:
            super()._write_buffer()
        except OSError:  # the terminal is gone, or the disk of the log is full
            self.quiet = True


def messages() -> Console:
    """The console for progress and remarks."""
    return _Messages(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def print_json(document: Mapping[str, object], to: TextIO | None = None) -> None:
    """Print a document as JSON, to standard output unless told; NaN and infinities must have been turned into null before."""
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False), file=to)
