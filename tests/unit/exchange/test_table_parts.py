"""Tables in parts: the parts are the whole, and an import never has more of a long table at once than two of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trialwise.exchange import readings_tables
from trialwise.exchange.imported import TRIALS, write_import
from trialwise.exchange.readings_tables import samples_parts, trials_parts
from trialwise.exchange.table_parts import PART, TableParts
from trialwise.readers.blocks import Ragged
from trialwise.readers.content import Content
from trialwise.readers.declared import Found
from trialwise.readers.gathering import Gathered, Group
from trialwise.readers.records import Reading
from unit.readers.test_blocks import READER, TREATMENTS, readings

MANY = 3 * PART + 5


def sampled() -> Reading:
    found = Found(Content(Path("x.csv"), b""), READER)
    found.add({"cc": "reno"}, "rate", 3.0, "byte", levels={"process": "7"})
    found.add_block(
        "delay", np.arange(5.0), "s", "lower", treatments=TREATMENTS, treatment=np.array([0, 1, 1, 0, 1], np.int32),
        numbers=range(5), process=("run ", ""), where=("line ", ""),
        samples=Ragged.of("iteration", [[1.0], [], [2.0, 3.0], [], [6.0, 7.0, 8.0]]),
    )  # fmt: skip
    return found.reading(READER)


@pytest.mark.parametrize("own", [readings({})[1], readings({3: "timeout", 1: "lost"})[1], sampled()])
def test_the_parts_are_the_whole(own: Reading, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    wholes = [make([own, own]).joined() for make in (trials_parts, samples_parts)]
    monkeypatch.setattr(readings_tables, "PART", 2)
    for make, whole in zip((trials_parts, samples_parts), wholes, strict=True):
        table = make([own, own])
        table.write(tmp_path / "t.parquet")
        written = pl.read_parquet(tmp_path / "t.parquet")
        assert table.joined().equals(whole)
        assert written.equals(whole)
        assert written.schema == whole.schema
    assert max(part.height for part in trials_parts([own]).made()) == 2


def test_an_import_makes_no_long_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = Found(Content(Path("x.csv"), b""), READER)
    found.add_block(
        "delay", np.arange(MANY) / 7, "s", "lower", treatments=TREATMENTS, treatment=np.arange(MANY, dtype=np.int32) % 2,
        numbers=range(MANY), process=("run ", ""), where=("line ", ""),
    )  # fmt: skip
    group = Group("x", "x", (found.reading(READER),))
    heights, made = list[int](), readings_tables.table_of

    def noted(columns: dict[str, pl.Expr]) -> pl.DataFrame:
        table = made(columns)
        heights.append(table.height)
        return table

    monkeypatch.setattr(readings_tables, "table_of", noted)
    monkeypatch.delattr(TableParts, "joined")
    write_import(tmp_path / "study", group, "", Gathered((group,), (), ()))
    assert heights == [PART, PART, PART, 5]
    table = pl.read_parquet(tmp_path / "study" / TRIALS)
    assert table["row"].to_list() == list(range(MANY))
    assert table["value"].to_list() == (np.arange(MANY) / 7).tolist()
