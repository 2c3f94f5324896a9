"""Treatments that are skipped, and runs that are paused, from another process while real trials run."""

from __future__ import annotations

import json
import subprocess
import time

import pytest
from jsonschema import validate
from tests.system.conftest import TRIALWISE, Bench

from trialwise.cli.schema import json_schema

TRIAL = (
    "sh -c 'touch began-{trial}; while [ ! -e go ] && [ {trial} = 2 ]; do sleep 0.05; done; echo {scheme}'"
)
"""Trial 2 lasts until the test says so."""


@pytest.fixture
def running(bench: Bench):
    bench.write(TRIAL, factors='scheme = ["a", "b"]', rounds=3)
    words = [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory)]
    run = subprocess.Popen(words, cwd=bench.folder, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (bench.folder / "began-2").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    yield run
    (bench.folder / "go").touch()
    run.communicate(timeout=60)


def release(bench: Bench, run: subprocess.Popen[str]) -> str:
    """Let trial 2 end, and return what the run said."""
    (bench.folder / "go").touch()
    return run.communicate(timeout=60)[1]


def test_a_skip_while_trials_run_is_taken_up_and_said_everywhere(
    bench: Bench, running: subprocess.Popen[str]
):
    asked = bench.compute(
        "skip", bench.directory, "scheme=b", "--because", "b hangs", "--by", "ann", "--json"
    )
    document = json.loads(asked.stdout)
    validate(document, json_schema("skip"))
    assert document["treatments"] == ["scheme=b"]
    said = release(bench, running)
    assert running.returncode == 0
    assert "scheme=b is skipped by ann on" in said
    assert "complete: every planned trial has come to an end; 2 of skipped treatments have not run" in said
    state = bench.status()
    assert (state["planned"], state["done"], state["counts"]) == (4, 4, {"finished": 4, "skipped": 2})
    assert state["activity"] == "complete"
    shown = bench.compute("status", bench.directory, "--check")
    assert shown.returncode == 0
    assert "skip of scheme=b by ann: b hangs" in shown.stdout
    analysis = json.loads(bench.compute("analyze", bench.directory, "--json").stdout)
    assert analysis["counts"] == {"finished": 4, "skipped": 2}
    assert [text for text in analysis["notes"] if text.startswith("scheme=b: skipped by ann on")]
    assert not analysis["failures"]
    bench.compute("skip", bench.directory, "scheme=b", "--undo")
    assert bench.run().counts == {"finished": 6}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["scheme=c", "--because", "x"], "there is no such level"),
        (["scheme=a"], "skipped for a reason"),
        (["scheme=a,b", "--because", "x"], "no treatment would be left"),
        (["scheme=a", "--undo"], "is not skipped"),
        (["--because", "x"], "no treatment is named"),
    ],
)
def test_a_skip_that_makes_no_sense_changes_nothing(bench: Bench, words: list[str], text: str):
    bench.write("true {scheme}", factors='scheme = ["a", "b"]', rounds=1)
    bench.run(only=["scheme=b"])
    done = bench.compute("skip", bench.directory, *words)
    assert done.returncode == 2
    assert text in done.stderr
    assert bench.run().counts == {"finished": 2}


def test_a_pause_ends_the_run_after_its_trial_and_run_goes_on(bench: Bench, running: subprocess.Popen[str]):
    asked = bench.compute("pause", bench.directory, "--because", "noon", "--by", "ann", "--json")
    validate(json.loads(asked.stdout), json_schema("pause"))
    said = release(bench, running)
    assert running.returncode == 130
    assert "paused by ann on" in said
    assert f"`trialwise run {bench.directory}` goes on" in said
    assert bench.status()["counts"] == {"finished": 2, "planned": 4}
    refused = bench.compute("pause", bench.directory)
    assert (refused.returncode, "no run is at work" in refused.stderr) == (5, True)
    assert bench.run().counts == {"finished": 6}
    assert "pause by ann: noon" in bench.compute("status", bench.directory, "--check").stdout


