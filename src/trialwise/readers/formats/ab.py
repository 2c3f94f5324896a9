"""What ApacheBench prints, and its `-g` and `-e` files (`support/ab.c`); a file is a trial.

"Failed requests" counts answers of another length; answers with an error count only as "Non-2xx responses".
"""

from __future__ import annotations

import re

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, first, lines_of, matches, number, runs
from trialwise.readers.records import Inside, Summary
from trialwise.readers.trial import Trial, mean

_BEGIN = re.compile(r"^This is ApacheBench", re.MULTILINE)
_VERSION = re.compile(r"^This is ApacheBench, Version (\S{1,40})")
_CONCURRENCY = re.compile(rf"^Concurrency Level: +({COUNT})")
_COMPLETE = re.compile(rf"^Complete requests: +({COUNT})")
_FAILED = re.compile(rf"^Failed requests: +({COUNT})")
_NON_2XX = re.compile(rf"^Non-2xx responses: +({COUNT})")
_RATE = re.compile(rf"^Requests per second: +({NUMBER}) \[#/sec\]")
_TIME = re.compile(rf"^Time per request: +({NUMBER}) \[ms\] \(mean\)$")
_TRANSFER = re.compile(rf"^Transfer rate: +({NUMBER}) \[Kbytes/sec\] received")
_PERCENT = re.compile(rf"^ +({COUNT})% +({NUMBER})$")
_ENDED = re.compile(
    r"^(?:.{0,300}\.\.\.)?(apr_\w{1,60}: .{1,200}|Total of \d{1,18} requests completed|Test aborted.{0,200})"
)
_HEADER = ["starttime", "seconds", "ctime", "dtime", "ttime", "wait"]
_CURVE = "Percentage served,Time in ms"
_TTIME = 4


def _is_text(content: Content) -> bool:
    return not content.is_binary and _BEGIN.search(content.head) is not None


def _read_text(content: Content, found: Found) -> None:
    for lines, levels in runs(content, _BEGIN):
        _add_run(found, lines, levels)


def _add_run(found: Found, lines: list[str], levels: dict[str, object]) -> None:
    version, concurrency, rate = first(_VERSION, lines), first(_CONCURRENCY, lines), first(_RATE, lines)
    found.version = version[1] if version is not None else found.version
    ended = first(_ENDED, lines)
    trial = Trial(
        found=found,
        treatment={} if concurrency is None else {"concurrency": concurrency[1]},
        levels=levels,
        reason="" if rate is not None else ended[1] if ended is not None else "it ended before its summary",
    )
    complete = _whole(_COMPLETE, lines)
    trial.add("requests", _number(_RATE, lines), "1/s", "higher")
    trial.add("time_per_request", _number(_TIME, lines), "ms", "lower")
    if rate is None:
        return
    transfer = _number(_TRANSFER, lines)
    trial.add_known("transfer", None if transfer is None else transfer * 1024, "byte/s", "higher")
    for percent in matches(_PERCENT, lines):
        if 0 < int(percent[1]) < 100:
            trial.add_quantile("latency", int(percent[1]), float(percent[2]), "ms", complete)
    failed, answered = _whole(_FAILED, lines), _whole(_NON_2XX, lines)
    known = [count for count in (failed, answered) if count is not None]
    trial.add_errors(max(known) if known else None, complete)


def _number(pattern: re.Pattern[str], lines: list[str]) -> float | None:
    told = first(pattern, lines)
    return None if told is None else float(told[1])


def _whole(pattern: re.Pattern[str], lines: list[str]) -> int | None:
    told = first(pattern, lines)
    return None if told is None else int(told[1])


def _is_tsv(content: Content) -> bool:
    return not content.is_binary and content.head.split("\n", 1)[0].split("\t") == _HEADER


def _read_tsv(content: Content, found: Found) -> None:
    """Read the requests, which ab sorts by their time, in whole milliseconds."""
    values: list[float] = []
    moments: list[float] = []
    for line, text in enumerate(lines_of(content)[1:], 2):
        cells = text.split("\t")
        sent, taken = (number(cells[place]) if len(cells) == len(_HEADER) else None for place in (1, _TTIME))
        if sent is None or taken is None:
            found.note("partial", what=f"line {line} is no whole row")
            continue
        values.append(taken / 1000)
        moments.append(sent)
    trial = Trial(found=found, start=min(moments, default=None), end=max(moments, default=None))
    trial.add("latency_mean", mean(values), "s", "lower", samples=Inside("request", values))
    found.note("sorted_rows")
    found.note("coarse_clock", what="1 ms")


def _is_curve(content: Content) -> bool:
    return not content.is_binary and content.head.startswith(_CURVE)


def _read_curve(content: Content, found: Found) -> None:
    """Read the curve of percentiles: its rows are no trials."""
    curve: dict[float, float] = {}
    for line, text in enumerate(lines_of(content)[1:], 2):
        told, _, value = text.partition(",")
        percent, latency = number(told), number(value)
        if percent is None or latency is None:
            found.note("partial", what=f"line {line} is no whole row")
        elif 0 < percent < 100:
            curve[percent] = latency / 1000
    if curve:
        found.add({}, "latency", None, "s", "lower", status="aggregated", summary=Summary(percentiles=curve))
    found.note("one_unit", unit="file")


READERS = (
    Reader(
        name="ab-text",
        tool="ApacheBench",
        how="`ab -n 1000 -c 10 URL`, printed into a file",
        replicated="file",
        unit="file",
        fits=_is_text,
        read=_read_text,
    ),
    Reader(
        name="ab-tsv",
        tool="ApacheBench",
        how="`ab -g FILE`",
        replicated="file",
        unit="file",
        fits=_is_tsv,
        read=_read_tsv,
    ),
    Reader(
        name="ab-percentiles",
        tool="ApacheBench",
        how="`ab -e FILE`",
        replicated="file",
        unit="none (summary)",
        fits=_is_curve,
        read=_read_curve,
    ),
)
