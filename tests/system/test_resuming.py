"""Going on with an experiment: the same plan, or none; changed machines and programs; directories that were copied or moved."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench

from trialwise import study
from trialwise.errors import PlanError, StoreError
from trialwise.execution.events import (
    EnvironmentChanged,
    RunEvent,
    SessionStarted,
    TrialEnded,
    TrialRecalled,
    Waiting,
)
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.records import TrialRow

KPI = 'resource = "wall"\nkpi = { percentile = 50, confidence = 75 }'


class StopAfter:
    """A rule and an observer in one: enough after some rounds, counting those of earlier sessions."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.seen: set[tuple[int, int]] = set()

    def notice(self, event: RunEvent) -> None:
        if isinstance(event, TrialEnded | TrialRecalled):
            self.seen.add((event.row.series, event.row.round))
        if isinstance(event, TrialRecalled):
            assert event.samples()

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:
        assert (upcoming.series, upcoming.round) not in self.seen
        return "that is enough" if len(self.seen) >= self.rounds else None


class Listener:
    def __init__(self) -> None:
        self.events: list[RunEvent] = []

    def notice(self, event: RunEvent) -> None:
        self.events.append(event)

    def of(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]


def stop_after(bench: Bench, rounds: int) -> study.RunResult:
    rule = StopAfter(rounds)
    return bench.run(stopping=rule, observers=[rule])


def order(bench: Bench) -> list[tuple[int, str]]:
    return [(row.number, row.treatment) for row in bench.rows("finished")]


def two_treatments(bench: Bench, **settings) -> Bench:
    return bench.write(
        "sh -c 'echo {trial} >> {directory}/../../../log' {x}", factors='x = ["a", "b"]', **settings
    )


def test_a_rule_from_outside_stops_and_knows_what_earlier_sessions_did(bench: Bench):
    two_treatments(bench, rounds=5)
    assert stop_after(bench, 2).ending.reason == "stopped"
    assert stop_after(bench, 2).counts == {"finished": 4, "planned": 6}
    assert stop_after(bench, 3).counts == {"finished": 6, "planned": 4}
    result = bench.run()
    assert (result.ending.reason, result.counts) == ("complete", {"finished": 10})
    assert sorted(map(int, (bench.folder / "log").read_text().split())) == list(range(1, 11))
    whole = Bench(bench.folder / "whole")
    whole.folder.mkdir()
    two_treatments(whole, rounds=5).run()
    assert order(whole) == order(bench)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('resource = "wall"', 'resource = "max_rss"'),
        ("'true'", "'false'"),
        ("rounds = 3", "rounds = 2"),
        ('"bench"', '"bench"\nseed = 1'),
    ],
)
def test_an_edited_file_is_refused_with_the_difference(bench: Bench, old: str, new: str):
    bench.write("true", KPI, rounds=3)
    stop_after(bench, 1)
    text = bench.file.read_text().replace("'''", "'")
    bench.file.write_text(text)
    bench.run(stopping=StopAfter(0))
    assert old in text
    bench.file.write_text(text.replace(old, new))
    with pytest.raises(PlanError) as caught:
        bench.run()
    assert new.startswith(old) or any(
        line.startswith("-") and old in line for line in caught.value.message.splitlines()
    )
    assert any(
        line.startswith("+") and new.splitlines()[-1] in line for line in caught.value.message.splitlines()
    )
    assert caught.value.hint
    bench.file.write_text(text)
    assert bench.run().counts == {"finished": 3}


def test_the_frozen_file_of_the_directory_may_not_be_edited_either(bench: Bench):
    bench.write("true", KPI)
    stop_after(bench, 1)
    frozen = bench.directory / "experiment.toml"
    text = frozen.read_text()
    frozen.write_text(text.replace('resource = "wall"', 'resource = "max_rss"'))
    with pytest.raises(PlanError, match=r'\+resource = "max_rss"'):
        study.run(bench.directory)
    frozen.write_text(text)
    assert study.run(bench.directory).counts == {"finished": 2}


@pytest.mark.parametrize("where", ["prefixes.txt", "../prefixes.txt", "absolute"])
def test_a_file_that_a_factor_is_drawn_from_belongs_to_the_plan(bench: Bench, where: str, tmp_path: Path):
    inner = Bench(tmp_path / "inner")
    inner.folder.mkdir()
    drawn = tmp_path / "absolute.txt" if where == "absolute" else inner.folder / where
    drawn.write_text("a\nb\nc\n")
    name = str(drawn) if where == "absolute" else where
    inner.write("echo {prefix}", factors=f'prefix = {{ draw = "{name}" }}', rounds=4)
    stop_after(inner, 1)
    drawn.write_text("a\nb\nd\n")
    with pytest.raises(PlanError, match=r"(?s)-c.*\+d"):
        inner.run()
    drawn.unlink()
    moved = inner.directory.rename(tmp_path / "moved")
    assert study.run(moved).counts == {"finished": 4}


