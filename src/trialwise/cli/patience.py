"""A word on standard error when something takes longer than two seconds."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from rich.console import Console

_PATIENCE = 2.0


class Patience:
    """Says after two seconds what is being done: once in a log, as a line that changes on a terminal.

    with Patience(messages(), "searching for periods") as patience:
        patience.say("pilot 3 of 12")
    """

    def __init__(self, console: Console, text: str) -> None:
        self._console = console
        self._text = text
        self._status = console.status(f"{text} …")
        self._timer = threading.Timer(_PATIENCE, self._show)
        self._timer.daemon = True
        self._said = 0.0

    def __enter__(self) -> Self:
        """Begin to wait."""
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take the line away."""
        self._timer.cancel()
        self._timer.join()
        self._status.stop()

    def say(self, text: str) -> None:
        """Add how far it is; at most every two seconds in a log."""
        self._text = text
        self._status.update(f"{text} …")
        now = time.monotonic()
        if self._said and not self._console.is_terminal and now - self._said >= _PATIENCE:
            self._show()

    def _show(self) -> None:
        self._said = time.monotonic()
        if self._console.is_terminal:
            self._status.start()
        else:
            self._console.print(f"{self._text} …", markup=False)
