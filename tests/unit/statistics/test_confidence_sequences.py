"""Confidence sequences against their definition, value by value."""

import time
from fractions import Fraction
from math import comb, lgamma, log

import numpy as np
import pytest
from scipy import special, stats

from trialwise import statistics as st
from trialwise.statistics.sequential.confidence_sequences import (
    accepted_counts,
    log_ratio,
    running_order_statistics,
    values_until_finite,
)
from trialwise.statistics.sequential.share_sequences import bounds_of_two

HALF = Fraction(1, 2)


def log_beta(a, b):
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def accepted(t, p, alpha, r):
    """Every count that is not rejected after t values."""
    a, b = r * p, r * (1 - p)
    return [
        s
        for s in range(t + 1)
        if log_beta(a + s, b + t - s) - log_beta(a, b) - s * log(p) - (t - s) * log(1 - p) < -log(alpha)
    ]


def brute_force(values, p, alpha, r):
    low, high = [], []
    for t in range(1, len(values) + 1):
        ordered = sorted(values[:t])
        kept = accepted(t, p, alpha, r)
        low.append(ordered[kept[0] - 1] if kept[0] > 0 else -np.inf)
        high.append(ordered[kept[-1]] if kept[-1] < t else np.inf)
    return low, high


@pytest.mark.parametrize("percentile", [1, 25, 50, 90, 99])
@pytest.mark.parametrize("confidence", [50, 80, 95, 99])
@pytest.mark.parametrize("tuned_for", [8, 50, 400])
def test_bounds_are_those_of_all_counts_tried(percentile, confidence, tuned_for):
    values = np.random.default_rng([percentile, confidence]).normal(size=120).round(1)
    found = st.median_confidence_sequence(
        values, percentile=percentile, confidence=confidence, tuned_for=tuned_for
    )
    r = max(1, round(tuned_for / 8))
    low, high = brute_force(values.tolist(), percentile / 100, 1 - confidence / 100, r)
    assert found.low.tolist() == low
    assert found.high.tolist() == high


def test_the_ratio_is_a_mixture_and_its_mean_is_one():
    """Sum over s of Bin(s; t, p) times the ratio = 1: under the truth it neither grows nor shrinks."""
    for t, p, r in [(1, 0.5, 6), (30, 0.5, 6), (40, 0.9, 6), (25, 0.99, 50)]:
        counts = np.arange(t + 1)
        chance = [comb(t, s) * p**s * (1 - p) ** (t - s) for s in range(t + 1)]
        assert np.dot(chance, np.exp(log_ratio(counts, np.full(t + 1, t), p, r))) == pytest.approx(1)


def test_counts_move_by_one_and_are_symmetric():
    fewest, most = accepted_counts(5000, Fraction(9, 10), Fraction(95, 100), 6)
    assert set(np.diff(fewest)) == set(np.diff(most)) == {0, 1}
    mirrored_fewest, mirrored_most = accepted_counts(5000, Fraction(1, 10), Fraction(95, 100), 6)
    times = np.arange(1, 5001)
    assert (times - fewest == mirrored_most).all()
    assert (times - most == mirrored_fewest).all()


def test_running_order_statistics_follow_any_ranks():
    random = np.random.default_rng(3)
    values = random.integers(0, 9, 300).astype(float)
    ranks = np.array([random.integers(0, t + 1) for t in range(1, 301)])
    expected = [
        sorted(values[: t + 1])[rank - 1] if rank else -np.inf for t, rank in enumerate(ranks.tolist())
    ]
    assert running_order_statistics(values, ranks).tolist() == expected


def test_the_first_finite_bounds():
    """METHODS i: p99 at 323 values."""
    assert values_until_finite(Fraction(99, 100), Fraction(95, 100), 6) == 323
    values = np.random.default_rng(4).normal(size=323)
    found = st.median_confidence_sequence(values, percentile=99)
    assert np.isfinite(found.high[-1])
    assert np.isinf(found.high[-2])
    assert found.note == ""
    assert "take 323 values" in st.median_confidence_sequence(values[:-1], percentile=99).note


def test_intersected_bounds_never_widen():
    values = np.random.default_rng(5).normal(size=500)
    plain = st.median_confidence_sequence(values)
    narrow = st.median_confidence_sequence(values, intersect=True)
    assert (narrow.low == np.maximum.accumulate(plain.low)).all()
    assert (narrow.high == np.minimum.accumulate(plain.high)).all()
    assert (narrow.low != plain.low).any()
    assert (plain.intersected, narrow.intersected) == (False, True)


