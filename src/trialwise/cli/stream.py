"""`trialwise stream`: programs, packets, processes and sockets as measurement streams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import App

from trialwise.cli.defaults import OPTIONS
from trialwise.cli.output import stderr_console
from trialwise.cli.stream_options import Command, Flag, Oml, Quiet, client_of, duration, until_stopped
from trialwise.cli.stream_sampling import counters, process, sockets
from trialwise.errors import PlanError
from trialwise.numbers import counted

if TYPE_CHECKING:
    from trialwise.measurement.adapters.lines import Reader
    from trialwise.measurement.adapters.output import LineCounts

Format = Literal["csv", "json-lines", "key-value", "iperf3", "pattern"]

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
    default_parameter=OPTIONS,
)
for _command in (process, sockets, counters):
    app.command(_command)


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
    trialwise stream output --point reply \
        --pattern 'seq=(?P<seq>\d+) .*time=(?P<ms>[\d.]+)' -- ping \
        -c 10 192.0.2.1
    trialwise stream output --point cpu --format csv \
        --oml-collect tcp:192.0.2.9:3003 -- ./sampler
    trialwise stream output --point request --format json-lines \
        --type id=string --pty -- ./server
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
    client = client_of(name or Path(command[0]).name, oml)
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
    r"""Capture the packets of an interface: a sample of the points ip, tcp and udp for each header, stamped by the kernel.

    Until --count or --seconds, or INT or TERM. Point radiotap is there where the interface is of that type; point capture says
    every second what the kernel saw and dropped. Needs CAP_NET_RAW. Where samples leave through the same interface, choose
    packets with --port, lest each sample makes packets.

    For example:

    ```text
    trialwise stream packets --interface eth0 --filter tcp --port 5201 \
        --seconds 10s
    trialwise stream packets --interface lo --count 1000 \
        --oml-collect file:packets.txt
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
    length = None if seconds is None else duration("--seconds", seconds)
    client = client_of(name, oml)
    say = stderr_console().print
    with until_stopped() as stopped:
        counts = capture(
            client, interface, protocol=filter, ports=port, count=count, seconds=length, stopped=stopped,
            begun=lambda: None if quiet else say(f"trialwise stream: capturing at {interface}", markup=False),
        )  # fmt: skip
    dropped = client.close().counters.dropped
    if not quiet:
        say(
            f"trialwise stream: {counts.samples} of {counted(counts.packets, 'packet')} taken as samples; "
            f"{counts.kernel_dropped} dropped by the kernel, {counted(dropped, 'sample')} lost on their way",
            markup=False,
        )
    return 0


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
            f"{option} {name!r} is not a valid name",
            hint="letters, digits and _ make one, the first no digit",
        )
    return name


def _say(point: str, counts: LineCounts, dropped: int) -> None:
    """Report what was not sent."""
    say = stderr_console().print
    if counts.misfits:
        say(
            f"trialwise stream: {counts.misfits} of {counted(counts.lines, 'line')} did not fit {point}; {counts.first_misfit}",
            markup=False,
        )
    if counts.left_out:
        names = ", ".join(counts.left_out)
        say(f"trialwise stream: fields that came after the first rows were left out: {names}", markup=False)
    if not counts.samples:
        say(f"trialwise stream: none of {counts.lines} lines was a sample of {point}", markup=False)
    if dropped:
        say(
            f"trialwise stream: {counted(dropped, 'sample or row was', 'samples or rows were')} lost on their way",
            markup=False,
        )
