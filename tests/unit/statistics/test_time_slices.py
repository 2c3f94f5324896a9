"""Batch means over slices of time, against variances and quantiles that theory has."""

from math import log

import numpy as np
import pytest

from trialwise import statistics as st
from trialwise.errors import StatisticsError
from trialwise.special import stdtrit


def regular(values):
    return np.arange(values.size) + 0.5, values


def autoregressive(random, share, count):
    powers = share ** np.arange(int(20 / -log(share)))
    return np.convolve(random.standard_normal(count + powers.size - 1), powers, "valid")


def waits(random, load, count):
    """Waiting times of an M/M/1 queue with services of mean 1, after 2,000 customers, and when they arrive."""
    between, services = (random.exponential(mean, count + 2000) for mean in (1 / load, 1.0))
    steps = np.cumsum(np.concatenate([[0.0], services[:-1] - between[1:]]))
    return np.cumsum(between)[2000:], (steps - np.minimum.accumulate(steps))[2000:], services[2000:]


def error(found):
    """Standard error of an interval of a mean."""
    reach = float(stdtrit(found.slices - 1, 0.975))
    return (found.found.high - found.found.low) / 2 / reach


def test_the_variance_of_an_autoregressive_mean_is_that_of_theory():
    """Var = (1 + share) / (1 - share) / n / (1 - share²), of which slices of m miss 2 share / (1 - share²) / m, in long runs."""
    random = np.random.default_rng(1)
    share, count = 0.9, 40_000
    squares, missed = [], []
    for _ in range(30):
        times, values = regular(autoregressive(random, share, count))
        found = st.sliced_estimate([(times, values)], None, span=(0, count))
        squares.append(error(found) ** 2)
        missed.append(found.missed * 40 / found.slices)
    assert np.median(missed) == pytest.approx(2 * share / (1 - share**2) / (count / 40), rel=0.5)
    theory = (1 + share) / (1 - share) / (1 - share**2) / count
    assert np.mean(squares) == pytest.approx(theory, rel=0.12)
    independent = [values.var() / count for values in [autoregressive(random, share, count)]]
    assert np.mean(squares) > 6 * independent[0], "samples are no unit"


def test_the_variance_of_mean_waits_is_that_of_theory():
    """Of n waits in an M/M/1 queue n Var → ρ(2 + 5ρ − 4ρ² + ρ³)/(1 − ρ)⁴ (Blomqvist, Skandinavisk Aktuarietidskrift 1967)."""
    random = np.random.default_rng(2)
    load, count = 0.5, 40_000
    squares = []
    for _ in range(30):
        times, values, _ = waits(random, load, count)
        squares.append(error(st.sliced_estimate([(times, values)], None, span=(times[0], times[-1]))) ** 2)
    theory = load * (2 + 5 * load - 4 * load**2 + load**3) / (1 - load) ** 4 / count
    assert np.mean(squares) == pytest.approx(theory, rel=0.15)


def test_quantiles_of_sojourns_are_those_of_theory():
    """Sojourns of M/M/1 are exponential with the rate 1 − ρ; several runs are one estimate."""
    random = np.random.default_rng(3)
    runs = []
    for _ in range(3):
        times, values, services = waits(random, 0.5, 20_000)
        runs.append((times, values + services))
    span = (max(times[0] for times, _ in runs), min(times[-1] for times, _ in runs))
    for percentile in (50, 90, 98):
        found = st.sliced_estimate(runs, percentile, span=span)
        assert found.found.low < 2 * log(100 / (100 - percentile)) < found.found.high
        assert found.slices == 42
        assert (found.found.high - found.found.low) / found.found.estimate < 0.2


def test_the_interval_of_a_mean_is_by_hand_that_of_slices():
    """Willink 2005: (³√(1 + 6a(t − a)) − 1) / 2a in place of t, with a a sixth of the skewness over the root of the number."""
    random = np.random.default_rng(4)
    values = random.exponential(1.0, 40_000)
    found = st.sliced_estimate([regular(values)], None, span=(0, values.size))
    means = values.reshape(40, -1).mean(axis=1)
    assert found.slices == 40
    centred = means - means.mean()
    skewness = (centred**3).mean() / (centred**2).mean() ** 1.5 * (40 * 39) ** 0.5 / 38
    a, t = skewness / 6 / 40**0.5, 2.0226909
    ends = [(np.cbrt(1 + 6 * a * (each - a)) - 1) / (2 * a) for each in (t, -t)]
    wide = (means.var(ddof=1) / 40 / (1 - found.missed)) ** 0.5
    assert (found.found.low, found.found.high) == pytest.approx(
        [means.mean() - each * wide for each in ends], rel=1e-9
    )
    assert found.length == 1000


@pytest.mark.parametrize(
    ("values", "percentile", "why", "times"),
    [
        (
            lambda random: autoregressive(random, 0.99, 8000),
            None,
            "nearly independent, and 20 are needed",
            True,
        ),
        (lambda random: random.pareto(1.5, 8000), None, "the tail of the samples is heavy", False),
        (lambda random: random.standard_normal(8000), 99, "80 samples lie beyond p99", True),
        (lambda random: random.standard_normal(300), None, "do not show their tail", True),
    ],
)
def test_what_gives_no_interval_is_refused(values, percentile, why, times):
    own = values(np.random.default_rng(5))
    with pytest.raises(st.DependentSlicesError, match=why) as refusal:
        st.sliced_estimate([regular(own)], percentile, span=(0, own.size))
    assert (refusal.value.times is not None) == times
    assert not times or refusal.value.times > 1


def test_runs_that_differ_by_more_than_slices_are_refused():
    random = np.random.default_rng(6)
    runs = [regular(random.standard_normal(8000) + shift) for shift in (0, 0.1, 0.2)]
    with pytest.raises(st.DependentSlicesError, match="take 20 runs or more"):
        st.sliced_estimate(runs, None, span=(0, 8000))
    alike = [regular(random.standard_normal(8000)) for _ in range(3)]
    assert st.sliced_estimate(alike, None, span=(0, 8000)).slices == 42


def test_values_without_variance_and_none_at_all():
    found = st.sliced_estimate([regular(np.ones(1000))], None, span=(0, 1000))
    assert (found.found.low, found.found.high) == (1, 1)
    with pytest.raises(StatisticsError, match="no trial has a sample"):
        st.sliced_estimate([regular(np.ones(10))], None, span=(100, 200))
