"""Tilted simulations from the command to the estimate: the same bits from two processes and after a kill."""

from __future__ import annotations

import json

import polars as pl
import pytest
from jsonschema import validate
from tests.system.conftest import Bench

from simulation_directory import simulation_text
from trialwise.cli.schema import json_schema

TEXT = simulation_text(
    """
[metrics.p99]
quantity = "fct"
measure = "p99"
estimand = "model_based"
[design]
series = 1
rounds = 90
[tilts.dctcp]
method = "switching"
mu = 6.4
sigma = 1.9
tilted_mu = 6.6
tilted_sigma = 2.0
threshold = "200us"
[tilts.hpcc]
method = "defensive"
edges = [0, 0.5, 0.9, 1]
density = [0.96, 0.96, 1.36]
most = 10
""",
    workload='sizes = "google_rpc", load = "50%", duration = "100us", tilt = "{scheme}"',
    topology="dumbbell:2x2,10Gbit/s,1us",
)


def estimates(bench: Bench, directory):
    found = json.loads(bench.compute("analyze", directory, "--json").stdout)
    validate(found, json_schema("analysis"))
    return found["estimation"]["estimates"]


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory):
    bench = Bench(tmp_path_factory.mktemp("tilted"))
    bench.file.write_text(TEXT)
    directory = bench.folder / "straight"
    done = bench.command_line("run", bench.file, "-d", directory, "--jobs", "1", "-q")
    assert done.returncode == 0, done.stderr
    return directory


def test_two_processes_give_the_same_bits(bench: Bench, straight):
    bench.file.write_text(TEXT)
    directory = bench.folder / "two"
    assert bench.command_line("run", bench.file, "-d", directory, "--jobs", "2", "-q").returncode == 0
    assert estimates(bench, directory) == estimates(bench, straight)


def test_a_run_that_was_killed_comes_to_the_same_end(bench: Bench, straight):
    bench.file.write_text(TEXT)
    killed = bench.folder / "killed"
    bench.kill_while_computing("run", bench.file, "-d", killed, "--jobs", "1")
    assert bench.command_line("run", killed, "-q").returncode == 0
    assert estimates(bench, killed) == estimates(bench, straight)


def test_estimates_tell_their_weights(bench: Bench, straight):
    switching, defensive = estimates(bench, straight)
    assert (switching["own"]["estimand"], switching["other"]["estimand"]) == ("model_based", "pooled")
    assert switching["own"]["low"] < switching["own"]["estimate"] < switching["own"]["high"]
    weights = switching["own"]["weights"]
    assert (weights["batches"], weights["batch"]) == (2, 40)
    assert 0 < weights["largest_share"] < 1 < weights["effective_trials"] < 90
    assert weights["true_load"] == pytest.approx(0.5 * weights["load_ratio"])
    assert weights["load_ratio"] != pytest.approx(1, abs=0.01)
    assert "quantile of a batch is biased" in switching["own"]["note"]
    assert defensive["own"]["weights"]["load_ratio"] == 1
    records = pl.read_parquet(straight / "samples" / "000001-1-flows.parquet")
    assert records["log_likelihood"].is_not_null().all()
    shown = bench.compute("analyze", straight).stdout
    assert "model-based" not in shown.splitlines()[0]
    assert "the fitted sizes have" in " ".join(shown.split())
    assert bench.compute("report", straight, "--out", bench.folder / "r.html").returncode == 0
    assert "the tail is worth" in (bench.folder / "r.html").read_text()


@pytest.mark.parametrize("words", [("compare", "--a", "scheme=dctcp", "--b", "scheme=hpcc"), ("effects",)])
def test_single_trials_are_not_compared(bench: Bench, straight, words):
    command, *options = words
    refused = bench.compute(command, straight, *options)
    assert refused.returncode == 7
    assert "its workload is tilted" in refused.stderr


def test_the_command_finds_a_tilt_and_writes_the_experiment(bench: Bench):
    text = TEXT[: TEXT.index("[tilts.dctcp]")].replace(', tilt = "{scheme}"', "").replace('"dctcp", ', "")
    bench.file.write_text(
        text.replace('estimand = "model_based"\n', "") + '[metrics.queue]\nmeasure = "max"\n'
    )
    out, plot = bench.folder / "tilted.toml", bench.folder / "sizes.svg"
    options = ("--method", "cross-entropy", "--epochs", "2", "--cycles", "40", "--plot", plot, "--json")
    done = bench.compute("tilt", bench.file, *options, "--out", out)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    validate(found, json_schema("tilt"))
    (choice,) = found["choices"]
    assert (choice["name"], choice["tilt"]["method"], len(choice["epochs"])) == ("hpcc", "switching", 2)
    assert [fit["family"] for fit in choice["fits"]] == ["lognormal", "normal", "exponential", "poisson"]
    assert found["left_out"] == ["queue"]
    assert b"<svg" in plot.read_bytes()
    assert bench.compute("plan", out).returncode == 0
    again = bench.compute("tilt", bench.file, *options, "--out", out)
    assert again.returncode == 2
    assert "tilted.toml" in again.stderr
    same = bench.compute("tilt", bench.file, *options, "--out", out, "--force")
    assert json.loads(same.stdout)["choices"] == found["choices"]


@pytest.mark.parametrize(
    ("old", "new", "words", "said"),
    [
        ('measure = "p99"', 'measure = "mean"', (), "no metric is a tail quantile"),
        ("", "", ("--metric", "p9"), "there is no metric p9"),
        ("google_rpc", "fixed:1kB", (), "no table of sizes"),
        ('load = "50%"', 'load = "{load}"', (), "depends on load, which is drawn"),
        ('sizes = "google_rpc"', 'sizes = "{sizes}"', (), "differ in more than their scheme"),
        ("", "", ("--epochs", "0"), "--epochs 0"),
        ("", "", ("--plot", "sizes.txt"), "the ending says the format"),
    ],
)
def test_what_cannot_be_tilted_is_refused(bench: Bench, old, new, words, said):
    text = TEXT[: TEXT.index("[tilts.dctcp]")].replace(', tilt = "{scheme}"', "")
    for name, levels in {"load": '{ draw = ["40%", "50%"] }', "sizes": '["google_rpc", "websearch"]'}.items():
        if f"{{{name}}}" in new:
            text = text.replace("[trial]", f"{name} = {levels}\n[trial]")
    bench.file.write_text(text.replace('estimand = "model_based"\n', "").replace(old, new, 1))
    refused = bench.compute("tilt", bench.file, *words)
    assert refused.returncode == 2, refused.stdout
    assert said in refused.stderr
