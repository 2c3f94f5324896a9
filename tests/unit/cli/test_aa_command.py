"""`trialwise aa`: runs every treatment against itself for real, goes on, judges, refuses."""

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import in_process

SCHEMAS = Path(__file__).parents[3] / "schemas"
EXPERIMENT = """
[experiment]
name = "bench"
seed = 3
[factors]
n = [1, 2]
[trial]
kind = "python"
call = "load:work"
[metrics.value]
unit = "ms"
better = "lower"
[design]
rounds = 8
"""
LOAD = """
import os, random
from pathlib import Path

def work(n):
    assert not any("side" in name.lower() for name in os.environ)
    with (Path(__file__).parent / "calls").open("a+") as file:  # draws that are the same in every run of the tests
        file.write("x")
        number = file.tell()
    return {"value": 100 * n + random.Random(number).gauss(0, 1)}
"""


def trialwise(*words, cwd, code=0):
    done = subprocess.run(
        [str(Path(sys.executable).parent / "trialwise"), *words],
        cwd=cwd, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aa")
    (folder / "experiment.toml").write_text(EXPERIMENT)
    (folder / "load.py").write_text(LOAD)
    trialwise("aa", "experiment.toml", "--quiet", "--seed", "3", cwd=folder)
    return folder


def test_both_sides_ran_and_were_judged(folder):
    printed = trialwise("aa", "bench.aa", cwd=folder).stdout
    assert printed.startswith("The ruler is fine: no treatment is different from itself")
    assert "A against A' as they ran (Holm over 2 differences, 95 %)" in printed
    assert "8 + 8 trials" in printed
    assert "repeat boot" in printed


def test_the_document_follows_its_schema(folder):
    document = json.loads(trialwise("aa", "bench.aa", "--json", cwd=folder).stdout)
    Draft202012Validator(json.loads((SCHEMAS / "calibration.json").read_text())).validate(document)
    assert document["format"] == "trialwise.calibration/1"
    assert [row["n"] for row in document["rows"]] == [[8, 8]] * 2
    assert document["rows"][0]["floor"]["value"] == pytest.approx(1.0, abs=0.8)


def test_more_trials_go_on_with_the_same_ones(folder):
    done = trialwise("aa", "experiment.toml", "--trials", "9", cwd=folder)
    assert "going on: 32 of 36 trials are done" in done.stderr
    assert "9 + 9 trials" in done.stdout


def test_rounds_are_trials_of_each_side(folder, tmp_path):
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    (tmp_path / "load.py").write_text(LOAD)
    done = trialwise("aa", "experiment.toml", "--trials", "3", "--quiet", cwd=tmp_path, code=3)
    assert "3 + 3 trials" in done.stdout


SLOW = "import time" + LOAD.replace("return", "time.sleep(0.05)\n    return")


def interrupted(folder, finished, *words):
    """Run with these options, and interrupt once so many trials have finished; what was printed, and the exit code."""
    command = [str(Path(sys.executable).parent / "trialwise"), "aa", "experiment.toml", *words]
    running = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and _finished(folder) < finished:
            time.sleep(0.05)
        assert _finished(folder) >= finished, "the trials have not begun"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    return out, err, running.returncode


def _finished(folder):
    with (
        contextlib.suppress(sqlite3.OperationalError),  # it is being made
        contextlib.closing(
            sqlite3.connect(f"file:{folder}/bench.aa/ledger.sqlite?mode=ro", uri=True)
        ) as ledger,
    ):
        return ledger.execute("SELECT count(*) FROM trial WHERE status = 'finished'").fetchone()[0]
    return -1


def test_what_has_finished_is_judged_after_an_interruption(tmp_path):
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    (tmp_path / "load.py").write_text(SLOW)
    out, err, code = interrupted(tmp_path, 20, "--trials", "2000", "--quiet")
    assert code == 130, err
    assert "A against A' as they ran" in out
    assert "of 8000 trials; to go on: trialwise aa experiment.toml --trials 2000" in err


def test_an_interruption_after_the_first_trial(tmp_path):
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    (tmp_path / "load.py").write_text(SLOW.replace("0.05", "1"))
    _, err, code = interrupted(tmp_path, 1, "--quiet")
    assert code == 130, err
    assert "Traceback" not in err
    assert "of 32 trials; to go on: trialwise aa experiment.toml" in err


def test_any_directory_is_re_split(folder):
    trialwise("run", "experiment.toml", "--quiet", cwd=folder)
    printed = trialwise("aa", "bench.results", cwd=folder).stdout
    assert "re-splits alone" in printed
    assert "as they ran" not in printed


def test_too_few(folder, tmp_path):
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    (tmp_path / "load.py").write_text(LOAD)
    done = trialwise("aa", "experiment.toml", "--trials", "3", "--quiet", cwd=tmp_path, code=3)
    assert "repeat trial" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["bench.aa", "--trials", "3"], 2, "is a directory"),
        (["experiment.toml", "--trials", "0"], 2, "--trials 0"),
        (["bench.aa", "--splits", "3"], 2, "--splits 3"),
        (["bench.aa", "--confidence", "20"], 2, "--confidence 20"),
        (["bench.aa", "--metric", "speed"], 7, "no metric 'speed'"),
        (["nowhere.toml"], 2, "nowhere.toml"),
        ([".", "--quiet"], 5, "experiment directory"),
    ],
)
def test_what_is_wrong_is_said(folder, words, code, said):
    done = in_process.trialwise("aa", *words, cwd=folder)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