COMPUTED = """
[experiment]
name = "computed"
[factors]
scheme = ["udp-cubic", "udp-newreno"]
[trial]
kind = "path"
engine = "simulated"
scheme = "{scheme}"
runtime = "20s"
packets = "drop"
path = { rate = "12Mbit/s", delay = "28ms" }
[metrics.throughput]
better = "higher"
measure = "mean"
[design]
series = 1
rounds = 100
"""


def test_computed_trials_are_skipped_and_paused_too(bench: Bench):
    bench.file.write_text(COMPUTED)
    words = [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory), "--jobs", "1"]
    run = subprocess.Popen(words, cwd=bench.folder, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not ((bench.directory / "ledger.sqlite").exists() and bench.rows("finished")):
        assert run.poll() is None, run.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert bench.compute("skip", bench.directory, "scheme=udp-newreno", "--because", "x").returncode == 0
    time.sleep(1.5)  # it looks once a second
    asked = bench.compute("pause", bench.directory)
    said = run.communicate(timeout=120)[1]
    if asked.returncode:  # it was faster
        assert run.returncode == 0
    else:
        assert run.returncode == 130, said
    assert "scheme=udp-newreno is skipped" in said
    assert bench.rows("skipped")
    assert {row.treatment for row in bench.rows("planned")} <= {"scheme=udp-cubic"}
    assert bench.run().ending.text.startswith("every planned trial has come to an end; ")


RULED = """
stop = "verdict"
base = "scheme=a"
looks = "anytime"
max_trials = 60
"""


def test_a_rule_decides_on_what_is_left_and_says_what_it_does_not_wait_for(bench: Bench):
    bench.write(
        "sh -c 'case {scheme} in a) echo 1.0{seed};; b) echo 2.0{seed};; c) echo 1.1{seed};; esac'",
        'stdout = \'([0-9.]+)\'\nunit = "ms"\nmargin = "12%"',
        factors='scheme = ["a", "b", "c"]',
        rest=RULED,
    )
    text = bench.file.read_text().replace("series = 1\nrounds = 2\n", "series = 1\n")
    bench.file.write_text(text)
    assert bench.run(rounds=2).counts == {"finished": 6, "planned": 174}
    refused = bench.compute("skip", bench.directory, "scheme=a", "--because", "x")
    assert (refused.returncode, "scheme=b is compared with it" in refused.stderr) == (2, True)
    refused = bench.compute("skip", bench.directory, "scheme=b,c", "--because", "x")
    assert (refused.returncode, "no comparison would be left" in refused.stderr) == (2, True)
    assert bench.compute("skip", bench.directory, "scheme=c", "--because", "c hangs").returncode == 0
    result = bench.run()
    assert result.stopping is not None
    assert [claim.subject for claim in result.stopping.claims] == ["scheme=b against scheme=a"]
    assert result.stopping.decided
    assert {row.treatment for row in bench.rows("skipped")} == {"scheme=c"}
    for shown in ("status", "analyze"):
        assert (
            "scheme=c is skipped: no claim about it is waited for"
            in bench.compute(shown, bench.directory).stdout
        )


def test_the_status_says_until_when_a_run_waits_for_its_time_of_day(bench: Bench):
    local = time.localtime()
    first, last = (f"{(local.tm_hour + hours) % 24:02d}:00" for hours in (12, 13))
    bench.write("true", rest=f'between = "{first}-{last}"', rounds=1)
    words = [*TRIALWISE, "run", str(bench.file), "--directory", str(bench.directory)]
    with subprocess.Popen(words, cwd=bench.folder, stderr=subprocess.DEVNULL) as run:
        deadline = time.monotonic() + 60
        while not (bench.directory / "ledger.sqlite").exists() or not bench.status()["active"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        activity = bench.status()["activity"]
        run.terminate()
    assert activity.startswith("waiting until ")
    assert f" {first} " in activity
    assert f"for between = {first}-{last}" in activity