def test_extending_goes_on_with_the_same_sequence(bench: Bench):
    two_treatments(bench, rounds=2).run()
    begun = order(bench)
    two_treatments(bench, rounds=4)
    with pytest.raises(PlanError, match="number of trials differs") as caught:
        bench.run()
    assert "--extend" in str(caught.value.hint)
    assert bench.run(extend=True).counts == {"finished": 8}
    assert order(bench)[:4] == begun
    whole = Bench(bench.folder / "whole")
    whole.folder.mkdir()
    two_treatments(whole, rounds=4).run()
    assert order(whole) == order(bench)
    assert {row.seed for row in whole.rows()} == {row.seed for row in bench.rows()}
    assert study.run(bench.directory).counts == {"finished": 8}


def test_a_span_that_has_begun_takes_no_further_rounds_but_further_series(bench: Bench):
    file = bench.folder / "experiment.toml"
    two_treatments(bench, rounds=2)
    file.write_text(file.read_text() + 'span = "1s"\n')
    begun = file.read_text()
    bench.run()
    file.write_text(begun.replace("rounds = 2", "rounds = 3"))
    with pytest.raises(PlanError, match="number of trials differs") as caught:
        bench.run(extend=True)
    assert "design.series" in str(caught.value.hint)
    file.write_text(begun.replace("series = 1", "series = 2"))
    assert bench.run(extend=True).counts == {"finished": 8}


# The machine and its programs


def program(bench: Bench, text: str) -> None:
    path = bench.folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_program_that_changed_between_sessions_begins_an_epoch(bench: Bench):
    program(bench, "exit 0")
    bench.write("./program", rounds=4)
    stop_after(bench, 1)
    os.utime(bench.folder / "program")
    stop_after(bench, 2)
    program(bench, "exit 0 # another build")
    listener = Listener()
    bench.run(observers=[listener])
    assert [row.epoch for row in bench.rows()] == [1, 1, 2, 2]
    assert "program" in listener.of(EnvironmentChanged)[0].text


def test_a_program_that_changes_while_the_experiment_runs_begins_an_epoch(bench: Bench):
    program(bench, 'test "$1" != 2 || { cp program new; echo "# more" >> new; mv new program; }')
    bench.write("./program {round}", rounds=4)
    bench.run()
    assert [row.epoch for row in bench.rows()] == [1, 1, 2, 2]
    assert [row.session for row in bench.rows()] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("key", "epochs"), [("kernel_release", [1, 2]), ("machine", [1, 2]), ("boot", [1, 1])]
)
def test_a_new_kernel_or_host_is_an_epoch_and_a_new_boot_only_a_level(
    bench: Bench, key: str, epochs: list[int]
):
    bench.write("true")
    stop_after(bench, 1)
    (file,) = (bench.directory / "environments").iterdir()
    environment = json.loads(file.read_text())
    if key == "boot":
        environment["machine"]["boot_id"] = "another"
    else:
        environment["fingerprint"][key] = "another"
    file.write_text(json.dumps(environment))
    bench.run()
    assert [row.epoch for row in bench.rows()] == epochs


# Directories


def test_a_directory_without_its_ledger_is_not_begun_anew(bench: Bench):
    bench.write("sh -c 'echo v; echo 1; echo 2'", 'csv = "v"').run()
    (bench.directory / "ledger.sqlite").unlink()
    with pytest.raises(StoreError, match="no ledger"):
        bench.run()


def test_a_folder_of_somebody_else_is_refused(bench: Bench):
    bench.directory.mkdir()
    (bench.directory / "thesis.tex").write_text("")
    with pytest.raises(StoreError, match="not an experiment directory"):
        bench.write("true").run()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "no such table|format"),
        (lambda data: b"nothing like it" * 1000, "not a database"),
        (lambda data: data[: len(data) // 2], "malformed|damaged"),
        (lambda data: data[:8192] + b"\xff" * 4096 + data[12288:], "malformed|damaged"),
    ],
)
def test_a_damaged_ledger_is_refused_and_left_as_it_is(bench: Bench, damage, message: str):
    bench.write("true {x}", factors=f"x = {list(range(100))}", rounds=1)
    bench.run(stopping=StopAfter(0))
    ledger = bench.directory / "ledger.sqlite"
    damaged = damage(ledger.read_bytes())
    ledger.write_bytes(damaged)
    with pytest.raises(StoreError, match=message) as caught:
        bench.run()
    assert caught.value.hint
    assert ledger.read_bytes() == damaged


