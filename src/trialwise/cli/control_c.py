"""Ctrl-C for commands that compute: KeyboardInterrupt, again if compiled code could not pass it on."""

from __future__ import annotations

import _thread
import signal
import sys
import time
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_AGAIN = 0.01
"""Seconds after which a lost interrupt is raised again."""


class ControlC:
    """Raises KeyboardInterrupt at Ctrl-C; a function that cannot raise, in C or in Cython, does not make it vanish.

    Such a function, or a finalizer, gives its exception to `sys.unraisablehook`, and the command would go on with what the function
    left half done: SciPy's tables of Sobol numbers are made by one. The interrupt is then raised again, once the function is over.
    """

    def __init__(self) -> None:
        self.is_pressed = False
        self._is_in_hook = False
        self._before = sys.unraisablehook

    def watch(self) -> None:
        """Take SIGINT over from the interpreter, unless somebody else has it or it is ignored."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._press)
            sys.unraisablehook = self._keep
            sys.excepthook = _shown_unless_pressed  # Cython's own print; `main` catches everything else

    def _press(self, number: int, frame: FrameType | None) -> None:
        self.is_pressed = True
        if self._is_in_hook:  # where it would be lost again
            _thread.start_new_thread(_press_again, ())
        else:
            signal.default_int_handler(number, frame)

    def _keep(self, lost: UnraisableHookArgs, /) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            self._before(lost)
            return
        self._is_in_hook = True
        _thread.start_new_thread(_press_again, ())
        self._is_in_hook = False


def _shown_unless_pressed(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


def _press_again() -> None:
    time.sleep(_AGAIN)
    _thread.interrupt_main(signal.SIGINT)
