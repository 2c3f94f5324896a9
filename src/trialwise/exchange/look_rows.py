"""Rows of readings as JSON text, in pieces; those of a block are one text each for a treatment, filled in with the numbers of columns.

A million rows as objects, one by one, take a minute and three gigabytes.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from trialwise.exchange.json_pieces import form_of, listed, margin, text_of
from trialwise.exchange.plain import Json, plain
from trialwise.readers.blocks import Block, Floats, parts
from trialwise.readers.records import Reading, Row

_PART = 1 << 12
"""Rows of a block whose texts are there at the same time; each has about a thousand characters."""
_MOST_FORMS = 1 << 10


def row_texts(readings: Sequence[Reading], indent: int) -> Iterator[str]:
    """Yield the list of all rows, with visible characters alone, as it stands under a key that is indented so far."""
    before = margin(indent)
    return listed(chain.from_iterable(_texts(reading, before) for reading in readings), indent)


def _texts(reading: Reading, before: str) -> Iterator[str]:
    """Yield rows, also several with commas between them."""
    single, blocks = parts(reading.rows)
    yield from (text_of(_row(reading, row), before) for row in single)
    for block in blocks:
        forms = _Forms(reading, block, before)
        for begin in range(0, len(block), _PART):
            yield f",{before}".join(forms.filled(begin, min(begin + _PART, len(block))))


def _row(reading: Reading, row: Row) -> dict[str, Json]:
    return {
        "treatment": dict(row.treatment),
        "metric": row.metric,
        "value": row.value,
        "unit": row.unit,
        "better": row.better or "unknown",
        "levels": {"file": reading.path, **row.levels},
        "samples": None if row.samples is None else {"name": row.samples.name, "n": len(row.samples.values)},
        "summary": plain(row.summary),
        "order": row.order,
        "start": row.start,
        "end": row.end,
        "seconds": row.seconds,
        "status": row.status,
        "reason": row.reason,
        "origin": {
            "path": reading.path,
            "sha256": reading.digest,
            "tool": reading.tool,
            "version": reading.version,
            "format": reading.format,
            "where": row.where,
        },
    }


Numbers = npt.NDArray[np.integer[Any]]


class _Forms:
    """The texts of a block's rows, by their treatment and unit: all that differs between rows of the same form are numbers."""

    def __init__(self, reading: Reading, block: Block, before: str) -> None:
        self._reading, self._block, self._before = reading, block, before
        samples = None if block.samples is None else np.diff(block.samples.bounds)
        columns: dict[str, Floats | Numbers | None] = {
            "value": block.values,
            "number": block.numbers,
            "samples": samples,
            "order": block.orders,
            "start": block.starts,
            "end": block.ends,
            "seconds": block.seconds,
            "place": block.numbers if block.places is None else block.places,
        }
        self._columns = {name: column for name, column in columns.items() if column is not None}
        token = secrets.token_hex(16)
        self._marks = {name: f"{token}{name}." for name in self._columns}
        self._forms: dict[int, str] = {}

    def filled(self, begin: int, end: int) -> list[str]:
        """Return the texts of rows."""
        block, rows = self._block, slice(begin, end)
        which = block.treatment[rows].astype(np.int64)
        if block.within is not None:
            which += block.within[rows] * np.int64(len(block.treatments))
        cells = zip(*(_cells(name, column[rows]) for name, column in self._columns.items()), strict=True)
        texts = [
            self._form(*each) % row
            for *each, row in zip(which.tolist(), range(begin, end), cells, strict=True)
        ]
        for place in block.reasons:
            if begin <= place < end:
                texts[place - begin] = text_of(_row(self._reading, block[place]), self._before)
        return texts

    def _form(self, which: int, place: int) -> str:
        """Return the text of rows such as this one, with a `%s` for the cell of each column: these have the order of `_row`."""
        if (found := self._forms.get(which)) is None:
            if len(self._forms) >= _MOST_FORMS:
                self._forms.clear()
            found = self._forms[which] = self._made(place)
        return found

    def _made(self, place: int) -> str:
        block, marks = self._block, self._marks
        like = replace(
            block,
            treatment=block.treatment[[place]],
            within=None if block.within is None else block.within[[place]],
            values=np.zeros(1),
            numbers=cast("Numbers", np.array([marks["number"]], object)),
            places=cast("Numbers", np.array([marks["place"]], object)),
            reasons={},
            orders=None,
            starts=None,
            ends=None,
            seconds=None,
            samples=None,
        )
        told = _row(self._reading, like[0])
        told |= {name: mark for name, mark in marks.items() if name in told}
        if block.samples is not None:
            told["samples"] = {"name": block.samples.name, "n": marks["samples"]}
        return form_of(told, self._before, marks, _INSIDE)


_INSIDE = ("number", "place")
"""What stands in names."""


def _cells(name: str, column: Floats | Numbers) -> list[Any]:
    """Return what stands in the text for the numbers of a column."""
    known = np.isfinite(column)
    if name == "order":
        column = np.where(known, column, 0).astype(np.int64)
    cells = column.tolist()
    return (
        cells if known.all() else [each if told else "null" for each, told in zip(cells, known, strict=True)]
    )
