"""Trials of kind `python` that share one process for each treatment and series, in real processes."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench

from trialwise import study
from trialwise.errors import PlanError
from trialwise.store.records import TrialRow

CALLS = """
import atexit, os, sys, threading, time

print("imported", flush=True)
if marker := os.environ.get("TRIALWISE_TRIAL"):  # not where it is only looked at, before anything runs
    with open("starts", "a") as file: file.write(f"{os.getpid()} {marker}\\n")
count = 0

def run(trial, x=0, **others):
    global count
    count += 1
    print(f"call of trial {trial}")
    with open("done", "a") as file: file.write(f"{trial}\\n")
    return {"m": count, "pid": os.getpid()}

def second(what):
    def call(trial, **others):
        global count
        count += 1
        return what() if count == 2 else count
    return call

def hang(): time.sleep(60)
def stubborn():
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)
def fail(): raise ValueError("no luck")
def fork():
    if os.fork() == 0: return 8
    os.wait()
    return 5
def closed():
    sys.stdout.close()
    return 6
def lines(): os.write(1, b"x" * 3_000_000); return 7

raises = second(fail)
nothing = second(lambda: None)
leaves = second(lambda: os._exit(0))
leaves_with_code = second(lambda: os._exit(7))
exits = second(lambda: sys.exit("enough"))
killed = second(lambda: os.kill(os.getpid(), 9))
hangs = second(hang)
is_stubborn = second(stubborn)
closes_all = second(lambda: os.closerange(0, 256))
forks = second(fork)
closes_output = second(closed)
prints_much = second(lines)

def lingers(**others):
    threading.Thread(target=time.sleep, args=(60,)).start()
    return 1

def notes_its_end(**others):
    atexit.register(lambda: open("ended", "a").write("x"))
    return 1

def waits(trial):
    with open("pids", "a") as file: file.write(f"{os.getpid()}\\n")
    while not (os.path.exists("go") or os.path.exists(f"go{trial}")): time.sleep(0.02)
    with open("done", "a") as file: file.write(f"{trial}\\n")
    return 1

def works(**others):
    end = time.process_time() + 0.05
    while time.process_time() < end: pass
    return 1
