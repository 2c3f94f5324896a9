"""`perf stat -x,` and `-j` (tools/perf/Documentation/perf-stat.txt, "CSV FORMAT" and "JSON FORMAT"); a file is a trial.

With `-r`, perf keeps only the mean over runs and its relative standard deviation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from trialwise.readers.appended import apart_at, divided
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.lines import lines_of, local_moment, number
from trialwise.readers.parts import Part
from trialwise.readers.records import Inside, Summary
from trialwise.readers.trial import sum_of

_VALUE = r"(?:-?\d{1,30}(?:[.,]\d{1,30})?|<not supported>|<not counted>)"
_CSV = re.compile(
    r"^ *(?:(?P<time>\d{1,12}[.,]\d{1,12})[,;\t|])?"
    r"(?:(?:CPU|S|D|N|cpu)\d[\w-]{0,20}(?P<after>[,;\t|])(?:\d{1,6}(?P=after))?)?"
    rf"(?P<value>{_VALUE})(?P<s>[,;\t|])(?P<unit>[A-Za-z/%]{{0,20}})(?P=s)(?P<event>[A-Za-z][^;\t|\s\"{{}}]{{0,200}}?)(?P=s)"
    r"(?:(?P<variance>\d{1,6}[.,]\d{1,4})%(?P=s))?(?P<runtime>\d{1,20})(?P=s)(?P<running>\d{1,3}[.,]\d{1,4})"
    r"(?:(?P=s)(?P<metric>[^;\t|\s]{0,40})(?P=s)(?P<metric_unit>[^;\t|]{0,100}))?"
)
_BEGAN = re.compile(r"^# started on (\w{3} \w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4})", re.MULTILINE)
_UNITS = {"msec": "ms", "": "1"}
_RATIO = "insn per cycle"
_MISSING = {"<not supported>": "counter_not_supported", "<not counted>": "counter_not_counted"}
_WHOLE = 99.995
_LOOKED_AT = 50
_LONGEST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counter:
    """One line: a counter, of one CPU and of one interval if these are told."""

    event: str
    value: str
    unit: str
    variance: float | None
    running: float | None
    ratio: float | None
    time: float | None


def _is_csv(content: Content) -> bool:
    """Return True if counters stand in the first lines; what the program printed may precede them."""
    if content.is_binary:
        return False
    return any(_CSV.match(line[:_LONGEST]) for line in content.head.split("\n")[:_LOOKED_AT])


_begun_apart = apart_at(_BEGAN)


def _csv_apart(content: Content) -> Sequence[Content]:
    """Divide what `--append` put together: where a run began, else where a counter comes again."""
    if len(begun := _begun_apart(content)) > 1:
        return begun
    seen: set[tuple[str, str]] = set()
    begins, place = [0], 0
    for line in content.lines:
        if (told := _CSV.match(line[:_LONGEST])) is not None:
            counter = (line[: told.start("value")], told["event"])
            if counter in seen:
                begins.append(place)
                seen.clear()
            seen.add(counter)
        place += len(line) + 1
    return divided(content, begins)


def _json_apart(content: Content) -> Sequence[Content]:
    """Divide lines of JSON where a run began, or a counter comes again."""
    if len(begun := _begun_apart(content)) > 1:
        return begun
    runs: list[list[Any]] = [[]]
    seen: set[tuple[str, str, str]] = set()
    for document in content.documents.whole:
        told = Part(document)
        counter = (told["event"].text, told["cpu"].level, told["interval"].level)
        if counter in seen:
            runs.append([])
            seen.clear()
        seen.add(counter)
        runs[-1].append(document)
    return [content] if len(runs) == 1 else [content.holding(*run) for run in runs]


def _is_json(content: Content) -> bool:
    return "counter-value" in content.keys and "event" in content.keys


def _read_csv(content: Content, found: Found) -> None:
    counters: list[_Counter] = []
    has_commas = False
    for line, text in enumerate(lines_of(content), 1):
        if (told := _CSV.match(text)) is None:
            if counters and text.strip() and not text.startswith("#"):
                found.note("partial", what=f"line {line} is no counter")
            continue
        has_commas = has_commas or (told["s"] != "," and "," in told["value"])
        counters.append(
            _Counter(
                event=told["event"],
                value=told["value"].replace(",", "."),
                unit=told["unit"],
                variance=_decimal(told["variance"]),
                running=_decimal(told["running"]),
                ratio=_decimal(told["metric"]) if (told["metric_unit"] or "").strip() == _RATIO else None,
                time=_decimal(told["time"]),
            )
        )
    if has_commas:
        found.note("decimal_comma", what="the values")
    _add_all(found, content, counters)


def _decimal(told: str | None) -> float | None:
    return number((told or "").replace(",", "."))


def _read_json(content: Content, found: Found) -> None:
    _add_all(found, content, list(_from_json(content)))
    if content.documents.is_cut:
        found.note("partial", what="the last line has no end")


def _from_json(content: Content) -> Iterator[_Counter]:
    for told in map(Part, content.documents.whole):
        if not told["event"].text:
            continue
        yield _Counter(
            event=told["event"].text,
            value=told["counter-value"].level,
            unit=told["unit"].text,
            variance=told["variance"].number,
            running=told["pcnt-running"].number,
            ratio=told["metric-value"].number if told["metric-unit"].text.strip() == _RATIO else None,
            time=told["interval"].number,
        )


def _add_all(found: Found, content: Content, counters: list[_Counter]) -> None:
    """Add each event: CPUs and intervals are parts of one trial, and counts add up."""
    events: dict[str, list[_Counter]] = {}
    for counter in counters:
        events.setdefault(counter.event, []).append(counter)
    if any(counter.variance is not None for counter in counters):
        found.unit = "none (mean of several runs)"
    began = _BEGAN.search(content.head)
    start = None if began is None else local_moment(began[1], "%a %b %d %H:%M:%S %Y")
    for event, parts in events.items():
        _add_event(found, event, parts, start)


def _add_event(found: Found, event: str, parts: list[_Counter], start: float | None) -> None:
    unit = _UNITS.get(parts[0].unit, parts[0].unit)
    for part in parts:
        if part.value in _MISSING:
            found.gather(_MISSING[part.value], event)
    known = [(value, part) for part in parts if (value := number(part.value)) is not None]
    variance = parts[0].variance
    total = sum_of(value for value, _ in known) if len(known) == len(parts) else None
    if any(part.running is not None and 0 < part.running < _WHOLE for _, part in known):
        found.remark(f"{event} was counted part of the time only, and is an estimate of perf's")
    error = None if variance is None or total is None else total * variance / 100
    found.add(
        {},
        event,
        total,
        unit,
        "lower",
        status="finished" if variance is None else "aggregated",
        summary=None if error is None else Summary(error=error),
        samples=_samples(parts, [value for value, _ in known]),
        start=start,
        as_written=True,
    )
    ratios = [part.ratio for part in parts if part.ratio is not None]
    if len(ratios) == len(parts) == 1:
        found.add({}, "ipc", ratios[0], "1", "higher", start=start)


def _samples(parts: list[_Counter], values: list[float]) -> Inside | None:
    """Return the counts of intervals, if each of them is there, and there are no parts of CPUs."""
    times = [part.time for part in parts if part.time is not None]
    if len(times) != len(parts) or len(values) != len(parts) or len(parts) == 1:
        return None
    return Inside("interval", values, times) if all(a < b for a, b in pairwise(times)) else None


READERS = (
    Reader(
        name="perf-stat-csv",
        tool="perf stat",
        how="`perf stat -x, -o FILE COMMAND`",
        replicated="file",
        unit="file",
        fits=_is_csv,
        read=_read_csv,
        runs=_csv_apart,
    ),
    Reader(
        name="perf-stat-json",
        tool="perf stat",
        how="`perf stat -j -o FILE COMMAND`",
        replicated="file",
        unit="file",
        fits=_is_json,
        read=_read_json,
        runs=_json_apart,
    ),
)
