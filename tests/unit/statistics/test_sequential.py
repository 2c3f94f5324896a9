"""Sequential rules: looks, stops, forecasts, warnings."""

import numpy as np
import pytest
from scipy import stats

from trialwise import statistics as st
from trialwise.statistics.online_moments import RunningMoments
from trialwise.statistics.sequential.sampling import Looks

VALUES = np.random.default_rng(1).normal(100, 20, 3000)


def one_by_one(values):
    moments = RunningMoments()
    for value in values:
        moments.add(float(value))
    return moments


@pytest.mark.parametrize("moments_of", [one_by_one, RunningMoments.of])
def test_moments_are_scipys(moments_of):
    values = np.random.default_rng(2).lognormal(0, 1, 500) + 1e6
    found = moments_of(values)
    assert found.mean == pytest.approx(values.mean())
    assert found.deviation == pytest.approx(values.std(ddof=1), rel=1e-9)
    assert found.skewness == pytest.approx(stats.skew(values), rel=1e-6)
    assert found.n * found.fourths / found.squares**2 == pytest.approx(
        stats.kurtosis(values, fisher=False), rel=1e-6
    )
    share = (values.max() - values.mean()) ** 2 / np.sum((values - values.mean()) ** 2)
    assert found.farthest_share == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize("moments_of", [one_by_one, RunningMoments.of])
def test_equal_numbers_have_no_spread_and_none_have_nothing(moments_of):
    assert moments_of(np.full(7, 0.1)).squares == 0
    assert moments_of(np.empty(0)) == RunningMoments()


@pytest.mark.parametrize("precision", [2, 5])
def test_ccevals_rule_is_the_one_there_was(precision):
    found = st.sequential_mean(VALUES, precision, rule="cceval")
    other = st.relative_margin_stop(VALUES, margin=precision)
    assert (found.stopped, found.n, found.estimate) == (True, other.n, pytest.approx(other.mean))
    assert (found.low, found.high) == pytest.approx((other.low, other.high))
    assert "looks after every trial" in found.warnings[0]
    pilot = st.sequential_mean(VALUES[:20], 1, rule="cceval")
    assert pilot.forecast.trials == st.relative_margin_stop(VALUES[:20], margin=1).forecast


def test_the_geometric_rule_by_hand():
    n, looks = 30, 1
    while True:
        seen = VALUES[:n]
        half = stats.t.ppf(0.98, n - 1) * seen.std(ddof=1) / np.sqrt(n)
        if half <= 0.03 * seen.mean():
            break
        n, looks = int(np.ceil(1.1 * n)), looks + 1
    found = st.sequential_mean(VALUES, 3)
    assert (found.n, found.looks, found.inner_confidence) == (n, looks, 96)
    assert found.half_width == pytest.approx(half)
    assert found.remaining == 0


def test_a_confidence_sequence_is_tuned_by_its_first_trials_and_may_go_on():
    course = st.SequentialMean(5, rule="anytime")
    stopped = [course.add(value) for value in VALUES[:1000]]
    at = stopped.index(True) + 1
    wanted = (stats.norm.ppf(0.975) * VALUES[:50].std(ddof=1) / (0.05 * VALUES[:50].mean())) ** 2
    bounds = st.mean_confidence_sequence(VALUES[:at], tuned_for=max(50, int(np.ceil(wanted))))
    once = st.sequential_mean(VALUES, 5, rule="anytime")
    assert (once.n, once.low, once.high) == (
        at,
        pytest.approx(bounds.low[-1]),
        pytest.approx(bounds.high[-1]),
    )
    assert course.state.n == 1000
    assert st.sequential_mean(VALUES[:40], 5, rule="anytime").high == np.inf


def test_a_rule_that_stopped_is_not_extended():
    course = st.SequentialMean(5)
    for value in VALUES:
        if course.add(value):
            break
    with pytest.raises(ValueError, match="'anytime' from the start"):
        course.add(100.0)


