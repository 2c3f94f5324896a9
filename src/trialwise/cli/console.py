"""The console of messages, in a separate module because importing rich takes as long as a whole short command."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from trialwise.visible import visible_lines


def message_console() -> Console:
    """Return the console for progress and remarks; it goes silent if its reader has gone, because a run needs no log."""
    return _Messages(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


class _Messages(Console):
    """A console that passes its own styles to the terminal, but no control characters of its input."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render, with foreign control characters as escapes."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible_lines(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Stay silent from now on."""
        self.quiet = True

    def _write_buffer(self) -> None:
        try:
            super()._write_buffer()
        except OSError:  # the terminal is gone, or the disk of the log is full
            self.quiet = True
