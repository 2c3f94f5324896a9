"""An experiment file that changes while workers have lanes: each lane is laid out anew, and nothing that was measured is lost."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter

import pytest
from tests.system.conftest import Bench
from tests.system.test_workers import configuration, two, workers
from tests.system.worker_machines import Machines

from trialwise import study
from trialwise.errors import PlanError

__all__ = ["configuration", "two"]


def test_treatments_a_metric_and_a_time_limit_change_between_the_rounds_of_two_workers(
    bench: Bench, two: Machines
):
    bench.write("echo {x} 7{x}", "stdout = '^([0-9]+)'", factors="x = [1, 2]", rest=workers(two), rounds=2)
    bench.run(workers=two.names, rounds=1)
    measured = {(row.number, row.worker, row.treatment) for row in bench.rows("finished")}
    assert Counter(worker for _, worker, _ in measured) == dict.fromkeys(two.names, 2)
    text = bench.file.read_text().replace("x = [1, 2]", "x = [1, 2, 3]")
    text = text.replace("[design]", "[metrics.second]\nstdout = ' ([0-9]+)'\n[design]")
    bench.file.write_text(text.replace("[trial]", '[trial]\ntimeout = "50s"'))
    planned = bench.rows("planned")[0].number
    set_status(bench, planned, "running", two.names[0])
    with pytest.raises(PlanError, match=f"may have trial {planned} in hand still") as refused:
        bench.run(extend=True, reread=True)
    assert f"trialwise run {bench.directory} --rounds 1" in str(refused.value.hint)
    set_status(bench, planned, "planned", None)
    said = bench.command_line("run", bench.file, "--directory", bench.directory, "--extend", "--reread")
    assert said.returncode == 0, said.stderr
    assert "metrics.second: new (read again from what was kept of 4 finished trials)" in said.stderr
    rows = bench.rows()
    assert {row.status for row in rows} == {"finished"}
    assert measured < {(row.number, row.worker, row.treatment) for row in rows}
    since = [row for row in rows if row.number not in {number for number, _, _ in measured}]
    assert Counter((row.worker, row.treatment) for row in since) == dict.fromkeys(
        ((worker, f"x={level}") for worker in two.names for level in (1, 2, 3)), 2
    )
    second = next(each for each in study.analyse(bench.directory).metrics if each.metric.name == "second")
    assert Counter(trial.value for trial in second.trials) == {71.0: 6, 72.0: 6, 73.0: 4}
    asked = len(bench.status()["amendments"])
    assert bench.status()["chain"]["rows"] == len(rows) + asked
    notes = study.trial_set(bench.directory).notes
    assert any("4 trials of series 1 ran beside other treatments" in note for note in notes)
    hide_last(bench)
    found = bench.compute("status", bench.directory, "--check")
    assert found.returncode == 5
    assert "is missing" in found.stderr
    assert "has no row" not in found.stderr  # of those that the change of the plan withdrew


def set_status(bench: Bench, number: int, status: str, worker: str | None) -> None:
    """Leave a trial as a runner does that is killed, or as it was."""
    with contextlib.closing(sqlite3.connect(bench.directory / "ledger.sqlite")) as base, base:
        base.execute("UPDATE trial SET status = ?, worker = ? WHERE number = ?", (status, worker, number))


def hide_last(bench: Bench) -> None:
    """Remove the trial that ended last, and its values."""
    with contextlib.closing(sqlite3.connect(bench.directory / "ledger.sqlite")) as base, base:
        (number,) = base.execute("SELECT number FROM trial ORDER BY link DESC LIMIT 1").fetchone()
        base.execute("DELETE FROM value WHERE number = ?", (number,))
        base.execute("DELETE FROM trial WHERE number = ?", (number,))
