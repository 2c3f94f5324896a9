"""Run a command as if it had been started alone, except that its output passes through here."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from trialwise.errors import PlanError

CHUNK = 1 << 16
"""Bytes per read."""
_FORWARDED = {
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
}
_FROM_KERNEL = 0x80
"""``si_code`` of signals from a terminal, which go to the whole process group."""


class Child:
    """A running command. From now on it receives the signals sent to this process; create it before any other thread.

    Parameters
    ----------
    command
        The program and its arguments.
    terminal
        Give it a terminal of its own as standard output; most programs then print line by line.
    captured
        Read its standard output here; otherwise it shares ours.

    Raises
    ------
    PlanError
        It cannot be started.
    """

    def __init__(self, command: Sequence[str], *, terminal: bool = False, captured: bool = True) -> None:
        check_command(command)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
        actions: list[tuple[int, int, int]] = []
        self._output, theirs = (None, None) if not captured else _terminal() if terminal else os.pipe()
        if theirs is not None:
            actions.append((os.POSIX_SPAWN_DUP2, theirs, 1))
        try:
            # Python ignores these two; no other program does.
            self.pid = os.posix_spawnp(
                command[0], list(command), os.environ, file_actions=actions, setsigmask=before,
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
            )  # fmt: skip
        except OSError as error:
            raise PlanError(f"{command[0]} cannot be started: {error.strerror}") from error
        finally:
            if theirs is not None:
                os.close(theirs)
        self._stop, self._stopper = os.pipe()
        threading.Thread(target=self._forward, daemon=True, name="signals").start()

    def chunks(self, patience: Callable[[], float | None]) -> Iterator[bytes]:
        """Yield its output as it arrives, until every writer has closed it; yield b"" after `patience()` seconds of silence."""
        while self._output is not None:
            ready, _, _ = select.select([self._output, self._stop], [], [], patience())
            if self._output in ready:
                if not (chunk := _read(self._output)):
                    break
                yield chunk
            elif self._stop in ready:
                break
            else:
                yield b""

    def close(self) -> None:
        """Stop reading: the command gets SIGPIPE at its next write, as when any other reader leaves."""
        if self._output is not None:
            os.close(self._output)
            self._output = None

    def has_ended(self) -> bool:
        """Return True if it has ended."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self) -> int:
        """Wait until it ends; return its exit code, or 128 plus the number of the signal that ended it."""
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _forward(self) -> None:
        while True:
            got = signal.sigwaitinfo(_FORWARDED)
            if got.si_code == _FROM_KERNEL:
                continue
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.pid, got.si_signo)
                if got.si_signo != signal.SIGWINCH and self._ends_soon():
                    os.write(self._stopper, b".")

    def _ends_soon(self) -> bool:
        """Return True if a signal ended the command: processes it leaves may hold its output, and reading must not wait for them."""
        time.sleep(0.05)
        return self.has_ended()


def check_command(command: Sequence[str]) -> None:
    """Raise PlanError if the program does not exist."""
    if not command:
        raise PlanError("no command was given", hint="write it behind --, as in: -- ping -c 10 localhost")
    if shutil.which(command[0]) is None:
        raise PlanError(
            f"{command[0]}: there is no such program",
            hint="check its name, and PATH; ./NAME is one of this folder",
        )


def _terminal() -> tuple[int, int]:
    """Open a terminal that leaves output unchanged; return our end and the other end."""
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    with suppress(OSError, termios.error):
        termios.tcsetwinsize(theirs, termios.tcgetwinsize(2))
    return ours, theirs


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, CHUNK)
    except OSError:  # every writer of the terminal has closed it
        return b""


def pass_on(chunk: bytes) -> bool:
    """Write to standard output; return False if its reader is gone."""
    rest = memoryview(chunk)
    while rest:
        try:
            rest = rest[os.write(1, rest) :]
        except BlockingIOError:
            select.select([], [1], [])
        except BrokenPipeError:
            return False
    return True
