"""What `go test -bench` prints, as text or with `-json` (Go's benchmark data format, golang/go#14313; units, golang/go#43744)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, cast

from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.records import Better, listed

_NUMBER = r"(?:[-+\d.eE]+|NaN|[-+]Inf)"
_RESULT = rf"(\d+)((?:\s+{_NUMBER} \S+)+)\s*$"
_LINE = re.compile(rf"^Benchmark(\S*)\s+{_RESULT}")
_BEGUN = re.compile(r"^Benchmark(\S+)\s")
_REST = re.compile(rf"(?:^|\s){_RESULT}")
"""Where a benchmark prints lines of its own, its name stands before the first of them, and its result behind the last."""
_LOST = re.compile(r"^FAIL\s+(\S+)\s+(?:\[(.*)\]|[\d.]+s)$")
_SIGNATURE = re.compile(r"^Benchmark\S*\s+\d+\s+[-+\d.eE]+ \S+", re.MULTILINE)
_VALUE = re.compile(rf"({_NUMBER}) (\S+)")
_LABEL = re.compile(r"^([a-z][^\s:A-Z]*): *(.*)$")
_UNIT = re.compile(r"^Unit (\S+) .*?better=(lower|higher)")
_ENDED = re.compile(r"^\s*--- (FAIL|SKIP): Benchmark(\S+)")
_OVER = re.compile(r"^(?:ok|PASS|FAIL)\b")
_DIED = re.compile(r"^(?:Benchmark\S*\s+)?(panic: .*|fatal error: .*|\*\*\* Test killed.*)")
"""What the Go runtime prints where the program ends before its benchmarks do, perhaps behind the name of the one that ran."""
_EVENT = re.compile(r'^\{"(?:Time|Action)":')
_LONGEST = 80
_LONGEST_RESULT = 500
_FACTS = ("goos", "goarch", "cpu")
_DIRECTIONS: dict[str, Better] = {"ns/op": "lower", "B/op": "lower", "allocs/op": "lower", "MB/s": "higher"}


class _File:
    """The state that the lines of a file share: labels, directions of units, and the process in which a line ran."""

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self.directions = dict(_DIRECTIONS)
        self.process = 1
        self.was_over = False

    def take(self, line: str) -> None:
        """Note a label, a unit, or the end of a process."""
        if found := _UNIT.match(line):
            self.directions[found[1]] = cast("Better", found[2])
        elif _OVER.match(line):
            self.was_over = True
        elif found := _LABEL.match(line):
            if self.was_over and found[1] in ("goos", "pkg"):
                self.process, self.was_over = self.process + 1, False
            self.labels[found[1]] = found[2].strip()


def _is_text(content: Content) -> bool:
    return not content.is_binary and _SIGNATURE.search(content.head) is not None


def _is_events(content: Content) -> bool:
    return not content.is_binary and _EVENT.match(content.head) is not None and '"Action":' in content.head


def _read_text(content: Content, found: Found) -> None:
    lines = content.lines
    if content.ends_in_line:
        lines = [*lines[:-1], _whole(lines, found)]
    _read_lines(list(enumerate(lines, 1)), found)


def _whole(lines: list[str], found: Found) -> str:
    """Return the last line, which has no end: without a unit that was cut, since no other line has it, and its value."""
    *before, last = lines
    units = {
        *_DIRECTIONS,
        *(unit for line in before if _LINE.match(line) for _, unit in _VALUE.findall(line)),
    }
    told = _LINE.match(last)
    if told is None or _VALUE.findall(last)[-1][1] in units:
        return last
    found.note("partial", what=f"the unit at the end of line {len(lines)} was cut")
    return last[: told.start(3)] + re.sub(r"\s+\S+ \S+\s*$", "", told[3])


def _read_events(content: Content, found: Found) -> None:
    """Put the output of each package together first: one line of a benchmark may be split over events."""
    outputs: dict[str, str] = {}
    for number, line in enumerate(content.lines, 1):
        try:
            event = json.loads(line)
        except ValueError:
            found.note("partial", what=f"line {number} is no event")
            continue
        if isinstance(event, dict) and cast("dict[str, Any]", event).get("Action") == "output":
            told = cast("dict[str, Any]", event)
            package = str(told.get("Package", ""))
            outputs[package] = outputs.get(package, f"pkg: {package}\n") + str(told.get("Output", ""))
    lines = (line for text in outputs.values() for line in [*text.split("\n"), "PASS"])
    _read_lines([(0, line) for line in lines], found)


def _read_lines(told: list[tuple[int, str]], found: Found) -> None:
    file = _File()
    lines = list(_joined(told))
    lost: dict[str, None] = {}
    suffix = _has_suffixes(lines)
    series: list[tuple[tuple[str, ...], int]] = []
    for number, line in lines:
        if ended := _ENDED.match(line):
            _add_ended(found, file, ended, number, suffix=suffix)
        elif (measured := _LINE.match(line)) is not None:
            treatment = _treatment(file, measured[1], suffix=suffix)
            series.append((tuple(treatment.values()), file.process))
            _add(found, file, treatment, measured[3], len(series), number)
        elif died := _DIED.match(line):
            found.note("partial", what=f"the program failed: {died[1][:_LONGEST]}")
        elif failed := _LOST.match(line):
            lost[f"{failed[1]}{f' ({failed[2]})' if failed[2] else ''}"] = None
            file.take(line)
        else:
            file.take(line)
    if lost:
        found.remark(f"go test failed for {listed(list(lost))}: benchmarks may be missing")
    found.facts |= {name: file.labels[name] for name in _FACTS if name in file.labels}
    _note_units(found, series)


def _joined(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the lines, each result behind the name of its benchmark, from which output of the benchmark divided it."""
    name = ""
    for number, line in lines:
        begun = None if _LINE.match(line) else _BEGUN.match(line)
        told = line[begun.end() :] if begun else line
        if begun:
            name = begun[1]
        is_result = name and len(told) <= _LONGEST_RESULT and " ns/op" in told and not _LINE.match(line)
        if is_result and (rest := _REST.search(told)):
            yield number, f"Benchmark{name}\t{rest[1]}{rest[2]}"
            name = ""
        elif not (name and (label := _LABEL.match(line)) and label[1] not in ("pkg", *_FACTS)):
            yield number, line
            name = name if begun or not (_LINE.match(line) or _OVER.match(line)) else ""