def test_a_ledger_of_a_newer_format_is_refused(bench: Bench):
    bench.write("true").run()
    with sqlite3.connect(bench.directory / "ledger.sqlite") as ledger:
        ledger.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    ledger.close()
    with pytest.raises(StoreError, match="ledger format '99'; this Trialwise reads 1, 2, 3"):
        bench.run()
    with pytest.raises(StoreError, match="'99'"):
        study.state(bench.directory)


@pytest.mark.parametrize("name", ["plain", "what? #1 100%", "ünï"])
def test_a_directory_may_be_moved_zipped_and_unpacked(bench: Bench, name: str):
    bench.write("sh -c 'echo v; echo {round}; echo 2'", 'csv = "v"', rounds=3)
    stop_after(bench, 1)
    archive = shutil.make_archive(str(bench.folder / "packed"), "zip", bench.directory)
    shutil.rmtree(bench.directory)
    place = bench.folder / name
    shutil.unpack_archive(archive, place)
    shutil.rmtree(place / "logs", ignore_errors=True)
    assert study.run(place).counts == {"finished": 3}
    assert study.analyse(place)


def test_an_experiment_whose_folder_has_moved_is_run_from_its_file(bench: Bench):
    inside = bench.folder / "before"
    inside.mkdir()
    (inside / "program").write_text("#!/bin/sh\n")
    (inside / "program").chmod(0o755)
    moved = Bench(inside)
    moved.write("./program", rounds=3)
    stop_after(moved, 1)
    after = Bench(inside.rename(bench.folder / "after"))
    with pytest.raises(PlanError, match="not a directory") as caught:
        study.run(after.directory)
    assert "--directory" in str(caught.value.hint)
    stop_after(after, 2)
    assert study.run(after.directory).counts == {"finished": 3}


def killed(bench: Bench) -> None:
    """Leave the directory as a kill does, with a write-ahead log."""
    bench.write("sh -c 'test {round} = 1 || exec sleep 60'", KPI)
    runner = subprocess.Popen([*TRIALWISE, "run", bench.file, "--directory", bench.directory, "--quiet"])
    wait_for_trial(bench, 2)
    runner.kill()
    runner.wait()


def wait_for_trial(bench: Bench, number: int, attempt: int = 1) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (bench.directory / "ledger.sqlite").exists() and any(
            (row.number, row.attempt) == (number, attempt) for row in bench.rows("running")
        ):
            return
        time.sleep(0.05)
    raise TimeoutError


def test_what_a_kill_left_can_be_read_where_nothing_can_be_written(bench: Bench):
    killed(bench)
    assert (bench.directory / "ledger.sqlite-wal").stat().st_size > 0
    copy = bench.folder / "copy"
    shutil.copytree(bench.directory, copy)
    (copy / "ledger.sqlite-shm").unlink()
    if os.geteuid() == 0:
        if subprocess.run(["mount", "--bind", copy, copy], capture_output=True, check=False).returncode != 0:
            pytest.skip("nothing can be mounted here")
        subprocess.run(["mount", "-o", "remount,bind,ro", copy], check=True)
    else:
        copy.chmod(0o555)
    try:
        assert study.state(copy).counts == {"finished": 1, "running": 1}
        assert study.analyse(copy)
        with pytest.raises(StoreError, match="where the directory can be written"):
            study.run(copy)
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", copy], check=True)
        else:
            copy.chmod(0o755)


def test_a_copy_does_not_end_the_processes_of_the_original(bench: Bench):
    killed(bench)
    runner = subprocess.Popen([*TRIALWISE, "run", bench.directory, "--quiet"])
    try:
        wait_for_trial(bench, 2, attempt=2)
        copy = bench.folder / "copy"
        shutil.copytree(bench.directory, copy)
        study.run(copy, stopping=StopAfter(0))
        time.sleep(0.2)
        assert bench.rows("running")
        assert study.state(bench.directory).is_active
    finally:
        runner.kill()
        runner.wait()