@pytest.mark.parametrize("rule", ["geometric", "cceval", "anytime"])
def test_the_forecast_is_the_first_number_that_is_narrow(rule):
    looks = Looks.of(rule, 1.0, relative=False, confidence=95, start=None)
    wanted = looks.wanted(20.0, 1.0, 1000)
    assert looks.reach(wanted, 1000) * 20 <= np.sqrt(wanted)
    assert looks.reach(wanted - 1, 1000) * 20 > np.sqrt(wanted - 1)


def test_the_interval_of_the_forecast_is_that_of_the_variance():
    found = st.sequential_mean(VALUES[:60], 1, rule="cceval").forecast
    moments = RunningMoments.of(VALUES[:60])
    free = moments.degrees_of_freedom
    assert free == pytest.approx(59, rel=0.35)
    assert found.low / found.trials == pytest.approx(free / stats.chi2.ppf(0.975, free), rel=0.01)
    assert found.high / found.trials == pytest.approx(free / stats.chi2.ppf(0.025, free), rel=0.01)


def test_warnings_name_what_stops_too_early():
    spiky = [10.0, 10.1, 9.9] * 20 + [100.0]
    assert "largest trial makes" in st.sequential_mean(spiky, 0.1).warnings[0]
    assert not st.sequential_mean(VALUES[:100], 1).warnings
    assert "1e+09 trials" in st.sequential_mean(VALUES[:100], 1e-4).warnings[0]
    assert "give the precision in its unit" in st.sequential_mean([-1.0, 1.0] * 20, 1).warnings[0]
    assert st.sequential_mean([-1.0, 1.0] * 20, 1, relative=False).forecast.trials is not None


def test_a_pooled_quantile_takes_the_same_looks():
    random = np.random.default_rng(3)
    trials = [random.lognormal(random.normal(0, 0.2), 0.5, random.poisson(40)) for _ in range(400)]
    found = st.sequential_quantile(trials, 90, 10)
    assert found.stopped
    assert found.n in (30, 33, 37, 41, 46, 51, 57, 63, 70, 77, 85, 94, 104)
    fixed = st.pooled_quantile(trials[: found.n], 90, confidence=96)
    assert (found.estimate, found.low, found.high) == (fixed.estimate, fixed.low, fixed.high)
    assert found.half_width <= found.target == pytest.approx(0.1 * found.estimate)
    longer = st.sequential_quantile(trials, 90, 10, rule="anytime")
    assert longer.n > found.n
    early = st.sequential_quantile(trials[:20], 90, 1)
    assert (early.stopped, early.looks, early.next_look) == (False, 0, 30)
    assert early.remaining > 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision": 0}, "precision"),
        ({"precision": 1, "rule": "often"}, "rule"),
        ({"precision": 1, "start": 1}, "start"),
        ({"precision": 1, "confidence": 100}, "confidence"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        st.SequentialMean(**options)
    with pytest.raises(ValueError, match="trial 1 gave nan"):
        st.SequentialMean(1).add(float("nan"))


def test_the_method_of_a_quantile_is_named() -> None:
    random = np.random.default_rng(3)
    trials = [random.exponential(size=44) for _ in range(40)]
    assert st.sequential_quantile(trials, 90, 50).method.startswith("clustered share of samples")
    assert st.sequential_mean([float(trial.mean()) for trial in trials], 50).method.startswith("Student's t")


@pytest.mark.parametrize(
    ("rule", "confidence", "said"),
    [
        ("cceval", 95, "CCEval: normal quantile at 95 %, a look after every trial from 40 on"),
        ("anytime", 99, "asymptotic confidence sequence at 99 %, looks from 40 trials on at any time"),
        ("geometric", 90, "for a reported 90 %, looks from 40 trials on"),
    ],
)
def test_a_rule_tells_its_level_and_where_it_begins(rule, confidence, said):
    assert said in Looks.of(rule, 1.0, relative=True, confidence=confidence, start=40).method