def _add(found: Found, file: _File, treatment: dict[str, str], values: str, order: int, line: int) -> None:
    levels = {"process": file.process, "repetition": order}
    for text, unit in _VALUE.findall(values):
        try:
            value = float(text)
        except ValueError:
            raise found.wrong(f"line {line}: {text!r} is no number") from None
        found.add(
            treatment,
            unit,
            value,
            unit,
            file.directions.get(unit),
            levels=levels,
            order=order,
            where=f"line {line}",
        )


def _add_ended(found: Found, file: _File, ended: re.Match[str], line: int, *, suffix: bool) -> None:
    reason = "skipped" if ended[1] == "SKIP" else "the benchmark failed"
    treatment = _treatment(file, ended[2], suffix=suffix)
    levels = {"process": file.process}
    found.add(
        treatment,
        "ns/op",
        None,
        "ns/op",
        "lower",
        levels=levels,
        status="failed",
        reason=reason,
        where=f"line {line}",
    )


def _has_suffixes(lines: list[tuple[int, str]]) -> bool:
    """Return True if names end in `-P`, the number of threads: if all have the same end, or are names of the file without it.

    Go leaves it away for one thread, so that a name may end in a number of its own.
    """
    names = {found[1] for _, line in lines if (found := _LINE.match(line))}
    ends = Counter(found[1] for name in names if (found := re.search(r"-(\d+)$", name)))
    if not ends:
        return False
    bare = {name for name in names if not re.search(r"-\d+$", name)}
    return (
        all(re.sub(r"-\d+$", "", name) in bare or len(ends) == 1 for name in names - bare) if bare else True
    )


def _treatment(file: _File, name: str, *, suffix: bool) -> dict[str, str]:
    threads = "1"
    if suffix and (end := re.search(r"-(\d+)$", name)):
        name, threads = name[: end.start()], end[1]
    first, *parts = name.split("/")
    own = dict(_parts(parts))
    labels = {label: told for label, told in file.labels.items() if label not in _FACTS}
    plain = "/".join([first, *(part for part in parts if "=" not in part)])
    return {"benchmark": plain, **labels, **own, "gomaxprocs": threads}


def _parts(parts: list[str]) -> Iterator[tuple[str, str]]:
    for part in parts:
        name, is_pair, level = part.partition("=")
        if is_pair:
            yield name, level


def _note_units(found: Found, series: list[tuple[tuple[str, ...], int]]) -> None:
    """Say what was repeated: lines of one process, or processes; and the order of treatments."""
    processes: dict[tuple[str, ...], set[int]] = {}
    for treatment, process in series:
        processes.setdefault(treatment, set()).add(process)
    if any(len(each) > 1 for each in processes.values()):
        found.replicated, found.unit = "process", "go test process"
    elif series:
        found.note("within_process")
    runs = [
        treatment
        for place, (treatment, _) in enumerate(series)
        if place == 0 or series[place - 1][0] != treatment
    ]
    if len(processes) > 1 and len(runs) == len(processes) < len(series):
        found.note("order_blocked")


READERS = (
    Reader(
        name="go-bench-text",
        tool="go test -bench",
        how="`go test -bench . -count 10`, printed into a file",
        replicated="repetition",
        unit="-count line (one process)",
        subjects=("pkg", "benchmark"),
        context=("pkg", "gomaxprocs"),
        fits=_is_text,
        read=_read_text,
    ),
    Reader(
        name="go-bench-json",
        tool="go test -bench",
        how="`go test -json -bench . -count 10`",
        replicated="repetition",
        unit="-count line (one process)",
        subjects=("pkg", "benchmark"),
        context=("pkg", "gomaxprocs"),
        fits=_is_events,
        read=_read_events,
    ),
)
