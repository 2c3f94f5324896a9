"""A message on standard error if something takes longer than two seconds."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from trialwise.experiment.quantity import duration_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

_PATIENCE = 2.0


class StatusLine:
    """Shows after two seconds what is being done: once in a log, as a changing line on a terminal.

    with Patience("searching for periods") as patience:
        patience.say("pilot 3 of 12")
    """

    def __init__(self, text: str, console: Console | None = None) -> None:
        self._given = console
        self._text = self._first = text
        self._status: Status | None = None
        self._timer = threading.Timer(_PATIENCE, self._show)
        self._timer.daemon = True
        self._said = 0.0
        self._course: tuple[str, float] = "", 0.0

    def __enter__(self) -> Self:
        """Start waiting."""
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the line."""
        self._timer.cancel()
        self._timer.join()
        if self._status is not None:
            self._status.stop()

    def say(self, text: str) -> None:
        """Show progress; at most every two seconds in a log."""
        self._change(text)
        now = time.monotonic()
        if self._said and not self._console.is_terminal and now - self._said >= _PATIENCE:
            self._show()

    def going(self, what: str, done: int, total: int) -> None:
        """Show how much is done, and the time left at the pace since the first call."""
        now = time.monotonic()
        if self._course[0] != what:
            self._course = what, now
        left = (now - self._course[1]) / done * (total - done) if done else 0.0
        self.say(f"{what}: {done:,} of {total:,}" + (f", {duration_text(left)} left" if left else ""))

    def drawing(self, done: int, total: int, left: float) -> None:
        """Show how many flow lists are drawn, of how many, and the time left for the others (seconds)."""
        if done < total:
            self.say(f"drawing flow lists: {done:,} of {total:,}, {duration_text(left)} left")
        else:
            self._change(self._first)

    def _change(self, text: str) -> None:
        self._text = text
        if self._status is not None:
            self._status.update(f"{text} …")

    @cached_property
    def _console(self) -> Console:
        """The console for messages, unless one was given; created on first use, because its import takes longer than most waits."""
        from trialwise.cli.output import stderr_console

        return self._given or stderr_console()

    def _show(self) -> None:
        console = self._console
        self._said = time.monotonic()
        if console.is_terminal:
            self._status = console.status(f"{self._text} …")
            self._status.start()
        else:
            console.print(f"{self._text} …", markup=False)


class DrawingWatch:
    """Shows the progress of drawing flow lists, from two seconds after its start to its end; nothing else prints meanwhile.

    with DrawingWatch(messages()) as watch:
        study.run(file, watch=watch)
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = ExitStack()
        self._patience: StatusLine | None = None

    def __enter__(self) -> Self:
        """Start before anything is drawn."""
        return self

    def __call__(self, done: int, total: int, left: float) -> None:
        """Record how many lists are drawn, of how many, and the time left for the others (seconds)."""
        if self._patience is None:
            self._patience = self._shown.enter_context(StatusLine("drawing flow lists", self._console))
        self._patience.drawing(done, total, left)
        if done == total:
            self._end()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the line."""
        self._end()

    def _end(self) -> None:
        self._shown.close()
        self._patience = None
