"""Resets of all kinds, with the real thing where this machine has it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.system.conftest import Bench

from trialwise import study
from trialwise.design.plan import make_plan
from trialwise.errors import PlanError
from trialwise.execution.namespaces import FreshNamespace
from trialwise.execution.reset import run_reset
from trialwise.store.ledger import Ledger

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def events(bench: Bench) -> list[tuple[str, str]]:
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        return [(event.kind, event.text) for event in ledger.events()]
    finally:
        ledger.close()


def read_from_disks(bench: Bench) -> list[float]:
    """Bytes, for each trial."""
    ledger = Ledger.open(bench.directory / "ledger.sqlite", read_only=True)
    try:
        return [
            value or 0.0 for _, _, source, value, _, _ in ledger.values() if source == "instrument:bytes_in"
        ]
    finally:
        ledger.close()


def failing(bench: Bench, reset: str) -> str:
    """Run an experiment whose reset fails: nothing is measured, and the ledger says why."""
    result = bench.write("true", rest=f"[reset]\n{reset}").run()
    assert result.ending.reason == "reset failed"
    assert result.counts == {"planned": 2}
    assert events(bench) == [("reset failed", result.ending.text)]
    return result.ending.text


def test_a_directory_is_fresh_before_every_trial(bench: Bench):
    (bench.folder / "clean/inner").mkdir(parents=True)
    (bench.folder / "clean/inner/data").write_text("as it was")
    (bench.folder / "clean/link").symlink_to("/nowhere")
    outside = bench.folder / "outside"
    outside.mkdir()
    (outside / "kept").write_text("")
    script = "sh -c 'cat inner/data; test ! -e mine; echo changed > inner/data; touch mine .hidden; ln -s ../outside out'"
    bench.write(
        script, trial='directory = "work"',
        rest='[reset]\ndirectory = { path = "work", template = "clean" }\nevery = "trial"', rounds=3,
    )  # fmt: skip
    (bench.folder / "work").mkdir()
    assert bench.run().counts == {"finished": 3}
    assert (bench.folder / "work/inner/data").read_text() == "changed\n"
    assert sorted(entry.name for entry in (bench.folder / "work").iterdir()) == [
        ".hidden", "inner", "link", "mine", "out",
    ]  # fmt: skip
    assert (outside / "kept").exists()
    assert [kind for kind, _ in events(bench)] == ["reset"] * 3
    assert "before trial 2, took " in events(bench)[1][1]
    status = bench.compute("status", bench.directory)
    assert "resets: 3\n" in status.stdout
    assert "before trial" not in status.stdout


def test_a_directory_that_is_reached_through_a_symbolic_link_is_not_emptied(bench: Bench):
    (bench.folder / "real").mkdir()
    (bench.folder / "real/kept").write_text("")
    (bench.folder / "link").symlink_to("real")
    text = failing(bench, 'directory = "link"')
    assert text.startswith(
        "reset.directory: 'sh' ended with exit code 1: goes through a symbolic link: name "
    )
    assert (bench.folder / "real/kept").exists()


def test_directories_that_hold_more_than_their_own_are_refused(bench: Bench, monkeypatch):
    def refusal(reset: str) -> str:
        bench.write("true", rest=f"[reset]\n{reset}")
        with pytest.raises(PlanError) as caught:
            bench.run()
        assert not bench.directory.exists()
        return caught.value.message

    assert "would delete the folder of the experiment" in refusal(f'directory = "{bench.folder}"')
    assert "would delete the experiment directory" in refusal('directory = "results"')
    (bench.folder / "work/clean").mkdir(parents=True)
    assert "would delete its template" in refusal('directory = { path = "work", template = "work/clean" }')
    assert "is not a directory" in refusal('directory = { path = "work", template = "none" }')
    assert "is not a directory" in refusal('directory = "experiment.toml"')
    monkeypatch.setenv("HOME", str(bench.folder / "work/me"))
    assert "would delete your home" in refusal('directory = "work"')
    monkeypatch.setenv("HOME", "/nowhere")
    monkeypatch.chdir(bench.folder / "work")
    assert "would delete the current folder" in refusal('directory = "work"')


@AS_ROOT
def test_what_is_mounted_below_a_directory_is_not_emptied(bench: Bench):
    inner = bench.folder / "work/inner"
    inner.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(inner)], check=False).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        (inner / "kept").write_text("")
        bench.write("true", rest='[reset]\ndirectory = "work"')
        with pytest.raises(PlanError, match="is mounted there"):
            bench.run()
        assert (inner / "kept").exists()
    finally:
        subprocess.run(["umount", str(inner)], check=True)


@AS_ROOT
def test_dropped_caches_are_read_from_the_disk_again(bench: Bench):
    (bench.folder / "data").write_bytes(os.urandom(1 << 20))
    assert bench.write("cat data", rest="[reset]\ndrop_caches = true").run().ending.reason in {
        "complete",
        "reset failed",
    }
    if events(bench)[0][0] == "reset failed":
        assert "drop_caches needs root and a /proc/sys that can be written" in events(bench)[0][1]
        pytest.skip("this machine lets nobody drop caches")
    assert [kind for kind, _ in events(bench)] == ["reset", "reset"]


@AS_ROOT
@pytest.mark.skipif(shutil.which("fincore") is None, reason="no fincore (util-linux-extra)")
def test_a_check_tells_dropped_caches_from_kept_ones(bench: Bench):
    (bench.folder / "data").write_bytes(os.urandom(4 << 20))
    check = "check = \"sh -c 'test $(fincore -nbo PAGES data) = 0'\""
    kept = f'command = "cat data"\n{check}\ntimeout = "3s"'
    assert "reset.check: has not succeeded within the 3 s" in failing(bench, kept)
    again = Bench(bench.folder / "again")
    again.folder.mkdir()
    shutil.copy(bench.folder / "data", again.folder)
    instruments = "\n[instrumentation]\nresources = true"
    result = again.write(
        "cat data", 'instrument = "bytes_in"', rest=f"[reset]\ndrop_caches = true\n{check}{instruments}"
    ).run()
    if result.ending.reason == "reset failed":
        assert "drop_caches needs root and a /proc/sys that can be written" in result.ending.text
        pytest.skip("this machine lets nobody drop caches")
    assert result.counts == {"finished": 2}
    assert min(read_from_disks(again)) >= 4 << 20


def test_the_check_is_tried_again_until_it_succeeds(bench: Bench):
    bench.write(
        "test -e ready", rounds=1,
        rest="""[reset]
