"""A process that outlives a trial: it receives requests and sends answers, as lines through named pipes."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trialwise._linux import CommandResult
from trialwise.errors import TrialError
from trialwise.trials.marked import GRACE_SECONDS
from trialwise.trials.removing import remove_tree
from trialwise.trials.starting import ERROR_LIMIT, ending, start

OUTPUT_LIMIT = 64 * 1024 * 1024
"""Maximum bytes of a call's output that are kept."""
_PART = 1 << 20

Silence = Literal["timed out", "cancelled", "ended"]
"""Why a call has no answer."""


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How the process ended, with the end of its standard error."""

    exit_code: int | None
    signal: int | None
    stderr: bytes


class SharedProcess:
    """One process that serves calls, supervised in its own thread; one thread at a time may use an object.

    It communicates through named pipes, and its supervisor ends it if the requesting process is gone.

    Parameters
    ----------
    name
        Its name in the ledger.
    words
        The program that serves the pipes `requests` and `answers` of the folder, and its arguments; its first line signals
        readiness.
    folder
        An empty folder for its pipes and its output; `end` removes it.
    environment, directory
        Its environment and working directory.
    cpus, isolate, namespace_pid
        As for `starting.start`.

    Raises
    ------
    TrialError
        The folder cannot hold named pipes.
    """

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        directory: Path,
        cpus: Sequence[int] = (),
        isolate: Sequence[str] = (),
        namespace_pid: int | None = None,
    ) -> None:
        self.name = name
        self._folder = folder
        self._problem: TrialError | None = None
        self._end: CommandResult | None = None
        self._unread = b""
        self._requests, self._answers = _named_pipes(folder)
        self._ended, self._asked = os.eventfd(0), os.eventfd(0)
        self._is_ready = False

        def supervise() -> None:
            try:
                self._end = start(
                    words,
                    environment=environment,
                    directory=directory,
                    timeout=None,
                    cancel=self._asked,
                    cpus=cpus,
                    isolate=isolate,
                    namespace_pid=namespace_pid,
                )
            except TrialError as error:
                self._problem = error
            finally:
                os.eventfd_write(self._ended, 1)

        self._thread = threading.Thread(target=supervise, name=f"process {name}", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it can still receive requests."""
        return self._thread.is_alive()

    def ask(self, request: bytes, *, timeout: float | None, cancel: int) -> bytes | Silence:
        """Send one line and wait for the line that answers it; the first call also waits for the start.

        Parameters
        ----------
        request
            The line, without its end.
        timeout
            Seconds for the start, and again for the call; None for no limit.
        cancel
            A file descriptor that becomes readable to abandon the call.

        Returns
        -------
        The answer, or why there is none: then the process has been ended.
        """
        if silence := self.wait_until_ready(timeout, cancel) or self._send(request + b"\n", timeout, cancel):
            return silence
        answer = self._next_line(timeout, cancel)
        return answer if isinstance(answer, bytes) else self._without_answer(answer)

    def wait_until_ready(self, timeout: float | None, cancel: int) -> Silence | None:
        """Wait at most `timeout` seconds until it is ready; return why it is not: then the process has been ended."""
        if not self._is_ready:
            begun = self._next_line(timeout, cancel)
            if not isinstance(begun, bytes):
                return self._without_answer(begun)
            self._is_ready = True
        return None

    def printed(self) -> tuple[bytes, bytes]:
        """Return its standard output and error since the last request, at most `OUTPUT_LIMIT` bytes of each."""
        return self._take("stdout"), self._take("stderr")

    def how_it_ended(self, errors: bytes) -> ProcessEnd:
        """Return how it ended, with the `errors` that it printed; call this once it has ended.

        Raises
        ------
        TrialError
            It could not be started.
        """
        if self._problem is not None or self._end is None:
            raise self._problem or TrialError(f"process {self.name} has not ended")
        return ProcessEnd(self._end.exit_code, self._end.signal, self._end.stderr + errors[-ERROR_LIMIT:])

    def let_go(self) -> None:
        """Close the requests: it ends when it notices that."""
        if self._requests >= 0:
            os.close(self._requests)
            self._requests = -1

    def end(self) -> None:
        """End it, with SIGTERM and SIGKILL if it does not end by itself, and remove its folder."""
        self.let_go()
        self._thread.join(GRACE_SECONDS)
        self._stop()
        for descriptor in (self._answers, self._ended, self._asked):
            os.close(descriptor)
        remove_tree(self._folder)

    def _without_answer(self, why: Silence) -> Silence:
        if why == "ended":  # or is about to: let its exit handlers finish
            self._thread.join(GRACE_SECONDS)
        self._stop()
        return why

    def _stop(self) -> None:
        os.eventfd_write(self._asked, 1)
        self._thread.join()

    def _send(self, line: bytes, timeout: float | None, cancel: int) -> Silence | None:
        """Write a line, which may be longer than the pipe; if the process has ended, nobody reads the rest."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while line:
            ready, left = self._wait(self._requests, select.POLLOUT, cancel, deadline)
            if cancel in ready:
                return self._without_answer("cancelled")
            if self._ended in ready:
                return self._without_answer("ended")
            if self._requests in ready:
                line = line[os.write(self._requests, line) :]
            elif left == 0.0:
                return self._without_answer("timed out")
        return None

    def _wait(
        self, descriptor: int, event: int, cancel: int, deadline: float | None
    ) -> tuple[set[int], float | None]:
        """Wait for an event of a pipe, the end of the process, or a cancellation; return what is ready, and the seconds left."""
        poll = select.poll()  # unlike select, it takes descriptors of any number
        poll.register(descriptor, event)
        for other in (self._ended, cancel):
            poll.register(other, select.POLLIN)
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        return {ready for ready, _ in poll.poll(None if left is None else left * 1000)}, left

    def _next_line(self, timeout: float | None, cancel: int) -> bytes | Silence:
        deadline = None if timeout is None else time.monotonic() + timeout
        parts = [self._unread]
        while b"\n" not in parts[-1]:
            ready, left = self._wait(self._answers, select.POLLIN, cancel, deadline)
            if self._answers in ready:
                part = os.read(self._answers, _PART)
                if not part:  # it has closed its end: nothing more can arrive
                    return "ended"
                parts.append(part)
            elif cancel in ready:
                return "cancelled"
            elif self._ended in ready:
                return "ended"
            elif left == 0.0:
                return "timed out"
        line, _, self._unread = b"".join(parts).partition(b"\n")
        return line

    def _take(self, name: str) -> bytes:
        """Read a file of its output and empty it; the process keeps appending."""
        path = self._folder / name
        with contextlib.suppress(OSError), path.open("r+b") as file:
            text = file.read(OUTPUT_LIMIT)
            file.truncate(0)
            return text
        return b""


def said_end(end: ProcessEnd) -> str:
    """Say why a call has no answer because its process ended."""
    if end.exit_code == 0:
        return "the function ended its process instead of returning"
    return f"the process {ending(end)}"


def _named_pipes(folder: Path) -> tuple[int, int]:
    """Create the named pipes in the folder; return our ends of requests and answers."""
    try:
        for name in ("requests", "answers"):
            os.mkfifo(folder / name, 0o600)
    except OSError as error:
        raise TrialError(
            f"{folder}: no named pipes can be made here: {error.strerror}",
            hint="put the experiment directory on a local disk with --directory",
        ) from error
    answers = os.open(folder / "answers", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    # Open for both directions, so that opening does not block and writing after its end raises no error (fifo(7)).
    requests = os.open(folder / "requests", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    return requests, answers
