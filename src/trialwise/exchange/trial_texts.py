"""The trials of an analysis as JSON text: those of a treatment and series differ in numbers alone, which are filled in by columns."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np

from trialwise.analysis.trial_columns import Trials, Whole
from trialwise.arrays import Array
from trialwise.exchange.json_pieces import form_of, listed, margin, text_of
from trialwise.exchange.plain import plain

_PART = 1 << 12
"""Trials whose texts are there at the same time."""
_MOST_FORMS = 1 << 10


def trial_texts(trials: Trials, indent: int) -> Iterator[str]:
    """Yield the list of trials as it stands under a key that is indented so far."""
    return listed(_Texts(trials, margin(indent)).parts(), indent)


class _Texts:
    def __init__(self, trials: Trials, before: str) -> None:
        self._trials, self._before = trials, before
        places = trials.places
        self._columns: dict[str, Whole | Array | None] = {
            "number": places.number,
            "attempt": places.attempt,
            "round": places.round,
            "position": places.position,
            "started": places.started,
            "samples": trials.samples,
            "value": trials.values,
        }
        token = secrets.token_hex(16)
        self._marks = {name: f"{token}{name}." for name in self._columns}
        self._forms: dict[int, str] = {}

    def parts(self) -> Iterator[str]:
        """Yield the texts of some trials at a time, with commas between them."""
        for begin in range(0, len(self._trials), _PART):
            yield f",{self._before}".join(self._filled(begin, min(begin + _PART, len(self._trials))))

    def _filled(self, begin: int, end: int) -> list[str]:
        trials, rows = self._trials, slice(begin, end)
        places = trials.places
        which = places.kind[rows].astype(np.int64) * len(places.labels) + places.series[rows]
        cells = zip(*(_cells(column, rows, end - begin) for column in self._columns.values()), strict=True)
        texts = [
            self._form(*each) % row
            for *each, row in zip(which.tolist(), range(begin, end), cells, strict=True)
        ]
        for place in range(begin, end) if trials.missing or trials.tested else ():
            if place in trials.missing or place in trials.tested:
                texts[place - begin] = text_of(plain(trials[place]), self._before)
        return texts

    def _form(self, which: int, place: int) -> str:
        """Return the text of trials such as this one, with a `%s` for the cell of each column, in their order."""
        if (found := self._forms.get(which)) is None:
            if len(self._forms) >= _MOST_FORMS:
                self._forms.clear()
            told = plain(self._trials[place])
            if not isinstance(told, dict):
                raise TypeError("a record is an object")
            usual = {"converged": None, "convergence": None, "reason": None}
            found = self._forms[which] = form_of({**told, **usual, **self._marks}, self._before, self._marks)
        return found


def _cells(column: Whole | Array | None, rows: slice, count: int) -> Any:  # noqa: ANN401 numbers, or texts in their place
    if column is None:
        return repeat("null", count)
    known = np.isfinite(column[rows])
    cells = column[rows].tolist()
    return (
        cells
        if known.all()
        else [each if told else "null" for each, told in zip(cells, known.tolist(), strict=True)]
    )
