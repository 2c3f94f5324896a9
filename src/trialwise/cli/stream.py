"""`trialwise stream`: programs, packets, processes and sockets as measurement streams."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from trialwise.cli.output import messages
from trialwise.errors import PlanError

if TYPE_CHECKING:
    from trialwise.measurement.adapters.lines import Reader
    from trialwise.measurement.adapters.output import LineCounts
    from trialwise.measurement.points import Client

Format = Literal["csv", "json-lines", "key-value", "iperf3", "pattern"]
Command = Annotated[str, Parameter(allow_leading_hyphen=True)]
Oml = Annotated[tuple[str, ...], Parameter(name="--oml", show=False)]
Flag = Annotated[bool, Parameter(negative="")]
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")]

app = App(
    name="stream",
    help="""Make programs stream that have no measurement points of their own.

What is measured goes where TRIALWISE_COLLECT or OML_COLLECT says, as inside a trial with `[measurement]`, or --oml-collect: a
collector (native:HOST:PORT, tcp:HOST:PORT), a file (file:PATH) or standard output (file:-). OML's other options are
understood too, before `--`: --oml-id, --oml-domain, --oml-samples, --oml-interval, --oml-config, …; --oml-help lists them.

For example:

```text
trialwise stream output --point transfer -- iperf3 -c 192.0.2.1 -i 0.1
```

Exit codes: 0, or the command's own; 2 wrong options, or something that this machine lacks or does not permit.""",
    help_format="markdown",
    default_parameter=Parameter(negative=()),
)


@app.command
def output(
    *command: Command,
    point: str,
    format: Format | None = None,  # noqa: A002 the option's name
    pattern: str | None = None,
    columns: str | None = None,
    type: tuple[str, ...] = (),  # noqa: A002 the option's name
    name: str | None = None,
    pty: Flag = False,
    quiet: Quiet = False,
    oml: Oml = (),
) -> int:
    r"""Run a command, pass its output on as it is, and make a sample of each line.

    Types of fields (int64, double, string; bool in JSON) are those of the first ten rows, or of the first second, and stay; a
    later line that does not fit is counted, and said at the end, as what was not sent. Streams are called after the command and
    the point: iperf3_transfer. Signals go to the command.

    For example:

    ```text
    trialwise stream output --point transfer -- iperf3 -c 192.0.2.1 -i 0.1
    trialwise stream output --point reply --pattern 'seq=(?P<seq>\d+) .*time=(?P<ms>[\d.]+)' -- ping -c 10 192.0.2.1
    trialwise stream output --point cpu --format csv --oml-collect tcp:192.0.2.9:3003 -- ./sampler
    trialwise stream output --point request --format json-lines --type id=string --pty -- ./server
    ```

    Exit codes: the command's own; 128 and more when a signal ended it; 2 wrong options, no destination, or no such command.

    Parameters
    ----------
    command
        The command with its arguments, after `--`.
    point
        What each line is a sample of.
    format
        csv (commas, semicolons or tabs; the first line names the columns unless a cell is a number), json-lines (an object in
        each), key-value (key=value), iperf3 (text, --json, --json-stream), pattern. Default: pattern with --pattern, iperf3 for
        iperf3.
    pattern
        A regular expression with named groups, which are the fields; lines without a match are no samples.
    columns
        For csv without a heading: the names, with commas between.
    type
        NAME=TYPE: a field's type, whatever the first rows look like; repeatable.
    name
        What the names of streams begin with; default: the command's.
    pty
        The command prints to a terminal: most programs then print each line when they have it.
    quiet
        Do not say what did not fit.
    oml
        OML's options.
    """
    from trialwise.measurement.adapters.child import Child, check_command
    from trialwise.measurement.adapters.output import LineRecorder, record

    check_command(command)
    reader = _reader(format, pattern, columns, command[0])
    types = _types(type)
    client = _client(name or Path(command[0]).name, oml)
    recorder = LineRecorder(client, _checked_name("--point", point), reader, types)
    child = Child(command, terminal=pty)
    client.start()
    code = record(child, recorder)
    dropped = client.close().counters.dropped
    if not quiet:
        _say(point, recorder.counts, dropped)
    return code


