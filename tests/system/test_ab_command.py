"""`trialwise ab` with real programs: two that differ, two that are the same, revisions of a repository, and what goes wrong.

Of two samples of one distribution, some differ by chance, and other load makes times long: where the verdict is not about time,
programs print what is compared.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import in_process
from trialwise.cli.progress import LINE_SECONDS

SCHEMAS = Path(__file__).parents[2] / "schemas"
TRIALWISE = str(Path(sys.executable).parent / "trialwise")
TOOK = ("--metric", "took:lower=stdout:took (.*)")


def trialwise(*words, cwd, code=0):
    done = subprocess.run(
        [TRIALWISE, *words], cwd=cwd, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def turns(folder, seconds=0):
    """Two sides that are the same without doubt: each prints 80 and 120 in turn, after so many seconds."""
    (folder / "turns.sh").write_text(
        "n=$(cat $1.count 2>/dev/null || echo 0)\necho $((n + 1)) > $1.count\n"
        f"sleep {seconds}\necho took $((80 + n % 2 * 40))\n"
    )
    return ("--base", "sh turns.sh base", "--head", "sh turns.sh head", *TOOK)


def test_twice_the_time_is_worse(tmp_path):
    words = ("--base", "sleep 0.1", "--head", "sleep 0.2", "--margin", "3%", "--pilot", "10", "--quiet")
    printed = trialwise("ab", *words, "--markdown", cwd=tmp_path, code=1).stdout
    assert printed.startswith("### ❌ Head is worse: time +")
    assert "| **different: worse** |" in printed


def test_the_same_program_twice_may_pass(tmp_path):
    words = ("--base", "sleep 0.1", "--head", "sleep 0.1", "--margin", "50%", "--pilot", "10", "--quiet")
    printed = trialwise("ab", *words, cwd=tmp_path).stdout
    assert printed.startswith("Head may pass: time equivalent within 50 %")
    # Again: nothing is left to run, and the answer is the same.
    assert trialwise("ab", *words, cwd=tmp_path).stdout.startswith("Head may pass")


def test_out_of_budget_is_undecided_and_goes_on(tmp_path):
    words = (*turns(tmp_path, 0.05), "--margin", "0.01%", "--pilot", "4")
    first = trialwise("ab", *words, "--budget", "2s", "--json", cwd=tmp_path, code=3)
    document = json.loads(first.stdout)
    Draft202012Validator(json.loads((SCHEMAS / "ab.json").read_text())).validate(document)
    assert (document["outcome"], document["complete"]) == ("undecided", False)
    assert document["ending"] == "the budget is used up"
    again = trialwise("ab", *words, "--budget", "1s", cwd=tmp_path, code=3)
    assert "going on: " in again.stderr
    assert "the same command goes on" in again.stdout


def test_ctrl_c_gives_the_answer_so_far(tmp_path):
    sides = ("--base", "sleep 0.1; echo took 100", "--head", "sleep 0.25; echo took 250", *TOOK)
    running = subprocess.Popen(
        [TRIALWISE, "ab", *sides, "--margin", "0.01%", "--pilot", "500"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in running.stderr:
        if "a trial takes about" in line:
            break
    for line in running.stderr:
        if "trial " in line:  # ten seconds later
            break
    os.kill(running.pid, signal.SIGINT)
    printed, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "ended: interrupted; the same command goes on" in printed
    assert "Head is worse" in printed


def test_a_budget_ends_a_number_of_trials_that_was_set(tmp_path):
    sides = ("--base", "sleep 0.2; echo took 200", "--head", "sleep 0.1; echo took 100", *TOOK)
    done = trialwise("ab", *sides, "--trials", "400", "--json", "--budget", "3s", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert (document["ending"], document["complete"]) == ("the budget is used up", False)
    ran = sum(document["comparison"]["rows"][0]["summary"]["n"])
    assert 4 <= ran <= 3 / 0.15 + 2
    assert "which the budget of 3s cuts short" in done.stderr


def test_what_will_run_is_announced_and_a_log_stays_short(tmp_path):
    """Two programs of which the pilot does not decide: what runs is said before it runs, and not each trial.

    The log has the first trial, the last of the pilot, the last of all, and one for each `LINE_SECONDS` that passed.
    """
    words = (*turns(tmp_path), "--pilot", "6", "--budget", "12s")
    begun = time.monotonic()
    done = subprocess.run(
        [TRIALWISE, "ab", *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    between = (time.monotonic() - begun) // LINE_SECONDS
    lines = [line.partition(" ")[2] for line in done.stderr.splitlines()]
    assert (
        lines[0]
        == "a pilot of 6 trials of each version, then at most 994 fresh ones of each; the budget is 12s"
    )
    assert sum(line.startswith("[") for line in lines) <= 3 + between
    bill = next(line for line in lines if line.startswith("the pilot does not decide; "))
    assert re.search(r"\d+ more trials in about \d", bill)


def test_a_log_names_what_passes_by_the_same_words_in_headline_and_row(tmp_path):
    """Head is 2.7 % lower with hardly any noise: not worse, though neither equivalent within 3 % nor better by 3 %.

    The values are the quantiles of a normal distribution, one after the other, so that no draw decides.
    """
    (tmp_path / "noise.py").write_text(
        "import sys, pathlib, statistics\n"
        "mean = float(sys.argv[1])\n"
        "count = pathlib.Path(sys.argv[2])\n"
        "turn = len(count.read_text()) if count.exists() else 0\n"
        "count.write_text('x' * (turn + 1))\n"
        "print('took', mean + statistics.NormalDist().inv_cdf((turn * 7 % 20 + 0.5) / 20))\n"
    )
    base, head = (
        f"{sys.executable} noise.py {mean} {tmp_path / name}" for mean, name in ((100, "a"), (97.3, "b"))
    )
    words = ("--base", base, "--head", head, *TOOK, "--trials", "20", "--quiet")
    printed = trialwise("ab", *words, cwd=tmp_path).stdout
    assert printed.startswith("Head may pass: took not worse by 3 %.")
    row = next(line for line in printed.splitlines() if line.startswith("  took"))
    assert row.endswith("3 %  not worse")
    assert "undecided" not in printed


def test_undecided_passes_where_that_is_asked_for(tmp_path):
    words = ("--margin", "0.01%", "--trials", "4", "--quiet")
    same = (*turns(tmp_path), *words)
    assert trialwise("ab", *same, cwd=tmp_path, code=3).stdout.startswith("Undecided after 4 + 4 trials")
    assert trialwise("ab", *same, "--undecided-passes", cwd=tmp_path).stdout.startswith("Undecided")
    for head, code in (("echo took 300", 1), ("false", 4)):
        sides = ("--base", "sh turns.sh base", "--head", head, *TOOK)
        trialwise(
            "ab", *sides, *words, "--undecided-passes", "-d", f"{code}.results", cwd=tmp_path, code=code
        )


def test_a_trial_that_failed_stands_in_the_headline(tmp_path):
    (tmp_path / "once.sh").write_text("mkdir once 2>/dev/null && exit 5; echo took 10\n")
    sides = ("--base", "echo took 200", "--head", "sh once.sh", *TOOK)
    printed = trialwise(
        "ab", *sides, "--trials", "8", "--warmup", "0", "--quiet", cwd=tmp_path, code=4
    ).stdout
    assert printed.startswith("Not passed: 1 trial failed. By the others: head may pass: took better by")


CI_LINES = [
    (page.name, line.removeprefix("- run: "))
    for page in sorted(Path(__file__).parents[2].glob("docs/**/*.md"))
    for line in page.read_text().splitlines()
    if line.startswith("- run: trialwise")
]


@pytest.mark.parametrize(("page", "line"), CI_LINES, ids=[f"{page}-{line[:21]}" for page, line in CI_LINES])
def test_a_documented_step_is_not_red_when_nothing_is_decided(repository, page, line):
    """Each line for continuous integration, run as its runner does (`bash -e`), where two sides vary and do not differ."""
    here = repository / "bench"
    (here / "Makefile").write_text("all: bench\nbench: ; cp prog.in bench && chmod +x bench\n")
    noise = "import random; print('v', random.gauss(1, .2))"
    count = '"$PWD.count"'  # of each side
    (here / "prog.in").write_text(
        f"#!/bin/sh\nn=$(cat {count} 2>/dev/null || echo 0)\necho $((n + 1)) > {count}\nsleep 0.0$((1 + n % 2 * 8))\n"
    )
    (here / "experiment.toml").write_text(
        f"""[experiment]