"""


def shared(bench: Bench, call: str = "run", *, metrics: str = "", trial: str = "", **settings) -> Bench:
    (bench.folder / "calls.py").write_text(CALLS)
    settings.setdefault("rest", "")
    settings["rest"] += metrics
    kind = f'kind = "python"\ncall = "calls:{call}"\nprocess = "shared"\n{trial}'
    return bench.write("", "", trial=kind, **settings)


def several(bench: Bench, series: int) -> Bench:
    """The same file with so many series."""
    bench.file.write_text(bench.file.read_text().replace("series = 1", f"series = {series}"))
    return bench


def processes(rows: list[TrialRow]) -> list[str | None]:
    return [row.process for row in rows]


def values(bench: Bench, source: str) -> dict[int, float]:
    with sqlite3.connect(bench.directory / "ledger.sqlite") as ledger:
        found = ledger.execute("SELECT number, value FROM value WHERE source = ?", (source,)).fetchall()
    ledger.close()
    return dict(found)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def is_running(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


def test_each_treatment_has_one_process_in_each_series(bench: Bench):
    shared(bench, factors="x = [1, 2]", metrics="[metrics.pid]\n", rounds=3)
    assert several(bench, 2).run().counts == {"finished": 12}
    rows = bench.rows()
    names: dict[tuple[int, str], set[str | None]] = defaultdict(set)
    for row in rows:
        names[row.series, row.treatment].add(row.process)
    assert all(len(found) == 1 for found in names.values())
    assert {name for found in names.values() for name in found} == {"1.1", "1.2", "1.3", "1.4"}
    pids = values(bench, "return:pid")
    assert all((pids[a.number] == pids[b.number]) == (a.process == b.process) for a in rows for b in rows)
    # The module is imported once in each, and the state of a process goes from call to call.
    assert len(lines_of(bench.folder / "starts")) == 4
    assert sorted(values(bench, "return:m").values()) == sorted([1.0, 2.0, 3.0] * 4)
    assert not any(is_running(int(pid)) for pid in pids.values())
    assert not (bench.directory / "scratch").exists() or not list((bench.directory / "scratch").iterdir())


def test_warm_ups_warm_the_process_that_is_measured(bench: Bench):
    shared(bench, rest="warmup_trials = 2\n").run()
    assert len(set(processes(bench.rows()))) == 1
    assert [row.warmup for row in bench.rows()] == [True, True, False, False]
    assert list(values(bench, "return:m").values()) == [1.0, 2.0, 3.0, 4.0]


def test_a_drawn_factor_goes_to_the_same_process(bench: Bench):
    shared(bench, factors="x = { draw = [1, 2, 3] }", rounds=6).run()
    assert len({row.factors["x"] for row in bench.rows()}) > 1
    assert set(processes(bench.rows())) == {"1.1"}


@pytest.mark.parametrize(
    ("call", "reason", "after"),
    [
        ("raises", "the function raised ValueError: no luck", "1.1"),
        ("nothing", "a metric is a number or a sequence of numbers, not None", "1.1"),
        ("leaves", "the function ended its process instead of returning", "1.2"),
        ("leaves_with_code", "the process ended with exit code 7", "1.2"),
        ("exits", "the process ended with exit code 1: enough", "1.2"),
        ("killed", "the process was ended by signal 9 (SIGKILL)", "1.2"),
        ("hangs", "took longer than the timeout of 3 s", "1.2"),
        ("is_stubborn", "took longer than the timeout of 3 s", "1.2"),
        ("closes_all", "the process", "1.2"),
    ],
)
def test_a_call_that_goes_wrong_fails_its_trial_only(bench: Bench, call: str, reason: str, after: str):
    shared(bench, call, trial=f'timeout = "{"3s" if "timeout" in reason else "1min"}"', rounds=3)
    assert bench.run().counts == {"finished": 2, "failed": 1}
    rows = bench.rows()
    assert [row.status for row in rows] == ["finished", "failed", "finished"]
    assert processes(rows) == ["1.1", "1.1", after]
    assert reason in str(rows[1].reason)
    assert (rows[1].exit_code == 7) == (call == "leaves_with_code")
    # A process that goes on has its count, another one begins anew.
    assert values(bench, "return:m")[3] == (3.0 if after == "1.1" else 1.0)


@pytest.mark.parametrize(("call", "value"), [("forks", 5.0), ("closes_output", 6.0), ("prints_much", 7.0)])
def test_what_a_call_may_do(bench: Bench, call: str, value: float):
    shared(bench, call, rounds=3)
    assert bench.run().counts == {"finished": 3}
    assert values(bench, "return:m") == {1: 1.0, 2: value, 3: 3.0}
    assert set(processes(bench.rows())) == {"1.1"}


def test_what_a_call_prints_stands_in_the_log_of_its_trial_alone(bench: Bench):
    shared(bench, rounds=3)
    text = (bench.folder / "calls.py").read_text()
    (bench.folder / "calls.py").write_text(
        text.replace("    return {", "    if count > 1: 1 / 0\n    return {")
    )
    assert bench.run().counts == {"finished": 1, "failed": 2}
    for number in (2, 3):
        log = (bench.directory / f"logs/{number:06d}-1.txt").read_text()
        assert f"call of trial {number}\n" in log
        assert "ZeroDivisionError" in log
        assert "imported" not in log
        assert log.count("call of trial") == 1


def test_time_is_that_of_the_call(bench: Bench):
    sources = "".join(f'[metrics.{name}]\nresource = "{name}"\n' for name in ("wall", "user", "system"))
    shared(bench, "works", metrics=sources, rounds=4).run()
    cpu = [values(bench, "resource:user")[n] + values(bench, "resource:system")[n] for n in range(1, 5)]
    # Whole processes would take longer with each call; the start of the interpreter is in none.
    assert all(0.045 < one < 0.2 for one in cpu)
    assert all(values(bench, "resource:wall")[n] >= 0.049 for n in range(1, 5))
    assert all(row.finished - row.started >= 0.049 for row in bench.rows())


def test_a_module_that_cannot_be_imported_any_more_fails_the_trials(bench: Bench):
    shared(bench, rounds=2)
    text = (bench.folder / "calls.py").read_text()
    # Not where the callable is only looked at, before anything runs.
    broken = 'import os\nif "TRIALWISE_TRIAL" in os.environ: import nowhere_to_be_found\n'
    (bench.folder / "calls.py").write_text(broken + text)
    assert bench.run().counts == {"failed": 2}
    assert "No module named 'nowhere_to_be_found'" in str(bench.rows()[0].reason)
    assert processes(bench.rows()) == ["1.1", "1.2"]


@pytest.mark.parametrize("call", ["lingers", "notes_its_end"])
def test_processes_end_with_the_session(bench: Bench, call: str):
    began = time.monotonic()
    shared(bench, call).run()
    assert time.monotonic() - began < 30
    (start,) = (line for line in lines_of(bench.folder / "starts") if line)
    assert not is_running(int(start.split()[0]))
    # By itself where it can: what is to be done at its exit is done.
    assert (bench.folder / "ended").exists() == (call == "notes_its_end")


def test_a_further_session_has_processes_of_its_own(bench: Bench):
    shared(bench, "leaves", rounds=3)
    bench.run()
    bench.run(again=True)
    rows = bench.rows()
    assert [(row.number, row.attempt, row.process) for row in rows] == [
        (1, 1, "1.1"), (2, 1, "1.1"), (2, 2, "2.1"), (3, 1, "1.2"),
    ]  # fmt: skip


def test_a_program_that_changes_ends_the_processes_that_have_the_old_one(bench: Bench):
    shared(bench, "waits", rounds=4)
    (bench.folder / "calls.py").chmod(0o755)  # what cannot be executed is not watched
    runner = subprocess.Popen([*TRIALWISE, "run", bench.file, "--directory", bench.directory, "--quiet"])
    wait_until(lambda: len(lines_of(bench.folder / "pids")) >= 1)
    (bench.folder / "calls.py").write_text((bench.folder / "calls.py").read_text() + "# another build\n")
    (bench.folder / "go").touch()
    assert runner.wait(60) == 0
    rows = bench.rows()
    assert len(set(processes(rows))) == 2
    assert {(row.process, row.epoch) for row in rows} == {("1.1", 1), ("2.1", 2)}


def test_a_killed_runner_loses_the_trial_in_hand_and_another_process_goes_on(bench: Bench):
    shared(bench, "waits", rounds=4)
    (bench.folder / "go1").touch()
    runner = subprocess.Popen([*TRIALWISE, "run", bench.file, "--directory", bench.directory, "--quiet"])
    wait_until(lambda: len(lines_of(bench.folder / "pids")) >= 2)
    runner.kill()
    runner.wait()
    pid = int(lines_of(bench.folder / "pids")[0])
    wait_until(lambda: not is_running(pid))
    (bench.folder / "go").touch()
    assert bench.run().counts == {"abandoned": 1, "finished": 4}
    rows = bench.rows()
    assert [(row.number, row.attempt, row.status, row.process) for row in rows] == [
        (1, 1, "finished", "1.1"), (2, 1, "abandoned", None), (2, 2, "finished", "2.1"),
        (3, 1, "finished", "2.1"), (4, 1, "finished", "2.1"),
    ]  # fmt: skip
    assert lines_of(bench.folder / "done") == ["1", "2", "3", "4"]
    # Every process carries the marker by which the next run finds what a killed one leaves.
    starts = lines_of(bench.folder / "starts")
    assert all(f" {identity_of(bench)}." in line for line in starts)


def identity_of(bench: Bench) -> str:
    with sqlite3.connect(bench.directory / "ledger.sqlite") as ledger:
        ((identity,),) = ledger.execute("SELECT value FROM meta WHERE key = 'identity'").fetchall()
    ledger.close()
    return identity


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, "finished"), (signal.SIGTERM, "abandoned")])
def test_signals_finish_or_abandon_the_call_in_hand(bench: Bench, number: int, status: str):
    shared(bench, "waits", rounds=3)
    words = [*TRIALWISE, "run", bench.file, "--directory", bench.directory]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as runner:
        wait_until(lambda: len(lines_of(bench.folder / "pids")) >= 1)
        runner.send_signal(number)
        assert runner.stderr is not None
        said = "Ctrl-C again abandons it" if status == "finished" else "abandoning the trial in hand"
        while said not in (line := runner.stderr.readline()):
            assert line, "it ended without a word"
        (bench.folder / "go").touch()
        runner.communicate(timeout=60)
    assert runner.returncode == 130
    first = bench.rows()[0]
    assert (first.status, first.process) == (status, "1.1")
    assert not is_running(int(lines_of(bench.folder / "pids")[0]))
    assert bench.run().counts["finished"] == 3
    assert {row.process for row in bench.rows("finished")} == (
        {"1.1", "2.1"} if status == "finished" else {"2.1"}
    )


def test_too_many_treatments_are_refused(bench: Bench):
    shared(bench, factors=f"x = {list(range(65))}")
    with pytest.raises(PlanError, match="keeps a process for each of 65 treatments; at most 64"):
        bench.run()


def test_the_plan_says_that_trials_share_processes(bench: Bench):
    shared(bench, factors="x = [1, 2]")
    said = bench.compute("plan", bench.file).stdout
    assert "trials share one process for each treatment and series: 2 processes" in said
    assert "nothing can be inferred about other processes" in said
    assert "nothing can be inferred" not in several(bench, 5).compute("plan", bench.file).stdout


def test_one_process_of_each_treatment_is_no_inference_and_several_are(bench: Bench):
    shared(bench, factors="x = [1, 2]", rounds=8).run()
    compared = bench.compute("compare", bench.directory, "--a", "x=1", "--b", "x=2").stdout
    assert "no inference from one process on each side" in compared
    assert "more series, where the trials of one share a process" in compared
    effects = bench.compute("effects", bench.directory).stdout
    assert "each treatment ran in one process; repeat every treatment in at least two processes" in effects
    calibrated = bench.compute("aa", bench.directory).stdout
    assert "too few to calibrate from: repeat process" in calibrated
    (bench.folder / "more").mkdir()
    again = several(shared(Bench(bench.folder / "more"), factors="x = [1, 2]", rounds=4), 3)
    again.run()
    found = bench.compute("compare", again.directory, "--a", "x=1", "--b", "x=2", "--json").stdout
    (row,) = json.loads(found)["rows"]
    assert (row["level"], row["n"]) == ("process", [3, 3])


AFTER_FORMAT_2 = ("trial DROP COLUMN link", "trial DROP COLUMN chain", "value DROP COLUMN sha256")


def test_a_ledger_of_the_first_format_is_read_and_brought_up_to_date(bench: Bench):
    bench.write("true", rounds=3).run()
    path = bench.directory / "ledger.sqlite"
    with sqlite3.connect(path) as ledger:
        for column in ("trial DROP COLUMN process", *AFTER_FORMAT_2):
            ledger.execute(f"ALTER TABLE {column}")
        ledger.execute("DROP TABLE amendment")
        ledger.execute("UPDATE meta SET value = '1' WHERE key = 'format'")
        ledger.execute("UPDATE trial SET status = 'planned' WHERE number = 3")
        ledger.execute("DELETE FROM value WHERE number = 3")
    ledger.close()
    assert processes(bench.rows()) == [None] * 3
    assert study.state(bench.directory).done == 2
    assert bench.run().counts == {"finished": 3}
    with sqlite3.connect(path) as ledger:
        ((found,),) = ledger.execute("SELECT value FROM meta WHERE key = 'format'").fetchall()
        columns = [row[1] for row in ledger.execute("PRAGMA table_info(trial)")]
    ledger.close()
    assert (found, columns[-3:]) == ("3", ["process", "link", "chain"])
    assert processes(bench.rows()) == [None] * 3


def test_a_folder_that_takes_no_named_pipes_fails_the_trials_with_what_to_do(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    def refused(path: Path, mode: int) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    shared(bench)
    monkeypatch.setattr(os, "mkfifo", refused)
    assert bench.run().failed == 2
    assert "no named pipes can be made here" in str(bench.rows()[0].reason)
