"""How often runs of known steadiness pass: 1000 samples around 100, confidence 95 %, tolerance 5 %."""

import numpy as np
import pytest

from trialwise import statistics as st

pytestmark = pytest.mark.operating
repeated = pytest.mark.parametrize("repetitions", [250, pytest.param(4000, marks=pytest.mark.soak)])

COUNT = 1000
TIME = np.arange(COUNT) / (COUNT - 1) - 0.5


@pytest.fixture
def runs(autoregressive):
    """Runs that drift by so many percent in all, with noise of so many percent."""

    def draw(repetitions, *, drift=0.0, spread=10.0, rho=0.0):
        random = np.random.default_rng([int(drift * 10), int(spread * 100), int(rho * 100)])
        return 100 + drift * TIME + spread * autoregressive(random, COUNT, rho, repetitions)

    return draw


def ramps(repetitions, length):
    """A throughput that rises for 38 s of so many seconds, with noise of 5 %."""
    random = np.random.default_rng(length)
    level = np.minimum(np.linspace(0, length, COUNT) / 38, 1)
    return 100 * level + 5 * random.normal(size=(repetitions, COUNT))


def shares(values):
    results = [st.convergence(row) for row in values]
    return [np.mean([result.verdict == verdict for result in results]) for verdict in ("steady", "drifting")]


@repeated
@pytest.mark.parametrize(
    ("options", "steady", "drifting"),
    [
        ({}, 0.98, 0.0),
        ({"rho": 0.5}, 0.57, 0.0),
        ({"rho": 0.9}, 0.0, 0.002),
        ({"drift": 1, "spread": 1}, 1.0, 0.0),
        ({"drift": 5}, 0.06, 0.02),
        ({"drift": 10}, 0.0, 0.92),
        ({"drift": 10, "rho": 0.9}, 0.0, 0.16),
    ],
    ids=str,
)
def test_the_default_test(runs, near, options, steady, drifting, repetitions):
    found = shares(runs(repetitions, **options))
    assert near(found[0], steady, repetitions)
    assert near(found[1], drifting, repetitions, slack=0.04)


@repeated
def test_ramps_drift_until_they_are_a_warm_up_to_cut(repetitions):
    assert shares(ramps(repetitions, 30)) == [0.0, 1.0]
    results = [st.convergence(row) for row in ramps(repetitions, 120)]
    assert np.mean([result.converged for result in results]) > 0.97
    assert np.mean([result.warmup / COUNT for result in results]) == pytest.approx(38 / 120, abs=0.01)


@repeated
def test_at_the_tolerance_few_runs_pass(runs, repetitions):
    """The level of the test: a drift of the tolerance passes in 5 %, 9 % for percentiles of batches."""
    values = runs(repetitions, drift=5.2)
    assert np.mean([st.convergence(row).converged for row in values]) <= 0.05 + 3.3 * np.sqrt(
        0.05 / repetitions
    )
    metrics = [st.trial_metric(row, 75, convergence={}).converged for row in values]
    assert np.mean(metrics) <= 0.09 + 3.3 * np.sqrt(0.09 / repetitions)


@repeated
def test_the_length_needed_gives_four_fifths_of_steady_runs(repetitions):
    random = np.random.default_rng(80)
    lengths = [st.convergence(100 + 10 * random.normal(size=1000)).length_needed for _ in range(50)]
    count = int(np.median(lengths))
    passed = [st.convergence(100 + 10 * random.normal(size=count)).converged for _ in range(repetitions)]
    assert np.mean(passed) == pytest.approx(0.78, abs=0.08)


@repeated
@pytest.mark.parametrize(
    ("options", "mean", "tail"),
    [
        ({}, 1.0, 0.97),
        ({"rho": 0.9}, 0.59, None),
        ({"rho": 0.99}, 0.09, None),
        ({"drift": 1}, 1.0, None),
        ({"drift": 5}, 0.82, None),
        ({"drift": 10}, 0.006, None),
        ({"drift": 10, "rho": 0.9}, 0.21, None),
        ({"drift": 1, "spread": 1}, 0.01, None),
        ({"drift": 0.1, "spread": 0.01}, 0.0, None),
    ],
    ids=str,
)
def test_the_test_of_the_paper(runs, near, options, mean, tail, repetitions):
    values = runs(repetitions, **options)

    def passed(measure):
        tests = [st.trial_metric(row, measure, convergence={}, method="paper") for row in values]
        return np.mean([test.converged for test in tests])

    assert near(passed("mean"), mean, repetitions)
    assert tail is None or near(passed(95), tail, repetitions)


def test_one_outlier_buys_a_pass_in_the_paper_and_none_by_default(runs):
    values = runs(60, drift=20)
    values[:, 300] *= 20
    paper = [st.trial_metric(row, 95, convergence={}, method="paper").converged for row in values]
    assert np.mean(paper) > 0.95
    assert not any(st.trial_metric(row, 95, convergence={}).converged for row in values)