command = "sh -c '(sleep 0.01) ; rm -f ready count'"
check = "sh -c 'echo x >> count; test $(wc -l < count) -ge 3 && touch ready'"
""",
    )  # fmt: skip
    assert bench.run().counts == {"finished": 1}
    assert (bench.folder / "count").read_text() == "x\n" * 3


def test_a_check_that_never_succeeds(bench: Bench):
    text = failing(
        bench, 'command = "true"\ncheck = "sh -c \'echo no server >&2; exit 3\'"\ntimeout = "1500ms"'
    )
    assert text.startswith(
        "reset.check: has not succeeded within the 1.5 s of reset.timeout: 'sh' ended with exit code 3: "
    )
    assert "no server" in text
    assert "try: " in text


def test_a_reset_that_never_returns(bench: Bench):
    began = time.monotonic()
    text = failing(bench, 'command = "sleep 60"\ntimeout = "300ms"')
    assert text.startswith(
        "reset.command: 'sleep 60' took longer than the 0.3 s of reset.timeout and was ended; try: "
    )
    assert time.monotonic() - began < 50


def test_a_reset_that_cannot_be_started(bench: Bench):
    assert "reset.command: 'no-such-program' cannot be started" in failing(
        bench, 'command = "no-such-program"'
    )


def test_what_this_machine_cannot_be_reset_by_is_said_before_anything_runs(bench: Bench):
    bench.write("true", rest="[reset]\nreboot = true")
    with pytest.raises(PlanError, match="would end the runner") as caught:
        bench.run()
    assert "ssh://" in (caught.value.hint or "")
    if not Path("/run/systemd/system").is_dir():
        bench.write("true", rest='[reset]\nservice = "memcached"')
        with pytest.raises(PlanError, match="systemd does not run on this machine"):
            bench.run()
    assert not bench.directory.exists()


def test_a_service_stands_still_while_its_directory_is_emptied(bench: Bench, monkeypatch):
    """With a systemctl of the test's own: this machine need not be run by systemd."""
    programs = bench.folder / "programs"
    programs.mkdir()
    (programs / "systemctl").write_text(
        '#!/bin/sh\nif [ "$1" = show ]; then wc -l < calls; exit; fi\n'
        'test "$3" = stuck || echo "$@ $(ls work)" >> calls; test "$3" != broken\n'
    )
    (bench.folder / "calls").touch()
    (programs / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (bench.folder / "work").mkdir()
    (bench.folder / "work/old").write_text("")
    reading, writing = os.pipe()
    for service, says in (
        ("memcached", None),
        (
            "stuck",
            "reset.service: 'sh' ended with exit code 1: stuck was not started again: its invocation is still 2",
        ),
        ("broken", "reset.service: 'systemctl stop -- broken' ended with exit code 1"),
    ):
        bench.write("true", rest=f'[reset]\nservice = "{service}"\ndirectory = "work"')
        experiment = study.load(bench.file)
        row = study.planned_row(make_plan(experiment).trials[0])
        problem = run_reset(experiment, row, FreshNamespace([]), None, marker="test:1", cancel=reading)
        assert problem is None if says is None else says in (problem or "")
    os.close(reading)
    os.close(writing)
    assert (
        bench.folder / "calls"
    ).read_text() == "stop -- memcached old\nstart -- memcached \nstop -- broken \n"


def test_one_reset_for_each_series(bench: Bench):
    bench.write(
        "true", rest='[reset]\ncommand = "sh -c \'echo {series}.{round} >> resets\'"\nevery = "series"'
    )
    bench.file.write_text(bench.file.read_text().replace("series = 1", "series = 3"))
    assert bench.run().counts == {"finished": 6}
    assert (bench.folder / "resets").read_text().split() == ["1.1", "2.1", "3.1"]
