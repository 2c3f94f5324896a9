"""`trialwise ab` with real programs: two that differ, two that are the same, revisions of a repository, and what goes wrong."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import in_process

SCHEMAS = Path(__file__).parents[2] / "schemas"
TRIALWISE = str(Path(sys.executable).parent / "trialwise")


def trialwise(*words, cwd, code=0):
    done = subprocess.run(
        [TRIALWISE, *words], cwd=cwd, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_a_half_slower_is_worse(tmp_path):
    words = ("--base", "sleep 0.10", "--head", "sleep 0.15", "--margin", "3%", "--pilot", "10", "--quiet")
    printed = trialwise("ab", *words, "--markdown", cwd=tmp_path, code=1).stdout
    assert printed.startswith("**Head is worse: time +")
    assert "| different: worse |" in printed


def test_the_same_program_twice_may_pass(tmp_path):
    words = ("--base", "sleep 0.10", "--head", "sleep 0.10", "--margin", "20%", "--pilot", "10", "--quiet")
    printed = trialwise("ab", *words, cwd=tmp_path).stdout
    assert printed.startswith("Head may pass: time equivalent within 20 %")
    # Again: nothing is left to run, and the answer is the same.
    assert trialwise("ab", *words, cwd=tmp_path).stdout.startswith("Head may pass")


def test_out_of_budget_is_undecided_and_goes_on(tmp_path):
    words = ("--base", "sleep 0.05", "--head", "sleep 0.05", "--margin", "0.01%", "--pilot", "4")
    first = trialwise("ab", *words, "--budget", "2s", "--json", cwd=tmp_path, code=3)
    document = json.loads(first.stdout)
    Draft202012Validator(json.loads((SCHEMAS / "ab.json").read_text())).validate(document)
    assert (document["outcome"], document["complete"]) == ("undecided", False)
    assert document["ending"] == "the budget is used up"
    again = trialwise("ab", *words, "--budget", "1s", cwd=tmp_path, code=3)
    assert "going on: " in again.stderr
    assert "the same command goes on" in again.stdout


def test_ctrl_c_gives_the_answer_so_far(tmp_path):
    words = ("ab", "--base", "sleep 0.1", "--head", "sleep 0.25", "--margin", "0.01%", "--pilot", "500")
    running = subprocess.Popen(
        [TRIALWISE, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in running.stderr:
        if "trial 20 " in line:
            break
    os.kill(running.pid, signal.SIGINT)
    printed, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "ended: interrupted; the same command goes on" in printed
    assert "Head is worse" in printed


@pytest.fixture
def repository(tmp_path):
    def git(*words):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=tmp_path, check=True)

    git("init", "-q", "-b", "main")
    for number in (20, 10):
        (tmp_path / "bench").mkdir(exist_ok=True)
        (tmp_path / "bench/prog.in").write_text(f"#!/bin/sh\nsleep 0.01\necho rate {number}\n")
        git("add", "-A")
        git("commit", "-qm", f"rate {number}")
    return tmp_path


def test_two_revisions_are_built_run_and_cleared_away(repository):
    words = ("--base", "HEAD~1", "--head", "main", "--build", "cp prog.in prog && chmod +x prog")
    words += ("--command", "./prog", "--metric", r"rate:higher=stdout:rate (\d+)", "--trials", "8", "--quiet")
    printed = trialwise("ab", *words, cwd=repository / "bench", code=1).stdout
    assert printed.startswith("Head is worse: rate -50 %")
    assert "8 + 8 trials" in printed
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1


def test_a_build_that_fails_is_shown_and_cleared_away(repository):
    words = (
        "--base",
        "HEAD~1",
        "--head",
        "main",
        "--build",
        "echo no such header; false",
        "--command",
        "./prog",
    )
    done = trialwise("ab", *words, cwd=repository, code=4)
    assert "no such header" in done.stderr
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=repository, capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1


def test_a_head_that_fails_ends_it(tmp_path):
    done = trialwise("ab", "--base", "true", "--head", "false", "--quiet", cwd=tmp_path, code=4)
    assert "every trial of head failed" in done.stdout


def test_a_difference_under_the_floor_of_the_bench_is_undecided(tmp_path):
    (tmp_path / "noise.py").write_text("import random\nprint('took', random.Random().gauss(100, 20))\n")
    (tmp_path / "experiment.toml").write_text(
        f"[experiment]\nname = 'bench'\n[trial]\ncommand = '{sys.executable} noise.py'\n"
        "[metrics.took]\nstdout = 'took (.*)'\nbetter = 'lower'\n[design]\nrounds = 6\n"
    )
    # Whether so few rounds look bent by chance does not matter here.
    subprocess.run([TRIALWISE, "aa", "experiment.toml", "--quiet"], cwd=tmp_path, check=False, timeout=60)
    words = ("--base", "echo took 100", "--head", "echo took 104", "--metric", "took:lower=stdout:took (.*)")
    words += ("--margin", "1%", "--trials", "10", "--quiet")
    assert trialwise("ab", *words, "-d", "plain", cwd=tmp_path, code=1).stdout.startswith("Head is worse")
    printed = trialwise("ab", *words, "-d", "floored", "--floor", "bench.aa", cwd=tmp_path, code=3).stdout
    assert "under the noise floor of this bench" in printed
    assert "noise floor" in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--margin", "x"], "--margin x"),
        (["--budget", "x"], "--budget x"),
        (["--metric", "speed"], "--metric speed"),
        (["--metric", "a=wall", "--metric", "a=user"], "each name once"),
        (["--pilot", "1"], "--pilot 1"),
        (["--trials", "1"], "--trials 1"),
        (["--confidence", "101"], "--confidence 101"),
        (["--command", "./x"], "no revision 'true'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, words, said):
    done = in_process.trialwise("ab", "--base", "true", "--head", "true", *words, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
