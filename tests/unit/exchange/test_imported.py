"""Imported directories: what was read comes back, whole or not at all, and says the same as the files."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import in_process
from trialwise.errors import StoreError
from trialwise.exchange import imported
from trialwise.exchange.imported import read_import, write_import
from trialwise.readers.gathering import gather
from trialwise.readers.records import Reading
from unit.exchange.test_recorded import HYPERFINE, written

DATA = Path(__file__).parents[2] / "golden" / "formats" / "data"


def plain(reading: Reading) -> Reading:
    """Return a reading whose rows and samples are tuples, as an import has them."""
    rows = [
        replace(
            row,
            samples=row.samples
            and replace(
                row.samples,
                values=tuple(map(float, row.samples.values)),
                times=None if row.samples.times is None else tuple(map(float, row.samples.times)),
            ),
        )
        for row in reading.rows
    ]
    return replace(reading, path=str(Path(reading.path).absolute()), rows=tuple(rows))


@pytest.mark.parametrize("folder", sorted(path.name for path in DATA.iterdir() if path.is_dir()))
def test_what_readers_found_comes_back(folder: str, tmp_path: Path):
    gathered = gather([DATA / folder])
    for number, group in enumerate(gathered.groups):
        place = tmp_path / str(number)
        write_import(place, group, "", gathered)
        found, record = read_import(place)
        assert found.readings == tuple(map(plain, group.readings))
        assert (found.tool, found.format) == (group.tool, group.format)
        assert [one.sha256 for one in record.files] == [reading.digest for reading in group.readings]


def run(folder: Path, *words: str, code: int = 0) -> str:
    done = in_process.trialwise(*words, cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def without_source(text: str) -> object:
    """Return a JSON document without what names the source."""
    document = json.loads(text.replace('"path": "study"', '"path": "runs"'))
    return {name: value for name, value in document.items() if name not in ("source", "name", "notes")}


@pytest.mark.parametrize(
    "words",
    [
        ("analyze", "--objective", "percentile=50", "--json"),
        ("effects", "--json", "--metric", "goodput"),
        ("order", "--json", "--metric", "goodput"),
        ("aa", "--json", "--metric", "goodput", "--splits", "20"),
    ],
)
def test_an_import_says_what_the_files_say(tmp_path: Path, words: tuple[str, ...]):
    written(tmp_path / "runs", "bbr cubic cubic bbr bbr cubic cubic bbr bbr cubic cubic bbr")
    run(tmp_path, "import", "runs", "-o", "study")
    command, *options = words
    of_files, of_study = (
        in_process.trialwise(command, source, *options, cwd=tmp_path) for source in ("runs", "study")
    )
    assert of_files.returncode == of_study.returncode
    assert without_source(of_files.stdout) == without_source(of_study.stdout)


def test_the_same_files_give_the_same_tables(tmp_path: Path):
    for name in ("a", "b", "a"):
        run(tmp_path, "import", str(HYPERFINE), "-o", name)
    first, second = (json.loads((tmp_path / name / "import.json").read_text()) for name in ("a", "b"))
    assert first["tables"] == second["tables"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        "import.json",
        "samples.parquet",
        "trials.parquet",
    ]


def test_a_source_that_changed_is_said(tmp_path: Path):
    shutil.copy(HYPERFINE, tmp_path / "h.json")
    run(tmp_path, "import", "h.json", "-o", "study")
    assert "has changed" not in run(tmp_path, "analyze", "study", "--full")
    text = (tmp_path / "h.json").read_text()
    (tmp_path / "h.json").write_text(text.replace("0.00", "0.01", 1))
    assert "h.json has changed since it was imported" in run(tmp_path, "analyze", "study", "--full")
    assert "h.json" in run(tmp_path, "import", "h.json", "-o", "study", code=5)


def test_a_directory_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where writing ends half way, and at the next import nothing of it is left."""
    gathered = gather([HYPERFINE])

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            write_import(tmp_path / "study", gathered.groups[0], "", gathered)
    assert not (tmp_path / "study").exists()
    write_import(tmp_path / "study", gathered.groups[0], "", gathered)
    assert [path.name for path in tmp_path.iterdir()] == ["study"]


def test_tables_that_were_changed_are_refused(tmp_path: Path):
    run(tmp_path, "import", str(HYPERFINE), "-o", "study")
    path = tmp_path / "study" / imported.TRIALS
    table = pl.read_parquet(path).with_columns(pl.col("value") * 0.9)
    path.chmod(0o644)
    table.write_parquet(path)
    with pytest.raises(StoreError, match="was changed since it was written"):
        read_import(tmp_path / "study")


@pytest.mark.parametrize("content", ["{", '{"format": "trialwise.import/9"}', "[]", '{"format": 1}'])
def test_an_origin_that_is_none_is_refused(tmp_path: Path, content: str):
    (tmp_path / "import.json").write_text(content)
    with pytest.raises(StoreError, match=r"import\.json"):
        read_import(tmp_path)


@pytest.mark.parametrize("words", [("run", "study"), ("status", "study")])
def test_nothing_runs_in_it(tmp_path: Path, words: tuple[str, ...]):
    run(tmp_path, "import", str(HYPERFINE), "-o", "study")
    assert "was imported from files of another program" in run(tmp_path, *words, code=5)


def test_what_needs_no_import_is_refused(tmp_path: Path):
    (tmp_path / "ours").mkdir()
    sqlite3.connect(tmp_path / "ours" / "ledger.sqlite").close()
    assert "is an experiment directory" in run(tmp_path, "import", "ours", "-o", "study", code=7)


def test_the_long_table_keeps_spreadsheets_safe(tmp_path: Path):
    document = json.loads(HYPERFINE.read_text())
    document["results"][0]["parameters"]["size"] = "=cmd()"
    (tmp_path / "h.json").write_text(json.dumps(document))
    run(tmp_path, "import", "h.json", "--csv", "t.csv", "--parquet", "t.parquet")
    table = pl.read_csv(tmp_path / "t.csv")
    assert table["value"].to_list() == [time for each in document["results"] for time in each["times"]]
    assert table["size"].to_list()[0] == "'=cmd()"
    kept = pl.read_parquet(tmp_path / "t.parquet")
    assert kept["size"].to_list()[0] == "=cmd()"
    assert set(kept["status"]) == {"finished"}


def test_rows_of_a_large_import_share_their_treatments(tmp_path: Path):
    """A million rows with the levels of each by themselves take hundreds of megabytes more."""
    (tmp_path / "x.csv").write_text(
        "cc,run,rate\n" + "".join(f"{'ab'[i % 2]},{i},{i}.5\n" for i in range(20_000))
    )
    assert in_process.trialwise("import", "x.csv", "-o", "i", cwd=tmp_path).returncode == 0
    (reading,) = read_import(tmp_path / "i")[0].readings
    assert [row.treatment["cc"] for row in reading.rows] == ["a", "b"] * 10_000
    assert len({id(row.treatment) for row in reading.rows}) == 2
