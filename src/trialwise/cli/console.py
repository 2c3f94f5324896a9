"""The consoles of results and of messages: apart, since the import of rich takes as long as all else that a short command does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from trialwise.cli.defaults import BROKEN_PIPE
from trialwise.visible import visible_lines


def result_console() -> Console:
    """The console for results; no colour where `NO_COLOR` is set or the output is no terminal."""
    return _Harmless(highlight=False, soft_wrap=not sys.stdout.isatty())


def message_console() -> Console:
    """The console for progress and remarks; it falls silent when nobody reads it any more: an experiment goes on without its log."""
    return _Messages(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


class _Harmless(Console):
    """A console whose own styles reach the terminal, and no control character of what it is given."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render, with foreign characters that a terminal would act on as escapes."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible_lines(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """End as programs do whose reader has gone (`trialwise … | head`): a 1 would say that there is a difference."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(BROKEN_PIPE)


class _Messages(_Harmless):
    def on_broken_pipe(self) -> None:
        """Say nothing from now on."""
        self.quiet = True

    def _write_buffer(self) -> None:
        try:
            super()._write_buffer()
        except OSError:  # the terminal is gone, or the disk of the log is full
            self.quiet = True
