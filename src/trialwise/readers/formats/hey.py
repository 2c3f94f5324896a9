"""What hey prints, and its `-o csv` (`requester/print.go`); a file is a trial. The concurrency is not in the file."""

from __future__ import annotations

import re

from trialwise.readers.appended import apart_at
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, first, lines_of, matches, number
from trialwise.readers.trial import Trial, add_requests

_HEADER = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset"
_SUMMARY = re.compile(r"^Summary:", re.MULTILINE)
_DETAILS = "Details (average, fastest, slowest)"
_RATE = re.compile(rf"^ *Requests/sec:\s+({NUMBER})")
_MEAN = re.compile(rf"^ *Average:\s+({NUMBER}) secs")
_SLOWEST = re.compile(rf"^ *Slowest:\s+({NUMBER}) secs")
_PERCENT = re.compile(rf"^ *({COUNT})% in ({NUMBER}) secs")
_STATUS = re.compile(rf"^ *\[({COUNT})\]\s+({COUNT}) responses")
_ERROR = re.compile(rf"^ *\[({COUNT})\]\s+(?!{COUNT} responses)\S")


def _is_text(content: Content) -> bool:
    return not content.is_binary and _SUMMARY.search(content.head) is not None and _DETAILS in content.head


def _read_text(content: Content, found: Found) -> None:
    lines, trial = lines_of(content), Trial(found=found)
    statuses = [(match[1], int(match[2])) for match in matches(_STATUS, lines)]
    answered = sum(count for _, count in statuses)
    broken = sum(int(match[1]) for match in matches(_ERROR, lines))
    reason = "" if answered else "no request was answered"
    trial.add("requests", _number(_RATE, lines), "1/s", "higher", reason=reason)
    trial.add("latency_mean", _number(_MEAN, lines), "s", "lower", reason=reason)
    if answered:
        trial.add("latency_max", _number(_SLOWEST, lines), "s", "lower")
    for percent in matches(_PERCENT, lines):
        if 0 < int(percent[1]) < 100:
            trial.add_quantile("latency", int(percent[1]), float(percent[2]), "s", answered)
    failed = sum(count for code, count in statuses if not _succeeded(code))
    trial.add_errors(failed + broken, answered + broken)
    if not statuses and not broken:
        found.note("partial", what="the status codes are missing")


def _succeeded(code: str) -> bool:
    return code[:1] in ("2", "3")


def _number(pattern: re.Pattern[str], lines: list[str]) -> float | None:
    told = first(pattern, lines)
    return None if told is None else float(told[1])


def _is_csv(content: Content) -> bool:
    return not content.is_binary and content.head.startswith(_HEADER)


def _read_csv(content: Content, found: Found) -> None:
    """Read a row for each answered request; requests whose connection failed have none."""
    rows: list[tuple[float, float, str]] = []
    for line, text in enumerate(lines_of(content)[1:], 2):
        cells = text.split(",")
        latency, offset = number(cells[0]), number(cells[-1])
        if len(cells) != _HEADER.count(",") + 1 or latency is None or offset is None:
            found.note("partial", what=f"line {line} is no whole row")
            continue
        rows.append((offset, latency, cells[6]))
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
)
