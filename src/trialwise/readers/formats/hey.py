"""What hey and oha print, and their CSV (hey: `requester/print.go`); a file is a trial. The concurrency is not in the file.

oha prints what hey does, with a rate of success and with times in the unit that suits them.
"""

from __future__ import annotations

import re

from trialwise.readers.appended import apart_at
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, first, lines_of, matches, number
from trialwise.readers.trial import Trial, add_requests
from trialwise.readers.units import normalised

_HEADER = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset"
_OHA_HEADER = "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status"
_OF_OHA = "Success rate:"
_PLACES = {_HEADER: (7, 0, 6), _OHA_HEADER: (0, 4, 6)}
"""Columns of when a request was sent, how long it took, and its status."""
_SUMMARY = re.compile(r"^Summary:", re.MULTILINE)
_DETAILS = "Details (average, fastest, slowest)"
_RATE = re.compile(rf"^ *Requests/sec:\s+({NUMBER})")
_TIME = rf"({NUMBER}) (secs|sec|ms|us|µs|ns)\b"
_MEAN = re.compile(rf"^ *Average:\s+{_TIME}")
_SLOWEST = re.compile(rf"^ *Slowest:\s+{_TIME}")
_PERCENT = re.compile(rf"^ *({NUMBER})% in {_TIME}")
_STATUS = re.compile(rf"^ *\[({COUNT})\]\s+({COUNT}) responses")
_ERROR = re.compile(rf"^ *\[({COUNT})\]\s+(?!{COUNT} responses)\S")


def _is_text(content: Content) -> bool:
    return _is_summary(content) and _OF_OHA not in content.head


def _is_text_of_oha(content: Content) -> bool:
    return _is_summary(content) and _OF_OHA in content.head


def _is_summary(content: Content) -> bool:
    return not content.is_binary and _SUMMARY.search(content.head) is not None and _DETAILS in content.head


def _read_text(content: Content, found: Found) -> None:
    lines, trial = lines_of(content), Trial(found=found)
    statuses = [(match[1], int(match[2])) for match in matches(_STATUS, lines)]
    answered = sum(count for _, count in statuses)
    broken = sum(int(match[1]) for match in matches(_ERROR, lines))
    reason = "" if answered else "no request was answered"
    rate = first(_RATE, lines)
    trial.add("requests", None if rate is None else float(rate[1]), "1/s", "higher", reason=reason)
    trial.add("latency_mean", _seconds(first(_MEAN, lines)), "s", "lower", reason=reason)
    if answered:
        trial.add("latency_max", _seconds(first(_SLOWEST, lines)), "s", "lower")
    for percent in matches(_PERCENT, lines):
        if 0 < float(percent[1]) < 100:
            trial.add_quantile("latency", float(percent[1]), _seconds(percent, 2), "s", answered)
    failed = sum(count for code, count in statuses if not _succeeded(code))
    trial.add_errors(failed + broken, answered + broken)
    if not statuses and not broken:
        found.note("partial", what="the status codes are missing")


def _succeeded(code: str) -> bool:
    return code[:1] in ("2", "3")


def _seconds(told: re.Match[str] | None, place: int = 1) -> float | None:
    """Return a time and its unit, which stand at a place of a match and after it."""
    if told is None:
        return None
    return normalised(float(told[place]), told[place + 1].replace("secs", "s").replace("sec", "s"))[0]


def _is_csv(content: Content) -> bool:
    return not content.is_binary and content.head.startswith(_HEADER)


def _is_csv_of_oha(content: Content) -> bool:
    return not content.is_binary and content.head.startswith(_OHA_HEADER)


def _read_csv(content: Content, found: Found) -> None:
    """Read a row for each answered request; requests whose connection failed have none."""
    header, *lines = lines_of(content)
    sent, lasted, status = _PLACES[_HEADER if header.startswith(_HEADER) else _OHA_HEADER]
    rows: list[tuple[float, float, str]] = []
    for line, text in enumerate(lines, 2):
        cells = text.split(",")
        whole = len(cells) == header.count(",") + 1
        latency, offset = (number(cells[place]) if whole else None for place in (lasted, sent))
        if latency is None or offset is None:
            found.note("partial", what=f"line {line} is no whole row")
            continue
        rows.append((offset, latency, cells[status]))
    rows.sort()
    trial = Trial(found=found)
    add_requests(trial, "latency", [latency for _, latency, _ in rows], [offset for offset, _, _ in rows])
    trial.add_errors(sum(not _succeeded(code) for _, _, code in rows), len(rows))
    found.remark("requests whose connection failed have no row in this format")


READERS = (
    Reader(
        name="hey-text",
        tool="hey",
        how="`hey URL`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_text,
        read=_read_text,
        runs=apart_at(_SUMMARY),
    ),
    Reader(
        name="hey-csv",
        tool="hey",
        how="`hey -o csv URL`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_csv,
        read=_read_csv,
        runs=apart_at(_HEADER),
    ),
    Reader(
        name="oha-text",
        tool="oha",
        how="`oha --no-tui URL`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_text_of_oha,
        read=_read_text,
        runs=apart_at(_SUMMARY),
    ),
    Reader(
        name="oha-csv",
        tool="oha",
        how="`oha --output-format csv URL`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_csv_of_oha,
        read=_read_csv,
        runs=apart_at(_OHA_HEADER),
    ),
)
