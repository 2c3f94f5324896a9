"""Estimates of what is transferred over a path: both estimands against direct computation from the samples of trials."""

from pathlib import Path

import numpy as np
import pytest

from trialwise import statistics as st
from trialwise import study
from trialwise.analysis.estimation.results import Estimation, MetricEstimate
from trialwise.analysis.observations import StoreObservations

FILE = """
[experiment]
name = "transfers"
seed = 4
[factors]
scheme = ["udp-newreno", "udp-cubic"]
[trial]
kind = "path"
engine = "simulated"
scheme = "{scheme}"
load = "flows:poisson,load=30%,sizes=fixed:20kB,for=2s"
runtime = "10s"
path = { rate = "8Mbit/s", delay = "5ms", queue = "droptail:packets=50" }
[metrics.p90]
quantity = "completion_time"
measure = "p90"
estimand = "pooled"
convention = "nearest_rank"
margin = "20%"
[metrics.p99]
quantity = "completion_time"
measure = "p99"
convention = "nearest_rank"
few_samples = "allow"
[metrics.refused]
quantity = "completion_time"
measure = "p99"
[metrics.throughput]
[design]
series = 1
rounds = 12
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("transfers")
    (folder / "experiment.toml").write_text(FILE)
    study.run(folder / "experiment.toml", folder / "results")
    return folder / "results"


@pytest.fixture(scope="module")
def found(directory: Path) -> Estimation:
    estimation = study.analyse(directory).estimation
    assert estimation is not None
    return estimation


def samples(directory: Path, scheme: str) -> list[np.ndarray]:
    """Completion times of each trial of a scheme."""
    experiment, store, ledger = study.open_directory(directory)
    observed = StoreObservations(experiment, store, ledger).of(experiment.metrics[0])
    ledger.close()
    return [one.values for one in observed if one.factors["scheme"] == scheme]


def one(found: Estimation, metric: str) -> MetricEstimate:
    return next(
        each for each in found.estimates if (each.metric, each.treatment) == (metric, "scheme=udp-cubic")
    )


def test_the_pooled_quantile_is_of_all_transfers(directory: Path, found: Estimation) -> None:
    trials = samples(directory, "udp-cubic")
    own, expected = one(found, "p90").own, st.pooled_quantile(trials, 90)
    assert (own.estimand, own.trials, own.samples) == ("pooled", 12, sum(map(len, trials)))
    assert own.estimate == np.sort(np.concatenate(trials))[int(np.ceil(0.9 * own.samples)) - 1]
    assert (own.low, own.high) == (expected.low, expected.high)


def test_a_forced_quantile_of_each_trial_says_so(directory: Path, found: Estimation) -> None:
    own = one(found, "p99").own
    assert own.estimand == "per_trial"
    assert own.estimate == pytest.approx(
        np.mean([trial.max() for trial in samples(directory, "udp-cubic")])
    ), "the largest of some thirty"
    assert "forced" in own.note
    refused = one(found, "refused").own
    assert refused.estimate is None
    assert "5 are needed" in refused.note


def test_what_has_no_transfers_has_no_estimate(found: Estimation) -> None:
    assert {each.metric for each in found.estimates} == {"p90", "p99", "refused"}


def test_pooled_transfers_are_compared_by_what_each_trial_contributes(directory: Path) -> None:
    trials = study.comparison_set(directory, ["p90"])
    assert trials.metrics["p90"].estimand == "pooled"
    assert any("of all samples" in note for note in trials.notes)