def test_tuning_moves_where_bounds_are_narrow():
    """In ranks, the bounds tuned for a number of values are the narrower ones there."""

    def width(t, r):
        fewest, most = accepted_counts(t, HALF, Fraction(95, 100), r)
        return most[-1] - fewest[-1]

    assert width(50, 6) < width(50, 250)
    assert width(2000, 250) < width(2000, 6)


def test_a_hundred_thousand_values_take_a_second():
    values = np.random.default_rng(6).normal(size=100_000)
    begin = time.process_time()
    found = st.median_confidence_sequence(values)
    assert time.process_time() - begin < 3
    assert found.low[-1] < 0 < found.high[-1]
    assert found.high[-1] - found.low[-1] < 0.05


def test_means_by_the_formula():
    values = np.random.default_rng(7).normal(10, 3, 200)
    found = st.mean_confidence_sequence(values, tuned_for=100)
    assert np.isinf(found.low[:49]).all()
    wide = -2 * np.log(0.05)
    rho2 = (wide + np.log(wide + 1)) / 100
    for t in (50, 117, 200):
        reach = np.std(values[:t], ddof=1) * np.sqrt(
            2 * (t * rho2 + 1) / (t**2 * rho2) * np.log(np.sqrt(t * rho2 + 1) / 0.05)
        )
        assert found.low[t - 1] == pytest.approx(values[:t].mean() - reach)
        assert found.high[t - 1] == pytest.approx(values[:t].mean() + reach)


def test_means_on_the_log_scale_bound_the_geometric_mean():
    values = np.random.default_rng(8).lognormal(0, 1, 60)
    logs = st.mean_confidence_sequence(np.log(values), start=20)
    found = st.mean_confidence_sequence(values, scale="log", start=20)
    np.testing.assert_allclose(found.high, np.exp(logs.high))
    assert found.low[18] == 0
    assert found.high[18] == np.inf
    assert found.estimand == "geometric mean"
    assert found.low[19] > 0


def test_too_few_values_for_a_mean_say_so():
    assert st.mean_confidence_sequence([1.0, 2.0]).note == "there are no bounds before 50 values"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"percentile": 0}, "percentile"),
        ({"confidence": 100}, "confidence"),
        ({"tuned_for": 0}, "tuned_for"),
        ({"tuned_for": 2.5}, "tuned_for"),
    ],
)
def test_bad_options_of_the_median(options, message):
    with pytest.raises(ValueError, match=message):
        st.median_confidence_sequence([1.0, 2.0], **options)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([1.0, 0.0], {"scale": "log"}, "not positive"),
        ([1.0, 2.0], {"scale": "square"}, "allowed: linear, log"),
        ([1.0, 2.0], {"start": 1}, "start"),
        ([1.0, np.nan], {}, "NaN"),
    ],
)
def test_bad_options_of_the_mean(values, options, message):
    with pytest.raises(ValueError, match=message):
        st.mean_confidence_sequence(values, **options)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.95])
def test_of_two_numbers_the_bounds_of_the_mean_hold_at_all_looks(share):
    """By Ville's inequality; the asymptotic ones alone miss 7 % of a share of 0.1 in 200 looks. Equal values are no bounds."""
    random = np.random.default_rng([46, int(100 * share)])
    wrong = 0
    for _ in range(400):
        values = 3 + 4 * (random.random(200) < share)
        found = st.mean_confidence_sequence(values)
        truth = 3 + 4 * share
        wrong += bool(((found.low < found.high) & ((found.low > truth) | (found.high < truth))).any())
    assert wrong / 400 <= stats.binom.ppf(0.99, 400, 0.05) / 400


def test_bounds_of_two_numbers_solve_the_martingale_and_end_with_the_third():
    values = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 2.0, 1.0])
    low, high = bounds_of_two(values, 0.05)
    assert np.isinf(low[:2]).all()
    assert np.isinf(low[5:]).all()
    for at in (2, 3, 4):
        t, s = at + 1, values[: at + 1].sum()
        for share in (low[at], high[at]):
            mixture = special.beta(0.5 + s, 0.5 + t - s) / special.beta(0.5, 0.5)
            assert mixture / (share**s * (1 - share) ** (t - s)) == pytest.approx(20, rel=1e-9)
