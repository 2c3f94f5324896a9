"""`trialwise profile` and `trialwise runtime` as people call them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from condition_data import condition_csv, pilot_csv
from in_process import Done, trialwise
from report_page import ReportPage
from simulation_directory import run_simulation

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("trialwise")


def call(*words, cwd) -> Done:
    return trialwise(*words, cwd=cwd)


def call_program(*words, cwd):
    return subprocess.run(
        [PROGRAM, *words], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_documents_follow_their_schemas(tmp_path):
    condition_csv(tmp_path / "a.csv")
    pilot_csv(tmp_path / "p.csv", seeds=(4, 5))
    commands = {
        "profile": ["a.csv"],
        "runtime": ["p.csv", "--value", "throughput", "--trial", "trial"],
    }
    for name, words in commands.items():
        done = call_program(name, *words, "--json", cwd=tmp_path)
        assert done.returncode == 0
        document = json.loads(done.stdout)
        Draft202012Validator(json.loads((ROOT / f"schemas/{name}.json").read_text())).validate(document)
        assert document["format"] == f"trialwise.{name}/1"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["profile", "none.csv"], 7, "no such file"),
        (["profile", "a.csv", "--value", "qualty"], 7, "'quality' is there"),
        (["profile", "a.csv", "--plot", "a.gif"], 2, ".html, .svg, .pdf, .png"),
        (["profile", "a.csv", "--plot", "none/a.svg"], 2, "no folder"),
        (["profile", "a.csv", "--confidence", "100"], 2, "percentage above 50"),
        (["profile", "p.csv"], 2, "--value trial"),
        (["runtime", "p.csv"], 2, "several columns hold numbers: trial, throughput"),
        (["runtime", "p.csv", "--metric", "x"], 2, "--metric is for experiment directories"),
        (["runtime", ".", "--value", "x"], 5, "the folder is not an experiment directory"),
        (["runtime", "."], 5, "no ledger here"),
        (["runtime", "p.csv", "--value", "throughput", "--tolerance", "0"], 2, "percentage above 0"),
    ],
)
def test_wrong_calls_say_what_to_try(words, code, message, tmp_path):
    condition_csv(tmp_path / "a.csv")
    pilot_csv(tmp_path / "p.csv")
    done = call(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr


PROFILE, RUNTIME = ["profile", "a.csv"], ["runtime", "p.csv", "--value", "throughput"]


@pytest.mark.parametrize(
    ("words", "ending", "begin"),
    [
        (PROFILE, "svg", b"<?xml"),
        (PROFILE, "png", b"\x89PNG"),
        (RUNTIME, "pdf", b"%PDF"),
        (RUNTIME, "html", b"<!DOCTYPE html>"),
    ],
)
def test_figures_are_written_in_each_format_twice_alike(words, ending, begin, tmp_path):
    condition_csv(tmp_path / "a.csv")
    pilot_csv(tmp_path / "p.csv")
    written = []
    for process in (call, call_program):  # in two processes
        done = process(*words, "--plot", f"x.{ending}", cwd=tmp_path)
        assert done.returncode == 0
        assert done.stderr.endswith(f"wrote x.{ending}\n")
        written.append((tmp_path / f"x.{ending}").read_bytes())
    assert written[0].startswith(begin)
    assert written[0] == written[1]


def test_the_pages_of_figures_load_nothing(tmp_path):
    condition_csv(tmp_path / "a.csv")
    call("profile", "a.csv", "--plot", "x.html", cwd=tmp_path)
    page = ReportPage((tmp_path / "x.html").read_text())
    assert [figure["data-figure"] for figure in page.figures] == ["autocorrelation", "data"]
    assert not [
        tag
        for tag, attributes in page.tags
        if "src" in attributes or (tag == "link" and attributes["href"] != "data:,")
    ]


@pytest.fixture(scope="module")
def simulation(tmp_path_factory):
    return run_simulation(tmp_path_factory.mktemp("simulation"))


def test_simulations_say_the_duration_of_their_trials(simulation, tmp_path):
    done = call("runtime", simulation, "--metric", "p90", "--json", "--plot", "x.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    Draft202012Validator(json.loads((ROOT / "schemas/runtime.json").read_text())).validate(document)
    assert {one["treatment"] for one in document["durations"]} == {"scheme=dctcp", "scheme=hpcc"}
    page = ReportPage((tmp_path / "x.html").read_text())
    assert [figure["data-figure"] for figure in page.figures] == ["duration-0", "duration-1", "phases"]
    text = call("runtime", simulation, "--plot", "x.pdf", cwd=tmp_path)
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")
    assert "small-sample bias: " in text.stdout
    assert text.stdout.count("advice: ") == 4


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--metric", "p91"], 7, "metrics: p90, mean_fct, peak_queue"),
        (["--metric", "peak_queue"], 7, "no metric is a mean or a percentile"),
        (["--value", "fct"], 2, "--value is for tables"),
    ],
)
def test_wrong_calls_of_simulations_say_what_to_try(words, code, message, simulation, tmp_path):
    done = call("runtime", simulation, *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
