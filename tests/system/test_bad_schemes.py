"""Schemes that do not do what they should: each is told what, where and what to try, and leaves nothing."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from tests.system.conftest import Bench
from tests.system.paths import needs_paths, write_path_experiment
from tests.system.scheme_files import RECEIVER_LINE, SENDER_LINE, check_all, write_programs, write_scheme
from tests.system.test_paths import namespaces_below

from trialwise.schemes.library import scheme_named
from trialwise.schemes.needs import missing

pytestmark = [needs_paths, pytest.mark.alone]
BAD = {
    "absent-receiver": (
        {"receiver": "no-such-program {{port}}"},
        r"flow 1 \(absent-receiver\): the receiver .*no-such-program.*, before it was ready",
    ),
    "absent-sender": (
        {"sender": "no-such-program {{peer}}"},
        r"the sender .*no-such-program.* s after the start",
    ),
    "never-ready": (
        {
            "receiver": "sh -c 'echo waiting for nothing; sleep 60'",
            "ready": 'line = "ready", timeout = "1500ms"',
        },
        r"the receiver did not print 'ready' within 1.5 s \(it printed: waiting for nothing\)",
    ),
    "never-listens": (
        {"receiver": "sleep 60", "ready": 'port = "udp", timeout = "600ms"'},
        r"the receiver did not listen on port 5201 within 0.6 s",
    ),
    "exits-at-once": (
        {"receiver": "sh -c 'echo no licence found >&2; exit 3'"},
        r"the receiver ended with exit code 3: no licence found, before it was ready",
    ),
    "dies-in-the-middle": (
        {"sender": "sh -c 'echo it began; sleep 0.5; echo out of ideas >&2; exit 4'"},
        r"the sender ended with exit code 4: out of ideas \(it printed: it began\), \d+\.\d s after the start",
    ),
    "dies-by-a-signal": (
        {"sender": "sh -c 'sleep 0.3; kill -SEGV $$'"},
        r"the sender was ended by signal 11 \(SIGSEGV\), \d+\.\d s after the start",
    ),
    "goes-into-the-background": (
        {"receiver": f"sh -c '{RECEIVER_LINE} {{{{port}}}} & sleep 0.3'", "ready": 'after = "2s"'},
        r"the receiver ended with exit code 0.*has it gone into the background\? It must stay in the foreground",
    ),
    "prepare-fails": (
        {"rest": "prepare = \"sh -c 'echo no space >&2; exit 2'\""},
        r"flow 1 \(prepare-fails\): prepare ended with exit code 2: no space",
    ),
    "no-such-control": (
        {"rest": '[needs]\ncongestion = "nonesuch"'},
        r"the kernel has no congestion control nonesuch: modprobe tcp_nonesuch",
    ),
    "not-built": (
        {"rest": '[needs]\nprograms = ["nonesuch"]\npackages = ["none"]'},
        "no program nonesuch: apt-get install none",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_programs(tmp_path / "schemes")
    return tmp_path / "schemes"


def test_each_says_what_is_wrong_and_leaves_nothing(folder: Path):
    for name, (parts, _) in BAD.items():
        write_scheme(folder, name, **parts)
    begun = time.monotonic()
    found = check_all(list(BAD), folder)
    assert time.monotonic() - begun < 40
    for name, (_, said) in BAD.items():
        assert not found[name].works
        assert re.search(said, found[name].reason or ""), (name, found[name].reason)
    assert "  out of ideas" in found["dies-in-the-middle"].said
    assert not namespaces_below(os.getpid())


def test_one_that_ignores_the_request_to_end_is_killed_in_time(folder: Path):
    deaf = "sh -c 'trap \"\" TERM; exec {}'"
    write_scheme(
        folder, "deaf", receiver=deaf.format(RECEIVER_LINE + " {{port}}"), sender=deaf.format(SENDER_LINE)
    )
    begun = time.monotonic()
    found = check_all(["deaf"], folder, seconds=1)["deaf"]
    assert time.monotonic() - begun < 1 + 2 + 10, "the grace is 2 s"
    assert found.works
    assert any("SIGKILL" in line for line in found.said)
    assert not namespaces_below(os.getpid())


def test_two_flows_on_one_port(bench: Bench):
    trial = 'flows = [{ scheme = "fixed" }, { scheme = "fixed" }]'
    write_path_experiment(bench, trial=trial, runtime="1s")
    write_programs(bench.folder / "own")
    write_scheme(
        bench.folder / "own",
        "fixed",
        receiver=RECEIVER_LINE + " 5201",
        sender=SENDER_LINE.replace("{{port}}", "5201"),
    )
    bench.file.write_text(bench.file.read_text().replace('folders = ["schemes"]', 'folders = ["own"]'))
    assert bench.run().counts == {"failed": 1}
    reason = str(bench.rows()[0].reason)
    assert "Address already in use" in reason
    assert "does its command use {port}?" in reason or "something else listens" in reason


def test_a_flow_whose_port_an_earlier_one_has(bench: Bench):
    both = f"sh -c '{RECEIVER_LINE} 5202 & exec {RECEIVER_LINE} {{{{port}}}}'"
    write_path_experiment(
        bench, trial='flows = [{ scheme = "greedy" }, { scheme = "late", start = "0s" }]', runtime="1s"
    )
    write_programs(bench.folder / "own")
    write_scheme(bench.folder / "own", "greedy", receiver=both)
    write_scheme(bench.folder / "own", "late", rest='prepare = "sleep 1"')
    bench.file.write_text(bench.file.read_text().replace('folders = ["schemes"]', 'folders = ["own"]'))
    assert bench.run().counts == {"failed": 1}
    reason = str(bench.rows()[0].reason)
    assert re.search("cannot have port 5202: a flow before it|something else listens on port 5202", reason), (
        reason
    )


def test_the_log_of_a_failed_trial_has_what_its_programs_printed(bench: Bench):
    write_path_experiment(bench, trial='scheme = "dying"', runtime="2s")
    write_programs(bench.folder / "own")
    write_scheme(bench.folder / "own", "dying", **BAD["dies-in-the-middle"][0])
    bench.file.write_text(bench.file.read_text().replace('folders = ["schemes"]', 'folders = ["own"]'))
    assert bench.run().counts == {"failed": 1}
    log = (bench.directory / "logs/000001-1.txt").read_text()
    for line in (
        "out of ideas",
        "it began",
        "ready",
        "== flow 1 (dying): the sender ended with exit code 4: out of ideas",
    ):
        assert line in log.splitlines()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_what_only_root_may_run_is_refused_to_others(folder: Path):
    write_scheme(folder, "mighty", rest="[needs]\nroot = true")
    scheme = scheme_named("mighty", [folder])
    assert missing(scheme) == ()
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.setuid(65534)
            os.write(writing, "; ".join(missing(scheme)).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    assert os.read(reading, 1000) == b"only root may run it"
    os.close(reading)
