"""The agent on a worker, talked to without ssh; and connections to peers that answer badly."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import os
import signal
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_worker import MARKER, Worker
from trialwise.execution.workers.agent.execution import Execution
from trialwise.execution.workers.agent.folder import Folder
from trialwise.execution.workers.agent.path_settings import Settings
from trialwise.execution.workers.connection import Connection, DisconnectedError
from trialwise.execution.workers.machine import FACTS, described_by, known_details
from trialwise.execution.workers.ssh import agent_archive
from trialwise.measurement.environment import capture
from trialwise.trials.marked import not_run


@pytest.fixture(params=["supervised", "unaided"])
def worker(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Worker]:
    made = Worker(tmp_path / "worker", supervised=request.param == "supervised")
    yield made
    for connection in made.connections:
        connection.close()


def test_it_can_be_read_by_the_oldest_python_that_is_asked_for():
    with zipfile.ZipFile(io.BytesIO(agent_archive())) as archive:
        modules = [name for name in archive.namelist() if name.endswith(".py")]
        for name in modules:
            ast.parse(archive.read(name), name, feature_version=(3, 8))
    assert len(modules) > 10


def test_a_machine_like_ours_has_a_supervisor(worker: Worker):
    worker.attach()
    assert worker.hello["supervised"]


def test_its_machine_is_described_as_this_one_is(worker: Worker):
    query = {"patterns": FACTS, "own": [], "passed": ["*"], "folder": str(worker.folder)}
    found = described_by(worker.attach().ask("facts", query, patience=30).head)
    here = capture(checkout=worker.folder)
    of_variables = ("layout.variables_bytes", "runtime.")  # a shim of python3 changes PATH for what it starts
    there, own = (
        {name: text for name, text in each.details.items() if not name.startswith(of_variables)}
        for each in (found, here)
    )
    assert there.keys() >= {"libc", "processor.caches", "devices.file_system.type"}
    assert there == own


@pytest.mark.parametrize("told", [None, [1], {"a": 1, 2: "b"}, {str(n): "x" * 9999 for n in range(9999)}])
def test_what_an_agent_tells_of_its_machine_is_bounded(told: object):
    known = known_details(told)
    assert len(known) <= 300
    assert all(isinstance(text, str) and len(text) <= 200 for text in known.values())


def test_the_same_key_runs_once_and_is_answered_until_it_is_acknowledged(worker: Worker):
    first = worker.attach()
    assert worker.run(first, "1.1", "echo x >> runs; echo 5").body == b"5\n"
    assert worker.run(first, "1.1", "echo x >> runs; echo 6").body == b"5\n"
    second = worker.attach()
    assert worker.hello["keys"] == {"1.1": "result"}
    assert worker.run(second, "1.1", "", op="result").body == b"5\n"
    assert (worker.folder / "runs").read_text() == "x\n"
    second.ask("ack", {"key": "1.1"}, patience=30)
    assert worker.run(second, "1.1", "", op="result").head["state"] == "unknown"


def test_a_trial_outlives_its_connection(worker: Worker):
    first = worker.attach()
    worker.begin(first, "1.1", "touch begun; until test -e go; do sleep 0.05; done; echo 7")
    worker.wait_for("begun")
    first.close()
    second = worker.attach()
    assert worker.hello["hand"] == "1.1"
    (worker.folder / "go").touch()
    assert worker.run(second, "1.1", "echo 8").body == b"7\n"


def test_a_killed_executor_leaves_no_process_and_is_told_as_lost(worker: Worker):
    connection = worker.attach()
    number = worker.begin(connection, "1.1", "echo $$ > number; mv number begun; exec sleep 60")
    worker.wait_for("begun")
    os.kill(worker.executor(), signal.SIGKILL)
    reply = connection.reply(number, patience=60)
    assert reply is not None
    assert reply.head["state"] == "lost"
    assert not runs(int((worker.folder / "begun").read_text()))
    assert worker.run(connection, "1.2", "echo 9").body == b"9\n"


def test_what_was_killed_with_its_guardian_leaves_neither_files_nor_settings(worker: Worker):
    """The end of a path that died with everybody who would clear up after it; its folder is that of the trial."""
    connection = worker.attach()
    number = worker.begin(connection, "1.1", "touch begun; exec sleep 60")
    worker.wait_for("begun")
    (worker.folder / "scratch/1.1").mkdir(exist_ok=True)
    (worker.folder / "scratch/1.1/sightings").touch()
    Settings(str(worker.folder / "settings")).keep(["net/ipv4/tcp_congestion_control"])
    os.kill(worker.executor(), signal.SIGKILL)
    reply = connection.reply(number, patience=60)
    assert reply is not None
    assert reply.head["state"] == "lost"
    assert not list((worker.folder / "scratch").iterdir())
    assert not (worker.folder / "settings").exists()


def test_frames_that_an_older_connection_delivers_late_start_nothing(worker: Worker):
    old, new = worker.attach(), worker.attach()
    assert worker.run(old, "1.1", "touch ran").head["error"] == "a newer connection is at work"
    assert not (worker.folder / "ran").exists()
    assert worker.run(new, "1.2", "echo 1").body == b"1\n"


def test_one_trial_at_a_time(worker: Worker):
    connection = worker.attach()
    number = worker.begin(connection, "1.1", "touch begun; sleep 60")
    worker.wait_for("begun")
    assert worker.run(connection, "2.1", "true").head["error"] == "trial 1.1 is running here"
    assert connection.ask("cancel", {"key": "1.1"}, patience=30).head["cancelled"]
    reply = connection.reply(number, patience=50)
    assert reply is not None
    assert reply.head["runs"]["command"]["cancelled"]


def test_what_is_cancelled_before_it_starts_is_ended_at_once(tmp_path: Path):
    """The moment between two commands of a task is too short to be met from outside."""
    worker = Worker(tmp_path, supervised=False)
    before = signal.getsignal(signal.SIGTERM)
    try:
        execution = Execution(json.loads(worker.task("sleep 9")), Folder(str(tmp_path)))
        execution.cancel()
        execution.run()
    finally:
        signal.signal(signal.SIGTERM, before)
    run = execution.head["runs"]["command"]
    assert run["cancelled"]
    assert run["wall_ns"] < 8e9


def test_what_a_program_writes_comes_back_raw(worker: Worker):
    connection = worker.attach()
    (worker.folder / "old").write_text("from before")
    names = [str(worker.folder / name) for name in ("new", "old", "none")]
    reply = worker.run(connection, "1.1", "printf '\\0\\377' > new; echo out; echo err >&2", files=names)
    assert reply.body == b"out\nerr\n\0\xff"
    problems = [entry.get("problem") for entry in reply.head["files"]]
    assert problems[0] is None
    assert "old was not written by this trial" in problems[1]
    assert "the program did not write" in problems[2]


def test_what_prepare_starts_lives_until_the_trial_is_concluded(worker: Worker):
    connection = worker.attach()
    prepare = ["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $! > pid; echo prepared >&2"]
    alive = ["sh", "-c", "kill -0 $(cat pid)"]
    more = {"prepare": prepare, "lasting": ["prepare"], "conclude": alive, "side_timeout": 30}
    reply = worker.run(connection, "1.1", "kill -0 $(cat pid) && echo alive", **more)
    assert reply.body == b"alive\n"
    runs_ended = {what: run["exit_code"] for what, run in reply.head["runs"].items()}
    assert runs_ended == {"prepare": 0, "command": 0, "conclude": 0}
    assert reply.head["runs"]["prepare"]["errors"] == "prepared\n"
    assert not runs(int((worker.folder / "pid").read_text()))


def test_what_a_reset_starts_lives_until_it_is_asked_to_be_ended(worker: Worker):
    connection = worker.attach()
    worker.run(connection, "reset-1", "sleep 60 >/dev/null 2>&1 & echo $! > pid", lasting=["command"])
    process = int((worker.folder / "pid").read_text())
    assert runs(process)
    assert connection.ask("end", {"marker": f"{MARKER}{os.getpid()}"}, patience=30).head["ended"] == 1
    assert not runs(process)


def test_time_out_kill_and_output_limit(worker: Worker):
    connection = worker.attach()
    stubborn = worker.run(connection, "1.1", "trap '' TERM; while :; do sleep 1; done", timeout=1.5)
    run = stubborn.head["runs"]["command"]
    assert (run["timed_out"], run["signal"]) == (True, signal.SIGKILL)
    assert 3.5 <= run["wall_ns"] / 1e9 < 20
    loud = worker.run(connection, "2.1", "seq 1000")
    assert (len(loud.body), loud.head["runs"]["command"]["stdout_total"]) == (1000, 3893)
    nothing = worker.run(connection, "3.1", "", command=["/no/such"])
    assert "No such file" in nothing.head["runs"]["command"]["problem"]
    if worker.supervised:
        alone = worker.run(connection, "4.1", "kill -9 $PPID").head["runs"]["command"]
        assert not_run(alone["problem"]) == "lost its supervisor, which was killed"


def test_memory_is_told_in_bytes_and_input_is_empty(worker: Worker):
    """64 MiB are written; Python itself takes some 10 MiB."""
    connection = worker.attach()
    program = "import sys; sys.stdout.write(repr(sys.stdin.read())); held = b'x' * (64 << 20)"
    reply = worker.run(connection, "1.1", "", command=[sys.executable, "-c", program])
    assert reply.body == b"''"
    assert 64 << 20 < reply.head["runs"]["command"]["max_rss_bytes"] < 256 << 20


def test_what_is_set_up_once_is_not_set_up_again(worker: Worker):
    connection = worker.attach()
    assert worker.run(connection, "a", "false", once="x").head["runs"]["command"]["exit_code"] == 1
    assert not worker.run(connection, "b", "true", once="x").head.get("skipped")
    assert worker.run(connection, "c", "true", once="x").head["skipped"]


def runs(process: int) -> bool:
    """Whether a process is more than a zombie that nobody has waited for."""
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except OSError:
        return False


# Peers that answer badly


def peer(script: str) -> Connection:
    return Connection(["sh", "-c", script], b"")


@contextlib.contextmanager
def closed(connection: Connection) -> Iterator[Connection]:
    try:
        yield connection
    finally:
        connection.close()


def test_answers_out_of_order_and_twice():
    answers = r'{"id":2,"n":2}\n{"id":1,"n":1}\n{"id":2,"n":2}\n{"id":3,"bytes":3}\nabc'
    with closed(peer(f"printf '{answers}'; sleep 60")) as connection:
        numbers = [connection.request("ping", {}, patience=30) for _ in range(3)]
        replies = [connection.reply(number, patience=30) for number in numbers]
        assert [reply and reply.head.get("n") for reply in replies] == [1, 2, None]
        assert replies[2] is not None
        assert replies[2].body == b"abc"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo Welcome to this machine; sleep 60", "answers with something else"),
        ("echo '[1]'; sleep 60", "answers with something else"),
        ("read x; exit 3", "the connection was lost"),
        ("sleep 9", "no answer for 0.3 s"),
        ('printf \'{"id":1,"bytes":9}\\nabc\'; sleep 9', "no answer for 0.3 s"),
    ],
)
def test_peers_that_answer_something_else_or_not_at_all(script: str, message: str):
    patience = 0.3 if "0.3 s" in message else 50
    with closed(peer(script)) as connection, pytest.raises(DisconnectedError, match=message):
        connection.ask("hello", patience=patience)


def test_a_peer_that_reads_nothing_is_given_up_in_time():
    with (
        closed(peer("sleep 9")) as connection,
        pytest.raises(DisconnectedError, match="takes nothing any more"),
    ):
        connection.request("run", {}, bytes(1 << 20), patience=0.3)


def test_a_program_that_is_followed_tells_what_it_ran(worker: Worker):
    connection = worker.attach()
    tool = worker.folder / "tool"
    tool.write_text("#!/bin/sh\nexit 3\n")
    tool.chmod(0o755)
    report = worker.run(connection, "1.1", "./tool; exit 4", settings={"follow": True}).head["runs"][
        "command"
    ]
    assert report["exit_code"] == 4
    assert "notes" not in report
    if worker.supervised:
        assert str(tool) in {path for path, _ in report["seen"]["files"]}
        assert report["seen"]["problem"] is None


def test_files_arrive_whole_while_an_agent_whose_connection_was_lost_still_unpacks_them(worker: Worker):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for number in range(40):
            member = tarfile.TarInfo(f"f{number}")
            member.size, member.mode = 1000, 0o644
            archive.addfile(member, io.BytesIO(bytes([number]) * 1000))
    data, middle = content.getvalue(), 20_000
    names = {f"f{n}": [hashlib.sha256(bytes([n]) * 1000).hexdigest(), 0o644] for n in range(40)}
    manifest, digest = json.dumps(names).encode(), hashlib.sha256(data).hexdigest()
    first = worker.attach()
    for _ in range(6):
        second = worker.attach()  # the first archive of an agent takes it longer than others
        assert len(first.ask("manifest", {}, manifest, patience=60).head["missing"]) == 40
        first.ask("put", {"archive": digest, "offset": 0, "last": False}, data[:middle], patience=60)
        last = {"archive": digest, "offset": middle, "last": True}
        requests = [(each, each.request("put", last, data[middle:], patience=60)) for each in (second, first)]
        for connection, number in requests:
            reply = connection.reply(number, patience=120)
            assert reply is not None
            assert "error" not in reply.head, reply.head
        assert second.ask("manifest", {}, manifest, patience=60).head["missing"] == []
        for name in names:
            next(worker.folder.rglob(name)).unlink()
    assert not list(worker.folder.rglob("incoming.tar"))