name = "e"
[trial]
command = ["{sys.executable}", "-c", "{noise}"]
[metrics.v]
stdout = "v (.*)"
stop = {{ precision = "0.01%" }}
[design]
rounds = 30
pilot = 3
"""
    )
    for side in ("base", "head"):
        times = [1 + (place * 7 + (side == "head")) % 5 / 5 for place in range(10)]
        (here / f"{side}.json").write_text(json.dumps({"results": [{"command": "x", "times": times}]}))
    for words in (["add", "-A"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "noise"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    subprocess.run(["git", "update-ref", "refs/remotes/origin/main", "HEAD"], cwd=repository, check=True)
    summary = repository / "summary.md"
    assert page
    step = line.replace("10m", "2s").replace("--build 'make -j4'", "--build 'make -s'")
    environment = {
        **os.environ,
        "PATH": f"{Path(TRIALWISE).parent}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    done = subprocess.run(
        ["bash", "-e", "-c", step],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search("ndecided|stopped: ", summary.read_text() if summary.exists() else done.stderr)


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
    words = (
        "--base",
        "echo took 100",
        "--head",
        "echo took 104",
        *TOOK,
        "--margin",
        "1%",
        "--trials",
        "10",
        "--quiet",
    )
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


def program(path, took):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho took {took}\n")
    path.chmod(0o755)


def pairs(place):
    return sorted(path.name for path in place.iterdir() if path.is_dir())


SIDES = {
    "plain": ("./old", "./new"),
    "with arguments": ("./old --x 'y z'", "X=1 ./new"),
    "behind a shell": ("cd . && ./old", "cd . && ./new"),
    "by search path": ("PATH=$PWD:$PATH old", "PATH=$PWD:$PATH new"),
}


@pytest.mark.parametrize("how", SIDES)
def test_another_build_is_another_pair_and_the_old_one_goes_on_when_it_is_back(tmp_path, how):
    base, head = SIDES[how]
    program(tmp_path / "old", 150)
    program(tmp_path / "new", 10)
    words = ("ab", "--base", base, "--head", head, *TOOK, "--trials", "6")
    assert "Head may pass" in trialwise(*words, cwd=tmp_path).stdout
    first = pairs(tmp_path / "ab.results")
    program(tmp_path / "new", 600)
    second = trialwise(*words, cwd=tmp_path, code=1)
    assert second.stdout.startswith("Head is worse")
    assert "another pair, for new is another" in second.stderr
    program(tmp_path / "new", 10)
    assert "Head may pass" in trialwise(*words, cwd=tmp_path).stdout
    assert len(pairs(tmp_path / "ab.results")) == len(first) + 1 == 2


def test_what_trials_inherit_makes_the_pair_too(tmp_path, monkeypatch):
    words = ("ab", "--base", "echo took 1", "--head", "echo took 1", *TOOK, "--trials", "4")
    trialwise(*words, cwd=tmp_path)
    monkeypatch.setenv("COLUMNS", "77")
    trialwise(*words, cwd=tmp_path)
    assert len(pairs(tmp_path / "ab.results")) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert "OMP_NUM_THREADS is set now" in trialwise(*words, cwd=tmp_path).stderr
    assert len(pairs(tmp_path / "ab.results")) == 2


def test_a_build_in_the_middle_begins_another_pair_at_once(tmp_path):
    program(tmp_path / "old", 100)
    program(tmp_path / "next", 200)
    (tmp_path / "new").write_text("#!/bin/sh\necho took 100\nmv next new\n")
    (tmp_path / "new").chmod(0o755)
    words = ("ab", "--base", "./old", "--head", "./new", *TOOK, "--trials", "6", "--warmup", "0")
    assert trialwise(*words, cwd=tmp_path, code=1).stdout.startswith("Head is worse")
    assert len(pairs(tmp_path / "ab.results")) == 2


def test_another_question_is_another_pair(tmp_path):
    words = ("ab", "--base", "echo took 1", "--head", "echo took 1", *TOOK, "--trials")
    trialwise(*words, "6", cwd=tmp_path)
    trialwise(*words, "4", cwd=tmp_path)
    assert (
        "another pair, for the comparison is another"
        in trialwise(*words, "4", "--seed", "2", cwd=tmp_path).stderr
    )
    assert len(pairs(tmp_path / "ab.results")) == 3


def test_commands_that_read_take_the_latest_pair(tmp_path):
    program(tmp_path / "new", 200)
    words = ("ab", "--base", "echo took 100", "--head", "./new", *TOOK, "--trials", "4", "--quiet")
    trialwise(*words, cwd=tmp_path, code=1)
    program(tmp_path / "new", 500)
    trialwise(*words, cwd=tmp_path, code=1)
    table = trialwise("analyze", "ab.results", "--csv", cwd=tmp_path).stdout
    assert ",500" in table
    assert "finished" in trialwise("status", "ab.results", cwd=tmp_path).stdout


def test_a_new_commit_is_measured(repository):
    words = ("ab", "--base", "HEAD~1", "--head", "HEAD", "--command", "sh prog.in", "--trials", "4")
    words += ("--metric", r"rate:higher=stdout:rate (\d+)")
    bench = repository / "bench"
    trialwise(*words, cwd=bench, code=1)
    (bench / "prog.in").write_text("echo rate 90\n")
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e", "commit", "-qam", "fast"], cwd=bench, check=True
    )
    assert trialwise(*words, cwd=bench).stdout.startswith("Head may pass")
    # The same revisions again: nothing is left to run.
    assert trialwise(*words, cwd=bench).stdout.startswith("Head may pass")
    assert len(pairs(bench / "ab.results")) == 2
