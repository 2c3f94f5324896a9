"""Tilted simulations that run until their weighted quantile is known: over all trials, or by CCEval's batches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.system.conftest import Bench

from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment

TEXT = """
[experiment]
name = "flows"
[factors]
scheme = ["dctcp", "hpcc"]
[trial]
kind = "simulation"
scheme = "{scheme}"
topology = "dumbbell:2x2,10Gbit/s,1us"
workload = { sizes = "google_rpc", load = "50%", duration = "100us", tilt = "{scheme}" }
[metrics.tail]
quantity = "fct"
measure = "p95"
stop = { precision = "30%" }
[design]
max_trials = 1000
[tilts.dctcp]
method = "none"
[tilts.hpcc]
method = "defensive"
edges = [0, 0.5, 0.9, 1]
density = [0.96, 0.96, 1.36]
most = 10
"""
BATCHES = TEXT.replace('measure = "p95"', 'measure = "p95"\nestimand = "model_based"').replace(
    "[design]", '[design]\nlooks = "cceval"\npilot = 3'
)


def started(bench: Bench, text: str) -> Bench:
    """The bench after a run of the text on one process."""
    bench.file.write_text(text)
    done = bench.command_line("run", bench.file, "-d", bench.directory, "-q", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    return bench


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Bench:
    """A run without an interruption, which several tests look at."""
    return started(Bench(tmp_path_factory.mktemp("straight")), TEXT)


def test_all_trials_together_stop_where_the_weighted_tail_is_known(straight: Bench):
    found = straight.status()["stopping"]
    assert found["decided"]
    for claim in found["claims"]:
        assert claim["what"] == "p95 of all samples"
        assert claim["width"] <= claim["target"]
        assert claim["looks"] >= 1
    estimates = json.loads(straight.compute("analyze", straight.directory, "--json").stdout)
    own = [each["own"] for each in estimates["estimation"]["estimates"]]
    assert all(each["weights"]["effective_trials"] >= 50 for each in own)


def test_a_run_on_more_processes_that_was_killed_comes_to_the_same_end(straight: Bench):
    killed = straight.folder / "killed"
    straight.kill_while_computing("run", straight.file, "-d", killed, "--jobs", "1")
    assert straight.command_line("run", killed, "-q", "--jobs", "2").returncode == 0
    assert straight.status(killed)["stopping"]["claims"] == straight.status()["stopping"]["claims"]


def test_ccevals_loop_stops_at_whole_batches_and_says_what_it_is_worth(bench: Bench):
    found = started(bench, BATCHES).status()["stopping"]
    assert found["decided"]
    for claim in found["claims"]:
        assert claim["what"] == "mean of the weighted p95 of batches of 40 trials"
        assert claim["n"][0] % 40 == 0
        assert "quantile of a batch is biased" in claim["note"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace("[design]", '[design]\nlooks = "anytime"'), 'take looks = "geometric"'),
        (BATCHES.replace('"cceval"\npilot = 3', '"anytime"'), 'take looks = "geometric" or "cceval"'),
    ],
)
def test_what_cannot_stop_says_what_can(text: str, said: str):
    with pytest.raises(PlanError) as refused:
        parse_experiment(text, Path("made.toml"))
    assert said in f"{refused.value.message} {refused.value.hint}"