def test_of_ten_runners_exactly_one_wins(bench: Bench):
    bench.write("sh -c 'echo {trial} >> log; until test -e go; do sleep 0.05; done'", rounds=1)
    runners = [
        subprocess.Popen(
            [*TRIALWISE, "run", bench.file, "--directory", bench.directory, "--quiet"],
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(10)
    ]
    deadline = time.monotonic() + 120
    while sum(runner.poll() is None for runner in runners) > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    (bench.folder / "go").touch()
    said = [runner.communicate(timeout=60)[1] for runner in runners]
    assert (bench.folder / "log").read_text().split() == ["1"]
    refused = [text for runner, text in zip(runners, said, strict=True) if runner.returncode == 5]
    assert sorted(runner.returncode for runner in runners) == [0] + [5] * 9
    assert all("another runner is at work here (process " in text for text in refused)


def test_widths_are_fed_with_what_was_finished_before(bench: Bench):
    bench.write("true", KPI, rounds=6)
    stop_after(bench, 4)
    listener = Listener()
    bench.run(observers=[listener])
    assert [event.row.round for event in listener.of(TrialRecalled)] == [1, 2, 3, 4]
    (begun,) = listener.of(SessionStarted)
    assert (begun.done, begun.total) == (4, 6)
    assert listener.events.index(begun) == 4


def test_the_lock_is_of_the_directory_and_not_of_its_name(bench: Bench):
    bench.write("true").run()
    assert not study.state(bench.directory).is_active
    assert ExperimentDirectory(bench.directory).token


# When


def test_rounds_start_at_their_times_and_late_ones_at_once(bench: Bench):
    bench.write("true", rest='span = "4s"', rounds=4)
    listener = Listener()
    bench.run(observers=[listener])
    created = float(fact(bench, "created"))
    rows = bench.rows()
    for row in rows:
        assert row.planned_start is not None
        assert row.claimed is not None
        assert 0 <= row.claimed - created - row.planned_start < 10
    assert listener.of(Waiting)
    (begun,) = listener.of(SessionStarted)
    assert begun.last_start == pytest.approx(created + max(row.planned_start or 0 for row in rows))


def test_warm_up_trials_come_first_and_are_marked(bench: Bench):
    two_treatments(bench, rounds=2, rest="warmup_trials = 1").run()
    assert [row.warmup for row in bench.rows()] == [True, True, False, False, False, False]
    assert {row.status for row in bench.rows()} == {"finished"}
    (series,) = {row.series for row in bench.rows()}
    assert series == 1


def fact(bench: Bench, key: str) -> str:
    ledger = ExperimentDirectory(bench.directory).ledger()
    try:
        return ledger.fact(key)
    finally:
        ledger.close()


def test_a_full_disk_is_said_and_the_experiment_goes_on_when_there_is_room(bench: Bench):
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    disk = bench.folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2500k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    program(bench, "echo v; awk 'BEGIN { for (i = 0; i < 50000; i++) print rand() }'")
    bench.write("./program", 'csv = "v"', rounds=12)
    try:
        with pytest.raises(StoreError) as caught:
            study.run(bench.file, disk / "results")
        assert "free some space" in str(caught.value.hint)
        state = study.state(disk / "results")
        assert 0 < state.counts["finished"] < 12
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        assert study.run(disk / "results").counts["finished"] == 12
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_failed_trials_are_tried_again_only_when_asked(bench: Bench):
    bench.write("sh -c 'test -e fine'", rounds=2)
    assert bench.run().failed == 2
    (bench.folder / "fine").touch()
    assert bench.run().failed == 2
    result = bench.run(again=True)
    assert (result.failed, result.counts) == (0, {"failed": 2, "finished": 2})
    assert [(row.number, row.attempt) for row in bench.rows("finished")] == [(1, 2), (2, 2)]
    assert bench.run(again=True).counts == result.counts


def test_further_attempts_are_no_further_trials(bench: Bench):
    """One trial of three fails at first, and one for good: `status` and `run` count trials, and say what took how many attempts."""
    bench.write("sh -c 'test {round} = 1 || test -e fine -a {round} = 2'", rounds=3)
    bench.run()
    (bench.folder / "fine").touch()
    again = bench.command_line("run", bench.directory, "--again")
    assert again.returncode == 4
    assert "going on: 1 of 3 trials are done" in again.stderr
    assert "(5 attempts at 3 trials: 3 failed, 2 finished)" in again.stderr
    told = bench.compute("status", bench.directory)
    assert told.returncode == 4
    assert ": 3 of 3 trials have come to an end; complete" in told.stdout
    assert "these trials took 5 attempts" in told.stdout
    found = bench.status()
    assert (found["planned"], found["done"], found["counts"]) == (3, 3, {"failed": 3, "finished": 2})
