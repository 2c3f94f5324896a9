"""`trialwise order`: exit codes, documents, figures."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import full_disk
import in_process
from report_page import ReportPage

ROOT = Path(__file__).resolve().parents[3]
START = "from trialwise.cli.main import main; main()"


def run(*arguments, cwd):
    return in_process.trialwise("order", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("order")
    made = in_process.run(["python", str(ROOT / "docs/how-to/order_trials.py")], path)
    (path / "trials.csv").write_text(made.stdout)
    return path


def test_json_follows_its_schema_and_figures_are_written(folder):
    done = run(
        "trials.csv",
        "--json",
        "--gate",
        "--svg",
        "figures",
        "--out",
        "page.html",
        "--csv",
        "o.csv",
        "--latex",
        "o.tex",
        cwd=folder,
    )
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads((ROOT / "schemas/order.json").read_text()))
    assert document["carry_over"][0]["pairs"][0]["predecessor"] == "sort"
    names = {path.stem for path in (folder / "figures").iterdir()}
    compared = {"p-values", "effect-sizes", "differences", "cases", "intervals"}
    assert names == compared | {"carry-over-0", "position-0", "drift-0", "trials-0"}
    page = ReportPage((folder / "page.html").read_text())
    assert {figure["data-figure"] for figure in page.figures} == {f"by-order-{name}" for name in names}
    assert not [attributes for _, attributes in page.tags if "src" in attributes]
    assert (folder / "o.tex").read_text().count(r"\\") == 5


@pytest.mark.parametrize(
    ("words", "margin"), [((), 1.0), (("--margin", "40"), 40.0), (("--margin", "2.5%"), 2.5)]
)
def test_the_margin_of_the_command_is_the_one_of_the_analysis(folder, words, margin):
    document = json.loads(run("trials.csv", "--json", *words, cwd=folder).stdout)
    assert document["margin"] == margin
    for one in document["treatments"]:
        farthest = max(-one["shift_percent_low"], one["shift_percent_high"])
        assert (one["change"] in {"same", "small"}) == (farthest <= margin)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nothing.csv"], 7, "no such file"),
        (["trials.csv", "--compare", "copy"], 2, "--compare A,B"),
        (["trials.csv", "--margin", "much"], 2, "a percentage above 0"),
        (["trials.csv", "--alpha", "2"], 2, "share between 0 and 1"),
        (["trials.csv", "--csv", "nowhere/o.csv"], 2, "no folder"),
        (["trials.csv", "--treatment", "tests"], 7, "'test' is there"),
        (["trials.csv", "--metric", "speed"], 7, "no metric 'speed'"),
    ],
)
def test_refusals(folder, arguments, code, words):
    done = run(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    assert words in done.stderr


EXPERIMENT = """
[experiment]
name = "tiny"
seed = 7
[factors]
program = ["a", "b", "c"]
[trial]
kind = "command"
command = "bash -c 'echo {program} $((1000 + RANDOM % 10))'"
[metrics.speed]
stdout = "[a-c] ([0-9]+)"
[design]
order = "fixed+random"
series = 1
rounds = 20
"""


def test_a_full_disk_leaves_the_page_that_was_there(folder):
    page = folder / "kept.html"
    page.write_text("before")
    done = full_disk.trialwise("order", "trials.csv", "--out", page.name, cwd=folder)
    assert done.returncode == 5, done.stderr
    assert "kept.html: cannot be written: File too large" in done.stderr
    assert page.read_text() == "before"
    assert not list(folder.glob("kept.tmp*"))


def test_an_experiment_directory(tmp_path):
    (tmp_path / "tiny.toml").write_text(EXPERIMENT)
    start = [sys.executable, "-c", START, "run", "tiny.toml"]
    subprocess.run(start, capture_output=True, cwd=tmp_path, check=True)
    done = run("tiny.results", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert (document["n_trials"], document["rounds_fixed"], document["rounds_random"]) == (60, 10, 10)
    assert [one["treatment"] for one in document["treatments"]] == ["program=a", "program=b", "program=c"]
    assert document["n_problems"] == 0
    assert document["carry_over"][0]["n_pairs"] == 20
