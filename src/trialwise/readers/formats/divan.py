"""divan: the table of `cargo bench`, whose columns stand below those of its header.

A name stands in a tree before them; throughput and allocations of a benchmark are in further lines below its time. Each number is
one of some samples of one process, which are not printed themselves: the median is taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from trialwise.readers.content import Content
from trialwise.readers.declared import NO_UNIT, Found, Reader
from trialwise.readers.lines import COUNT, NUMBER, lines_of
from trialwise.readers.records import Summary
from trialwise.readers.units import NORMAL

_HEADER = re.compile(
    r"^(\S{1,200}) +fastest +│ slowest +│ median +│ mean +│ samples +│ iters *$", re.MULTILINE
)
_COLUMNS = ("fastest", "slowest", "median", "mean", "samples", "iters")
_MEDIAN, _SAMPLES = _COLUMNS.index("median"), _COLUMNS.index("samples")
_BAR = "│"
_TREE = f"{_BAR}├╰─ "
_STEP = 3
"""Characters of a level of the tree."""
_CELL = re.compile(rf"({NUMBER})(?: (\S{{1,12}}))?")
_RATE = re.compile(r"([KMGTP]?)(i?)(B|item|char|cycle|Hz)(?:/s)?")
_POWERS = ("", "K", "M", "G", "T", "P")
_THREADS = re.compile(rf"t=({COUNT})")


class _Line(NamedTuple):
    """A line of a table: its name, how deep that stands in the tree, and its cells."""

    name: str
    depth: int
    cells: Sequence[str]


def _fits(content: Content) -> bool:
    return not content.is_binary and _HEADER.search(content.head) is not None


def _read(content: Content, found: Found) -> None:
    begins: list[int] = []
    path: list[str] = []
    samples, label = 0, ""
    for number, line in enumerate(lines_of(content), 1):
        if (header := _HEADER.match(line)) is not None:
            begins, path, label = [line.index(name) for name in _COLUMNS], [header[1]], ""
            continue
        if not begins or line[:1] not in _TREE or not line.strip():
            begins = []
            continue
        if line[begins[0] :].count(_BAR) < len(_COLUMNS) - 1:
            found.note("partial", what=f"line {number} is not whole")
            continue
        told = _split(line, begins)
        median = told.cells[_MEDIAN]
        if told.name:
            path[told.depth :] = [told.name]
            label = ""
            if not median:  # of a group, or ignored
                continue
            samples = int(told.cells[_SAMPLES]) if re.fullmatch(COUNT, told.cells[_SAMPLES]) else 0
        elif told.cells[0].endswith(":"):
            label = told.cells[0].removesuffix(":")
            continue
        if median:
            _add(found, path, label, median, samples, number)


def _split(line: str, begins: Sequence[int]) -> _Line:
    tree = line[: begins[0]]
    name = tree.lstrip(_TREE)
    depth = max(1, (len(tree) - len(name)) // _STEP)
    ends = [*begins[1:], len(line)]
    cells = [line[begin:end].strip(f"{_BAR} ") for begin, end in zip(begins, ends, strict=True)]
    return _Line(name.strip(), depth, cells)


def _add(found: Found, path: Sequence[str], label: str, median: str, samples: int, line: int) -> None:
    cell = _CELL.fullmatch(median)
    if cell is None or not isfinite(float(cell[1])):
        found.note("partial", what=f"line {line} is not whole")
        return
    threads = _THREADS.fullmatch(path[-1])
    treatment = {"benchmark": "::".join(path[:-1] if threads else path)}
    value, unit = float(cell[1]), cell[2] or ""
    rate = _RATE.fullmatch(unit)
    if label:
        metric, better = (f"{label} bytes" if unit else label), "lower"
    elif NORMAL.get(unit, (1.0, ""))[1] == "s":
        metric, better = "time", "lower"
    else:
        metric, better = "throughput", "higher"
    if rate is not None:
        value *= (1024.0 if rate[2] else 1000.0) ** _POWERS.index(rate[1])
        kept = "byte" if rate[3] == "B" else "1"
        unit = f"{kept}/s" if not label else kept
    found.add(
        treatment | ({"threads": threads[1]} if threads else {}),
        metric,
        value,
        unit or "1",
        better,
        status="aggregated",
        summary=Summary(n=samples or None),
        where=f"line {line}",
    )


READERS = (
    Reader(
        name="divan-text",
        tool="divan",
        how="`cargo bench`, printed into a file",
        replicated="process",
        unit=NO_UNIT,
        statistic="median",
        subjects=("benchmark",),
        fits=_fits,
        read=_read,
    ),
)
