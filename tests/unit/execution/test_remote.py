"""A worker behind `ssh`, where that is a program of ours that runs the words on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from trialwise.design.plan import make_plan
from trialwise.errors import WorkerError
from trialwise.execution.worker_plan import planned_row
from trialwise.execution.workers.address import Address
from trialwise.execution.workers.machine import RemoteMachine
from trialwise.execution.workers.remote import Remote
from trialwise.execution.workers.tasks import RemoteRun, Tasks
from trialwise.experiment.model import Workers
from trialwise.experiment.reading import parse_experiment

MARKER = f"unit-test-of-remotes:{os.getpid()}"
HERE = 'for last; do :; done; exec sh -c "$last"'

EXPERIMENT = """
[experiment]
name = "x"
[trial]
command = "true"
[metrics.m]
resource = "wall"
[design]
rounds = 2
series = 1
"""


@dataclass
class Place:
    """A worker, what ssh is, and what is told of the connection."""

    folder: Path
    cancel: int
    told: list[str] = field(default_factory=list[str])

    def ssh(self, script: str) -> None:
        program = self.folder / "programs" / "ssh"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def remote(self, **settings: float) -> Remote:
        workers = replace(Workers(use=("ssh://w2",)), **{"heartbeat": 1.0, "reconnect": 30.0, **settings})
        return Remote(
            Address("ssh://w2", "w2"), workers, str(self.folder / "worker"), self.cancel, self.told.append
        )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    readable, writable = os.pipe()
    (tmp_path / "programs").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "programs"), prepend=os.pathsep)
    made = Place(tmp_path, readable)
    made.ssh(HERE)
    yield made
    os.close(readable)
    os.close(writable)


@pytest.fixture
def tasks(place: Place) -> Iterator[Tasks]:
    remote = place.remote()
    remote.connect()
    yield Tasks(remote, "1")
    remote.close()


def _command(tasks: Tasks, what: str, script: str, once: str | None = None) -> RemoteRun | str:
    words = ["sh", "-c", script]
    return tasks.command(what, words, marker=MARKER, timeout=30.0, cancel=None, once=once)


AFTER_THE_GREETING = 'for last; do :; done; sh -c "$last" | { sed -u 7q; DO; }'
"""The start, the greeting, and five looks at the clock."""


def test_a_worker_that_takes_longer_than_a_heartbeat_for_an_answer_gets_the_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    def tell(text: str) -> None:
        place.told.append(text)
        assert len(place.told) < 8, "it is asked again and again"

    place.ssh(AFTER_THE_GREETING.replace("DO", "sleep 0.5; exec cat"))
    remote = place.remote()
    remote.connect()
    monkeypatch.setattr(remote, "_patience", 0.05)
    monkeypatch.setattr(remote, "_tell", tell)
    monkeypatch.setattr(
        remote,
        "_compare_clocks",
        lambda connection: [connection.ask("look", {"programs": []}, patience=30) for _ in range(5)],
    )
    assert remote.ask("ping").head["id"]
    assert place.told
    remote.close()


def test_a_worker_that_never_answers_is_given_up(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trialwise.execution.workers.remote.BUSY_SECONDS", 0.4)
    place.ssh(AFTER_THE_GREETING.replace("DO", "exec sleep 600"))
    remote = place.remote()
    remote.connect()
    monkeypatch.setattr(remote, "_patience", 0.1)
    with pytest.raises(WorkerError, match="it can be reached, and has not answered in 400ms") as raised:
        remote.ask("ping")
    assert raised.value.hint is not None
    assert len(place.told) == 3
    remote.close()


def test_what_answers_in_place_of_the_agent_is_named(place: Place):
    place.ssh("echo Welcome to this machine; exec cat >/dev/null")
    with pytest.raises(WorkerError, match="ssh://w2: it answers with something else: b'Welcome to") as raised:
        place.remote(reconnect=0.0).connect()
    assert "a profile of the shell that prints" in str(raised.value.hint)
    place.ssh("echo only rsync is allowed >&2; exit 1")
    with pytest.raises(
        WorkerError, match=r"the agent that was sent has not started \(only rsync is allowed\)"
    ):
        place.remote(reconnect=0.0).connect()


def test_a_command_tells_its_end_and_its_errors(tasks: Tasks):
    run = _command(tasks, "a", "echo oh >&2; exit 3")
    assert isinstance(run, RemoteRun)
    assert (run.exit_code, run.stderr) == (3, b"oh\n")


def test_what_is_to_be_done_once_ends_well_the_second_time_too(tasks: Tasks, place: Place):
    for key in ("a", "b"):
        run = _command(tasks, key, f"echo x >> {place.folder}/log", once="setup")
        assert isinstance(run, RemoteRun)
        assert run.exit_code == 0
    assert (place.folder / "log").read_text() == "x\n"


def test_a_task_that_nothing_came_of_is_told_in_words_and_one_that_was_never_there_as_none(
    tasks: Tasks, place: Place
):
    kill = f"kill -KILL $(sed -n 's/.*\"pid\": *\\([0-9]*\\).*/\\1/p' {place.folder}/worker/hand.lock)"
    assert _command(tasks, "a", kill) == (
        "the worker was restarted, or the process that executed it was killed"
    )
    assert tasks.execute("b-1", None, marker=MARKER, cancel=None) is None


def test_a_task_goes_on_when_its_connection_ends_and_is_told_by_the_next(place: Place):
    place.ssh(f"echo $$ >> {place.folder}/connections; {HERE}")
    remote = place.remote()
    remote.connect()
    kill = f"kill -s KILL -- -$(head -n 1 {place.folder}/connections)"
    run = _command(Tasks(remote, "1"), "a", f"{kill}; sleep 0.3; echo x >> {place.folder}/log; exit 5")
    assert isinstance(run, RemoteRun)
    assert run.exit_code == 5
    assert (place.folder / "log").read_text() == "x\n"
    assert len((place.folder / "connections").read_text().split()) == 2
    assert [text.startswith("the connection was lost; connecting again") for text in place.told] == [True]
    remote.close()


def test_what_may_take_the_worker_down_is_not_asked_for_again(place: Place):
    place.ssh(f"echo $$ >> {place.folder}/connections; {HERE}")
    remote = place.remote()
    remote.connect()
    words = ["sh", "-c", f"kill -s KILL -- -$(head -n 1 {place.folder}/connections); sleep 1"]
    found = Tasks(remote, "1").command("a", words, marker=MARKER, timeout=30.0, cancel=None, patience=30.0)
    assert found == "the worker knows nothing of it"
    assert len((place.folder / "connections").read_text().split()) == 1
    remote.close()


NO_SERVICES: Any = None


def test_what_a_reset_starts_lives_through_trials_until_the_next_and_no_longer_than_the_run(
    tasks: Tasks, place: Place
):
    script = f"sleep 60 >/dev/null 2>&1 & echo $! >> {place.folder}/servers"
    text = EXPERIMENT + f'[reset]\ncommand = ["sh", "-c", "{script}"]\nevery = "trial"\n'
    experiment = parse_experiment(text, place.folder / "e.toml")
    machine = RemoteMachine(tasks._remote, tasks, [], place.told.append)

    def alive() -> list[bool]:
        servers = (place.folder / "servers").read_text().split()
        lines = [Path(f"/proc/{server}/cmdline") for server in servers]
        return [line.exists() and line.read_bytes() != b"" for line in lines]

    for number, expected in [(1, [True]), (2, [False, True])]:
        row = planned_row(replace(make_plan(experiment).trials[0], number=number))
        assert machine.reset(experiment, row, MARKER, place.cancel, NO_SERVICES) is None
        assert isinstance(_command(tasks, f"trial-{number}", "true"), RemoteRun)
        assert alive() == expected
    machine.close()
    assert alive() == [False, False]


def test_one_that_cannot_be_had_is_tried_as_long_as_is_asked_for(place: Place):
    place.ssh("echo ssh: connect to host w2 port 22: Connection refused >&2; exit 255")
    began = time.monotonic()
    with pytest.raises(WorkerError, match=r"nothing listens there .*, tried for 1s"):
        place.remote(reconnect=1.0).connect()
    assert time.monotonic() - began > 0.25


def test_one_that_never_can_is_tried_once(place: Place):
    place.ssh(f"echo x >> {place.folder}/tried; echo python3: not found >&2; exit 127")
    with pytest.raises(WorkerError, match=r"there is no python3 \(python3: not found\)"):
        place.remote().connect()
    assert (place.folder / "tried").read_text() == "x\n"


def test_waiting_for_one_ends_on_request(place: Place):
    place.ssh("echo ssh: connect to host w2 port 22: Connection refused >&2; exit 255")
    readable, writable = os.pipe()
    os.write(writable, b"x")
    waiting = replace(place, cancel=readable)
    with pytest.raises(WorkerError, match="not waited for on request"):
        waiting.remote(reconnect=20.0).connect()
    os.close(readable)
    os.close(writable)
