"""A section of a page that judges something: a verdict, sentences with their standing, figures, tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from trialwise.report.document import Standing, Table
from trialwise.report.figures.board import Figure

MOST_LINES = 30
"""Of more lines, so many are shown."""
OPEN = 12
"""More lines than this are folded."""
Tone = Literal["", "better", "worse", "different"]
Look = Literal["", "fine", "matters"]


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence with its standing, and that in a word; `tone` is the direction of what it says, where there is one."""

    text: str
    standing: Standing = "remark"
    mark: str = ""
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Sentences under a title; `more` says how many are not shown."""

    title: str
    lines: tuple[Line, ...]
    summary: str = ""
    more: str = ""
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class FigureGroup:
    """Figures under a title."""

    title: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Attached:
    """A file inside the page: its name, what it holds, and its text."""

    name: str
    what: str
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """The verdict (or why there is none) with its look, facts below it, warnings, notes, sentences, figures, tables.

    `place` is the attribute that says where a number stands in its JSON document.
    """

    verdict: str
    look: Look = ""
    facts: str = ""
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    groups: tuple[FigureGroup, ...] = ()
    tables: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()
    attached: Attached | None = None
    place: str = "data-path"

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures."""
        return tuple(figure for group in self.groups for figure in group.figures)


def part(
    title: str, lines: Sequence[Line], summary: str = "", most: int = MOST_LINES, more: str = ""
) -> Iterator[Part]:
    """Lines under a title, at most so many; nothing where there are none."""
    if not lines:
        return
    hidden = len(lines) - most
    yield Part(
        title,
        tuple(lines[:most]),
        summary,
        f"… and {hidden} more{more}" if hidden > 0 else "",
        is_open=len(lines) <= OPEN,
    )


def marks_counted(lines: Sequence[Line]) -> str:
    """How many lines have which mark, in the order in which these come."""
    marks = dict.fromkeys(line.mark for line in lines)
    return ", ".join(f"{sum(line.mark == mark for line in lines)} {mark}" for mark in marks)
