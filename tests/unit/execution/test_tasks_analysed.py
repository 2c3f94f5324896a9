"""What simulated trials say depends neither on when nor on where they were computed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from in_process import trialwise
from simulation_directory import FILE, run_simulation
from trialwise import study
from trialwise.store.ledger import Ledger

PATHS = """
[experiment]
name = "paths"
[factors]
scheme = ["udp-newreno", "python:gentle:Gentle"]
[trial]
kind = "path"
engine = "simulated"
runtime = "200ms"
scheme = "{scheme}"
path = { rate = "12Mbit/s", delay = "5ms" }
[metrics.throughput]
measure = "mean"
[design]
series = 1
rounds = 3
"""
RANDOM_PATHS = (
    PATHS.replace('"python:gentle:Gentle"', '"udp-cubic"')
    .replace("12Mbit/s", "poisson:rate=5Mbit/s")
    .replace("rounds = 3", "rounds = 12")
)
"""Trials of a treatment differ, and are enough for a test of their order."""
GENTLE = """
class Gentle:
    def __init__(self, context):
        self.window = 10 * context.segment
    def on_acknowledgement(self, event): pass
    def on_loss(self, event): pass
    def on_timeout(self, event): pass
"""


def compute_in_another_order(directory: Path) -> None:
    """Have the ledger say what several processes might have made of it: later trials began before earlier ones."""
    with sqlite3.connect(directory / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE trial SET started = 2e9 - finished, finished = 2e9 - started")
    ledger.close()


@pytest.mark.parametrize("text", [FILE, RANDOM_PATHS], ids=["simulation", "path"])
def test_tests_and_comparisons_take_trials_in_the_order_of_the_plan(tmp_path: Path, text: str):
    directory = run_simulation(tmp_path, text)

    def said() -> list[object]:
        done = [trialwise(what, directory, "--json", cwd=tmp_path) for what in ("analyze", "effects")]
        assert done[0].returncode == 0
        analysis, effects = (json.loads(each.stdout) for each in done)
        return [analysis["metrics"], analysis["estimation"], effects]

    before = said()
    compute_in_another_order(directory)
    assert said() == before


@pytest.fixture
def half_done(tmp_path: Path) -> Path:
    """An experiment of simulated paths of which the first scheme has been computed."""
    (tmp_path / "gentle.py").write_text(GENTLE)
    file = tmp_path / "experiment.toml"
    file.write_text(PATHS)
    study.run(file, tmp_path / "results", only=["scheme=udp-newreno"])
    return file


def epochs(file: Path) -> set[int | None]:
    """Those of all trials, after the rest has been computed."""
    directory = file.parent / "results"
    assert study.run(file, directory).counts == {"finished": 6}
    ledger = Ledger.open(directory / "ledger.sqlite", read_only=True)
    try:
        return {row.epoch for row in ledger.trials()}
    finally:
        ledger.close()


def test_another_machine_and_other_places_of_files_begin_no_series(half_done: Path):
    (environment,) = half_done.parent.glob("results/environments/*.json")
    known = json.loads(environment.read_text())
    fingerprint = known["fingerprint"]
    fingerprint |= {"kernel_release": "another", "machine": "another", "cpus": 10_000, "memory": 1}
    fingerprint["executables"] = [
        [f"/elsewhere/{Path(path).name}", digest] for path, digest in fingerprint["executables"]
    ]
    environment.write_text(json.dumps(known))
    assert epochs(half_done) == {1}


def test_who_computed_is_for_the_status_and_no_caveat_of_the_values(half_done: Path):
    assert epochs(half_done) == {1}
    results = half_done.parent / "results"
    before = study.analyse(results).notes
    with sqlite3.connect(results / "ledger.sqlite") as ledger:
        ledger.execute("INSERT INTO event VALUES (2e9, 'node', '10.0.0.1 is gone')")
        ledger.execute("UPDATE trial SET boot = 'another' WHERE number = 1")
    ledger.close()
    assert study.analyse(results).notes == before
    assert all("nothing in them is random" in note for note in before)
    assert "node: 10.0.0.1 is gone" in trialwise("status", results, cwd=half_done.parent).stdout


def test_another_simulator_begins_a_series(half_done: Path):
    (environment,) = half_done.parent.glob("results/environments/*.json")
    known = json.loads(environment.read_text())
    core = [each for each in known["executables"] if "_core" in each["path"]]
    core[0]["sha256"] = "another"
    environment.write_text(json.dumps(known))
    assert epochs(half_done) == {1, 2}


def test_a_controller_that_was_changed_begins_a_series(half_done: Path):
    (half_done.parent / "gentle.py").write_text(GENTLE.replace("10", "11"))
    assert epochs(half_done) == {1, 2}
    change = study.state(half_done.parent / "results").events[-1].text
    assert str(half_done.parent / "gentle.py") in change


@pytest.mark.parametrize("words", [["order"], ["order", "--json"]])
def test_no_order_is_judged_of_what_knows_of_none(half_done: Path, words: list[str]):
    assert epochs(half_done) == {1}
    refused = trialwise(*words, "results", cwd=half_done.parent)
    assert refused.returncode == 7
    assert "computed from their seeds alone" in refused.stderr
    assert "computed from their seeds alone" in study.order_view(half_done.parent / "results").refusal
