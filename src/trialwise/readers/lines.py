"""Lines that programs print: numbers of bounded length, and the runs that stand one after another in a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from trialwise.readers.content import Content

NUMBER = r"\d{1,30}(?:\.\d{1,30})?"
"""A number without sign, as a pattern that cannot backtrack badly."""
COUNT = r"\d{1,18}"
"""A whole number without sign."""
_LONGEST = 4000


def lines_of(content: Content) -> list[str]:
    """Return the lines, each cut to a length that patterns can search."""
    return [line[:_LONGEST] for line in content.lines]


def first(pattern: re.Pattern[str], lines: Iterable[str]) -> re.Match[str] | None:
    """Return the first line's match that there is."""
    return next((found for line in lines if (found := pattern.match(line))), None)


def matches(pattern: re.Pattern[str], lines: Iterable[str]) -> Iterator[re.Match[str]]:
    """Yield the matches of lines that match."""
    return (found for line in lines if (found := pattern.match(line)))


def runs(content: Content, begin: re.Pattern[str]) -> list[tuple[list[str], dict[str, object]]]:
    """Return the lines of each run, which begins at a line that matches, with its levels; what stands before is left out."""
    found: list[list[str]] = []
    for line in lines_of(content):
        if begin.match(line):
            found.append([])
        if found:
            found[-1].append(line)
    return numbered(found)


def numbered(found: Sequence[list[str]]) -> list[tuple[list[str], dict[str, object]]]:
    """Return the lines of each run with its levels: its number if it is not the only one."""
    return [(lines, {} if len(found) == 1 else {"process": number}) for number, lines in enumerate(found)]


def local_moment(told: str, form: str) -> float | None:
    """Return the Unix seconds of a local time, which is taken as that of this machine; None if it is none."""
    try:
        return datetime.strptime(told, form).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def number(told: str) -> float | None:
    """Return a number that stands as text; None if it is none."""
    try:
        return float(told)
    except ValueError:
        return None
