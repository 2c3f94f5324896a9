"""Run any command inside an emulated path, with this machine's servers at the other end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import FrameType

from trialwise import _linux
from trialwise.errors import TrialError

TRACE_USED_UP = 77
"""Exit code when a trace that is not repeated has ended, as for mm-link."""
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)


def run_inside(path: _linux.OuterPath, words: Sequence[str], seconds: float | None = None) -> int:
    """Run a command with this process's terminal and files; return its exit code, or 128 + the signal that ended it.

    Parameters
    ----------
    path
        The path.
    words
        The command and its arguments.
    seconds
        Time after which it is ended, with `TRACE_USED_UP` as exit code; None for never.

    Raises
    ------
    TrialError
        It cannot be started.
    """
    environment = {**os.environ, **path.environment}
    with _left_to_the_command():
        try:
            process = subprocess.Popen([*path.prefix(), *map(os.fsencode, words)], env=environment)
        except OSError as error:
            raise TrialError(f"{words[0]!r} cannot be started: {error.strerror}") from error
        with _passed_on(process):
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait()
                return TRACE_USED_UP
    return 128 - code if code < 0 else code


@contextmanager
def _left_to_the_command() -> Generator[None]:
    """Leave Ctrl-C to the command, which gets the signal too."""

    def nothing(_number: int, _frame: FrameType | None) -> None:
        """Used instead of SIG_IGN, which the command would inherit."""

    before = {number: signal.signal(number, nothing) for number in _FROM_TERMINAL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _passed_on(process: subprocess.Popen[bytes]) -> Generator[None]:
    before = {
        number: signal.signal(number, lambda number, _: process.send_signal(number)) for number in _PASSED_ON
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
