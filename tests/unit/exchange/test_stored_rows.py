"""Rows of an imported directory: many come back as columns, and what a forged table holds is refused or harmless."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from trialwise.errors import TrialwiseError
from trialwise.exchange import stored_rows
from trialwise.exchange.imported import imported_results, read_import, write_import
from trialwise.exchange.pantheon_reading import FORMAT
from trialwise.exchange.readings_tables import rows_of, samples_table, trials_table
from trialwise.exchange.recorded_readings import recorded
from trialwise.readers.blocks import Rows
from trialwise.readers.gathering import gather
from trialwise.readers.records import Reading, Row
from unit.exchange.test_recorded import HYPERFINE

DATA = Path(__file__).parents[2] / "golden" / "formats" / "data"
MANY = 2_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    lines = (
        f"{'abc'[row % 3]},{row},{row % 97}.5,{'' if row % 1000 == 7 else row % 89}" for row in range(MANY)
    )
    (folder / "t.csv").write_text("\n".join(["scheme,run,rate_mbit,p99_ms", *lines, ""]))
    gathered = gather([folder / "t.csv"])
    write_import(folder / "study", gathered.groups[0], "", gathered)
    return folder


def test_rows_of_a_large_import_are_columns(table: Path, monkeypatch: pytest.MonkeyPatch):
    made, init = 0, Row.__init__

    def counted(*args: object, **named: object) -> None:
        nonlocal made
        made += 1
        init(*args, **named)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(Row, "__init__", counted)
        found = imported_results(table / "study", "study")
    assert made == 0
    assert found.trials.table.height == 2 * MANY - MANY // 1000
    of_file, of_study = (
        gather([table / "t.csv"]).groups[0].readings[0],
        read_import(table / "study")[0].readings[0],
    )
    assert trials_table([replace(of_study, path=of_file.path)]).equals(trials_table([of_file]))


def alone(reading: Reading) -> Reading:
    """Return a reading without blocks."""
    return replace(reading, rows=tuple(reading.rows))


def variants(reading: Reading) -> Iterator[Reading]:
    """Yield readings in which trials failed, have times, or ran in order."""
    rows = reading.rows
    assert isinstance(rows, Rows)
    first, second = rows.blocks
    times = first.values * 0 + 1.8e9 - range(MANY)
    yield reading
    yield replace(reading, rows=Rows((), [replace(first, reasons={3: "killed", 5: "late"}), second]))
    yield replace(
        reading, rows=Rows((first[0],), [replace(first, starts=times), replace(second, starts=times)])
    )
    yield replace(reading, rows=Rows((), [replace(first, orders=times % 7919)]))
    yield replace(
        reading, rows=Rows((), [replace(first, values=first.values + float("nan"), reasons={0: "x"}), second])
    )


def test_blocks_say_what_their_rows_say(table: Path):
    for reading in variants(gather([table / "t.csv"]).groups[0].readings[0]):
        of_blocks, of_rows = (recorded([each], "t") for each in (reading, alone(reading)))
        assert (of_blocks.turns, of_blocks.no_order, of_blocks.is_ordered) == (
            of_rows.turns,
            of_rows.no_order,
            of_rows.is_ordered,
        )
        assert of_blocks.lost == of_rows.lost


@pytest.mark.parametrize("path", [HYPERFINE, DATA / "pytest-benchmark", DATA / "k6", DATA / "divan"])
def test_rows_of_blocks_come_back(path: Path, monkeypatch: pytest.MonkeyPatch):
    """Also where blocks are made of a few rows."""
    monkeypatch.setattr(stored_rows, "_MANY", 2)
    for group in gather([path]).groups:
        stored = rows_of(
            Path("x"), trials_table(group.readings), samples_table(group.readings), len(group.readings)
        )
        again = [replace(each, rows=own) for each, own in zip(group.readings, stored, strict=True)]
        assert trials_table(again).equals(trials_table(group.readings))
        assert samples_table(again).equals(samples_table(group.readings))


HOSTILE: dict[pl.DataType, list[object]] = {
    pl.Int64(): [None, 2**62],
    pl.Float64(): [None, float("inf")],
    pl.String(): [
        None,
        "",
        "[1]",
        "null",
        '{"process": [1]}',
        '{"process": {}}',
        '{"n": "x"}',
        '{"percentiles": [1]}',
    ],
    pl.Boolean(): [None, True],
}


def test_a_forged_table_is_refused_or_harmless():
    """As where the hashes match, so that nothing else stands between these entries and the analysis."""
    (reading,) = gather([DATA / "oha" / "answers.csv"]).groups[0].readings
    trials, samples = trials_table([reading]), samples_table([reading])
    refused = set[tuple[str, str]]()
    for table in (trials, samples):
        for column, kind in table.schema.items():
            for value in HOSTILE[kind]:
                forged = table.with_columns(pl.Series(column, [value, *table[column][1:]], kind))
                pair = (forged, samples) if table is trials else (trials, forged)
                try:
                    (rows,) = rows_of(Path("study"), *pair, 1)
                    found = recorded([replace(reading, rows=rows)], "study")
                    found.units()
                    list(found.series())
                except TrialwiseError:
                    refused.add((column, str(value)))
    assert {
        ("levels", "[1]"),
        ("factors", "null"),
        ("summary", '{"percentiles": [1]}'),
        ("better", ""),
    } <= refused


@pytest.mark.parametrize("files", [0, 1])
def test_forged_results_of_pantheon_are_refused(files: int, tmp_path: Path):
    """The rows of others lack the scheme and the run, by which those of Pantheon are told apart."""
    gathered = gather([HYPERFINE])
    (group,) = gathered.groups
    write_import(
        tmp_path / "study", replace(group, format=FORMAT, readings=group.readings[:files]), "", gathered
    )
    with pytest.raises(TrialwiseError, match="not whole"):
        imported_results(tmp_path / "study", "study")