@app.command
def packets(
    *,
    interface: str,
    filter: Literal["any", "ip", "tcp", "udp"] = "any",  # noqa: A002 the option's name
    port: tuple[int, ...] = (),
    count: int | None = None,
    seconds: str | None = None,
    name: str = "packets",
    quiet: Quiet = False,
    oml: Oml = (),
) -> int:
    """Capture the packets of an interface: a sample of the points ip, tcp and udp for each header, stamped by the kernel.

    Until --count or --seconds, or INT or TERM. Point radiotap is there where the interface is of that type; point capture says
    every second what the kernel saw and dropped. Needs CAP_NET_RAW. Where samples leave through the same interface, choose
    packets with --port, lest each sample makes packets.

    For example:

    ```text
    trialwise stream packets --interface eth0 --filter tcp --port 5201 --seconds 10s
    trialwise stream packets --interface lo --count 1000 --oml-collect file:packets.txt
    ```

    Exit codes: 0; 2 wrong options, no destination, no such interface, or no permission; 4 the interface went away.

    Parameters
    ----------
    interface
        Its name, as `ip link` shows it.
    filter
        Only packets of this protocol; any: those of IP, and of radiotap.
    port
        Only packets from or to this port; repeatable.
    count
        End after so many packets.
    seconds
        End after this time, such as 10s.
    name
        What the names of streams begin with.
    quiet
        Do not say what came and what was lost.
    oml
        OML's options.
    """
    from trialwise.measurement.adapters.packets import capture

    if any(not 0 < number < 65536 for number in port):
        raise PlanError("--port: a port is a number from 1 to 65535")
    if count is not None and count < 1:
        raise PlanError("--count: at least one packet")
    length = None if seconds is None else _duration("--seconds", seconds)
    client = _client(name, oml)
    say = messages().print
    with _until_stopped() as stopped:
        counts = capture(
            client, interface, protocol=filter, ports=port, count=count, seconds=length, stopped=stopped,
            begun=lambda: None if quiet else say(f"trialwise stream: capturing at {interface}", markup=False),
        )  # fmt: skip
    dropped = client.close().counters.dropped
    if not quiet:
        say(
            f"trialwise stream: {counts.samples} of {counts.packets} packets are samples; "
            f"{counts.kernel_dropped} dropped by the kernel, {dropped} samples lost on their way",
            markup=False,
        )
    return 0


