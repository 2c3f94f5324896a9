"""Columns of large tables are read by their types, those of small ones as text: both say the same."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

from trialwise.errors import AnalysisError
from trialwise.readers.blocks import Block, parts
from trialwise.readers.content import Content
from trialwise.readers.register import recognised_table
from trialwise.readers.tables.table import read_table
from trialwise.readers.tables.text import LEAST

HEADER = "scheme,run,rate_mbit,delay_ms,when,note"
CELLS = {
    "plain": "{name},{row},{rate:.4f},{delay:.5f},,",
    "three decimals": "{name},{row},{rate:.3f},{delay:.3f},,",
    "whole": "{name},{row},{rate:.0f},{delay:.0f},,",
    "exponents": "{name},{row},{rate:.2e},{delay:.2E},,",
    "blanks": "{name} , {row},{rate:.4f}, {delay:.4f},,",
    "quotes": '"{name}","{row}","{rate:.4f}",{delay:.4f},,"a, ""b"""',
    "dates": "{name},{row},{rate:.4f},{delay:.4f},2026-11-25T12:00:{second:02d}Z,",
    "few dates": "{name},{row},{rate:.4f},{delay:.4f},2026-11-{day:02d},",
    "compact dates": "{name},{row},{rate:.4f},{delay:.4f},202611{day:02d},",
    "epochs": "{name},{row},{rate:.4f},{delay:.4f},17644{row:05d}.5,",
    "units in cells": "{name},{row},{rate:.2f} kB,{delay:.2f} ms,,",
    "commas": '{name},{row},"{whole},5","{delay:.3f}",,',
    "words for missing values": "{name},{row},{missing},{delay:.4f},,{missing}",
    "failures": "{name},{row},{failed},{delay:.4f},,",
    "missing treatments": "{missing_name},{row},{rate:.4f},{delay:.4f},,",
    "treatments by number": "{level},{row},{rate:.4f},{delay:.4f},,",
    "treatments with units": "{level} MB,{row},{rate:.4f},{delay:.4f},,",
    "notes": "{name},{row},{rate:.4f},{delay:.4f},,row {row}",
}
LAST = {
    "inf": "a,1,inf,5.1,,",
    "beyond doubles": "a,1,1e400,5.1,,",
    "a word": "a,1,broken,5.1,,",
    "a gap": "a,1,1 234.5,5.1,,",
    "no number of a run": "a,,1.5,5.1,,",
    "a quoted line end": 'a,1,1.5,5.1,,"one\ntwo"',
    "too many cells": "a,1,1.5,5.1,,,8",
    "too few cells": "a,1,1.5",
}


def lines(cells: str) -> list[str]:
    rng = random.Random(3)
    return [
        cells.format(
            name="abc"[row % 3],
            row=row // 3,
            rate=rng.gauss(100, 5),
            delay=rng.gauss(20, 1),
            whole=row % 17,
            second=row % 60,
            day=1 + row % 28,
            level=2 ** (row % 3),
            missing="NA" if row % 9 == 0 else f"{rng.gauss(5, 1):.2f}",
            failed="timeout" if row % 9 == 0 else f"{rng.gauss(5, 1):.2f}",
            missing_name="" if row % 9 == 0 else "ab"[row % 2],
        )
        for row in range(400)
    ]


def said(text: str) -> object:
    """What is read of a table, or why nothing is."""
    content = Content(Path("x.csv"), text.encode())
    try:
        reader = recognised_table(content)
        assert reader is not None
        found = reader.reading(content)
    except AnalysisError as error:
        return error.message, error.hint
    single, blocks = parts(found.rows)
    return found.format, found.notes, found.facts, list(single), [rows(block) for block in blocks]


def rows(block: Block) -> list[object]:
    return [repr(block[place]) for place in range(len(block))]


@pytest.mark.parametrize("kind", [*CELLS, *LAST])
def test_a_large_table_says_what_a_small_one_does(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = lines(CELLS[kind]) if kind in CELLS else [*lines(CELLS["plain"]), LAST[kind]]
    text = "\n".join([HEADER, *body, ""])
    assert len(text) < LEAST
    expected = said(text)
    monkeypatch.setattr("trialwise.readers.tables.text.LEAST", 0)
    assert said(text) == expected
    monkeypatch.setattr("trialwise.readers.tables.pieces._PIECE", 2000)
    assert said(text) == expected


def test_the_columns_of_a_large_table_are_numbers_and_numbered_names(tmp_path: Path) -> None:
    body = lines(CELLS["plain"])
    text = "\n".join([HEADER, *(body * (LEAST // len("\n".join(body)) + 1)), ""])
    frame = read_table(tmp_path / "x.csv", content=text.encode(), types=True).frame
    assert frame["scheme"].dtype == pl.Categorical
    assert [frame[name].dtype for name in ("run", "rate_mbit", "delay_ms")] == [pl.Float64] * 3
