"""Processes of this machine's executor that end at whatever moment: the run goes on, and its record is the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

import task_trials
from task_trials import DrawnKind, children, facts
from trialwise import study
from trialwise.execution.events import RunEvent, TrialEnded
from trialwise.execution.tasks import in_flight

LARGE = 100_000
"""Numbers of a trial whose result, 0.8 MB, no socket holds: most of its time is its sending."""
KILLS = 20


def test_a_process_that_is_killed_costs_no_trial(tmp_path: Path, run):
    task_trials.write(tmp_path)
    run("one", jobs=1)
    (tmp_path / "kill-5").write_bytes(b"xx")
    assert run("killed", DrawnKind(mishaps=tmp_path), jobs=2).counts == {"finished": 40}
    assert (tmp_path / "kill-5").read_bytes() == b""
    assert facts(tmp_path / "one") == facts(tmp_path / "killed")


def test_a_trial_that_kills_its_process_every_time_fails_alone(tmp_path: Path, run):
    task_trials.write(tmp_path)
    (tmp_path / "kill-5").write_bytes(b"x" * 99)
    result = run("killed", DrawnKind(mishaps=tmp_path), jobs=2)
    assert result.counts == {"finished": 39, "failed": 1}
    assert len((tmp_path / "kill-5").read_bytes()) == 96
    (failure,) = study.state(tmp_path / "killed").failures
    assert failure.number == 5
    assert "the process that computed it was killed" in (failure.reason or "")


def test_a_process_that_is_killed_from_outside_while_it_is_idle_or_not_is_replaced(tmp_path: Path, run):
    task_trials.write(tmp_path, rounds=40)
    killed: list[int] = []

    class Killer:
        def notice(self, event: RunEvent) -> None:
            if isinstance(event, TrialEnded) and event.row.number in (10, 60):
                for process in children():
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)

    assert run("killed", DrawnKind(seconds=0.002), jobs=2, observers=[Killer()]).counts == {"finished": 80}
    assert killed
    run("one", jobs=1)
    assert facts(tmp_path / "one") == facts(tmp_path / "killed")


def test_processes_that_are_killed_while_they_send_cost_no_trial(
    tmp_path: Path, run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(in_flight, "MAX_LOSSES", 10**6)  # none of these trials is to blame
    task_trials.write(tmp_path, rounds=20)
    run("one", DrawnKind(size=LARGE), jobs=1)
    over = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        moments = random.Random(7)
        while len(killed) < KILLS and not over.wait(moments.expovariate(30)):
            for process in children():
                if moments.random() < 0.5:
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                        killed.append(process)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        result = run("killed", DrawnKind(size=LARGE), jobs=2)
    finally:
        over.set()
        killer.join()
    assert result.counts == {"finished": 40}
    assert len(killed) > 2
    assert facts(tmp_path / "one") == facts(tmp_path / "killed")


@pytest.mark.parametrize("size", [5, LARGE])
def test_half_a_result_is_a_lost_one(tmp_path: Path, run, size: int):
    task_trials.write(tmp_path, rounds=6)
    (tmp_path / "half-3").write_bytes(b"xx")
    (tmp_path / "half-8").write_bytes(b"x")
    kind = DrawnKind(size=size, mishaps=tmp_path)
    assert run("killed", kind, jobs=2).counts == {"finished": 12}
    assert (tmp_path / "half-3").read_bytes() == (tmp_path / "half-8").read_bytes() == b""
    run("one", DrawnKind(size=size), jobs=1)
    assert facts(tmp_path / "one") == facts(tmp_path / "killed")


def test_the_end_of_a_process_is_seen_though_another_has_its_socket(tmp_path: Path, run):
    task_trials.write(tmp_path)
    (tmp_path / "orphan-3").write_bytes(b"x")
    try:
        assert run("killed", DrawnKind(mishaps=tmp_path), jobs=2).counts == {"finished": 40}
    finally:
        (orphan,) = (int(line) for line in (tmp_path / "orphans").read_text().split())
        os.kill(orphan, signal.SIGKILL)
    run("one", jobs=1)
    assert facts(tmp_path / "one") == facts(tmp_path / "killed")


def test_a_stopped_process_keeps_nobody_from_stopping_the_run(tmp_path: Path, run):
    task_trials.write(tmp_path)

    class Stopper:
        def notice(self, event: RunEvent) -> None:
            if isinstance(event, TrialEnded) and event.row.number == 5:
                for process in children():
                    os.kill(process, signal.SIGSTOP)
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)

    result = run("stopped", DrawnKind(size=LARGE), jobs=2, observers=[Stopper()])
    assert result.ending.reason == "interrupted"
    assert children() == []


def test_processes_end_with_a_runner_that_is_killed(tmp_path: Path):
    task_trials.write(tmp_path)
    script = f"""
import sys, task_trials
from pathlib import Path
from trialwise import study
from trialwise.study import sessions
sessions.kind_of = lambda _: task_trials.DrawnKind(seconds=300)
class Printer:
    def notice(self, event):
        if type(event).__name__ == "Computing" and len(task_trials.children()) == 2:
            print(*task_trials.children(), flush=True)
study.run(Path({str(tmp_path)!r}) / "experiment.toml", Path({str(tmp_path)!r}) / "results", jobs=2, observers=[Printer()])
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) as runner:
        assert runner.stdout is not None
        computing = [int(word) for word in runner.stdout.readline().split()]
        runner.kill()
    assert len(computing) == 2
    deadline = time.monotonic() + 60
    while any(_is_alive(process) for process in computing):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
