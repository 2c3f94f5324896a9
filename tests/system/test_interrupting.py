"""Signals on a real terminal, and elsewhere; and that nothing stirs while a trial runs."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from jsonschema import validate
from tests.system.conftest import TRIALWISE, Bench

from trialwise import study
from trialwise.cli.schema import json_schema

SLEEPER = "sh -c 'echo $$ >> pids; trap \"\" HUP; sleep {seconds}; echo {trial} >> done'"
HELD = SLEEPER.replace("sleep {seconds}", "until test -e go; do sleep 0.05; done")
"""Lasts until there is a file `go`."""


class Terminal:
    """A runner whose controlling terminal is ours."""

    def __init__(self, bench: Bench, *words: str, columns: int = 100) -> None:
        self.process, self.master = pty.fork()
        if self.process == 0:
            os.chdir(bench.folder)
            os.environ.update(COLUMNS=str(columns), LINES="30", TERM="xterm")
            arguments = [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory), *words]
            os.execv(sys.executable, arguments)  # noqa: S606
        self.text = ""

    def wait_for(self, pattern: str) -> None:
        deadline = time.monotonic() + 60
        while not re.search(pattern, self.text):
            assert time.monotonic() < deadline, self.text
            self._read(0.1)

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def end(self) -> int:
        deadline = time.monotonic() + 60
        while True:
            self._read(0.05)
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                with suppress(OSError):
                    while self._read(0.0):
                        pass
                os.close(self.master)
                return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < deadline, self.text

    def _read(self, seconds: float) -> bool:
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        with suppress(OSError):
            self.text += os.read(self.master, 65536).decode(errors="replace")
            return True
        return False


def sleeper(bench: Bench, seconds: float, rounds: int = 3) -> Bench:
    return bench.write(SLEEPER.replace("{seconds}", str(seconds)), rounds=rounds)


def alive(bench: Bench) -> list[int]:
    """Which of the programs that were started still run."""
    found = [int(text) for text in (bench.folder / "pids").read_text().split()]
    return [number for number in found if Path(f"/proc/{number}").exists()]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_pids(bench: Bench, count: int) -> None:
    pids = bench.folder / "pids"
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) >= count)


def test_one_control_c_finishes_the_trial_in_hand(bench: Bench):
    terminal = Terminal(bench.write(HELD, rounds=3))
    wait_for_pids(bench, 1)
    terminal.press(b"\x03")
    terminal.wait_for("Ctrl-C again abandons it")
    assert not (bench.folder / "done").exists(), "it is said at once"
    (bench.folder / "go").touch()
    assert terminal.end() == 130
    assert (bench.folder / "done").read_text().split() == ["1"]
    assert bench.compute("status", bench.directory, "--json").returncode == 0
    result = bench.run()
    assert result.counts == {"finished": 3}
    assert (bench.folder / "done").read_text().split() == ["1", "2", "3"]


def test_two_control_c_abandon_it_and_it_runs_again(bench: Bench):
    terminal = Terminal(sleeper(bench, 60.0, rounds=1))
    wait_for_pids(bench, 1)
    terminal.press(b"\x03")
    terminal.wait_for("again abandons")
    terminal.press(b"\x03")
    assert terminal.end() == 130
    assert "abandoned" in terminal.text
    assert not alive(bench)
    assert [(row.attempt, row.status) for row in bench.rows()] == [(1, "abandoned"), (2, "planned")]
    assert study.analyse(bench.directory)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_term_and_hang_up_abandon_at_once(bench: Bench, number: int):
    terminal = Terminal(sleeper(bench, 60.0))
    wait_for_pids(bench, 1)
    os.kill(terminal.process, number)
    assert terminal.end() == 130
    assert not alive(bench)
    assert [row.status for row in bench.rows()][:2] == ["abandoned", "planned"]


def test_a_kill_leaves_no_process_and_the_next_run_goes_on(bench: Bench):
    bench.write(HELD, rounds=2)
    for number in (1, 2):
        runner = subprocess.Popen([*TRIALWISE, "run", bench.file, "--directory", bench.directory, "--quiet"])
        wait_for_pids(bench, number)
        runner.kill()
        runner.wait()
        wait_until(lambda: not alive(bench))
    (bench.folder / "go").touch()
    assert bench.command_line("run", bench.directory, "--quiet").returncode == 0
    assert [row.status for row in bench.rows()].count("abandoned") == 2
    assert (bench.folder / "done").read_text().split() == ["1", "2"]


@pytest.mark.parametrize("part", ["prepare", "conclude", "reset"])
def test_what_runs_beside_the_program_is_abandoned_too(bench: Bench, part: str):
    command = "\"sh -c 'echo $$ >> pids; sleep 60'\""
    if part == "reset":
        bench.write("true", rest=f"[reset]\ncommand = {command}")
    else:
        bench.write("true", trial=f"{part} = {command}")
    terminal = Terminal(bench)
    wait_for_pids(bench, 1)
    os.kill(terminal.process, signal.SIGTERM)
    assert terminal.end() == 130
    assert not alive(bench)
    assert "finished" not in {row.status for row in bench.rows()}
    assert "failed" not in {row.status for row in bench.rows()}


def test_leftovers_that_outlive_a_kill_are_ended_by_the_next_run(bench: Bench):
    bench.write("true", rounds=1).run()
    with leftover(bench, "") as own, leftover(bench, "x") as others:
        bench.run()
        assert own.wait(timeout=60) == -signal.SIGTERM
        assert others.poll() is None


@contextmanager
def leftover(bench: Bench, change: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process as a trial of the experiment leaves it, or with another experiment's marker."""
    from trialwise.store.directory import ExperimentDirectory
    from trialwise.store.ledger import Ledger

    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    marker = f"{change}{ledger.fact('identity')}.{ExperimentDirectory(bench.directory).token}:1:1"
    ledger.close()
    process = subprocess.Popen(["sleep", "60"], env={**os.environ, "TRIALWISE_TRIAL": marker})
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_runner_that_ignores_hang_ups_goes_on(bench: Bench):
    sleeper(bench, 0.3, rounds=2)
    runner = subprocess.Popen(
        ["nohup", *TRIALWISE, "run", bench.file, "--directory", bench.directory, "--quiet"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for_pids(bench, 1)
    runner.send_signal(signal.SIGHUP)
    assert runner.wait(timeout=60) == 0
    assert (bench.folder / "done").read_text().split() == ["1", "2"]


def test_an_experiment_outlives_the_reader_of_its_log(bench: Bench):
    sleeper(bench, 0.1, rounds=4)
    runner = subprocess.Popen(
        [*TRIALWISE, "run", bench.file, "--directory", bench.directory], stderr=subprocess.PIPE
    )
    assert runner.stderr is not None
    runner.stderr.close()
    assert runner.wait(timeout=60) == 0
    assert (bench.folder / "done").read_text().split() == ["1", "2", "3", "4"]


def test_the_runner_sleeps_while_a_trial_runs(bench: Bench):
    terminal = Terminal(bench.write(HELD, rounds=1))
    wait_for_pids(bench, 1)
    deadline = time.monotonic() + 30
    while True:  # a busy machine takes its time until the runner has told of the beginning
        before = switches(terminal.process)
        time.sleep(1.2)
        after = switches(terminal.process)
        if after == before:
            break
        assert time.monotonic() < deadline, (before, after)
    (bench.folder / "go").touch()
    assert terminal.end() == 0


def switches(process: int) -> dict[str, int]:
    """How often each thread of a process has gone to sleep or been sent to it."""
    found: dict[str, int] = {}
    for task in Path(f"/proc/{process}/task").iterdir():
        counts = re.findall(r"ctxt_switches:\s+(\d+)", (task / "status").read_text())
        found[task.name] = sum(map(int, counts))
    return found


def test_a_long_trial_shows_when_it_should_end(bench: Bench):
    bench.write(
        "sleep 1",
        'resource = "wall"\nkpi = { percentile = 50, confidence = 75 }',
        trial='runtime = "1s"',
        rounds=2,
    )
    terminal = Terminal(bench)
    assert terminal.end() == 0
    assert re.search(r"trial 1 since \d\d:\d\d:\d\d, ends about \d\d:\d\d:\d\d", terminal.text)
    assert "m p50: " in terminal.text
    assert "2/2" in terminal.text
    assert "complete: every planned trial has come to an end (2 finished)" in terminal.text


@pytest.mark.parametrize("columns", [30, 80])
def test_a_narrow_terminal_is_not_overrun(bench: Bench, columns: int):
    bench.write(
        "true {x}",
        'resource = "wall"\nkpi = { percentile = 50, confidence = 75 }',
        factors='x = ["' + "long " * 30 + '"]',
    )
    terminal = Terminal(bench, columns=columns)
    assert terminal.end() == 0
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.text).replace("\r", "\n").splitlines()
    bars = [line for line in lines if "━" in line]
    assert bars
    assert all(len(line) <= columns for line in bars)


# Not on a terminal


def test_a_line_for_each_trial_and_the_exit_code_of_failures(bench: Bench):
    bench.write("sh -c 'exit $(({round} == 2))'", rounds=3)
    done = bench.command_line("run", "experiment.toml", "--directory", "results")
    assert done.returncode == 4
    assert done.stdout == ""
    assert [line for line in done.stderr.splitlines() if "trial 2 - failed" in line and "[2/3" in line]
    assert "\x1b" not in done.stderr
    assert done.stderr.count("finished in") == 2
    assert "failed trials: see" in done.stderr
    again = bench.command_line("run", "results", "--json")
    assert again.returncode == 4
    document = json.loads(again.stdout)
    assert document["counts"] == {"failed": 1, "finished": 2}
    validate(document, json_schema("run"))
    status = bench.compute("status", "results", "--json")
    assert status.returncode == 4
    document = json.loads(status.stdout)
    assert document["failures"][0]["reason"] == "ended with exit code 1"
    validate(document, json_schema("status"))


def test_quiet_says_nothing_and_errors_name_what_to_try(bench: Bench):
    bench.write("true")
    done = bench.command_line("run", "experiment.toml", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    bench.write("no-such-program")
    refused = bench.command_line("run", "experiment.toml", "--directory", "other")
    assert refused.returncode == 2
    assert "trial.command: no program 'no-such-program' in PATH" in refused.stderr
    assert "try: install it" in refused.stderr
    assert "Traceback" not in refused.stderr
