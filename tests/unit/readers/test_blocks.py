"""Rows that are held as columns are the rows that they would be by themselves, for whatever reads them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from trialwise.analysis.looking import see
from trialwise.exchange.look_rows import row_texts
from trialwise.exchange.readings import trial_set
from trialwise.exchange.readings_tables import samples_table, trials_table
from trialwise.readers.blocks import Block, Ragged, distinct, first_of
from trialwise.readers.content import Content
from trialwise.readers.declared import Found, Reader
from trialwise.readers.distinguishing import with_names
from trialwise.readers.gathering import Group
from trialwise.readers.register import recognised_table

TREATMENTS = [{"cc": "cubic"}, {"cc": "bbr"}]
UNITS = [{"host": "h1"}, {"host": "h2"}]
VALUES = [1.5, None, float("nan"), 4.0, float("inf"), 6.0]
OF, WITHIN = [0, 1, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1]
READER = Reader(name="x", tool="x", how="", replicated="process", unit="row", fits=bool, read=lambda *_: None)


def readings(reasons, unit="ms"):
    """Return the same rows, added one by one, and as a block."""
    alone, together = (Found(Content(Path("x_1.csv"), b""), READER) for _ in range(2))
    for row, value in enumerate(VALUES):
        alone.add(
            TREATMENTS[OF[row]],
            "delay",
            None if row in reasons else value,
            unit,
            "lower",
            levels={**UNITS[WITHIN[row]], "process": f"line {row + 2}"},
            status="failed" if row in reasons else "finished",
            reason=reasons.get(row, ""),
            order=row,
            start=100.5 + row,
            where=f"line {row + 2}, delay",
        )
    together.add_block(
        "delay",
        VALUES,
        unit,
        "lower",
        treatments=TREATMENTS,
        treatment=np.array(OF, np.int32),
        numbers=range(2, 8),
        process=("line ", ""),
        where=("line ", ", delay"),
        reasons=reasons,
        orders=range(6),
        starts=[100.5 + row for row in range(6)],
        units=UNITS,
        within=np.array(WITHIN, np.int32),
    )
    return alone.reading(READER), together.reading(READER)


@pytest.mark.parametrize("reasons", [{}, {3: "timeout"}, dict.fromkeys(range(6), "x")])
def test_rows_of_a_block_are_those_added_one_by_one(reasons):
    alone, together = readings(reasons)
    assert list(together.rows) == list(alone.rows)
    assert [together.rows[-1], *together.rows[:2]] == [alone.rows[-1], *alone.rows[:2]]
    assert together.notes == alone.notes
    with pytest.raises(IndexError):
        together.rows[len(VALUES)]


@pytest.mark.parametrize("reasons", [{}, {3: "timeout"}])
def test_trials_of_a_block_are_those_added_one_by_one(reasons):
    alone, together = (trial_set([each], "x") for each in readings(reasons))
    assert together.table.equals(alone.table)
    assert (together.treatments, together.metrics) == (alone.treatments, alone.metrics)


@pytest.mark.parametrize("reasons", [{}, {3: "timeout"}])
def test_a_look_at_a_block_is_that_at_its_rows(reasons):
    seen = [
        see(with_names(group, "{kind}_{rep}.csv")[0], trial_set([each], "x"))
        for each in readings(reasons)
        for group in [Group("x", "x", (each,))]
    ]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("reasons", [{}, {3: "timeout"}, dict.fromkeys(range(6), "x")])
def test_a_table_of_a_block_is_that_of_its_rows(reasons):
    alone, together = (trials_table([each, each]) for each in readings(reasons))
    assert together.equals(alone)
    assert together.schema == alone.schema


@pytest.mark.parametrize("reasons", [{}, {3: "time\u202eout, 5 %s"}, dict.fromkeys(range(6), "x")])
@pytest.mark.parametrize("unit", ["ms", "%s \x1b[31m"])
def test_the_json_of_a_block_is_that_of_its_rows(reasons, unit):
    alone, together = ("".join(row_texts([each, each], 6)) for each in readings(reasons, unit))
    assert together == alone
    assert len(json.loads(together)) == 2 * len(VALUES)
    assert not {"\u202e", "\x1b"} & set(together)


def test_rows_of_a_large_block_become_json_without_an_object_each(monkeypatch):
    size, made = 50_000, list[int]()
    found = Found(Content(Path("x.csv"), b""), READER)
    found.add_block(
        "delay", np.arange(size) / 7, "s", "lower", treatments=TREATMENTS, treatment=np.arange(size, dtype=np.int32) % 2,
        numbers=range(size), process=("run ", ""), where=("line ", ""),
    )  # fmt: skip
    row = Block._row
    monkeypatch.setattr(Block, "_row", lambda self, place: made.append(place) or row(self, place))
    told = json.loads("".join(row_texts([found.reading(READER)], 6)))
    assert [each["value"] for each in told] == [place / 7 for place in range(size)]
    assert {each["treatment"]["cc"] for each in told[1::2]} == {"bbr"}
    assert told[-1]["levels"]["process"] == f"run {size - 1}"
    assert len(made) == len(TREATMENTS)


@pytest.mark.parametrize("units", [[{}], [{"host": 'h"1'}, {"host": "h2"}]])
def test_a_table_of_repetitions_and_their_samples_is_that_of_the_rows(units):
    found = Found(Content(Path("x_1.csv"), b""), READER)
    found.add({"cc": "reno", "size": "7"}, "rate", 3.0, "byte", levels={"process": "7"})
    found.add_block(
        "delay", np.arange(6.0), "s", "lower", treatments=[{"cc": "cubic"}, {"metric": "x"}], treatment=np.array(OF, np.int32),
        numbers=range(2, 8), where=("/", "/x"), places=range(3, 9), repetitions=["a-", 'b"'], units=units,
        within=None if len(units) == 1 else np.array(WITHIN, np.int32),
        samples=Ragged.of("iteration", [[1.0], [], [2.0, 3.0], [4.0], [5.0], [6.0, 7.0, 8.0]]),
    )  # fmt: skip
    reading = found.reading(READER)
    alone = replace(reading, rows=list(reading.rows))
    assert trials_table([reading]).equals(trials_table([alone]))
    assert samples_table([reading]).equals(samples_table([alone]))
    assert len(samples_table([reading])) == 8
    assert "".join(row_texts([reading], 6)) == "".join(row_texts([alone], 6))


def test_a_unit_of_which_one_metric_failed_has_not_failed():
    table = b"scheme,run,rate,delay [ms]\na,1,5,3\na,2,timeout,4\nb,1,failed,timeout\nb,2,7,8\n"
    content = Content(Path("x.csv"), table)
    found = recognised_table(content).reading(content)
    assert next(note.text for note in found.notes if note.code == "failed_units").startswith("1 of 4 ")


def test_combinations_are_numbered_in_the_order_of_their_first_row():
    found = distinct([pl.Series(["b", "a", "b", "b"]), pl.Series([2.0, 1.0, 1.0, 2.0])], 4)
    assert found.tolist() == [0, 1, 2, 0]
    assert first_of(found) == [0, 1, 2]
    assert first_of(found[[3, 1, 0]]) == [0, 1]
    assert first_of(found[[2, 3, 2]]) == [0, 1]
    assert distinct([], 3).tolist() == [0, 0, 0]
