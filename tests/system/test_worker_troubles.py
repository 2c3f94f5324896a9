"""What goes wrong on workers that ssh reaches, or on the way to them: named, the rest goes on, the exit code says so."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.system.conftest import TRIALWISE, Bench
from tests.system.test_workers import configuration, lost, two, workers
from tests.system.worker_machines import Machines

__all__ = ["configuration", "two"]


# On the way


def test_a_jump_host(bench: Bench, two: Machines, monkeypatch: pytest.MonkeyPatch):
    """The second machine is reached through the first one's sshd, over a link that only those two have."""
    first, second = two[0], two[1]
    ends = [word for name, end in (("to2", first), ("to1", second)) for word in (name, str(end.holder.pid))]
    subprocess.run(
        [
            "ip",
            "link",
            "add",
            ends[0],
            "netns",
            ends[1],
            "type",
            "veth",
            "peer",
            "name",
            ends[2],
            "netns",
            ends[3],
        ],
        check=True,
    )
    first.run("ip", "address", "add", "10.99.7.1/30", "dev", "to2")
    second.run("ip", "address", "add", "10.99.7.2/30", "dev", "to1")
    first.run("ip", "link", "set", "to2", "up")
    second.run("ip", "link", "set", "to1", "up")
    first.run("ip", "route", "add", f"{second.address}/32", "via", "10.99.7.2")
    jumping = two.folder / "jumping"
    jumping.write_text(
        f"Host behind\n  HostName {second.address}\n  ProxyJump machine1\n" + two.configuration.read_text()
    )
    monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(jumping))
    second.cut()
    try:
        bench.write("echo 1", "stdout = '([0-9]+)'", rest=workers(two))
        assert bench.run(workers=["ssh://behind"]).counts == {"finished": 2}
    finally:
        second.join()
        first.run("ip", "link", "del", "to2")


def test_a_key_that_only_the_ssh_agent_has(bench: Bench, two: Machines, monkeypatch: pytest.MonkeyPatch):
    told = subprocess.run(["ssh-agent", "-s"], check=True, capture_output=True, text=True).stdout
    found = dict(re.findall(r"(SSH_\w+)=([^;]+);", told))
    monkeypatch.setenv("SSH_AUTH_SOCK", found["SSH_AUTH_SOCK"])
    agentless = two.folder / "agentless"
    text = two.configuration.read_text()
    agentless.write_text(re.sub(r"  Identit.*\n", "", text) + "  IdentityFile none\n")
    monkeypatch.setenv("TRIALWISE_SSH_CONFIG", str(agentless))
    bench.write("echo 1", "stdout = '([0-9]+)'", rest=workers(two).replace("5s", "1s"))
    try:
        assert "accepts none of the keys that were offered" in lost(bench, two.names[:1])
        subprocess.run(["ssh-add", "-q", two.key], check=True)
        assert bench.run(workers=two.names[:1]).counts == {"finished": 2}
    finally:
        os.kill(int(found["SSH_AGENT_PID"]), signal.SIGTERM)


# What programs answer


@pytest.mark.parametrize(
    ("command", "metric", "reason"),
    [
        ("sh -c 'test {x} = 1 || echo 5 > out'", "file = 'out'\npattern = '([0-9]+)'", "writ"),
        ("sh -c 'test {x} = 1 && echo many || echo 5'", "stdout = '([a-z0-9]+)'", "many"),
        ("sh -c 'test {x} = 1 || echo 5'", "stdout = '([0-9]+)'", "standard output is empty"),
    ],
)
def test_results_that_are_missing_or_no_numbers(
    bench: Bench, two: Machines, command: str, metric: str, reason: str
):
    bench.write(command, metric, factors="x = [1, 2]", rest=workers(two), rounds=2)
    done = bench.command_line("run", bench.file, "--directory", bench.directory, "--workers", two.names[0])
    assert done.returncode == 4
    assert Counter(row.status for row in bench.rows()) == {"finished": 2, "failed": 2}
    assert {row.treatment for row in bench.rows("failed")} == {"x=1"}
    reasons = [row.reason or "" for row in bench.rows("failed")]
    assert all(reason in each for each in reasons), reasons


# Resets and sources


def test_a_reset_that_never_returns_stops_that_worker_only(bench: Bench, two: Machines):
    check = f"ip -o address show dev eth0 | grep -q {two[1].address}/ || sleep 1000"
    rest = f"[reset]\ncommand = ['sh', '-c', '{check}']\ntimeout = \"3s\"\n" + workers(two)
    bench.write("echo 1", "stdout = '([0-9]+)'", rest=rest)
    names = ",".join(two.names)
    done = bench.command_line("run", bench.file, "--directory", bench.directory, "--workers", names)
    assert done.returncode == 4
    assert (
        f"{two.names[0]}: reset.command: 'sh' took longer than the 3 s of reset.timeout and was ended; try:"
        in done.stderr
    )
    assert {row.worker for row in bench.rows("finished")} == {two.names[1]}
    assert not two[0].processes("sleep 1000")


@pytest.mark.parametrize("what", ["url", "commit"])
def test_a_repository_or_a_commit_that_is_not_there(bench: Bench, two: Machines, tmp_path: Path, what: str):
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    url = str(repository) if what == "commit" else f"{repository}-not-there"
    extra = f"git = {{ url = '{url}', commit = '{'4f' * 20}' }}"
    inner = Bench(tmp_path / "inner")
    inner.folder.mkdir()
    inner.write("true", rest=workers(two, extra))
    text = lost(inner, two.names[:1])
    assert f"{two.names[0]}: git ended with exit code" in text
    assert "try: run it by hand in" in text


# Allocation


def wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 60
    while text not in (path.read_text() if path.exists() else ""):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_a_killed_runner_had_allocated_is_released_at_once(bench: Bench, two: Machines):
    calls = bench.folder / "calls"
    (bench.folder / "testbed.sh").write_text(
        f"echo $1 $TRIALWISE_WORKERS. >> {calls}\n[ $1 = put ] || echo {two.names[0]}\n"
    )
    extra = 'allocate = "sh testbed.sh get"\nrelease = "sh testbed.sh put"'
    bench.write("sh -c 'touch begun; sleep 2'", rest=workers(two, extra), rounds=1)
    process = subprocess.Popen(
        [*TRIALWISE, "run", bench.file, "--directory", bench.directory],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    record = bench.directory / "allocation.json"
    wait_for(record, two.names[0])
    process.kill()
    process.wait()
    wait_for(calls, f"put {two.names[0]}.\n")
    deadline = time.monotonic() + 60
    while record.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not record.exists()
    assert bench.run().counts == {"finished": 1}
    assert [line.split()[0] for line in calls.read_text().splitlines()] == ["get", "put", "get", "put"]
