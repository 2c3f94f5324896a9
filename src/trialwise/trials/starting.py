"""Start programs of a trial: the measured one, and those beside it."""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from trialwise._linux import CommandResult, run_command
from trialwise.errors import TrialError
from trialwise.trials.beside import Beside
from trialwise.trials.marked import GRACE_SECONDS, LOST_SUPERVISOR, not_run

ERROR_LIMIT = 1024 * 1024
"""Bytes of standard error kept."""
_POINTER = re.compile(r"(?i)\W*(try\W.*--help|for more information|usage:|note: run with `RUST_BACKTRACE)")
"""The line with which getopt, clap and panics in Rust end, below what is wrong."""


class Ended(Protocol):
    """How a program ended, whoever ran it: `CommandResult`, or a worker's report."""

    @property
    def exit_code(self) -> int | None:
        """The exit code, or None."""
        ...

    @property
    def signal(self) -> int | None:
        """The signal that ended it, or None."""
        ...

    @property
    def stderr(self) -> bytes:
        """Its standard error, as far as kept."""
        ...


def start(
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: Path,
    timeout: float | None,
    cancel: int,
    limit: int = ERROR_LIMIT,
    counters: Sequence[str] = (),
    cpus: Sequence[int] = (),
    isolate: Sequence[str] = (),
    namespace_pid: int | None = None,
    follow: bool = False,
) -> CommandResult:
    """Run a program to its end.

    Parameters
    ----------
    words
        The program and its arguments.
    environment
        The complete environment.
    directory
        Its working directory.
    timeout
        Seconds after which it is ended, or None.
    cancel
        A file descriptor that becomes readable to abandon the program.
    limit
        Bytes of standard output kept.
    counters, cpus, isolate
        What is counted, the CPUs that it is pinned to (none: any), and the namespaces that it gets for itself.
    namespace_pid
        A process whose namespaces it enters first.
    follow
        Whether to note which programs it starts.

    Raises
    ------
    TrialError
        It cannot be started.
    """
    try:
        return run_command(
            words,
            environment=environment,
            working_directory=os.fspath(directory),
            timeout=timeout,
            grace=GRACE_SECONDS,
            stdout_limit=limit,
            stderr_limit=ERROR_LIMIT,
            cpus=cpus or None,
            counters=counters,
            isolate=isolate,
            inside=namespace_pid,
            follow=follow,
            cancel_fd=cancel,
        )
    except (OSError, ValueError) as error:
        raise TrialError(f"{words[0]!r} {not_run(problem_of(error))}") from error


def start_beside(
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    directory: Path,
    timeout: float | None,
    cancel: int,
    namespace_pid: int | None = None,
    follow: bool = False,
) -> Beside | CommandResult:
    """Run a command beside trials to its end; processes it leaves running live on until `end_left` is called with its marker.

    Inside a namespace it is supervised like a trial, and processes it leaves running are ended with it; elsewhere it cannot be
    followed. The parameters and exceptions are those of `start`.
    """
    if namespace_pid is not None:
        return start(
            words,
            environment=environment,
            directory=directory,
            timeout=timeout,
            cancel=cancel,
            namespace_pid=namespace_pid,
            follow=follow,
        )
    try:
        return Beside(words, environment, os.fspath(directory), timeout).run(cancel)
    except (OSError, ValueError) as error:
        raise TrialError(f"{words[0]!r} {not_run(problem_of(error))}") from error


def problem_of(error: OSError | ValueError) -> str:
    """Return why there is no report of a run, as the supervisor on a worker says it."""
    if not isinstance(error, OSError):
        return str(error)
    return LOST_SUPERVISOR if error.errno == errno.ECHILD else str(error.strerror)


def ending(run: Ended) -> str:
    """Say how a program ended, with what it complained of last."""
    complaint = last_complaint(run.stderr)
    return _end(run) + (f": {complaint}" if complaint else "")


def last_complaint(errors: bytes) -> str:
    """Return the last line of a program's standard error; if that only points to its help, the complaint before it."""
    lines = [line for line in errors.decode(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if not _POINTER.match(line)]
    if lines[-1:] != telling[-1:]:
        lines = [line for line in telling if line.startswith("error: ")] or telling or lines
    return lines[-1].strip()[:300] if lines else ""


def _end(run: Ended) -> str:
    if run.signal is not None:
        return f"was ended by signal {run.signal} ({_signal_name(run.signal)})"
    if run.exit_code is None:
        return "could not be ended, not even by SIGKILL, and was left behind"
    return f"ended with exit code {run.exit_code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "a real-time signal"
