"""CCEval's workload in small: the examples as they are, with shorter trials and less to know."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.system.conftest import Bench

from trialwise.study import load

EXAMPLES = Path(__file__).parents[2] / "examples"
SCHEMES = ["dctcp", "dcqcn", "timely", "hpcc"]
FILES = [
    "cceval-dumbbell/experiment.toml",
    "cceval-dumbbell/long-trials.toml",
    "cceval-fat-tree/experiment.toml",
    "cceval-dumbbell/with-fluid-model.toml",
    "cceval-dumbbell/tails.toml",
]


def shortened(text: str, **changes: str) -> str:
    """The text of an experiment with other values for some keys, each of which it must have."""
    for key, value in changes.items():
        text, found = re.subn(rf"\b{key} = [^,\n}}]+", f"{key} = {value}", text)
        assert found, key
    return text


@pytest.mark.parametrize("name", FILES)
def test_the_examples_are_the_workload_of_the_paper(name):
    experiment = load(EXAMPLES / name)
    assert experiment.factors[0].levels == tuple(SCHEMES)
    workload = experiment.trial.workload
    assert (workload.sizes, workload.load) == ("websearch", "30%")
    assert "100Gbit/s" in experiment.trial.topology


def test_the_dumbbell_stops_when_each_metric_is_as_exact_as_asked(bench: Bench):
    """Quantiles of both estimands and means, each to a precision of its own: one run, one report."""
    text = (EXAMPLES / FILES[0]).read_text()
    bench.file.write_text(shortened(text, duration='"5ms"', precision='"100%"', max_trials="40"))
    directory = bench.folder / "results"
    done = bench.command_line("run", bench.file, "-d", directory)
    assert done.returncode in (0, 3), done.stderr
    stopping = bench.status(directory)["stopping"]
    claims = {(claim["metric"], claim["subject"]): claim for claim in stopping["claims"]}
    assert len(claims) == 7 * len(SCHEMES)
    for (metric, _), claim in claims.items():
        assert claim["estimand"] == ("per_trial" if metric.startswith("trial_") else "pooled")
        assert claim["looks"] >= 1
    assert {
        claim["state"] for (metric, _), claim in claims.items() if metric in ("mean", "p50", "trial_p99")
    } == {"decided"}
    assert all(claim["width"] <= claim["target"] for claim in claims.values() if claim["state"] == "decided")
    page = bench.folder / "report.html"
    assert bench.compute("report", directory, "--out", page).returncode == 0
    assert 'id="estimates"' in page.read_text()
    assert "forced: a trial has" in page.read_text()


def test_the_fat_tree_tells_small_from_large_flows(bench: Bench):
    text = (EXAMPLES / FILES[2]).read_text()
    bench.file.write_text(
        shortened(text, duration='"3ms"', rounds="2").replace('sizes = "10MB.."', 'sizes = "1MB.."')
    )
    directory = bench.folder / "results"
    done = bench.command_line("run", bench.file, "-d", directory, "-q")
    assert done.returncode == 0, done.stderr
    found = json.loads(bench.compute("analyze", directory, "--json", "--controls", "none").stdout)
    estimates = {(one["metric"], one["treatment"]): one["own"] for one in found["estimation"]["estimates"]}
    for scheme in SCHEMES:
        small, large = (estimates[metric, f"scheme={scheme}"] for metric in ("small_p99", "large_p50"))
        assert large["estimate"] > 10 * small["estimate"]


def test_figure_8_is_one_command_with_one_report_and_the_bias_of_each_engine(tmp_path: Path):
    name = EXAMPLES / "cceval-fat-tree/figure-8.toml"
    experiment = load(name)
    assert experiment.factors[0].levels == ("trialwise", "ns3", "links")
    assert "fat-tree:8,100Gbit/s" in experiment.trial.topology
    (metric,) = experiment.metrics
    assert metric.stop is not None
    assert (metric.stop.precision.value, metric.stop.confidence, metric.estimand) == (1, 95, "per_trial")
    text = name.read_text().replace("fat-tree:8", "fat-tree:4").replace('"ns3", ', "")
    text = text.replace('measure = "p99"', 'measure = "p50"')
    file = tmp_path / "small.toml"
    file.write_text(shortened(text, duration='"500us"', precision='"100%"', max_trials="40"))
    script = [sys.executable, EXAMPLES / "cceval-fat-tree/figure_8.py", file, tmp_path]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "small.html").is_file()
    assert re.search(r"links.*trialwise|trialwise.*links", done.stdout, re.DOTALL), done.stdout
    assert done.stdout.endswith(
        "learned: missing, as Trialwise has no engine that was trained (theirs is M3)\n"
    )
