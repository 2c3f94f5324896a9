"""Run ns-3 in a separate process, which is started once and simulates one trial after the other."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from trialwise.errors import TrialError
from trialwise.temporary import vanishing_folder
from trialwise.trials.exceptions import OverdueError
from trialwise.trials.ns3.installation import driver_words, ns3_installation
from trialwise.trials.shared_process import SharedProcess, Silence
from trialwise.trials.starting import ending

START_SECONDS = 600.0
"""Loading ns-3 takes about 10 s of processor time; a busy machine gets this many seconds."""


class Ns3Process:
    """A process with ns-3, started with the first trial, and again after a trial that it did not survive."""

    def __init__(self) -> None:
        self._process: SharedProcess | None = None
        self._folder = contextlib.ExitStack()

    def simulate(
        self, request: Mapping[str, object], *, timeout: float | None = None, cancel: int | None = None
    ) -> dict[str, Any]:
        """Have one trial simulated.

        Parameters
        ----------
        request
            The input of `driver.py`.
        timeout
            Seconds for the trial, without the start of ns-3; None for no limit.
        cancel
            A file descriptor that becomes readable to abandon the trial; None for never.

        Raises
        ------
        InterruptedError
            It was abandoned.
        TrialError
            ns-3 cannot be started, did not survive the trial, or took too long.
        """
        with _or_never(cancel) as descriptor:
            try:
                answer = self._ask(json.dumps(request).encode(), timeout, descriptor)
            except BaseException:  # including Ctrl-C: nobody would read the answer to half a request
                self.end()
                raise
        if isinstance(answer, bytes):
            return json.loads(answer)
        raise self._silence(answer, timeout)

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.end()
            self._process = None
        self._folder.close()

    def _ask(self, request: bytes, timeout: float | None, cancel: int) -> bytes | Silence:
        if self._process is None:
            self._folder.close()
            folder = self._folder.enter_context(vanishing_folder("trialwise-ns3-"))
            words = driver_words(ns3_installation().python, str(folder))
            self._process = SharedProcess(
                "ns-3", words, folder=folder, environment=dict(os.environ), directory=Path.cwd()
            )
        silence = self._process.wait_until_ready(START_SECONDS, cancel)
        return silence or self._process.ask(request, timeout=timeout, cancel=cancel)

    def _silence(self, why: Silence, timeout: float | None) -> Exception:
        """Return why there is no answer; the process has ended."""
        process, self._process = self._process, None
        if process is None:
            raise AssertionError(why)
        try:
            said = ending(process.how_it_ended(b""))
        except TrialError as error:
            return error
        finally:
            process.end()
            self._folder.close()
        match why:
            case "cancelled":
                return InterruptedError()
            case "timed out":
                return OverdueError(f"ns-3 took longer than {timeout or START_SECONDS:g} s")
            case "ended":
                return TrialError(f"ns-3 {said}")


@contextlib.contextmanager
def _or_never(cancel: int | None) -> Generator[int]:
    """Yield the descriptor, or one that never becomes readable."""
    if cancel is not None:
        yield cancel
        return
    never = os.eventfd(0)
    try:
        yield never
    finally:
        os.close(never)


class _OfThread(threading.local):
    """The process of each thread that computes; it simulates one trial at a time."""

    def __init__(self) -> None:
        self.process = Ns3Process()


_OF_THREAD = _OfThread()


def ns3_process() -> Ns3Process:
    """Return the process of this thread, kept from trial to trial because it starts slowly; it ends with us."""
    return _OF_THREAD.process
