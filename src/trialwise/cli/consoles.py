"""The consoles of results and of messages: apart, since the import of rich takes as long as all else that a short command does."""

from __future__ import annotations

import sys

from rich.console import Console


def result_console() -> Console:
    """The console for results; no colour where `NO_COLOR` is set or the output is no terminal."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def message_console() -> Console:
    """The console for progress and remarks; it falls silent when nobody reads it any more: an experiment goes on without its log."""
    return _Messages(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


class _Messages(Console):
    def on_broken_pipe(self) -> None:
        """Say nothing from now on."""
        self.quiet = True

    def _write_buffer(self) -> None:
        try:
            super()._write_buffer()
        except OSError:  # the terminal is gone, or the disk of the log is full
            self.quiet = True
