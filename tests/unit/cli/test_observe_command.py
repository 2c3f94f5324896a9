"""`trialwise observe`: makes, runs, goes on, judges; exit codes and documents."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

import in_process

ROOT = Path(__file__).resolve().parents[3]
START = [sys.executable, "-c", "from trialwise.cli.main import main; main()"]


def run(*arguments, cwd):
    return subprocess.run(
        [*START, "observe", *map(str, arguments)], capture_output=True, text=True, cwd=cwd, check=False
    )


def flavours(probe, *more, trials=4):
    bare = "sh -c 'echo served $(( 1000 * {n} + $1 % 7 ))' - {seed}"
    return [
        "--flavour", f"none={bare}", "--flavour", f"probe={bare.replace('1000', str(probe))}",
        "--load", "n=1,2", "--metric", "served=stdout:served ([0-9]+)", "--trials", trials, *more,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def slower(tmp_path_factory):
    folder = tmp_path_factory.mktemp("observe")
    done = run(*flavours(800, "--margin", "5%", "--json", "--csv", "o.csv", "--gate"), cwd=folder)
    assert done.returncode == 1, done.stderr
    return folder, done


def test_json_follows_its_schema_and_csv_has_a_row_for_each(slower):
    folder, done = slower
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads((ROOT / "schemas/observe.json").read_text()))
    assert (document["verdict"], document["base"], len(document["rows"])) == ("different", "none", 2)
    assert [row["load"] for row in document["rows"]] == [{"n": 1}, {"n": 2}]
    rows = list(csv.DictReader((folder / "o.csv").read_text().splitlines()))
    assert [(row["flavour"], row["load.n"], row["verdict"]) for row in rows] == [
        ("probe", "1", "different"),
        ("probe", "2", "different"),
    ]


def test_the_same_command_goes_on_and_runs_nothing_twice(slower):
    folder, _ = slower
    again = run(*flavours(800, "--margin", "5%"), cwd=folder)
    assert again.returncode == 0
    assert (
        "Measuring changes what is measured: 2 of 2 comparisons different beyond the margin." in again.stdout
    )
    assert re.search(r"-(19\.\d+|20) % \(-", again.stdout)
    assert "goes on" not in again.stderr
    other = run(*flavours(801, "--margin", "5%"), cwd=folder)
    assert (other.returncode, "another experiment" in other.stderr) == (2, True)


def test_a_directory_is_judged_by_other_margins(slower):
    folder, _ = slower
    wide = run("observe.results", "--margin", "30%", cwd=folder)
    assert wide.returncode == 0
    assert "No effect: all 2 comparisons equivalent within the margin." in wide.stdout
    without = run("observe.results", "--factor", "n", "--base", "1", "--margin", "served=150%", cwd=folder)
    assert without.returncode == 0


def test_open_is_said_with_its_bill(tmp_path):
    done = run(*flavours(1000, "--margin", "0.3%", "--quiet", trials=2), cwd=tmp_path)
    assert done.returncode == 3
    assert "more trials each" in done.stdout
    assert "not significant" not in done.stdout


def test_a_dry_run_writes_the_file_alone_and_says_why_so_many(tmp_path):
    done = run(
        "--flavour", "none=true", "--flavour", "probe=sleep 0", "--margin", "5%", "--dry-run", "--name", "d",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0
    assert "20 rounds in balanced order, equivalence takes 19 trials" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["d.toml"]


def test_failed_trials_are_said_and_the_rest_is_judged(tmp_path):
    done = run(
        "--flavour", "none=true", "--flavour", "probe=sh -c 'test $(( $1 % 2 )) = 0' - {trial}",
        "--margin", "time=100", "--trials", "8", "--quiet",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 4
    assert "failed, without a value" in done.stdout
    assert "equivalent within 100 s" in done.stdout


def test_a_killed_run_goes_on(tmp_path):
    words = [
        "--flavour", "none=sleep 0.1", "--flavour", "probe=sleep 0.1", "--margin", "time=5", "--trials", "20",
    ]  # fmt: skip
    runner = subprocess.Popen(
        [*START, "observe", *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("observe.results/outputs/*"))) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(runner.pid, signal.SIGKILL)
    assert runner.wait() == -signal.SIGKILL, "killed in the middle"
    done = run(*words, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["n_base"], row["n"]) == (20, 20)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "what is to be observed"),
        (["--flavour", "none"], 2, "not NAME=VALUE"),
        (["--flavour", "a=true"], 2, "nothing to be compared"),
        (["--flavour", "a=true", "--flavour", "a=true"], 2, "stands twice"),
        (["--flavour", "a=true", "--flavour", "b=true", "--metric", "x=y"], 2, "does not say where"),
        (["--flavour", "a=true", "--flavour", "b=true", "--margin", "x"], 2, "not a valid margin"),
        (["--flavour", "a=true", "--flavour", "b=true", "--margin", "x=3"], 2, "not a metric"),
        (["--flavour", "a=true", "--flavour", "b=true", "--trials", "1"], 2, "at least two"),
        (["--flavour", "a=true", "--flavour", "b=true", "--metric", "x=stdout:("], 2, "regular expression"),
        (["--flavour", "a=true", "--flavour", "b=true", "--load", "a b=1"], 2, "uses {a b}"),
        (["nothing.toml"], 2, "nothing.toml"),
        (["nothing.toml", "--load", "a=1"], 2, "go with --flavour"),
        (["plain.toml"], 7, "no factor 'flavour'"),
        (["plain.toml", "--factor", "x"], 7, "is the base"),
        (["--csv", "no/o.csv"], 2, "no folder"),
        (["--confidence", "0"], 2, "confidence"),
    ],
)
def test_bad_input_is_said_plainly(tmp_path, words, code, said):
    (tmp_path / "plain.toml").write_text(
        '[experiment]\nname = "p"\n[factors]\nx = [1, 2]\n[trial]\ncommand = "sleep {x}"\n'
        '[metrics.t]\nresource = "wall"\n[design]\nrounds = 2\nseries = 1\n'
    )
    done = in_process.trialwise("observe", *words, cwd=tmp_path)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == code
    assert [path.name for path in tmp_path.iterdir()] == ["plain.toml"]
