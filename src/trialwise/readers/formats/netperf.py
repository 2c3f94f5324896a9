"""What netperf prints: tables, `-k` and `-o` (`doc/netperf.texi`); a file is a trial.

Units: k, m, g are bits in powers of ten; K, M, G are bytes in powers of two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from trialwise.readers.appended import apart_at
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import NUMBER, first, lines_of, matches, number, runs
from trialwise.readers.records import Inside
from trialwise.readers.trial import Trial

_BANNER = re.compile(
    r"^(?:MIGRATED )?((?:TCP|UDP|SCTP|DCCP|OMNI)[ _][A-Za-z/ _]{1,60}?) ?TEST (?:from|TO)|^(establish control: .{1,200})",
    re.MULTILINE,
)
_PAIR = re.compile(r"^([A-Z][A-Z0-9_]{2,60})=(.{0,200})$")
_NUMBERS = re.compile(rf"^ *(?:-?{NUMBER} +)+-?{NUMBER} *$")
_ALONE = re.compile(rf"^ *({NUMBER}) *$")
"""What `-v 0` prints: the rate without a table, and without its unit."""
_TOKEN = re.compile(r"\S+")
_RATE = re.compile(r"(10\^[369] *bits */s|[KMG]Bytes */s)")
_INTERIM = re.compile(
    rf"^Interim result: +({NUMBER}) (\S{{1,20}}) over {NUMBER} seconds ending at ({NUMBER})"
)
_REPEATED = re.compile(rf": \+/-{NUMBER}% @ {NUMBER}% conf\.")
_NOT_MET = "Desired confidence was not achieved"
_FACTORS = {
    "10^3bits/s": (1e3, "bit/s"),
    "10^6bits/s": (1e6, "bit/s"),
    "10^9bits/s": (1e9, "bit/s"),
    "KBytes/s": (1024.0, "byte/s"),
    "MBytes/s": (1024.0**2, "byte/s"),
    "GBytes/s": (1024.0**3, "byte/s"),
    "Trans/s": (1.0, "1/s"),
}
_TESTS = {
    "TCP STREAM": "TCP_STREAM",
    "TCP MAERTS": "TCP_MAERTS",
    "TCP SENDFILE": "TCP_SENDFILE",
    "TCP REQUEST/RESPONSE": "TCP_RR",
    "TCP CONNECT/REQUEST/RESPONSE": "TCP_CRR",
    "UDP UNIDIRECTIONAL SEND": "UDP_STREAM",
    "UDP REQUEST/RESPONSE": "UDP_RR",
    "SCTP STREAM": "SCTP_STREAM",
    "SCTP REQUEST/RESPONSE": "SCTP_RR",
}
_LATENCIES = {
    "MEAN_LATENCY": "latency_mean",
    "MIN_LATENCY": "latency_min",
    "MAX_LATENCY": "latency_max",
    "P50_LATENCY": "latency_p50",
    "P90_LATENCY": "latency_p90",
    "P99_LATENCY": "latency_p99",
}
_COLUMNS = {
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Protocol": "PROTOCOL",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
}
"""Names of columns of `-o` by those of `-k`."""
_NOT_ASKED = "-1"
"""What `-k` prints of a size that the test does not have."""
_LONGEST_ROW = 4000
_STREAM_RATE, _REQUEST_RATE, _SENT_RATE, _RECEIVED_RATE = 4, 5, 5, 3
"""Columns of rates in the tables; after them come columns of processor time, if these were asked for."""


def _has_banner(content: Content) -> bool:
    return not content.is_binary and _BANNER.search(content.head) is not None


def _is_pairs(content: Content) -> bool:
    if content.is_binary:
        return False
    keys = {found[1] for found in map(_PAIR.match, content.head.split("\n")) if found}
    return "THROUGHPUT" in keys and (_has_banner(content) or "THROUGHPUT_UNITS" in keys)


def _is_csv(content: Content) -> bool:
    return _has_banner(content) and not _is_pairs(content) and _header(content.head.split("\n")) is not None


def _is_table(content: Content) -> bool:
    return _has_banner(content) and not _is_pairs(content) and not _is_csv(content)


def _header(lines: list[str]) -> int | None:
    """Return the place of the line that names the columns of `-o`; None if there is none."""
    return next(
        (place for place, line in enumerate(lines) if "," in line and set(line.split(",")) & set(_COLUMNS)),
        None,
    )


def _trial(found: Found, lines: list[str], levels: Mapping[str, object], pairs: Mapping[str, str]) -> Trial:
    """Return the trial of a run, and note what netperf did with its iterations."""
    banner = _BANNER.match(lines[0])
    told = "" if banner is None else (banner[1] or "").strip()
    test = _TESTS.get(told.upper(), told.replace(" ", "_"))
    if any(map(_REPEATED.search, lines)):
        found.note("averaged_by_tool")
    if any(_NOT_MET in line for line in lines):
        found.note("confidence_not_met")
    for key in ("PROTOCOL", "REQUEST_SIZE", "RESPONSE_SIZE", "LOCAL_SEND_SIZE", "LOCAL_CONG_CONTROL"):
        if pairs.get(key, _NOT_ASKED) != _NOT_ASKED:
            found.options[key.lower()] = pairs[key]
    return Trial(
        found=found,
        treatment={"test": test} if test else {},
        levels=levels,
        reason="" if banner is None or banner[2] is None else banner[2],
    )


def _read_pairs(content: Content, found: Found) -> None:
    lines = lines_of(content)
    pairs = {pair[1]: pair[2].strip() for pair in matches(_PAIR, lines)}
    if not _has_banner(content):
        lines.insert(0, "")
    _add_pairs(_trial(found, _from_banner(lines), {}, pairs), pairs, lines)


def _from_banner(lines: list[str]) -> list[str]:
    place = next((place for place, line in enumerate(lines) if _BANNER.match(line)), 0)
    return lines[place:]


def _read_csv(content: Content, found: Found) -> None:
    lines = lines_of(content)
    place = _header(lines) or 0
    names, values = (line.split(",") for line in [*lines[place : place + 2], ""][:2])
    pairs = {_COLUMNS.get(name, name): value for name, value in zip(names, values, strict=False)}
    _add_pairs(_trial(found, _from_banner(lines), {}, pairs), pairs, lines)


def _add_pairs(trial: Trial, pairs: Mapping[str, str], lines: list[str]) -> None:
    rate, unit = number(pairs.get("THROUGHPUT", "")), pairs.get("THROUGHPUT_UNITS", "")
    _add_rate(trial, rate, unit, lines)
    for key, metric in _LATENCIES.items():
        if (value := number(pairs.get(key, ""))) is not None and value >= 0:
            trial.add(metric, value, "us", "lower")
    retransmits = number(pairs.get("LOCAL_TRANSPORT_RETRANS", ""))
    if retransmits is not None and retransmits >= 0:
        trial.add("retransmits", retransmits, "1", "lower")


def _add_rate(
    trial: Trial, rate: float | None, unit: str, lines: list[str], metric: str = "throughput"
) -> None:
    factor, normal = _FACTORS.get(unit.replace(" ", ""), (1.0, unit))
    name = "transactions" if normal == "1/s" else metric
    if not unit:
        trial.found.gather("unit_unknown", name)
    trial.add(
        name, None if rate is None else rate * factor, normal, "higher", samples=_interim(lines, unit, factor)
    )


def _interim(lines: list[str], unit: str, factor: float) -> Inside | None:
    told = [each for each in matches(_INTERIM, lines) if each[2] == unit]
    times = [float(each[3]) for each in told]
    if not told or any(a > b for a, b in pairwise(times)):
        return None
    return Inside("interval", [float(each[1]) * factor for each in told], times)


def _read_table(content: Content, found: Found) -> None:
    for lines, levels in runs(content, _BANNER):
        named = _named_columns(lines)
        trial = _trial(found, lines, levels, named)
        if named and not trial.reason:
            _add_pairs(trial, named, lines)
        else:
            _add_table(trial, lines)


def _named_columns(lines: list[str]) -> dict[str, str]:
    """Return the first row of a table of the omni tests and of `-O`, by the names of `-k`; nothing if it is another table.

    The name of a column stands over its cell, in several lines.
    """
    table = [line for line in lines[1:] if not _INTERIM.match(line)]
    blocks = "\n".join(line.rstrip() for line in table).strip("\n").split("\n\n")
    *heads, cells = blocks[0].split("\n")
    starts = [token.start() for token in _TOKEN.finditer(cells)]
    spans = list(pairwise([*starts, _LONGEST_ROW]))
    names = [" ".join(" ".join(head[begin:end] for head in heads).split()) for begin, end in spans]
    told = {_COLUMNS[name]: cell for name, cell in zip(names, cells.split(), strict=True) if name in _COLUMNS}
    return told if number(told.get("THROUGHPUT", "")) is not None else {}


def _add_table(trial: Trial, lines: list[str]) -> None:
    """Add what the table of a classic test tells: the unit of its rate stands over the first row."""
    test = str(trial.treatment.get("test", ""))
    place = next((at for at, line in enumerate(lines) if _NUMBERS.match(line)), len(lines))
    rows = [line.split() for line in lines[place:] if _NUMBERS.match(line)]
    unit = next((told[1] for told in map(_RATE.search, lines[:place]) if told), "")
    alone = first(_ALONE, lines)
    if trial.reason or not (rows or alone):
        _add_failed(trial, test)
    elif alone is not None and not rows:
        _add_rate(trial, number(alone[1]), "", lines)
    elif test.endswith(("RR", "CRR")):
        _add_rate(trial, _cell(rows[0], _REQUEST_RATE), unit or "Trans/s", lines)
    elif test == "UDP_STREAM":
        _add_datagrams(trial, rows, unit, lines)
    else:
        _add_rate(trial, _cell(rows[0], _STREAM_RATE), unit, lines)


def _add_failed(trial: Trial, test: str) -> None:
    is_request = test.endswith(("RR", "CRR"))
    trial.add(
        "transactions" if is_request else "throughput",
        None,
        "1/s" if is_request else "bit/s",
        "higher",
        reason=trial.reason or "it ended before its table",
    )


def _add_datagrams(trial: Trial, rows: list[list[str]], unit: str, lines: list[str]) -> None:
    """Add what was sent, and from the second row what arrived."""
    _add_rate(trial, _cell(rows[0], _SENT_RATE), unit, lines, "sent_rate")
    received = rows[1] if len(rows) > 1 else []
    _add_rate(trial, _cell(received, _RECEIVED_RATE), unit, [], "goodput")
    sent, arrived = _cell(rows[0], 3), _cell(received, 2)
    if sent and arrived is not None:
        trial.add("loss", 1 - arrived / sent, "1", "lower")


def _cell(row: list[str], place: int) -> float | None:
    return number(row[place]) if place < len(row) else None


READERS = (
    Reader(
        name="netperf-text",
        tool="netperf",
        how="`netperf -H HOST`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_table,
        read=_read_table,
    ),
    Reader(
        name="netperf-keyval",
        tool="netperf",
        how="`netperf -H HOST -- -k all`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_pairs,
        read=_read_pairs,
        runs=apart_at(_BANNER),
    ),
    Reader(
        name="netperf-csv",
        tool="netperf",
        how="`netperf -H HOST -- -o all`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_csv,
        read=_read_csv,
        runs=apart_at(_BANNER),
    ),
)
