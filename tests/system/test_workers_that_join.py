"""Workers that join a run in progress, or leave it: real sshd, each in its own network namespace."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable

import pytest
from jsonschema import validate
from tests.system.conftest import TRIALWISE, Bench
from tests.system.test_workers import configuration, two, workers
from tests.system.worker_machines import Machines

from trialwise.cli.schema import json_schema

__all__ = ["configuration", "two"]

SLOW = "sh -c 'sleep 0.4; echo 4{x}'"
VALUE = "stdout = '([0-9]+)'"


class Run:
    """`trialwise run` in progress."""

    def __init__(self, bench: Bench, *words: str) -> None:
        self.bench = bench
        command = [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory), *words]
        self.process = subprocess.Popen(command, cwd=bench.folder, stderr=subprocess.PIPE, text=True)

    def wait_for(self, condition: Callable[[Counter[tuple[str | None, str]]], bool]) -> None:
        """Wait until trials are as wanted, counted by worker and status."""
        deadline = time.monotonic() + 90
        while not ((self.bench.directory / "ledger.sqlite").exists() and condition(self.counts())):
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def counts(self) -> Counter[tuple[str | None, str]]:
        return Counter((row.worker, row.status) for row in self.bench.rows())

    def end(self) -> str:
        return self.process.communicate(timeout=120)[1]


def ask(bench: Bench, action: str, name: str, *words: str) -> dict[str, object]:
    done = bench.compute("workers", action, bench.directory, name, "--by", "ann", "--json", *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    validate(found, json_schema("workers"))
    return found


def rounds(bench: Bench, worker: str) -> Counter[int]:
    """The finished trials of a worker in each round."""
    return Counter(row.round for row in bench.rows("finished") if row.worker == worker)


def test_one_worker_joins_and_another_leaves_and_its_rest_is_taken_over(bench: Bench, two: Machines):
    first, second = two.names
    bench.write(SLOW, VALUE, factors="x = [1, 2]", rest=workers(two), rounds=6)
    run = Run(bench, "--workers", first)
    run.wait_for(lambda counts: counts[first, "finished"] >= 1)
    assert ask(bench, "add", second)["employed"] == [first, second]
    run.wait_for(lambda counts: counts[second, "finished"] >= 1)
    assert ask(bench, "remove", first, "--because", "its disk fails")["employed"] == [second]
    said = run.end()
    assert run.process.returncode == 0, said
    assert f"worker {second} joins, by ann" in said
    assert f"worker {first} leaves after its round, by ann" in said
    assert f"{first} has left; " in said
    assert rounds(bench, second) == dict.fromkeys(range(1, 7), 2)
    assert set(rounds(bench, first).values()) == {2}
    assert len(rounds(bench, first)) < 6
    left = bench.rows("planned")
    assert {row.round for row in left} == set(range(1, 7)) - set(rounds(bench, first))
    shown = bench.compute("status", bench.directory, "--check").stdout
    assert f"worker {first} leaves, by ann: its disk fails" in shown
    result = bench.run(workers=["local", second])
    assert (result.ending.reason, result.counts) == ("complete", {"finished": 24})
    assert {row.worker for row in bench.rows() if row.number in {each.number for each in left}} == {"local"}


def test_a_worker_joins_the_machine_that_ran_alone(bench: Bench, two: Machines):
    bench.write(SLOW, VALUE, factors="x = [1, 2]", rest=workers(two), rounds=4)
    run = Run(bench)
    run.wait_for(lambda counts: counts["local", "finished"] >= 1)
    ask(bench, "add", two.names[0])
    said = run.end()
    assert run.process.returncode == 0, said
    for name in ("local", two.names[0]):
        assert rounds(bench, name) == dict.fromkeys(range(1, 5), 2)
    bench.file.write_text(bench.file.read_text().replace("rounds = 4", "rounds = 5"))
    assert bench.run(extend=True).counts == {"finished": 20}


def test_a_run_goes_on_with_the_workers_of_the_one_before(bench: Bench, two: Machines):
    first, second = two.names
    bench.write("true", rest=workers(two))
    bench.run(workers=[first], rounds=1)
    assert ask(bench, "add", second)["employed"] == [first, second]
    said = bench.command_line("run", bench.directory).stderr
    assert f"workers of the runs before: {first}, {second}; --workers names others" in said
    assert Counter((row.worker, row.status) for row in bench.rows()) == dict.fromkeys(
        ((each, "finished") for each in two.names), 2
    )


def test_a_worker_that_died_leaves_without_ending_the_campaign(bench: Bench, two: Machines):
    first, second = two.names
    bench.write(SLOW, VALUE, factors="x = [1, 2]", rest=workers(two), rounds=6)
    run = Run(bench, "--workers", f"{first},{second}")
    run.wait_for(lambda counts: counts[first, "finished"] >= 1 and counts[second, "finished"] >= 1)
    two[0].cut()
    try:
        ask(bench, "remove", first, "--because", "it died")
        said = run.end()
    finally:
        two[0].join()
    assert run.process.returncode == 0, said
    assert f"{first} has left; " in said
    assert rounds(bench, second) == dict.fromkeys(range(1, 7), 2)
    assert bench.run(workers=[second, "local"]).ending.reason == "complete"
    assert Counter(row.status for row in bench.rows())["finished"] == 24


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["add", "ftp://x"], "is not a valid worker"),
        (["add", "local"], "local takes part already"),
        (["remove", "local"], "no worker would be left"),
        (["remove", "ssh://other"], "takes no part"),
        (["add"], "no worker is named"),
    ],
)
def test_what_makes_no_sense_changes_nothing(bench: Bench, words: list[str], text: str):
    bench.write("true", rounds=1).run()
    done = bench.compute("workers", words[0], bench.directory, *words[1:])
    assert (done.returncode, text in done.stderr) == (2, True), done.stderr
    assert not bench.status()["amendments"]
