"""`trialwise stream process`, `sockets` and `counters`: periodic samples of running programs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trialwise.cli.output import stderr_console
from trialwise.cli.stream_options import Command, Flag, Oml, Quiet, client_of, duration, until_stopped
from trialwise.errors import PlanError
from trialwise.numbers import counted

if TYPE_CHECKING:
    from trialwise.measurement.adapters.counters import Counting
    from trialwise.measurement.points import Client


def process(
    *command: Command,
    pid: int | None = None,
    interval: str = "100ms",
    seconds: str | None = None,
    children: Flag = False,
    name: str = "process",
    quiet: Quiet = False,
    oml: Oml = (),
) -> int:
    r"""Sample what the kernel counts of a process, as point usage: CPU seconds, memory, threads, context switches, bytes.

    Of a command that is started, or of a process that is there, until it ends, or INT or TERM. Samples are taken at deadlines that
    do not drift; each says how late it was, and how many deadlines were missed so far.

    For example:

    ```text
    trialwise stream process --interval 50ms -- ./server --port 8080
    trialwise stream process --pid 1234 --seconds 10s \
        --oml-collect file:usage.txt
    trialwise stream process --children -- sh -c 'make -j4'
    ```

    Exit codes: 0, or the command's own; 128 and more when a signal ended it; 2 wrong options, no destination, no such process.

    Parameters
    ----------
    command
        The command with its arguments, after `--`.
    pid
        Instead of a command: a process that is there.
    interval
        From sample to sample.
    seconds
        End after this time; a command goes on.
    children
        A sample for every descendant that lives, too.
    name
        What the names of streams begin with.
    quiet
        Do not say what was missed and lost.
    oml
        OML's options.
    """
    from trialwise.measurement.adapters.process import sample_process

    _check_one_process(pid, command)
    step, length = _step_and_length(interval, seconds)
    with _target(command, pid, name, oml) as (client, found, stopped, end):
        taken = sample_process(
            client, found, interval=step, seconds=length, children=children, stopped=stopped
        )
        code = end()
    _say_sampled(client, taken, quiet=quiet)
    return code


def sockets(
    *command: Command,
    pid: int | None = None,
    port: int | None = None,
    interval: str = "100ms",
    seconds: str | None = None,
    name: str = "sockets",
    quiet: Quiet = False,
    oml: Oml = (),
) -> int:
    r"""Sample what the kernel knows of TCP connections, as point tcp: window, round-trip time, retransmissions, rates.

    Those of a command that is started, of a process that is there, or of a port (of this network namespace, at either end), until
    the process ends, or INT or TERM. Each sample says how late it was, and how many deadlines were missed so far.

    For example:

    ```text
    trialwise stream sockets --interval 20ms -- curl \
        -o /dev/null http://192.0.2.1/large
    trialwise stream sockets --port 5201 --seconds 10s \
        --oml-collect file:tcp.txt
    ```

    Exit codes: 0, or the command's own; 128 and more when a signal ended it; 2 wrong options, no destination, no such process, or one
    whose sockets cannot be seen from here.

    Parameters
    ----------
    command
        The command with its arguments, after `--`.
    pid
        Instead of a command: a process that is there.
    port
        Only connections from or to this port.
    interval
        From sample to sample.
    seconds
        End after this time; a command goes on.
    name
        What the names of streams begin with.
    quiet
        Do not say what was missed and lost.
    oml
        OML's options.
    """
    from trialwise.measurement.adapters.sockets import sample_sockets

    if (pid is not None and command) or (pid is None and port is None and not command):
        raise PlanError("which sockets?", hint="give --pid PID, --port PORT, or a command behind --")
    step, length = _step_and_length(interval, seconds)
    with _target(command, pid, name, oml) as (client, found, stopped, end):
        taken = sample_sockets(
            client, pid=found or None, port=port, interval=step, seconds=length, stopped=stopped
        )
        code = end()
    _say_sampled(client, taken, quiet=quiet)
    return code


def counters(
    *command: Command,
    pid: int | None = None,
    counter: tuple[str, ...] = (),
    interval: str = "100ms",
    seconds: str | None = None,
    name: str = "counters",
    quiet: Quiet = False,
    oml: Oml = (),
) -> int:
    r"""Sample what processor and kernel count of a program and all that it starts, as point counts (`perf_event_open`).

    Of a command, from when it has become the program; or of a process that is there, with its threads and descendants, from now
    on. Totals so far, scaled where counters take turns on the processor, each with the seconds in which it was on and in which it
    had its turn; the last sample is taken when the process has ended. Without --counter: cycles, instructions, cache-misses,
    branch-misses, task-clock, context-switches, cpu-migrations, minor-faults, major-faults. What the machine does not have, or
    this user may not count, is named and left out.

    For example:

    ```text
    trialwise stream counters --interval 50ms -- ./server --port 8080
    trialwise stream counters --counter instructions:u \
        --counter LLC-load-misses --pid 1234 --seconds 10s
    ```

    Exit codes: 0, or the command's own; 128 and more when a signal ended it; 2 wrong options, no destination, no such process or
    counter, or nothing that can be counted.

    Parameters
    ----------
    command
        The command with its arguments, after `--`.
    pid
        Instead of a command: a process that is there.
    counter
        One of `perf list`, or rNNN; `:u` behind it leaves out what the kernel does for the program; repeatable.
    interval
        From sample to sample.
    seconds
        End after this time; a command goes on.
    name
        What the names of streams begin with.
    quiet
        Do not say what was left out, missed and lost.
    oml
        OML's options.
    """
    from trialwise.measurement.adapters.counters import open_counters, sample_counters

    _check_one_process(pid, command)
    step, length = _step_and_length(interval, seconds)
    counting = open_counters(counter, pid)
    if not quiet:
        _say_left_out(counting)
    with _target(command, pid, name, oml) as (client, found, stopped, end):
        taken = sample_counters(client, found, counting, interval=step, seconds=length, stopped=stopped)
        code = end()
    _say_sampled(client, taken, quiet=quiet)
    if not quiet and (names := counting.estimates()):
        stderr_console().print(
            f"trialwise stream: {', '.join(names)} took turns on the processor's counters, so they are estimates: ask for fewer",
            markup=False,
        )
    return code


def _check_one_process(pid: int | None, command: Sequence[str]) -> None:
    if (pid is None) == (not command):
        raise PlanError("which process?", hint="give --pid PID, or a command behind --")


def _step_and_length(interval: str, seconds: str | None) -> tuple[float, float | None]:
    """Return the seconds between samples, and the duration, if given."""
    length = None if seconds is None else duration("--seconds", seconds)
    return duration("--interval", interval), length


@contextmanager
def _target(
    command: Sequence[str], pid: int | None, name: str, oml: Sequence[str]
) -> Generator[tuple[Client, int, Callable[[], bool], Callable[[], int]]]:
    """Yield a client; the process to watch, or 0; a function that says whether to stop, and one that returns the exit code."""
    from trialwise.measurement.adapters.child import Child, check_command

    if command:
        check_command(command)
    client = client_of(name, oml)
    try:
        if command:
            child = Child(command, captured=False)
            yield client, child.pid, child.has_ended, child.wait
        else:
            with until_stopped() as stopped:
                yield client, pid or 0, stopped, lambda: 0
    except ProcessLookupError as error:
        raise PlanError(f"there is no process {pid}") from error


def _say_left_out(counting: Counting) -> None:
    """Report what is not counted, each reason once."""
    for why in dict.fromkeys(why for _, why in counting.left_out):
        names = ", ".join(name for name, reason in counting.left_out if reason == why)
        stderr_console().print(f"trialwise stream: not counted and left out: {names}: {why}", markup=False)


def _say_sampled(client: Client, taken: tuple[int, int], *, quiet: bool) -> None:
    samples, missed = taken
    dropped = client.close().counters.dropped
    if not quiet and (missed or dropped or not samples):
        stderr_console().print(
            f"trialwise stream: {counted(samples, 'sample')}; {counted(missed, 'deadline')} missed, "
            f"{counted(dropped, 'sample')} lost on their way",
            markup=False,
        )
