"""OrderSage's `*_all_test_results.csv`: a row is a trial, at a place in a round whose order was fixed or random.

`time_start` and `time_stop` are seconds of processor time of the controller. A trial that failed has a result of 0 or NA. A test may
write several numbers, in one cell or, in a file that was cleaned, in as many rows of one position.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialwise.readers.appended import apart_at
from trialwise.readers.content import Content
from trialwise.readers.declared import NO_END, Found, Reader

_COMMANDS = ("test_command", "exp_command")
_NEEDED = {"run_uuid", "run_num", "order_number", "order_type", "completion_status", "result"}
_POSITION = ("run_uuid", "hostname", "order_type", "run_num", "order_number")
_HEADER = re.compile(r"^[^\n]{0,100}\brun_uuid\b[^\n]{0,400}\bcompletion_status\b", re.MULTILINE)
"""How a file begins, and one that was joined to it."""
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Trial:
    """One row: the command, its place, and its numbers; `line` is the line at which it ends."""

    command: str
    host: str
    position: str
    failed: str
    numbers: Sequence[float | None]
    line: int


def _header(content: Content) -> list[str]:
    if content.is_binary:
        return []
    return [name.strip(' "') for name in content.head.split("\n", 1)[0].split(",")]


def _command(columns: Sequence[str]) -> str | None:
    return next((name for name in _COMMANDS if name in columns), None)


def _fits(content: Content) -> bool:
    columns = _header(content)
    return set(columns) >= _NEEDED and _command(columns) is not None


def _read(content: Content, found: Found) -> None:
    column = str(_command(_header(content)))
    trials = list(_trials(content, found, column))
    most = Counter[str]()
    rows = Counter((trial.command, trial.position) for trial in trials)
    for trial in trials:
        most[trial.command] = max(
            most[trial.command], len(trial.numbers), rows[trial.command, trial.position]
        )
    seen = Counter[tuple[str, str]]()
    for order, trial in enumerate(trials):
        first = seen[trial.command, trial.position] + 1
        seen[trial.command, trial.position] += len(trial.numbers)
        _add(found, {column: trial.command}, trial, first, most[trial.command], order)
    if any(number > 1 for number in most.values()):
        found.note("several_numbers_in_cell")
    if content.ends_in_line:
        found.remark(NO_END)
    found.note("time_unusable", what="they are processor time of the controller")
    found.note("unit_unknown", what="result")


def _trials(content: Content, found: Found, column: str) -> Iterator[Trial]:
    reader = csv.DictReader(content.lines)
    try:
        for row in reader:
            if row["result"] is None:
                found.note("partial", what=f"line {reader.line_num} is not whole")
                continue
            yield _trial(row, column, reader.line_num)
    except csv.Error as error:
        found.note("partial", what=f"line {reader.line_num}: {error}")


def _trial(row: Mapping[str, str], column: str, line: int) -> Trial:
    status = row["completion_status"].strip()
    return Trial(
        row[column].strip(),
        (row.get("hostname") or "").strip(),
        "/".join((row.get(name) or "").strip() for name in _POSITION),
        "" if status == "Success" else f"completion status {status or 'missing'}",
        [_number(part) for part in row["result"].split(",")],
        line,
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _add(found: Found, treatment: Mapping[str, str], trial: Trial, first: int, most: int, order: int) -> None:
    numbers: Sequence[float | None] = [None] * most if trial.failed else trial.numbers
    for number, value in enumerate(numbers, 1 if trial.failed else first):
        found.add(
            treatment,
            "result" if most == 1 else f"result {number}",
            value,
            _UNKNOWN,
            levels={"host": trial.host, "process": trial.position},
            status="failed" if trial.failed else "finished",
            reason=trial.failed,
            order=order,
            where=f"line {trial.line}",
        )


READERS = (
    Reader(
        name="ordersage-csv",
        tool="OrderSage",
        how="`*_all_test_results.csv` of its results",
        replicated="process",
        unit="trial (row)",
        fits=_fits,
        read=_read,
        is_table=True,
        runs=apart_at(_HEADER),
    ),
)
