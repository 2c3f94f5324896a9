"""`trialwise trace import`: recordings of a path from what others recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from cyclopts import Parameter

from trialwise.cli.files import STANDARD, check_out, read_text
from trialwise.cli.output import stderr_console
from trialwise.cli.text import print_data
from trialwise.errors import TrialwiseError
from trialwise.exchange.path_sources import SOURCES, filled
from trialwise.exchange.path_texts import Found, Options, Source
from trialwise.exchange.recording_files import described, parse_recording, recording_text, write_recording
from trialwise.experiment.quantity import duration_text, seconds
from trialwise.measurement.recordings import DELAY, RATE, Recording, Steps, Way

Kind = Literal[
    "mahimahi",
    "leoreplayer",
    "hypatia",
    "irish",
    "pensieve",
    "fcc",
    "fcc-cooked",
    "norway",
    "belgium",
    "monroe",
    "columns",
    "log",
    "capture",
]
Fill = Literal["constant", "poisson", "cellular"]


def import_(
    kind: Kind,
    /,
    *files: Path,
    out: Annotated[
        Path,
        Parameter(
            name=["--out", "-o"],
            help="Where the recording goes; `-` is standard output.",
            allow_leading_hyphen=True,
        ),
    ] = STANDARD,
    force: Annotated[bool, Parameter(help="Overwrite a file that is there.", negative="")] = False,
    direction: Literal["uplink", "downlink"] = "downlink",
    base_delay: Annotated[str | None, Parameter("--delay")] = None,
    rate: str | None = None,
    delays: tuple[Path, ...] = (),
    interval: str = "10ms",
    round_trip: Annotated[bool, Parameter(negative="")] = False,
    select: str | None = None,
    columns: str | None = None,
    host: str | None = None,
    port: int | None = None,
    fill: Fill = "constant",
    seed: int = 0,
    licence: str | None = None,
) -> int:
    r"""Make a recording of a path from what others recorded: traces, lists of rates, tables, packet logs.

    The recording is replayed with `path = "recording:FILE"`. Gaps, and times at which nothing can leave for more than a second, are
    reported, and noted in its header, as is the SHA-256 of each file.

    For example:

    ```text
    trialwise trace import mahimahi up.trace down.trace --delay 28ms \
        --out cell.csv
    trialwise trace import leoreplayer bw_up.txt bw_down.txt \
        --delays delay_up.txt --out leo.csv
    trialwise trace import irish B_2019.12.16_13.40.04.csv --fill cellular \
        --out irish.csv
    trialwise trace import monroe pings.csv downloads.csv --out monroe.csv
    trialwise trace import columns rates.txt --out rates.csv \
        --columns time=ts,time_unit=s,rate=dl,unit=kbit/s
    ```

    Exit codes: 0; 2 wrong options, or a file that is there; 5 the file cannot be written; 7 a file that is not what it should be.

    Parameters
    ----------
    kind
        What the files are: traces of mahimahi; bw_*.txt of LeoReplayer; a round trip of Hypatia; the Irish 4G and 5G tables;
        `time rate` in s and Mbit/s (Pensieve); FCC's webget table, or cooked; Norway's and Belgium's logs; pings and downloads
        of MONROE; any table by its columns; a log of packets; a capture (pcap, pcapng) of what left the link.
    files
        The files; of traces that of the uplink and that of the downlink.
    direction
        The direction of a list of rates, or of a single trace.
    base_delay
        Base delay of both ways, where the files have none: 28ms.
    rate
        The rate of both ways, where the files have none (Hypatia): 50Mbit/s.
    delays
        LeoReplayer's delay_*.txt: one for both ways, or one each.
    interval
        What a line of them is.
    round_trip
        They are round trips: half goes each way.
    select
        Of FCC, which unit and target, as UNIT,TARGET; of MONROE, which node and SIM, as NODE,ICCID.
    columns
        Where a table has what, by name or number: time=…,time_unit=…,rate=…,unit=….
    host
        Of a capture, only packets to this address.
    port
        Of a capture, only packets to this TCP or UDP port.
    fill
        How rates in steps are filled: constant, with packets at random (poisson), or also a rate that varies (cellular).
    seed
        Of what is random.
    licence
        Of the data, for the header.
    """
    check_out(out, force=force)
    if not files:
        raise TrialwiseError("no file to import", hint=f"trialwise trace import {kind} FILE --out NAME.csv")
    if seed < 0:
        raise TrialwiseError(f"--seed {seed}: expected a number ≥ 0")
    if kind != "capture" and (host is not None or port is not None):
        raise TrialwiseError(
            "--host and --port choose packets of a capture", hint="trialwise trace import capture FILE"
        )
    found = (
        _of_capture(files, host, port, direction)
        if kind == "capture"
        else _found(
            kind,
            files,
            Options(
                direction=direction,
                interval=_positive(interval, "--interval"),
                round_trip=round_trip,
                delays=[_source(path) for path in delays],
                rate=None if rate is None else _rate(rate),
                select=select,
                columns=columns,
            ),
        )
    )
    recording = filled(found.recording, fill, seed)
    if base_delay is not None:
        recording = _delayed(recording, _positive(base_delay, "--delay") * 1000)
    notes = [*found.notes, *(() if fill == "constant" else (_said_fill(fill, seed),))]
    header = described(
        [*files, *delays], f"{kind}: {', '.join(path.name for path in files)}", fill=fill, notes=notes
    )
    if licence is not None:
        header["licence"] = licence
    for note in notes:
        stderr_console().print(f"note: {note}", markup=False)
    return write_out(replace(recording, header=header), out)


def _said_fill(fill: Fill, seed: int) -> str:
    return f"rates are filled as {fill} with seed {seed}: what happens within a step is drawn, not recorded"


def _found(kind: Kind, files: tuple[Path, ...], options: Options) -> Found:
    if kind == "log":
        return _of_log(files)
    return SOURCES[kind]([_source(path) for path in files], options)


def _of_log(files: tuple[Path, ...]) -> Found:
    from trialwise.exchange.packet_files import read_packet_file
    from trialwise.measurement.recorded_paths import recording_of

    if len(files) != 1:
        raise TrialwiseError(f"{len(files)} logs", hint="name the one to read")
    note = "rates and delays are the path's while a sender kept it full; where it did not, they are those of what was sent"
    found = recording_of(read_packet_file(files[0]).packets)
    if not found.ways:
        raise TrialwiseError(f"{files[0]}: has no packet that was delivered")
    return Found(found, (note,))


def _of_capture(
    files: tuple[Path, ...], host: str | None, port: int | None, direction: Literal["uplink", "downlink"]
) -> Found:
    from trialwise.exchange.captures import read_capture
    from trialwise.exchange.trace_files import trace_from_departures

    if len(files) != 1:
        raise TrialwiseError(f"{len(files)} captures", hint="name the one of what left the link")
    read = read_capture(files[0])
    chosen = read.selected(host, port, None if host is None and port is None else "to")
    times = trace_from_departures(read.time[chosen], read.size[chosen], str(files[0])).astype(np.int64)
    way = Way(opportunities=times)
    uplink, downlink = (way, Way()) if direction == "uplink" else (Way(), way)
    note = f"{int(chosen.sum())} of {read.time.size} IP packets; a capture at one point says nothing of delay or loss"
    return Found(Recording(uplink, downlink, float(times[-1])), (note,))


def _source(path: Path) -> Source:
    return Source(*read_text(path))


def _delayed(recording: Recording, delay: float) -> Recording:
    """Give both ways the base delay (µs)."""
    if any(DELAY in way.steps for way in recording.ways.values()):
        raise TrialwiseError(
            "--delay: the files say the delay", hint="leave it out, or use `trialwise trace scale`"
        )
    steps = Steps(np.zeros(1), np.array([delay]))
    ways = {
        name: Way({**way.steps, DELAY: steps}, way.opportunities)
        for name, way in (("uplink", recording.uplink), ("downlink", recording.downlink))
    }
    return replace(recording, **ways)


def _positive(text: str, option: str) -> float:
    """Return the milliseconds of a time above zero."""
    try:
        value = seconds(text) * 1000
    except ValueError as error:
        raise TrialwiseError(f"{option} {text}: {error}") from error
    if value <= 0:
        raise TrialwiseError(f"{option} {text}: expected a time above 0")
    return value


def _rate(text: str) -> float:
    from trialwise import _core

    try:
        return float(_core.check_link([[("rate", text)]], ".").capacity or 0)
    except ValueError as error:
        raise TrialwiseError(f"--rate {text}: {error}") from error


def write_out(recording: Recording, out: Path) -> int:
    """Write a recording to a file, or to standard output, and say what was written."""
    if out == STANDARD:
        text = recording_text(recording)
        parse_recording(text, "the recording")
        print_data(text)
        return 0
    write_recording(out, recording)
    said = "; ".join(_way_words(recording)) or "nothing"
    stderr_console().print(f"wrote {out}: {duration_text(recording.length / 1000)}, {said}", markup=False)
    return 0


def _way_words(recording: Recording) -> Iterator[str]:
    from trialwise.report.numbers import write

    for name, way in recording.ways.items():
        rate = way.rates(np.array([0.0, recording.length])) if recording.length > 0 else None
        words = ["rate" if column == RATE else column for column in way.columns]
        mean = "" if rate is None else f" ({write(float(rate[0]))} Mbit/s in the mean)"
        yield f"{name} {', '.join(words)}{mean}"
