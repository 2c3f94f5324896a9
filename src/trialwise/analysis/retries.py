"""Which trials were measured in a later attempt, after others that failed or were invalid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trialwise.numbers import counted, first_of
from trialwise.store.records import TrialRow

_NAMED = 10
"""Trials that a note names; the others are counted."""


@dataclass(frozen=True, slots=True)
class Retried:
    """A finished attempt, and the attempts at the same trial before it that failed or were invalid."""

    row: TrialRow
    before: tuple[TrialRow, ...]


def retried(rows: Iterable[TrialRow]) -> list[Retried]:
    """Return the trials that were measured in a retry, in plan order; an attempt that was abandoned makes no retry."""
    without_value: dict[int, list[TrialRow]] = {}
    found: list[Retried] = []
    for row in rows:
        if row.status in ("failed", "invalid"):
            without_value.setdefault(row.number, []).append(row)
        elif row.status == "finished" and row.number in without_value:
            found.append(Retried(row, tuple(without_value[row.number])))
    return found


def retries_text(rows: Iterable[TrialRow]) -> Iterator[str]:
    """Say which trials were measured in a retry, and how many attempts had no value before."""
    found = retried(rows)
    if not found:
        return
    named = first_of([f"{each.row.number} (attempt {each.row.attempt})" for each in found], _NAMED)
    lost = sum(len(each.before) for each in found)
    yield (
        f"{counted(len(found), 'trial')} measured in a retry, after {counted(lost, 'attempt')} without a value: {named}; "
        "they ran later than planned, and count at the time at which they ran"
    )
