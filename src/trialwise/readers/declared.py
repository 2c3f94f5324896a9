"""How a format is declared, and what its reader fills in."""

from __future__ import annotations

import csv
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree as ET

import numpy as np
import numpy.typing as npt

from trialwise.errors import AnalysisError
from trialwise.late import pl
from trialwise.readers.blocks import Block, Indices, Ragged, Rows, count_units, failed, kinds
from trialwise.readers.codes import sentence
from trialwise.readers.content import Content
from trialwise.readers.long_lists import LongList, is_list
from trialwise.readers.records import (
    ERRORS,
    Better,
    Inside,
    Level,
    Note,
    Reading,
    Row,
    Status,
    Summary,
    listed,
)
from trialwise.readers.units import normalised

NO_UNIT = "none (summary)"
"""The unit of replication of a file that holds summaries alone."""

NO_END = "the last line has no end: if the file was cut there, its last value may be wrong"
_MOST_RUNS = 1000
"""Maximum number of results that were appended to one file."""
_REFUSED = {"unsafe_refused", "needs_encode"}
"""Codes of notes that say why nothing was read."""


class Found:
    """Collects what a reader finds in one file."""

    def __init__(self, content: Content, reader: Reader) -> None:
        self.content = content
        self.version = ""
        """Version of the tool; empty if the file does not say."""
        self.replicated: Level = reader.replicated
        self.unit = reader.unit
        self.facts: dict[str, str] = {}
        """Facts about the machine and the program, which describe all rows."""
        self.options: dict[str, str] = {}
        """Settings of the tool: they are factors where they differ between files."""
        self.commits: dict[str, float | None] = {}
        """When the commits were made that the file tells of, in Unix seconds; None where it does not tell that."""
        self._outer: dict[str, str] = {}
        self._results: list[tuple[dict[str, str], int, int]] = []
        self.named: tuple[str, ...] = ()
        """The factors that suffice to tell treatments apart; empty if all are needed."""
        self._rows: list[Row] = []
        self._blocks: list[Block] = []
        self._notes: dict[str, Note] = {}
        self._gathered: dict[str, dict[str, None]] = {}
        self._few: dict[str, None] = {}
        self.not_finite = 0
        """Values that count as missing since they are no finite numbers."""
        self._errors: tuple[float, float | None] = (0, 0)
        self._treatments: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}

    def add(
        self,
        treatment: Mapping[str, object],
        metric: str,
        value: float | None,
        unit: str,
        better: Better | None = None,
        *,
        as_written: bool = False,
        levels: Mapping[str, object] | None = None,
        status: Status = "finished",
        reason: str = "",
        order: int | None = None,
        start: float | None = None,
        end: float | None = None,
        seconds: float | None = None,
        samples: Inside | None = None,
        summary: Summary | None = None,
        where: str = "",
    ) -> None:
        """Add one metric of one trial; `value` is in the file's `unit` and is kept in the normal one, or as it is written.

        Samples and the summary are in the unit that is kept already. A value that is no finite number counts as missing.
        """
        number = _double(value)
        if number is not None and not isfinite(number):
            number, self.not_finite = None, self.not_finite + 1
        if not as_written:
            kept, unit = normalised(number or 0.0, unit)
            number = None if number is None else kept
        row = Row(
            treatment=self._once(treatment),
            metric=metric,
            value=number,
            unit=unit,
            better=better,
            levels={**self._outer, **_as_text(levels or {})},
            status=status,
            reason=reason,
            order=order,
            start=start,
            end=end,
            seconds=seconds,
            samples=samples,
            summary=summary,
            where=where,
        )
        self._rows.append(row)

    def add_block(
        self,
        metric: str,
        values: Sequence[float | None] | pl.Series | npt.NDArray[np.float64],
        unit: str,
        better: Better | None = None,
        *,
        treatments: Sequence[Mapping[str, object]],
        treatment: Indices,
        numbers: Sequence[int] | npt.NDArray[np.integer[Any]],
        where: tuple[str, str],
        process: tuple[str, str] = ("", ""),
        as_written: bool = False,
        reasons: Mapping[int, str] | None = None,
        orders: Sequence[float | None] | pl.Series | None = None,
        starts: Sequence[float | None] | pl.Series | npt.NDArray[np.float64] | None = None,
        ends: Sequence[float | None] | npt.NDArray[np.float64] | None = None,
        samples: Ragged | None = None,
        units: Sequence[Mapping[str, str]] = ({},),
        within: Indices | None = None,
        lasts: bool = False,
        repetitions: Sequence[str] | None = None,
        places: Sequence[int] | npt.NDArray[np.integer[Any]] | None = None,
    ) -> None:
        """Add one metric of many trials, as `add` does for each; see `Block`. With `lasts`, the values are how long trials took.

        The samples are in the unit that is kept already. Arrays have no missing values, and become the block's.
        """
        reasons = reasons or {}
        missing = _count_missing(values) + sum(values[row] is not None for row in reasons)
        found = _doubles(values)
        finite = np.isfinite(found)
        finite[list(reasons)] = False
        self.not_finite += int(len(found) - finite.sum()) - missing
        if not finite.all():
            found = np.where(finite, found, np.nan)
        if not as_written:
            factor, unit = normalised(1.0, unit)
            found = found * factor if factor != 1 else found
        self._blocks.append(
            Block(
                metric=metric,
                unit=unit,
                better=better,
                treatments=tuple(map(self._once, treatments)),
                treatment=treatment,
                values=found,
                numbers=numbered(numbers),
                process=process,
                where=where,
                units=tuple({**self._outer, **each} for each in units),
                within=within,
                reasons=reasons,
                orders=None if orders is None else _doubles(orders),
                starts=None if starts is None else _doubles(starts),
                ends=None if ends is None else _doubles(ends),
                samples=samples,
                seconds=found if lasts else None,
                repetitions=None if repetitions is None else tuple(repetitions),
                places=None if places is None else np.asarray(places),
            )
        )

    def _once(self, treatment: Mapping[str, object]) -> Mapping[str, str]:
        """Return the levels as text; equal treatments share them."""
        key = tuple((str(name), str(level)) for name, level in treatment.items())
        if key not in self._treatments:
            self._treatments[key] = dict(key)
        return self._treatments[key]

    @contextmanager
    def result(self, name: str) -> Generator[None]:
        """Add what is found to one of several results of the file, whose name all its trials get as a level."""
        self._outer = {"file": name} if name else {}
        self.options = {}
        rows, blocks = len(self._rows), len(self._blocks)
        yield
        self._results.append((self.options, rows, blocks))

    def tell_apart(self) -> None:
        """Make settings that differ between the results of the file factors; the others are settings of the file."""
        first, *others = [options for options, _, _ in self._results]
        common = {
            name: level for name, level in first.items() if all(each.get(name) == level for each in others)
        }
        self.options = common
        ends = [*((rows, blocks) for _, rows, blocks in self._results[1:]), (None, None)]
        for (options, row, block), (next_row, next_block) in zip(self._results, ends, strict=True):
            own = {name: level for name, level in options.items() if name not in common}
            self._rows[row:next_row] = [
                replace(each, treatment=self._once({**each.treatment, **own}))
                for each in self._rows[row:next_row]
            ]
            self._blocks[block:next_block] = [
                replace(each, treatments=tuple(self._once({**one, **own}) for one in each.treatments))
                for each in self._blocks[block:next_block]
            ]

    def note(self, code: str, **words: object) -> None:
        """Add a note by its code; a second one of the same code replaces the first."""
        self._notes[code] = Note(code, sentence(code, **words))

    def note_errors(self, failed: float, of: float | None) -> None:
        """Note that requests of a trial failed, together with those of other trials of the file."""
        before, all_before = self._errors
        self._errors = (before + failed, None if of is None or all_before is None else all_before + of)
        count, total = self._errors
        self.note("errors_in_load", n=f"{count:.0f}", of="?" if total is None else round(total))

    def fail(self, treatment: Mapping[str, object], levels: Mapping[str, object], reason: str) -> None:
        """Take the values from the rows of one trial that were added, since it failed after all."""
        own, within = self._once(treatment), {**self._outer, **_as_text(levels)}
        self._rows = [
            replace(row, value=None, status="failed", reason=row.reason or reason)
            if row.treatment == own and row.levels == within and row.metric != ERRORS
            else row
            for row in self._rows
        ]

    def gather(self, code: str, what: str) -> None:
        """Add a note about several things, which it lists."""
        names = self._gathered.setdefault(code, {})
        names[what] = None
        told = tuple(names)
        self._notes[code] = Note(code, sentence(code, what=listed(told)), told)

    def note_few(self, percentile: str) -> None:
        """Note that a percentile rests on few values."""
        self._few[percentile] = None

    def remark(self, text: str, names: Iterable[str] = ()) -> None:
        """Add a sentence that no code stands for; `names` are those that it lists."""
        self._notes[text] = Note("", text, tuple(names))

    def xml(self, entry: str) -> ET.Element:
        """Return the root of the content; without the `entry` at its end if it was cut, which is noted."""
        root, cut = self.content.xml(entry)
        if cut:
            self.note("partial", what="it was cut off or damaged, and what stands before was read")
        return root

    def wrong(self, what: str) -> AnalysisError:
        """Return the error of a file that looks like this format but is not."""
        return AnalysisError(f"{self.content.path}: {what}")

    def reading(self, reader: Reader) -> Reading:
        """Return all that was found; no row if the file is refused, and a note says why.

        Raises
        ------
        AnalysisError
            There is nothing.
        """
        if not self._rows and not self._blocks and not _REFUSED & set(self._notes):
            raise AnalysisError(
                f"{self.content.path}: looks like what {reader.tool} writes, but holds no result"
            )
        self._note_rows()
        self._note_content(reader)
        return Reading(
            path=str(self.content.path),
            digest=self.content.digest,
            format=reader.name,
            tool=reader.tool,
            version=self.version,
            replicated=self.replicated,
            unit=self.unit,
            rows=self._all,
            notes=tuple(self._notes.values()),
            facts=self.facts,
            options=self.options,
            named=self.named,
            subjects=reader.subjects,
            commits=self.commits,
        )

    def _note_rows(self) -> None:
        """Add the notes that follow from the rows."""
        if self.not_finite:
            self.note("not_finite", n=self.not_finite)
        lost = {_unit_of(row) for row in failed(self._all)}
        if lost:
            lost -= {
                _unit_of(row)
                for row in self._beside_failed()
                if row.value is not None and row.metric != ERRORS
            }
        if lost and "failed_units" not in self._notes:
            self.note("failed_units", n=len(lost), of=self._count_units())
        missing = sum(
            row.value is None and row.status != "aggregated" and _unit_of(row) not in lost
            for row in self._without_value()
        )
        if missing > self.not_finite:
            self.note("missing_values", n=missing - self.not_finite)
        if self._few:
            self.remark(f"fewer than ten values lie beyond {listed(tuple(self._few))}", self._few)
        unclear = sorted({metric for metric, _, better in kinds(self._all) if better is None})
        if unclear:
            self.note("direction_unknown", what=listed(unclear))
        if any(row.status == "aggregated" for row in self._rows):
            self.note("aggregated_only")
        elif self._nothing_repeated():
            self.note("one_unit", unit=self.unit.removesuffix(": 1"))

    def _note_content(self, reader: Reader) -> None:
        """Add the notes that follow from what else is in the file."""
        if self.content.is_cut and "partial" not in self._notes:
            self.note("partial", what="it was cut off, and what is whole was read")
        elif self.content.ends_in_line and not reader.is_table and "partial" not in self._notes:
            self.remark(NO_END)
        if self.content.has_more:
            self.remark("JSON that follows after other text is left out: keep it in a file of its own")

    @property
    def _all(self) -> Rows:
        return Rows(self._rows, self._blocks)

    def _beside_failed(self) -> Iterator[Row]:
        """Yield the rows that may be of a unit of which another row failed: in blocks, those at the same place."""
        yield from (row for row in self._rows if row.status == "finished")
        places = sorted({place for block in self._blocks for place in block.reasons})
        for block in self._blocks:
            yield from (block[place] for place in places if place < len(block) and place not in block.reasons)

    def _without_value(self) -> Iterator[Row]:
        yield from self._rows
        for block in self._blocks:
            yield from (block[place] for place in np.flatnonzero(~block.measured).tolist())

    def _count_units(self) -> int:
        return len({_unit_of(row) for row in self._rows}) + count_units(self._blocks)

    def _nothing_repeated(self) -> bool:
        """Return True if there are values, and no treatment has them from two units."""
        if any(block.is_repeated for block in self._blocks):
            return False
        first: dict[object, object] = {}
        for row in self._all:
            if row.value is not None:
                unit = _unit_of(row)
                if first.setdefault(tuple(row.treatment.items()), unit) != unit:
                    return False
        return bool(first)


