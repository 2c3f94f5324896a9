"""`trialwise trace`: one function for each of its commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from cyclopts import App, Parameter

from trialwise import _core
from trialwise.cli.defaults import OPTIONS
from trialwise.cli.files import PRINTED, STANDARD, check_out, read_text
from trialwise.cli.output import print_json, stderr_console
from trialwise.cli.text import print_data, say_document
from trialwise.cli.trace_import import import_
from trialwise.errors import AnalysisError, TrialwiseError
from trialwise.numbers import as_given, counted
from trialwise.report.numbers import write

if TYPE_CHECKING:
    from trialwise.exchange.captures import Capture
    from trialwise.measurement.opportunities import Trace
    from trialwise.measurement.recordings import Recording

app = App(
    name="trace",
    help="""Make, inspect, plot, scale and cut link traces and recordings of paths, also from a capture or a log.

A trace says when a link may send one full packet: a millisecond in each line, in order, starting again after the last
(mahimahi's format): 1000 lines in a second are 12 Mbit/s. A recording says how rate, base delay and loss of a path change
over time, both ways (docs/reference/path-recording.md); `import` makes one.

For example:

```text
trialwise trace make cellular:rate=5Mbit/s --seed 7 --out cell.trace
trialwise trace show cell.trace
```

Exit codes: 0; 2 wrong options; 5 a file cannot be written; 7 a file that is no trace, capture or log.""",
    help_format="markdown",
    default_parameter=OPTIONS,
)
TraceFile = Annotated[Path, Parameter(help="The trace; `-` is standard input.", allow_leading_hyphen=True)]
Out = Annotated[
    Path,
    Parameter(
        name=["--out", "-o"], help="Where the trace goes; `-` is standard output.", allow_leading_hyphen=True
    ),
]
Force = Annotated[bool, Parameter(help="Overwrite a file that is there.", negative="")]
Bin = Annotated[str, Parameter(help="Width of the bins in which rates are counted.")]
_NAMED = 5
_PAIR = 2
AsJson = Annotated[bool, Parameter(negative="")]


app.command(import_, name="import")


@app.command
def make(
    rate: str | None = None,
    /,
    *,
    rates: Annotated[Path | None, Parameter(allow_leading_hyphen=True)] = None,
    length: str | None = None,
    seed: int = 0,
    out: Out = STANDARD,
    force: Force = False,
) -> int:
    r"""Make a trace: of a constant, a random or a cellular-like rate, or of a list of rates.

    A rate is written as in a path: 12Mbit/s, poisson:rate=3Mbit/s, on-off:rate=12Mbit/s,on=1s,off=500ms (phases=fixed),
    cellular:rate=5Mbit/s (dwell=100ms,levels=8). The same seed makes the same trace.

    For example:

    ```text
    trialwise trace make 12Mbit/s --length 1s --out 12mbps.trace
    trialwise trace make poisson:rate=3Mbit/s --length 2min --seed 7 \
        --out poisson.trace
    trialwise trace make --rates kilobits-per-millisecond.txt --out made.trace
    ```

    Exit codes: 0; 2 a wrong rate or length, or a file that is there; 5 the file cannot be written; 7 wrong rates.

    Parameters
    ----------
    rate
        The rate, as in a path.
    rates
        Instead of it, a file with the kilobits of one millisecond in each line (12 is 12 Mbit/s); `-` is standard input.
    length
        After what time it repeats, such as 60s (default).
    seed
        Of what is random.
    """
    check_out(out, force=force)
    if (rate is None) == (rates is None):
        raise TrialwiseError("expected either a rate or --rates FILE", hint="trialwise trace make 12Mbit/s")
    if rate is not None:
        made = _made(rate, length, seed)
    else:
        from trialwise.exchange.trace_files import trace_from_rates

        made = trace_from_rates(*read_text(rates or STANDARD))
    return _write(made, out)


def _made(rate: str, length: str | None, seed: int) -> Trace:
    if rate.startswith("trace:"):
        raise TrialwiseError(f"{rate}: this is a trace already", hint="use `trialwise trace cut` or `scale`")
    if seed < 0:
        raise TrialwiseError(f"--seed {seed}: expected a number ≥ 0")
    try:
        return _core.make_trace(rate, length=length, seed=seed)
    except ValueError as error:
        problem, _, hint = str(error).partition("; ")
        raise TrialwiseError(problem, hint=hint or None) from error


@app.command
def show(
    trace: TraceFile, /, *, bin_width: Annotated[Bin, Parameter("--bin")] = "500ms", json: AsJson = False
) -> int:
    """Describe a trace or a recording: its mean rate, how it varies, its longest gap, and what to know before using it.

    For example:

    ```text
    trialwise trace show cell.trace
    trialwise trace show cell.trace --bin 100ms --json
    ```

    Exit codes: 0, also with warnings; 2 wrong options; 7 a file that is no trace.

    Parameters
    ----------
    json
        Print it as JSON (format trialwise.trace/1 or trialwise.recording/1, docs/reference/path-json.md).
    """
    from trialwise.measurement.opportunities import summary

    read = _read_either(trace)
    if not isinstance(read, np.ndarray):
        return _show_recording(str(trace), read, _bin(bin_width), json=json)
    found = summary(read, _bin(bin_width))
    if json:
        from trialwise.exchange.path_json import trace_document

        print_json(trace_document(str(trace), found))
    else:
        from trialwise.report.documents.trace import document

        say_document(document(str(trace), found))
    return 0


def _show_recording(name: str, recording: Recording, width: int, *, json: bool) -> int:
    from trialwise.measurement.recordings import summary

    found = summary(recording, width)
    if json:
        from trialwise.exchange.path_json import recording_document

        print_json(recording_document(name, found))
    else:
        from trialwise.report.documents.recording import document

        say_document(document(name, found))
    return 0


@app.command
def plot(
    trace: TraceFile,
    /,
    *,
    out: Annotated[Path, Parameter(name=["--out", "-o"])],
    bin_width: Annotated[Bin, Parameter("--bin")] = "500ms",
    force: Force = False,
) -> int:
    """Draw the rate of a trace over one period, or rate, base delay and loss of a recording.

    For example:

    ```text
    trialwise trace plot cell.trace --out cell.svg
    trialwise trace plot cell.trace --out cell.png --bin 100ms
    ```

    Exit codes: 0; 2 wrong options; 5 the figure cannot be written; 7 a file that is no trace.

    Parameters
    ----------
    out
        The figure: a file ending in .svg, .pdf or .png.
    """
    if out.suffix.lower() not in PRINTED:
        raise TrialwiseError(f"--out {out}: the ending says the format; allowed: {', '.join(PRINTED)}")
    check_out(out, force=force)
    from trialwise.cli.plots import write_plot
    from trialwise.measurement.opportunities import fitting_bin, rates
    from trialwise.report.figures.trace import write_trace

    read = _read_either(trace)
    if not isinstance(read, np.ndarray):
        from trialwise.report.figures.recording import write_recording_plot

        drawn = read
        write_plot(out, str, lambda path: write_recording_plot(path, drawn, _bin(bin_width), trace.name))
        return 0
    width = fitting_bin(read, _bin(bin_width))
    ends, values = rates(read, width)
    mean = _core.trace_mean_rate(read, mahimahi=False) / 1e6
    write_plot(out, str, lambda path: write_trace(path, ends, values, width / 1000, mean, trace.name))
    return 0


@app.command
def scale(
    trace: TraceFile,
    factor: float | None = None,
    /,
    *,
    to: str | None = None,
    delay: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    out: Out = STANDARD,
    force: Force = False,
) -> int:
    """Make a trace or a recording faster or slower, and a recording longer or shorter in delay.

    A trace has more or fewer opportunities, spread as they were, in the same period.

    For example:

    ```text
    trialwise trace scale cell.trace 0.5 --out half.trace
    trialwise trace scale cell.trace --to 10Mbit/s --out ten.trace
    trialwise trace scale leo.csv 2 --delay +10ms --out farther.csv
    ```

    Exit codes: 0; 2 wrong options, or a file that is there; 5 the file cannot be written; 7 a file that is no trace.

    Parameters
    ----------
    factor
        How many times as fast.
    to
        Instead of it, the mean rate that it shall have.
    delay
        Of a recording: what is added to its base delays each way, such as +10ms or -5ms; they stay at 0 or more.
    """
    check_out(out, force=force)
    read = _read_either(trace)
    if not isinstance(read, np.ndarray):
        return _scale_recording(trace, read, factor, to, delay, out)
    if delay is not None:
        raise TrialwiseError(
            "--delay: a trace has no delay", hint="scale a recording, or set the delay of the path"
        )
    if (factor is None) == (to is None):
        raise TrialwiseError(
            "expected either a factor or --to RATE", hint=f"trialwise trace scale {trace} 0.5"
        )
    if to is not None:
        factor = _rate(to) / _core.trace_mean_rate(read, mahimahi=False)
    if factor is None or not 0 < factor < float("inf"):
        raise TrialwiseError(f"the factor {factor} is not a number above 0")
    try:
        return _write(_core.scale_trace(read, factor), out)
    except ValueError as error:
        raise TrialwiseError(f"scaled by {as_given(factor)}, {error}", hint="scale it less") from error


def _scale_recording(
    name: Path, recording: Recording, factor: float | None, to: str | None, delay: str | None, out: Path
) -> int:
    from trialwise.cli.trace_import import write_out
    from trialwise.measurement.recordings import scaled

    if to is not None or (factor is None and delay is None):
        hint = f"trialwise trace scale {name} 0.5 --delay +10ms"
        raise TrialwiseError("a recording takes a factor, --delay, or both", hint=hint)
    factor = 1.0 if factor is None else factor
    if not 0 < factor < float("inf"):
        raise TrialwiseError(f"the factor {factor} is not a number above 0")
    more = 0.0
    if delay is not None:
        sign = -1 if delay.startswith("-") else 1
        more = sign * _microseconds(delay.lstrip("+-"), "--delay")
    try:
        return write_out(scaled(recording, factor, more), out)
    except ValueError as error:
        raise TrialwiseError(f"--delay {delay}: {error}", hint="take less away") from error


def _microseconds(text: str, option: str) -> float:
    from trialwise.experiment.quantity import seconds

    try:
        return seconds(text) * 1e6
    except ValueError as error:
        raise TrialwiseError(f"{option} {text}: {error}") from error


def _rate(text: str) -> int:
    """Return the bit/s of a constant rate."""
    try:
        return _core.check_link([[("rate", text)]], ".").capacity or 0
    except ValueError as error:
        raise TrialwiseError(str(error)) from error


@app.command
def cut(
    trace: TraceFile,
    /,
    *,
    start: Annotated[str, Parameter("--from")] = "0s",
    end: Annotated[str | None, Parameter("--to")] = None,
    out: Out = STANDARD,
    force: Force = False,
) -> int:
    """Cut a part out of a trace or a recording; its time counts from the cut, and a trace repeats after its last opportunity.

    For example:

    ```text
    trialwise trace cut cell.trace --from 10s --to 40s --out middle.trace
    trialwise trace cut cell.trace --from 1500ms --out rest.trace
    ```

    Exit codes: 0; 2 wrong options, or a file that is there; 5 the file cannot be written; 7 a file that is no trace.

    Parameters
    ----------
    start
        Opportunities up to this time are left out.
    end
        Opportunities after this time are left out; default: none.
    """
    check_out(out, force=force)
    read = _read_either(trace)
    if not isinstance(read, np.ndarray):
        return _cut_recording(trace, read, start, end, out)
    first, last = _milliseconds(start, "--from"), int(read[-1]) if end is None else _milliseconds(end, "--to")
    try:
        return _write(_core.cut_trace(read, first, last), out)
    except ValueError as error:
        hint = f"the trace goes from {read[0]} ms to {read[-1]} ms"
        raise TrialwiseError(f"{trace}: no opportunity from {first} ms to {last} ms", hint=hint) from error


def _cut_recording(name: Path, recording: Recording, start: str, end: str | None, out: Path) -> int:
    from trialwise.cli.trace_import import write_out
    from trialwise.measurement.recordings import cut

    first = _milliseconds(start, "--from")
    last = recording.length if end is None else _milliseconds(end, "--to")
    try:
        return write_out(cut(recording, first, last), out)
    except ValueError as error:
        raise TrialwiseError(
            f"{name}: nothing from {first} ms to {as_given(last)} ms", hint=str(error)
        ) from error


@app.command
def join(*recordings: Path, out: Out = STANDARD, force: Force = False) -> int:
    """Put recordings of a path one after the other.

    For example:

    ```text
    trialwise trace join morning.csv evening.csv --out day.csv
    ```

    Exit codes: 0; 2 wrong options, or a file that is there; 5 the file cannot be written; 7 a file that is no recording, or
    says other things than the first.

    Parameters
    ----------
    recordings
        Two or more, which say the same things of each direction.
    """
    check_out(out, force=force)
    from trialwise.cli.trace_import import write_out
    from trialwise.exchange.recording_files import read_recording
    from trialwise.measurement.recordings import joined

    if len(recordings) < _PAIR:
        raise TrialwiseError(
            "expected two recordings or more", hint="trialwise trace join ONE TWO --out BOTH"
        )
    try:
        return write_out(joined([read_recording(path) for path in recordings]), out)
    except ValueError as error:
        raise AnalysisError(f"the recordings cannot be joined: {error}") from error


@app.command
def compare(one: Path, other: Path, /, *, json: AsJson = False) -> int:
    """Compare two recordings of a path: rates in bins of 100 ms, minimum delays, runs of loss.

    For example:

    ```text
    trialwise trace compare monday.csv tuesday.csv
    ```

    Exit codes: 0; 2 wrong options; 7 a file that is no recording.

    Parameters
    ----------
    one, other
        The recordings.
    json
        Print it as JSON (format trialwise.recording-comparison/1, docs/reference/path-json.md).
    """
    from trialwise.exchange.recording_files import read_recording
    from trialwise.measurement.recordings import compared

    found = compared(read_recording(one), read_recording(other))
    if not found:
        raise AnalysisError(f"{one} and {other}: no direction is in both")
    if json:
        from trialwise.exchange.path_json import recording_comparison_document

        print_json(recording_comparison_document(str(one), str(other), found))
    else:
        from trialwise.report.documents.recording import comparison_document

        say_document(comparison_document((str(one), str(other)), found))
    return 0


@app.command(name="from-capture")
def from_capture(
    capture: Path,
    /,
    *,
    host: str | None = None,
    port: int | None = None,
    direction: Literal["to", "from"] | None = None,
    out: Out = STANDARD,
    force: Force = False,
) -> int:
    r"""Make the trace of a link from a capture (pcap, pcapng) of what left it, while a sender kept it full.

    Every 1500 bytes of IP packets become an opportunity; time counts from the first packet.

    For example:

    ```text
    trialwise trace from-capture uplink.pcap --out uplink.trace
    trialwise trace from-capture phone.pcapng --host 192.0.2.1 --port 5201 \
        --direction to --out up.trace
    ```

    Exit codes: 0; 2 wrong options, or a file that is there; 5 the file cannot be written; 7 a file that is no capture, or
    has no such packets.

    Parameters
    ----------
    capture
        The capture.
    host
        Only packets of this address.
    port
        Only packets of this TCP or UDP port.
    direction
        Only packets to, or from, that address and port.
    """
    check_out(out, force=force)
    if direction is not None and host is None and port is None:
        raise TrialwiseError(f"--direction {direction}: {direction} whom?", hint="add --host or --port")
    from trialwise.exchange.captures import read_capture
    from trialwise.exchange.trace_files import trace_from_departures

    found = read_capture(capture)
    chosen = found.selected(host, port, direction)
    for line in _counted(found, int(chosen.sum()), by_port=port is not None):
        stderr_console().print(line, markup=False)
    return _write(trace_from_departures(found.time[chosen], found.size[chosen], str(capture)), out)


def _counted(found: Capture, chosen: int, *, by_port: bool) -> Iterator[str]:
    """Yield the number of packets of a capture behind the trace, and what was not counted."""
    yield f"{chosen} of {found.time.size} IP packets, {sum(found.others.values())} others"
    named = [f"{number} {what}" for what, number in found.others.items()]
    if named:
        more = f" and {len(named) - _NAMED} more types" if len(named) > _NAMED else ""
        yield f"not counted: {', '.join(named[:_NAMED])}{more}"
    for what, number in found.portless.items() if by_port else ():
        yield f"not counted, since their port is not known: {number} {what}"
    if found.is_cut_off:
        yield "the capture ends in the middle of a record, which is left out"
    if found.dropped:
        yield f"the capture missed {found.dropped} packets, by its own count"


@app.command(name="from-log")
def from_log(
    log: Path,
    /,
    *,
    lines: Literal["opportunities", "departures"] | None = None,
    direction: Literal["uplink", "downlink"] | None = None,
    out: Out = STANDARD,
    force: Force = False,
) -> int:
    r"""Make the trace of a link from a log: its opportunities where the log has them, else what departed.

    Logs are those of mahimahi's mm-link, Pantheon's merged logs, packet logs of Trialwise, and packets as Parquet.

    For example:

    ```text
    trialwise trace from-log uplink.log --out uplink.trace
    trialwise trace from-log packets.parquet --direction downlink \
        --out downlink.trace
    ```

    Exit codes: 0; 2 wrong options, or a file that is there; 5 the file cannot be written; 7 a file that is no log, or has no
    such packets.

    Parameters
    ----------
    log
        The log.
    lines
        What of it: when the link could send (mahimahi's `#`), or when packets left (`-`).
    direction
        Which way, where the log has both; default uplink.
    """
    check_out(out, force=force)
    from trialwise.exchange.packet_files import read_packet_file
    from trialwise.exchange.trace_files import trace_from_departures, trace_from_opportunities

    found = read_packet_file(log)
    if lines == "opportunities" and found.opportunities is None:
        raise TrialwiseError(f"{log}: a {found.kind} has no opportunities", hint="use --lines departures")
    if lines != "departures" and found.opportunities is not None and found.opportunities.size:
        return _write(trace_from_opportunities(found.opportunities, found.base, str(log)), out)
    ways = set(found.packets.direction.tolist())
    way = direction or ("downlink" if ways == {1} else "uplink")
    left = found.packets.of(way)
    left = left.where(left.delivered)
    times = (left.time * 1e9).round().astype("int64")
    return _write(trace_from_departures(times, left.size.astype("int64"), str(log)), out)


def _read_either(path: Path) -> Trace | Recording:
    """Read a trace, or a recording, by how the file begins."""
    from trialwise.exchange.recording_files import is_recording, parse_recording
    from trialwise.exchange.trace_files import parse_trace, text_of

    text, name = read_text(path) if path == STANDARD else (text_of(path), str(path))
    return parse_recording(text, name) if is_recording(text) else parse_trace(text, name)


def _write(trace: Trace, out: Path) -> int:
    if out == STANDARD:
        print_data(_core.format_trace(trace))
        return 0
    from trialwise.exchange.trace_files import write_trace

    write_trace(out, trace)
    mean = _core.trace_mean_rate(trace, mahimahi=False) / 1e6
    text = f"wrote {out}: {counted(trace.size, 'opportunity', 'opportunities')} in {int(trace[-1])} ms, {write(mean)} Mbit/s"
    stderr_console().print(text, markup=False)
    return 0


def _milliseconds(text: str, option: str) -> int:
    from trialwise.experiment.quantity import seconds

    try:
        return round(seconds(text) * 1000)
    except ValueError as error:
        raise TrialwiseError(f"{option} {text}: {error}") from error


def _bin(text: str) -> int:
    width = _milliseconds(text, "--bin")
    if width < 1:
        raise TrialwiseError(f"--bin {text}: expected at least 1ms")
    return width