@app.command
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
    """Sample what the kernel counts of a process, as point usage: CPU seconds, memory, threads, context switches, bytes.

    Of a command that is started, or of a process that is there, until it ends, or INT or TERM. Samples are taken at deadlines that
    do not drift; each says how late it was, and how many deadlines were missed so far.

    For example:

    ```text
    trialwise stream process --interval 50ms -- ./server --port 8080
    trialwise stream process --pid 1234 --seconds 10s --oml-collect file:usage.txt
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

    if (pid is None) == (not command):
        raise PlanError("which process?", hint="give --pid PID, or a command behind --")
    length = None if seconds is None else _duration("--seconds", seconds)
    step = _duration("--interval", interval)
    with _target(command, pid, name, oml) as (client, found, stopped, end):
        counted = sample_process(
            client, found, interval=step, seconds=length, children=children, stopped=stopped
        )
        code = end()
    _say_sampled(client, counted, quiet=quiet)
    return code


@app.command
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
    """Sample what the kernel knows of TCP connections, as point tcp: window, round-trip time, retransmissions, rates.

    Those of a command that is started, of a process that is there, or of a port (of this network namespace, at either end), until
    the process ends, or INT or TERM. Each sample says how late it was, and how many deadlines were missed so far.

    For example:

    ```text
    trialwise stream sockets --interval 20ms -- curl -o /dev/null http://192.0.2.1/large
    trialwise stream sockets --port 5201 --seconds 10s --oml-collect file:tcp.txt
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
    length = None if seconds is None else _duration("--seconds", seconds)
    step = _duration("--interval", interval)
    with _target(command, pid, name, oml) as (client, found, stopped, end):
        counted = sample_sockets(
            client, pid=found or None, port=port, interval=step, seconds=length, stopped=stopped
        )
        code = end()
    _say_sampled(client, counted, quiet=quiet)
    return code


@contextmanager
def _target(
    command: Sequence[str], pid: int | None, name: str, oml: Sequence[str]
) -> Generator[tuple[Client, int, Callable[[], bool], Callable[[], int]]]:
    """A client; the process to watch, or 0; what says whether to stop, and what gives the exit code at the end."""
    from trialwise.measurement.adapters.child import Child, check_command

    if command:
        check_command(command)
    client = _client(name, oml)
    try:
        if command:
            child = Child(command, captured=False)
            yield client, child.pid, child.has_ended, child.wait
        else:
            with _until_stopped() as stopped:
                yield client, pid or 0, stopped, lambda: 0
    except ProcessLookupError as error:
        raise PlanError(f"there is no process {pid}") from error


def _say_sampled(client: Client, counted: tuple[int, int], *, quiet: bool) -> None:
    samples, missed = counted
    dropped = client.close().counters.dropped
    if not quiet and (missed or dropped or not samples):
        messages().print(
            f"trialwise stream: {samples} samples; {missed} deadlines missed, {dropped} samples lost on their way",
            markup=False,
        )


@contextmanager
def _until_stopped() -> Generator[Callable[[], bool]]:
    """Whether INT or TERM has come."""
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _duration(option: str, text: str) -> float:
    from trialwise.experiment.quantity import seconds

    try:
        value = seconds(text)
    except ValueError as error:
        raise PlanError(f"{option} {text}: {error}") from error
    if value <= 0:
        raise PlanError(f"{option} {text}: longer than nothing", hint='write it as in "100ms" or "10s"')
    return value


def _client(program: str, oml: Sequence[str]) -> Client:
    """A client of this name, which knows where samples go."""
    from trialwise.measurement.adapters.fields import field_names
    from trialwise.measurement.points import Client, says_where

    if not says_where(oml):
        raise PlanError(
            "nobody says where samples go",
            hint="give --oml-collect native:HOST:PORT or file:PATH, or set OML_COLLECT; inside a trial, [measurement] does",
        )
    words = [sys.argv[0], *oml]
    try:
        return Client(field_names([program])[0], arguments=words)
    except ValueError as error:
        raise PlanError(str(error)) from error


def _reader(chosen: Format | None, pattern: str | None, columns: str | None, command: str) -> Reader:
    from trialwise.measurement.adapters import lines
    from trialwise.measurement.adapters.iperf3 import Iperf3Reader

    is_iperf3 = Path(command).name == "iperf3"
    kind = chosen or ("pattern" if pattern is not None else "iperf3" if is_iperf3 else None)
    if (pattern is not None) != (kind == "pattern"):
        raise PlanError(
            "--pattern and --format pattern belong together",
            hint="give --pattern REGEX, or another --format without it",
        )
    if columns is not None and kind != "csv":
        raise PlanError("--columns names those of --format csv")
    if kind == "pattern":
        return lines.PatternReader(pattern or "")
    if kind == "csv":
        return lines.CsvReader(columns.split(",") if columns else ())
    if kind == "json-lines":
        return lines.JsonLinesReader()
    if kind == "key-value":
        return lines.KeyValueReader()
    if kind == "iperf3":
        return Iperf3Reader()
    raise PlanError(
        f"what does {Path(command).name} print?",
        hint="give --format csv, json-lines, key-value or iperf3, or --pattern REGEX",
    )


def _types(words: Sequence[str]) -> dict[str, str]:
    from trialwise.measurement.adapters.fields import TYPES

    pairs = [word.partition("=") for word in words]
    for name, _, kind in pairs:
        if kind not in TYPES:
            raise PlanError(f"--type {name}={kind}: write NAME=TYPE, with a type of {', '.join(TYPES)}")
    return {name: kind for name, _, kind in pairs}


def _checked_name(option: str, name: str) -> str:
    from trialwise.measurement.adapters.fields import field_names

    if (name,) != field_names([name]):
        raise PlanError(
            f"{option} {name!r} is no name", hint="letters, digits and _ make one, the first no digit"
        )
    return name


def _say(point: str, counts: LineCounts, dropped: int) -> None:
    """Say what was not sent."""
    say = messages().print
    if counts.misfits:
        say(
            f"trialwise stream: {counts.misfits} of {counts.lines} lines did not fit {point}; {counts.first_misfit}",
            markup=False,
        )
    if counts.left_out:
        names = ", ".join(counts.left_out)
        say(f"trialwise stream: fields that came after the first rows were left out: {names}", markup=False)
    if not counts.samples:
        say(f"trialwise stream: none of {counts.lines} lines was a sample of {point}", markup=False)
    if dropped:
        say(f"trialwise stream: {dropped} samples or rows were lost on their way", markup=False)
