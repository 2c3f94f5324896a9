"""Workers that are killed, frozen and cut off: no finished trial is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench
from tests.system.worker_machines import Machine, Machines, machines

from trialwise import study
from trialwise.execution.events import TrialEnded
from trialwise.execution.workers.remote_kind import MAX_LOSSES

pytestmark = pytest.mark.alone
EXECUTOR, ATTACHMENT, CONNECTION = "agent.zip", "sys.stdin.buffer", "sshd: "


@pytest.fixture
def two(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    with machines(tmp_path_factory.mktemp("machines"), 2) as made:
        monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(made.configuration))
        yield made


ALL = "*"


def bench_of(folder: Path, two: Machines, rounds: int, *, held: str = "''") -> Bench:
    """Trials that note their beginning and their end in a log, and report a number that no other run reports.

    Those whose number is `held` (a pattern of the shell) last until `let_go`, others 0.3 s.
    """
    log = folder / "log"
    program = folder / "trial.sh"
    wait = f"case $1 in {held}) until test -e {folder}/go; do sleep 0.05; done;; *) sleep 0.3;; esac"
    program.write_text(
        "n=$(od -An -N4 -tu4 /dev/urandom)\n"
        f"echo begin $1 $n >> {log}\n{wait}\necho $n\necho end $1 $n >> {log}\n"
    )
    return Bench(folder).write(
        "sh trial.sh {trial} {x}",
        "stdout = '([0-9]+)'",
        factors="x = [1, 2]",
        rounds=rounds,
        rest=f'[workers]\nuse = {two.names}\nfolder = "{two.folder}/home"\nfiles = ["trial.sh"]\n'
        'heartbeat = "0.5s"\nreconnect = "30s"',
    )


def let_go(bench: Bench) -> None:
    """Let trials end that are held."""
    (bench.folder / "go").touch()


class Campaign:
    """Runs the experiment to its end, again and again where the runner is killed, while faults are injected."""

    def __init__(self, bench: Bench, two: Machines, seed: int) -> None:
        self.bench = bench
        self.two = two
        self.random = random.Random(seed)
        self.injected = Counter[str]()
        self.killed_executors = 0
        self.done = threading.Event()
        self.runner: subprocess.Popen[bytes] | None = None

    def run(self, faults: int) -> list[int | None]:
        """Inject that many faults; return how the runners ended."""
        injector = threading.Thread(target=self.inject, args=(faults,))
        injector.start()
        endings: list[int | None] = []
        try:
            while not endings or endings[-1] != 0:
                assert len(endings) < faults + 20, endings
                endings.append(self.run_once())
        finally:
            self.done.set()
            injector.join()
        return endings

    def run_once(self) -> int:
        with (self.bench.folder / "runner.log").open("ab") as log:
            words = [*TRIALWISE, "run", self.bench.file, "--directory", self.bench.directory]
            self.runner = subprocess.Popen(words, stdout=log, stderr=log)
        return self.runner.wait()

    def inject(self, faults: int) -> None:
        try:
            self.inject_each(faults)
        finally:
            let_go(self.bench)
        self.done.wait()  # an sshd that was started from this thread ends with it

    def inject_each(self, faults: int) -> None:
        while sum(self.injected.values()) < faults and not self.done.wait(self.random.uniform(0.05, 0.5)):
            name = self.random.choice(
                ["executor", "attachment", "connection", "freeze", "hold", "cut", "sshd", "kill_runner"]
            )
            machine = self.random.choice(self.two.all)
            if getattr(self, name)(machine) is not False:
                self.injected[name] += 1

    def wait_for(self, machine: Machine, what: str) -> None:
        deadline = time.monotonic() + 3
        while not machine.processes(what) and time.monotonic() < deadline and not self.done.is_set():
            time.sleep(0.01)

    def pause(self) -> None:
        time.sleep(self.random.uniform(0.1, 1.5))

    def executor(self, machine: Machine) -> bool:
        self.wait_for(machine, EXECUTOR)
        killed = machine.signal(EXECUTOR, signal.SIGKILL)
        self.killed_executors += killed
        return killed > 0

    def attachment(self, machine: Machine) -> bool:
        return machine.signal(ATTACHMENT, signal.SIGKILL) > 0

    def connection(self, machine: Machine) -> bool:
        return machine.end_connections() > 0

    def freeze(self, machine: Machine) -> bool:
        return self.stopped(machine, ATTACHMENT)

    def hold(self, machine: Machine) -> bool:
        return self.stopped(machine, EXECUTOR)

    def stopped(self, machine: Machine, what: str) -> bool:
        self.wait_for(machine, what)
        found = machine.signal(what, signal.SIGSTOP)
        self.pause()
        machine.signal(what, signal.SIGCONT)
        return found > 0

    def cut(self, machine: Machine) -> None:
        machine.cut()
        self.pause()
        machine.join()

    def sshd(self, machine: Machine) -> None:
        machine.stop()
        self.pause()
        machine.start()

    def kill_runner(self, machine: Machine) -> bool:
        if self.runner is None or self.runner.poll() is not None:
            return False
        self.runner.kill()
        return True


def check(bench: Bench, planned: int, killed: int) -> None:
    """Every trial finished once, with the number that its own run reported; what ran in vain was killed by us."""
    rows = bench.rows()
    finished = [row for row in rows if row.status == "finished"]
    assert sorted(row.number for row in finished) == list(range(1, planned + 1))
    assert {row.status for row in rows} <= {"finished", "abandoned"}
    lines = [line.split() for line in (bench.folder / "log").read_text().splitlines()]
    ended = Counter((int(trial), float(value)) for what, trial, value in lines if what == "end")
    reported = dict(zip([row.number for row in finished], bench.values(), strict=True))
    assert all(ended[number, value] == 1 for number, value in reported.items())
    begun = Counter(int(trial) for what, trial, _ in lines if what == "begin")
    attempts = Counter(row.number for row in rows)
    assert all(begun[number] <= attempts[number] for number in begun), "a trial ran twice in one attempt"
    assert sum(ended.values()) - planned <= killed, "a trial that had finished was thrown away"


def campaign(tmp_path: Path, two: Machines, seed: int, faults: int, rounds: int) -> Campaign:
    # The last trial of each machine waits for the last fault: no run is too fast for them.
    bench = bench_of(tmp_path, two, rounds, held=f"{2 * rounds}|{4 * rounds}")
    made = Campaign(bench, two, seed)
    endings = made.run(faults)
    told = f"{dict(made.injected)}; runners {Counter(endings)}; {Counter(row.status for row in bench.rows())}"
    (tmp_path / "faults").write_text(told)
    sys.stderr.write(told + "\n")
    check(bench, planned=4 * rounds, killed=made.killed_executors)
    assert sum(made.injected.values()) == faults
    return made


def test_a_few_random_faults(tmp_path: Path, two: Machines):
    campaign(tmp_path, two, seed=1, faults=8, rounds=8)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [11, 12])
def test_many_random_faults(tmp_path: Path, two: Machines, seed: int):
    campaign(tmp_path, two, seed=seed, faults=60, rounds=60)


# The window between a result written and its acknowledgement


def wait_for(condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def start(bench: Bench, *words: str) -> subprocess.Popen[str]:
    command = [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory), *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def results(machine: Machine, two: Machines) -> list[Path]:
    return [*(two.folder / "home").glob("*/spool/*.result")]


def begun(bench: Bench) -> list[str]:
    log = bench.folder / "log"
    return (
        [line.split()[1] for line in log.read_text().splitlines() if line.startswith("begin")]
        if log.exists()
        else []
    )


def test_a_result_that_was_written_while_the_runner_was_dead_is_collected(tmp_path: Path, two: Machines):
    bench = bench_of(tmp_path, two, rounds=1, held=ALL)
    process = start(bench, "--workers", two.names[0])
    wait_for(lambda: begun(bench))
    two[0].cut()
    process.kill()
    process.communicate()
    let_go(bench)
    wait_for(lambda: results(two[0], two))
    two[0].join()
    assert [row.status for row in bench.rows()] == ["running", "planned"]
    assert bench.run(workers=two.names[:1]).counts == {"finished": 2}
    assert begun(bench) == ["1", "2"]
    check(bench, planned=2, killed=0)


class Die:
    """Ends the process between the ledger and the acknowledgement."""

    def notice(self, event) -> None:
        if isinstance(event, TrialEnded):
            os._exit(9)


def test_a_result_that_was_not_acknowledged_is_not_counted_twice(tmp_path: Path, two: Machines):
    bench = bench_of(tmp_path, two, rounds=1)
    process = os.fork()
    if process == 0:
        try:
            bench.run(workers=two.names[:1], observers=[Die()])
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9
    assert [row.status for row in bench.rows()] == ["finished", "planned"]
    assert len(results(two[0], two)) == 1
    assert bench.run(workers=two.names[:1]).counts == {"finished": 2}
    assert begun(bench) == ["1", "2"]
    assert not results(two[0], two)


def test_a_killed_executor_costs_one_attempt(tmp_path: Path, two: Machines):
    bench = bench_of(tmp_path, two, rounds=1, held=ALL)
    process = start(bench, "--workers", two.names[0])
    wait_for(lambda: begun(bench))
    first = set(two[0].processes("sh trial.sh"))
    assert first
    assert two[0].signal(EXECUTOR, signal.SIGKILL) == 1
    wait_for(lambda: len(begun(bench)) == 2)
    left = first & set(two[0].processes("sh trial.sh"))
    let_go(bench)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert [(row.number, row.attempt, row.status) for row in bench.rows()] == [
        (1, 1, "abandoned"),
        (1, 2, "finished"),
        (2, 1, "finished"),
    ]
    assert not left, "what the killed executor had started was ended"


def test_a_trial_that_is_lost_too_often_is_tried_again_where_the_rule_says_so(tmp_path: Path, two: Machines):
    bench = bench_of(tmp_path, two, rounds=1, held=ALL)
    rule = 'retry = { on = ["lost"], times = 1 }\n[metrics'
    bench.file.write_text(bench.file.read_text().replace("[metrics", rule, 1))
    process = start(bench, "--workers", two.names[0])
    for losses in range(1, MAX_LOSSES + 1):
        wait_for(lambda losses=losses: len(begun(bench)) == losses)
        assert two[0].signal(EXECUTOR, signal.SIGKILL) == 1
    wait_for(lambda: len(begun(bench)) == MAX_LOSSES + 1)
    let_go(bench)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    statuses = [row.status for row in bench.rows() if row.number == 1]
    assert statuses == [*["abandoned"] * (MAX_LOSSES - 1), "failed", "finished"]
    (failed,) = bench.rows("failed")
    assert str(failed.reason).startswith(f"was lost {MAX_LOSSES} times")


def test_two_control_c_abandon_the_trial_there(tmp_path: Path, two: Machines):
    bench = bench_of(tmp_path, two, rounds=1, held=ALL)
    process = start(bench, "--workers", two.names[0])
    wait_for(lambda: begun(bench))
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "Ctrl-C again abandons it" not in (line := process.stderr.readline()):
        assert line, "it ended at the first"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert [(row.attempt, row.status) for row in bench.rows()][:2] == [(1, "abandoned"), (2, "planned")]
    assert not two[0].processes("trial.sh")


def test_a_worker_that_stays_away_is_lost_and_the_other_goes_on(tmp_path: Path, two: Machines):
    bench = bench_of(tmp_path, two, rounds=3, held=ALL)
    bench.file.write_text(bench.file.read_text().replace('reconnect = "30s"', 'reconnect = "1s"'))
    process = start(bench)
    # Which machine begins first is not known: trial 1 is the first of the one that is cut off.
    wait_for(lambda: "1" in begun(bench) and study.state(bench.directory).workers[0].running)
    two[0].cut()
    let_go(bench)
    _, errors = process.communicate(timeout=90)
    assert process.returncode == 6, errors
    assert f"{two.names[0]}: lost" in errors
    assert "left (rounds 1 to 3 of series 1), trial 1 in hand" in errors
    assert "bring the worker back and run trialwise run again" in errors
    assert f"--workers {two.names[1]},ssh://OTHER" in errors
    rows = bench.rows()
    assert {row.status for row in rows if row.number > 6} == {"finished"}
    status = study.state(bench.directory)
    assert [(worker.name, worker.finished, worker.left) for worker in status.workers][1] == (
        two.names[1],
        6,
        0,
    )
    two[0].join()
    assert bench.run().counts["finished"] == 12
    check(bench, planned=12, killed=0)
