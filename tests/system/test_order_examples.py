"""The examples that ask about order, with their real programs."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE

EXAMPLES = Path(__file__).parents[2] / "examples"
PLANTED = {("program=search", "program=index")}


def done(folder: Path, *words: str | Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path or os.environ["PATH"], "COLUMNS": "200"}
    return subprocess.run(
        [*map(str, words)],
        cwd=folder, capture_output=True, text=True, timeout=900, check=False, env=environment,
    )  # fmt: skip


@pytest.fixture
def example(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the example that the test names."""
    ignored = shutil.ignore_patterns("work", "*.sock", "__pycache__")
    return shutil.copytree(EXAMPLES / request.param, tmp_path / "example", ignore=ignored)


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def pairs_named(folder: Path, file: str, code: int) -> dict[str, dict[tuple[str, str], float]]:
    """Run and analyse: of each metric the pairs (treatment, predecessor) that are named, with their effects in percent."""
    ran = done(folder, *TRIALWISE, "run", file, "--directory", "results", "--quiet")
    assert ran.returncode == 0, ran.stderr
    analysed = done(folder, *TRIALWISE, "order", "results", "--confidence", "98", "--gate", "--json")
    assert analysed.returncode == code, analysed.stderr
    document = json.loads(analysed.stdout)
    assert (document["n_trials"], document["rounds_random"]) == (2 * 144, 24)
    return {
        group["metric"]: {
            (pair["treatment"], pair["predecessor"]): pair["percent"] for pair in group["pairs"]
        }
        for group in document["carry_over"]
    }


@pytest.mark.parametrize("example", ["planted-carry-over"], indirect=True)
def test_the_program_that_slows_another_is_named(example: Path):
    """The seeds decide the work, so that exactly this pair is named; CPU time is another machine's from run to run."""
    found = pairs_named(example, "experiment.toml", 1)
    assert set(found["work"]) == PLANTED
    assert 60 < found["work"]["program=search", "program=index"] < 140


@pytest.mark.parametrize("example", ["planted-carry-over"], indirect=True)
def test_no_pair_is_named_where_each_trial_is_tidied_up(example: Path):
    assert pairs_named(example, "cleaned.toml", 3)["work"] == {}


@pytest.mark.soak
@pytest.mark.parametrize("example", ["planted-carry-over"], indirect=True)
def test_no_pair_is_named_with_a_reset_before_every_trial(example: Path):
    change(example / "experiment.toml", 'every = "round"', 'every = "trial"')
    assert pairs_named(example, "experiment.toml", 3)["work"] == {}


@pytest.mark.skipif(shutil.which("memcached") is None, reason="needs memcached: apt-get install memcached")
@pytest.mark.parametrize("example", ["memcached-order"], indirect=True)
def test_memcached_is_another_one_for_each_round(example: Path):
    change(example / "experiment.toml", "rounds = 60", "rounds = 2")
    ran = done(example, *TRIALWISE, "run", "experiment.toml", "--directory", "results")
    assert ran.returncode == 0, ran.stderr
    with sqlite3.connect(example / "results/ledger.sqlite") as ledger:
        served = ledger.execute(
            'SELECT treatment, "order", value.value FROM trial JOIN value USING (number, attempt) '
            "WHERE source = 'stdout|json:/served'"
        ).fetchall()
        starts = ledger.execute("SELECT count(*) FROM event WHERE kind = 'service'").fetchone()
    assert starts == (2,)
    fixed = {treatment: value for treatment, order, value in served if order == "fixed"}
    assert fixed.keys() == {"test=cmd_set", "test=cmd_get", "test=get_hits", "test=cache"}
    assert (fixed["test=cmd_set"], fixed["test=cmd_get"]) == (100, 0)
    # After cmd_set the memory is full of another size of values.
    assert 0 < fixed["test=get_hits"] < 60


@pytest.mark.parametrize("example", ["memcached-order"], indirect=True)
def test_without_memcached_it_is_said_before_anything_runs(example: Path, tmp_path: Path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").symlink_to(sys.executable)
    alone = done(
        example, *TRIALWISE, "run", "experiment.toml", "--directory", "results", path=str(tmp_path / "bin")
    )
    assert alone.returncode == 2
    assert "service.memcached.start: no program 'memcached' in PATH" in alone.stderr
    assert not (example / "results").exists()


@pytest.mark.parametrize("example", ["sqlite-order"], indirect=True)
def test_a_server_of_sqlite_is_measured_from_outside_as_it_measures_itself(example: Path):
    change(example / "served.toml", "rounds = 48", "rounds = 1")
    ran = done(example, *TRIALWISE, "run", "served.toml", "--directory", "results")
    assert ran.returncode == 0, ran.stderr
    with sqlite3.connect(example / "results/ledger.sqlite") as ledger:
        rows = ledger.execute("SELECT number, source, value FROM value").fetchall()
    found = {(number, source): value for number, source, value in rows}
    numbers = {number for number, _ in found}
    assert len(numbers) == 6
    for number in numbers:
        own = found[number, "stdout|json:/cpu"] / 1e3
        assert own <= found[number, "service:database.cpu"] <= own + 0.2
