"""Words for units of any level: what is counted, and how one repeats it; without the libraries that count them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialwise.numbers import counted

if TYPE_CHECKING:
    from trialwise.analysis.trial_set import Level


def repeating(level: Level) -> str:
    """Return the end of a sentence that asks for more units of a level, if it is not obvious how to get them."""
    return " (more series, where the trials of one share a process)" if level == "process" else ""


def plural(level: str) -> str:
    """Return the plural of a level's name."""
    return {"process": "processes", "series": "series"}.get(level, f"{level}s")


def units_text(count: int, level: str, before: str = "") -> str:
    """Write a number of units of a level: "1 trial", "2 processes", with `before` "3 more trials"."""
    return counted(count, before + level, before + plural(level))


def sides_text(a: int, b: int, level: str) -> str:
    """Write how many units of a level two sides have: "5 and 7 trials", "one trial on each side"."""
    return f"one {level} on each side" if a == b == 1 else f"{a} and {b} {plural(level)}"
