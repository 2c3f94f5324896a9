"""Commands beside a measured program, whose processes may outlive them: a server that `prepare` or a reset starts.

They are not supervised: processes they leave running live on, carry the commands' marker, and are ended by `marked.end_left`.
Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time

from trialwise.trials.marked import MARKER, end_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LAST_ERRORS = 1 << 16
_MAX_PAUSE = 0.02


class Beside:
    """One run of a command; `exit_code`, `signal`, `timed_out`, `cancelled` and `stderr` (its end) tell how it went.

    Parameters
    ----------
    words
        The program and its arguments.
    environment
        The complete environment, including the marker.
    directory
        Its working directory.
    timeout
        Seconds after which it is ended, with everything it started; or None.
    """

    def __init__(
        self, words: Sequence[str], environment: Mapping[str, str], directory: str, timeout: float | None
    ) -> None:
        self._words = list(words)
        self._environment = dict(environment)
        self._directory = directory
        self._timeout = timeout
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.timed_out = False
        self.cancelled = False
        self.stderr = b""

    def run(self, cancel: int | None = None) -> Beside:
        """Run it to its end, or until the descriptor `cancel` becomes readable.

        Raises
        ------
        OSError, ValueError
            It cannot be started.
        """
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                self._words,
                env=self._environment,
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
            self._wait(process, cancel)
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _LAST_ERRORS))
            self.stderr = errors.read(_LAST_ERRORS)
        code = process.returncode
        self.exit_code, self.signal = (code, None) if code >= 0 else (None, -code)
        return self

    def cancel(self) -> None:
        """Abandon the run; may be called by a signal handler."""
        self.cancelled = True

    def _wait(self, process: subprocess.Popen[bytes], cancel: int | None) -> None:
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        pause = 0.0005
        while process.poll() is None:
            if self.cancelled or (deadline is not None and time.monotonic() >= deadline):
                self.timed_out = not self.cancelled
                end_left(self._environment[MARKER])
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return
            left = pause if deadline is None else min(pause, max(0.0, deadline - time.monotonic()))
            if select.select([] if cancel is None else [cancel], [], [], left)[0]:
                self.cancelled = True
            pause = min(2 * pause, _MAX_PAUSE)
