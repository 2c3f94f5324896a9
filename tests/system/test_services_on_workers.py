"""Services on workers that ssh reaches: kept there by the agent, whatever becomes of the connection and of the runner."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench
from tests.system.test_services import alive, check_use, events, pids, service
from tests.system.worker_machines import Machines, machines


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines(tmp_path_factory.mktemp("machines"), 1) as made:
        yield made


@pytest.fixture(autouse=True)
def configuration(one: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(one.configuration))


def there(one: Machines, reconnect: str = "20s") -> str:
    return f'[workers]\nuse = ["ssh://machine1"]\nfolder = "{one[0].home}"\nheartbeat = "1s"\nreconnect = "{reconnect}"\n'


def writes(bench: Bench, more: str = "") -> str:
    """A service whose process is noted in the folder of the test, which the worker sees too."""
    return f"""["sh", "-c", "echo $$ >> {bench.folder}/pids; {more} echo up; exec sleep 600"]"""


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_service_runs_where_the_trials_run(bench: Bench, one: Machines):
    text = service('for = "round"', writes(bench))
    bench.write(
        f"sh -c 'kill -0 $(tail -n 1 {bench.folder}/pids)'", factors="side = [1, 2]", rest=text + there(one)
    )
    bench.file.write_text(bench.file.read_text().replace("pids)'", "pids) {side}'"))
    result = bench.run()
    assert result.counts == {"finished": 4}, result.ending
    assert len(pids(bench)) == 2
    assert not alive(*pids(bench))
    assert [file.read_text() for file in bench.directory.glob("logs/service-s-*")] == ["up\n"] * 2
    assert list(Path(one[0].home).glob("*/services/*")) == []


def test_a_death_makes_the_trial_invalid_there_too(bench: Bench, one: Machines):
    kills = f"sh -c 'test {{round}} != 2 || kill -9 $(tail -n 1 {bench.folder}/pids)'"
    bench.write(kills, rest=service(start=writes(bench)) + there(one), rounds=3)
    assert bench.run().counts == {"finished": 2, "invalid": 1}
    (row,) = bench.rows("invalid")
    assert row.reason is not None
    assert row.reason.startswith("not all services lasted through the trial: s ")
    assert len(pids(bench)) == 2
    assert events(bench, "service died") == ["s was ended by signal 9: up, during trial 2"]


def test_a_service_that_does_not_start_there_ends_the_run_and_says_where(bench: Bench, one: Machines):
    bench.write("true", rest=service(start=writes(bench, "echo no disk; exit 3;")) + there(one))
    result = bench.run()
    assert (result.ending.reason, result.counts) == ("service failed", {"planned": 2})
    assert result.ending.text == (
        "service s: ssh://machine1: ended with exit code 3 before it was ready: no disk"
    )
    assert not alive(*pids(bench))


def test_a_reset_restarts_a_service_there(bench: Bench, one: Machines):
    text = service(start=writes(bench)) + '[reset]\nservice = "s"\nevery = "trial"\n'
    bench.write("true", rest=text + there(one))
    assert bench.run().counts == {"finished": 2}
    assert len(pids(bench)) == 2
    assert not alive(*pids(bench))


def test_a_lost_connection_leaves_a_service_alone(bench: Bench, one: Machines):
    runner = started_trial(bench, one)
    try:
        assert one[0].end_connections()
        (bench.folder / "go").touch()
        assert runner.wait(60) == 0
    finally:
        end(runner)
    assert [row.status for row in bench.rows()] == ["finished"] * 2
    assert len(pids(bench)) == 1
    assert not alive(*pids(bench))


def test_without_its_runner_a_service_ends_after_its_trial(bench: Bench, one: Machines):
    """Nobody comes back: the trial that was begun has its service to its end, and then that ends."""
    kill_runner_in_trial(bench, one, "5s")
    time.sleep(6.5)
    assert len(alive(*pids(bench))) == 1
    (bench.folder / "go").touch()
    wait_until(lambda: not alive(*pids(bench)))
    assert bench.run().counts == {"finished": 2}
    assert len(pids(bench)) == 2
    assert not alive(*pids(bench))


def test_a_run_that_goes_on_ends_what_the_one_before_left(bench: Bench, one: Machines):
    kill_runner_in_trial(bench, one, "1h")
    (bench.folder / "go").touch()
    assert bench.run().counts == {"finished": 2}
    assert len(pids(bench)) == 2
    assert not alive(*pids(bench))


def test_a_service_that_died_while_nobody_was_there_makes_its_trial_invalid(bench: Bench, one: Machines):
    kill_runner_in_trial(bench, one, "1h")
    os.kill(pids(bench)[0], signal.SIGKILL)
    (bench.folder / "go").touch()
    assert bench.run().counts == {"finished": 1, "invalid": 1}


def test_what_a_service_uses_there_is_measured_apart(bench: Bench, one: Machines):
    check_use(bench, there(one).replace("[workers]", "[workers]\nfiles = ['*.py']"))


def started_trial(bench: Bench, one: Machines, reconnect: str = "20s") -> subprocess.Popen[bytes]:
    """Start a run, and wait until its first trial runs on the worker, where it lasts until there is a file `go`."""
    holds = f"sh -c 'cd {bench.folder}; touch began; until test -e go; do sleep 0.05; done'"
    bench.write(holds, rest=service(start=writes(bench)) + there(one, reconnect))
    runner = subprocess.Popen(
        [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory)], stderr=subprocess.DEVNULL
    )
    wait_until((bench.folder / "began").exists)
    return runner


def kill_runner_in_trial(bench: Bench, one: Machines, reconnect: str) -> None:
    """Kill the runner while a trial lasts on the worker, until there is a file `go`."""
    end(started_trial(bench, one, reconnect))


def end(runner: subprocess.Popen[bytes]) -> None:
    if runner.poll() is None:
        runner.kill()
    runner.wait()
