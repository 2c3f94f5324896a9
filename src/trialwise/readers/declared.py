"""How a format is declared, and what its reader fills in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from trialwise.errors import AnalysisError
from trialwise.readers.codes import CODES
from trialwise.readers.content import Content
from trialwise.readers.records import Better, Inside, Level, Note, Reading, Row, Status, Summary
from trialwise.readers.units import normalised


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
        self.named: tuple[str, ...] = ()
        """The factors that suffice to tell treatments apart; empty if all are needed."""
        self._rows: list[Row] = []
        self._notes: dict[str, Note] = {}
        self._not_finite = 0

    def add(
        self,
        treatment: Mapping[str, object],
        metric: str,
        value: float | None,
        unit: str,
        better: Better | None = None,
        *,
        levels: Mapping[str, object] | None = None,
        status: Status = "finished",
        reason: str = "",
        order: int | None = None,
        start: float | None = None,
        end: float | None = None,
        samples: Inside | None = None,
        summary: Summary | None = None,
        where: str = "",
    ) -> None:
        """Add one metric of one trial; `value` is in the file's `unit` and is kept in the normal one.

        Samples and the summary are in the normal unit already. A value that is no finite number counts as missing.
        """
        if value is not None and not isfinite(value):
            value, self._not_finite = None, self._not_finite + 1
        if value is not None:
            value, unit = normalised(float(value), unit)
        else:
            unit = normalised(1.0, unit)[1]
        row = Row(
            treatment={str(name): str(level) for name, level in treatment.items()},
            metric=metric,
            value=value,
            unit=unit,
            better=better,
            levels={level: str(name) for level, name in (levels or {}).items()},
            status=status,
            reason=reason,
            order=order,
            start=start,
            end=end,
            samples=samples,
            summary=summary,
            where=where,
        )
        self._rows.append(row)

    def note(self, code: str, **words: object) -> None:
        """Add a note by its code; a second one of the same code replaces the first."""
        self._notes[code] = Note(code, CODES[code].format(**words))

    def remark(self, text: str) -> None:
        """Add a sentence that no code stands for."""
        self._notes[text] = Note("", text)

    def wrong(self, what: str) -> AnalysisError:
        """Return the error of a file that looks like this format but is not."""
        return AnalysisError(f"{self.content.path}: {what}")

    def reading(self, reader: Reader) -> Reading:
        """Return all that was found.

        Raises
        ------
        AnalysisError
            There is nothing.
        """
        if not self._rows:
            raise AnalysisError(
                f"{self.content.path}: looks like what {reader.tool} writes, but holds no result"
            )
        self._note_rows()
        return Reading(
            path=str(self.content.path),
            digest=self.content.digest,
            format=reader.name,
            tool=reader.tool,
            version=self.version,
            replicated=self.replicated,
            unit=self.unit,
            rows=tuple(self._rows),
            notes=tuple(self._notes.values()),
            facts=self.facts,
            named=self.named,
        )

    def _note_rows(self) -> None:
        """Add the notes that follow from the rows."""
        if self._not_finite:
            self.note("not_finite", n=self._not_finite)
        failed = {_unit_of(row) for row in self._rows if row.status == "failed"}
        if failed and "failed_units" not in self._notes:
            self.note("failed_units", n=len(failed), of=len({_unit_of(row) for row in self._rows}))
        unclear = sorted({row.metric for row in self._rows if row.better is None})
        if unclear:
            self.note("direction_unknown", what=", ".join(unclear))
        if any(row.status == "aggregated" for row in self._rows):
            self.note("aggregated_only")
        elif (
            self.replicated == "file"
            and len({_unit_of(row) for row in self._rows if row.status == "finished"}) == 1
        ):
            self.note("one_unit", unit=self.unit)


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
    """

    name: str
    tool: str
    how: str
    replicated: Level
    unit: str
    fits: Callable[[Content], bool]
    read: Callable[[Content, Found], None]

    def reading(self, content: Content) -> Reading:
        """Read content that fits.

        Raises
        ------
        AnalysisError
            It is damaged, or holds no result.
        """
        found = Found(content, self)
        self.read(content, found)
        return found.reading(self)


def entries_have(document: Mapping[str, Any], key: str, *within: str) -> bool:
    """Return True if there is a list under a key and each of its entries has these other keys."""
    entries = document.get(key)
    return isinstance(entries, list) and all(
        isinstance(entry, Mapping) and all(name in entry for name in within)
        for entry in entries  # pyright: ignore[reportUnknownVariableType]
    )