def _as_text(levels: Mapping[str, object]) -> dict[str, str]:
    return {level: str(name) for level, name in levels.items()}


def _double(value: float | None) -> float | None:
    """Return a number as a double; one beyond their range is infinite."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return float("inf")


def _count_missing(values: Sequence[float | None] | pl.Series | npt.NDArray[np.float64]) -> int:
    if isinstance(values, np.ndarray):
        return 0
    return values.null_count() if isinstance(values, pl.Series) else values.count(None)


def _doubles(
    values: Sequence[float | None] | pl.Series | npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return numbers as doubles, as `_double` does; NaN where one is missing."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, pl.Series):
        return values.to_numpy()
    try:
        return np.array(values, np.float64)
    except OverflowError:
        return np.array(list(map(_double, values)), np.float64)


def numbered(numbers: Sequence[int] | npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.integer[Any]]:
    """Return the numbers of rows as an array, which blocks of the same rows share."""
    if isinstance(numbers, range):
        return np.arange(numbers.start, numbers.stop, dtype=np.min_scalar_type(numbers.stop))
    return np.asarray(numbers)


def _unit_of(row: Row) -> tuple[object, ...]:
    """Return what rows of one trial share: metrics of one trial have the same levels, or no levels and the same place."""
    return (tuple(row.treatment.items()), tuple(row.levels.items()) or row.where, row.order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A format: how a file of it is recognised, and read.

    Parameters
    ----------
    name
        The format, such as "hyperfine-json".
    tool
        Display name of the tool.
    how
        How to make the tool write it, as Markdown.
    replicated, unit
        The level that the tool restarts under the same treatment, and what it is in words.
    fits
        Returns True for content of this format; it looks at content, never at names.
    read
        Reads content that fits.
    parts
        Returns the files of a folder that is one result, sorted; none if it is no folder of this format. The parts of the content
        are theirs.
    subjects
        Factors that say what was measured, as the name of a benchmark is.
    context
        Factors that say where and how it ran rather than what: a name of a metric lacks those that are the same in all rows.
    is_table
        True if a file is a table too, whose columns a command may be told.
    holds_results
        False if a file of it only says why there is no result.
    statistic
        What a value of a file is where a trial has one value alone, for the heads of columns.
    runs
        Returns the content of each result of a file to which one was appended after another; None if a file of this format holds one
        alone, or `read` tells them apart.
    """

    name: str
    tool: str
    how: str
    replicated: Level
    unit: str
    fits: Callable[[Content], bool]
    read: Callable[[Content, Found], None]
    parts: Callable[[Path], Sequence[Path]] | None = None
    subjects: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    is_table: bool = False
    holds_results: bool = True
    statistic: Literal["mean", "median"] = "mean"
    runs: Callable[[Content], Sequence[Content]] | None = None

    def reading(self, content: Content) -> Reading:
        """Read content that fits.

        Raises
        ------
        AnalysisError
            It is damaged, or holds no result.
        """
        found = Found(content, self)
        try:
            self._read_all([content] if self.runs is None else self.runs(content), found)
        except csv.Error as error:
            raise found.wrong(f"cannot be read as CSV: {error}") from error
        return found.reading(self)

    def _read_all(self, runs: Sequence[Content], found: Found) -> None:
        """Read the results of a file; one that stands there twice counts once."""
        if len(runs) == 1:
            return self.read(runs[0], found)
        if len(runs) > _MOST_RUNS:
            raise found.wrong(f"holds more than {_MOST_RUNS} results: keep them in several files")
        known = [run for run in runs if self.fits(run)]
        different = {hash(run.text) if run.data else hash(repr(run.documents.whole)): run for run in known}
        for number, run in enumerate(different.values()):
            with found.result(str(number) if len(different) > 1 else ""):
                self.read(run, found)
        found.tell_apart()
        if len(different) > 1:
            found.remark(f"the file holds {len(different)} results one after another; they are kept apart")
        if len(known) > len(different):
            found.remark("a result stands in the file several times: it counts once")
        if len(runs) > len(known):
            found.note("partial", what="not all that stands in it is a result")
        return None


def entries_have(document: Mapping[str, Any], key: str, *within: str) -> bool:
    """Return True if there is a list under a key and each of its entries has these other keys."""
    entries = document.get(key)
    if isinstance(entries, LongList) and (columns := entries.columns) is not None:
        return all((name,) in columns and columns[name,].kinds.all() for name in within)
    return is_list(entries) and all(
        isinstance(entry, Mapping) and all(name in entry for name in within) for entry in entries
    )
