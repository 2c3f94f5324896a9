"""Importance sampling: ratios, weighted quantiles, cross-entropy, the defensive mixture, fits of sizes."""

from math import exp
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats
from tests.processor_sharing import WEBSEARCH, sharing

from trialwise import statistics as st

MU, SIGMA = 0.0, 1.0
TABLE = (
    (
        0,
        10_000,
        20_000,
        30_000,
        50_000,
        80_000,
        200_000,
        1_000_000,
        2_000_000,
        5_000_000,
        10_000_000,
        30_000_000,
    ),
    (0, 15, 20, 30, 40, 53, 60, 70, 80, 90, 97, 100),
)
"""WebSearch of the DCTCP paper, as in HPCC's traffic generator: bytes, percent."""


def cycles(tilt, count, *, rate=30.0, threshold=np.inf, seed=1, **options):
    random = np.random.default_rng(seed)
    simulate = sharing(duration=1.0, capacity=60.0)
    return [
        st.run_cycle(simulate, st.SwitchingSampler(tilt, rate, random, threshold=threshold, **options))
        for _ in range(count)
    ]


def test_the_lognormal_is_the_reference_fit():
    found = st.fit_sizes(*TABLE)
    assert found.parameters == pytest.approx(WEBSEARCH, rel=1e-4)
    assert found.mean_ratio == pytest.approx(4.014, abs=0.001)
    assert (found.rmse, found.largest_error) == (
        pytest.approx(0.04568, abs=1e-5),
        pytest.approx(0.09105, abs=1e-5),
    )
    assert found.true_load(0.3) == pytest.approx(1.204, abs=0.001)
    assert found.beyond == pytest.approx(stats.norm.sf((np.log(3e7) - WEBSEARCH[0]) / WEBSEARCH[1]), rel=1e-3)


@pytest.mark.parametrize(
    ("family", "rmse"), [("normal", 0.11688748), ("exponential", 0.13608863), ("poisson", 0.25550056)]
)
def test_no_other_family_is_nearer(family, rmse):
    """The reference's own searches end at these errors or above."""
    found = st.fit_sizes(*TABLE, family)
    assert st.fit_sizes(*TABLE).rmse < found.rmse <= rmse * 1.001


def test_a_lognormal_is_found_again():
    sizes = np.exp(np.linspace(-4, 6, 40))
    shares = 100 * stats.norm.cdf((np.log(sizes) - 1) / 1.5)
    shares[-1] = 100
    assert st.fit_sizes(sizes, shares).parameters == pytest.approx((1, 1.5), rel=0.01)


@pytest.mark.parametrize(
    ("sizes", "shares", "message"),
    [
        ((1, 2, 2), (0, 50, 100), "upwards"),
        ((1, 2, 3), (0, 50, 99), "rise to 100"),
        ((1, 2, 3), (0, 100), "at least 3"),
    ],
)
def test_what_is_no_distribution_function(sizes, shares, message):
    with pytest.raises(ValueError, match=message):
        st.fit_sizes(sizes, shares)


def test_the_ratio_of_a_size_is_that_of_the_densities():
    tilt = st.LognormalTilt(1.0, 2.0, 2.0, 1.5)
    size, at, ratio = tilt.tilted(np.random.default_rng(1))
    expected = stats.lognorm(2, scale=np.e).logpdf(size) - stats.lognorm(1.5, scale=np.e**2).logpdf(size)
    assert (np.log(size), ratio) == (pytest.approx(at), pytest.approx(expected))


@pytest.mark.parametrize(
    "options", [{}, {"tilted_rate": 40.0}, {"tilted_rate": 40.0, "threshold": 0.4}, {"threshold": 0.4}]
)
def test_weights_undo_the_tilt(options):
    """Sum of the weights: λT in the mean; above a threshold what plain trials have there. Age term and switch included."""
    plain = cycles(st.LognormalTilt(MU, SIGMA, MU, SIGMA), 3000)
    tilted = cycles(st.LognormalTilt(MU, SIGMA, 0.15, 1.05), 3000, seed=2, **options)
    for weigh, rest in ((0.0, 30.0), (0.8, None)):
        ours = np.array([cycle.weights[cycle.responses > weigh].sum() for cycle in tilted])
        theirs = np.array([np.sum(cycle.responses > weigh) for cycle in plain])
        expected = theirs.mean() if rest is None else rest
        error = np.sqrt((ours.var() + (theirs.var() if rest is None else 0)) / 3000)
        assert abs(ours.mean() - expected) < 4 * error


def test_equation_13_by_hand():
    random = np.random.default_rng(3)
    responses, weights = random.exponential(size=200), random.lognormal(-0.5, 1, 200)
    order = np.argsort(responses)
    expected = next(responses[order[n]] for n in range(200) if weights[order[n:]].sum() <= 0.1 * 210)
    assert st.weighted_tail_quantile(responses, weights, 90, 210) == expected
    assert st.weighted_tail_quantile(np.arange(1, 101), np.ones(100), 90, 100) == 91
    with pytest.raises(ValueError, match="the largest alone has a weight of 50 and the tail one of 1;"):
        st.weighted_tail_quantile([1.0, 2.0], [1.0, 50.0], 90, 10)


def test_without_a_tilt_it_is_the_pooled_quantile():
    plain = cycles(st.LognormalTilt(MU, SIGMA, MU, SIGMA), 1500)
    found = st.importance_quantile(plain, 95, 30.0)
    pooled = st.pooled_quantile([cycle.responses for cycle in plain], 95)
    assert found.estimate == pytest.approx(pooled.estimate, rel=0.03)
    assert found.high - found.low == pytest.approx(pooled.high - pooled.low, rel=0.35)
    assert not found.diagnostics.warning
    assert found.diagnostics.total == pytest.approx(1, abs=0.02)


def test_degenerate_weights_are_said():
    wild = cycles(st.LognormalTilt(MU, SIGMA, 0.8, 1.3), 200)
    found = st.importance_quantile(wild, 95, 30.0)
    assert found.diagnostics.effective < 50
    assert "degenerate" in found.diagnostics.warning


def test_batches_are_ccevals_rule_over_quantiles_of_batches():
    plain = cycles(st.LognormalTilt(MU, SIGMA, MU, SIGMA), 850)
    found = st.batched_quantile(plain, 95, 30.0, precision=5)
    first = np.concatenate([cycle.responses for cycle in plain[:40]])
    assert found.quantiles.size == 21
    assert found.quantiles[0] == st.weighted_tail_quantile(first, np.ones(first.size), 95, 1200)
    assert found.stop == st.relative_margin_stop(found.quantiles, margin=5)
    assert "biased" in found.warning
    with pytest.raises(ValueError, match="batches of 40"):
        st.batched_quantile(plain[:70], 95, 30.0, precision=5)


def test_cross_entropy_by_hand():
    made = [
        st.Cycle(np.array([1.0, 5.0]), np.array([1.0, 0.5]), np.array([0.0, 2.0])),
        st.Cycle(np.array([6.0, 7.0, 1.0]), np.array([0.25, 0.25, 1.0]), np.array([1.0, 3.0, 5.0])),
    ]
    mu = (1 * 2 + 2 * 9) / (1 * 2 + 2 * 3)
    square = (1 * np.sum((np.array([0, 2]) - mu) ** 2) + 2 * np.sum((np.array([1, 3, 5]) - mu) ** 2)) / 8
    assert st.cross_entropy_update(made, 5.0, weighted=False) == pytest.approx((mu, np.sqrt(square)))
    weighted = (0.5 * 2 + 0.5 * 9) / (0.5 * 2 + 0.5 * 3)
    assert st.cross_entropy_update(made, 5.0, weighted=True)[0] == pytest.approx(weighted)
    assert st.cross_entropy_update(made, 50.0, weighted=True) is None


def test_the_search_moves_towards_large_sizes_and_says_how_little_it_rests_on():
    simulate = sharing(duration=1.0, capacity=60.0)
    found = st.adaptive_cross_entropy(
        simulate, (MU, SIGMA), 30.0, 95, 30.0, np.random.default_rng(5), epochs=3, cycles=200, weighted=True
    )
    assert found.tilt.tilted_mu > MU
    assert len(found.history) == 3
    assert "a thousand are needed" in found.warning
    with pytest.raises(ValueError, match="smoothing"):
        st.adaptive_cross_entropy(
            simulate, (MU, SIGMA), 30.0, 95, 30.0, np.random.default_rng(5), smoothing=0
        )


def choice(**options):
    return st.defensive_choice(
        sharing(duration=1.0, capacity=60.0),
        lambda rank: exp(NormalDist().inv_cdf(rank)) if rank else 0.0,
        30.0,
        99,
        30.0,
        np.random.default_rng(6),
        **options,
    )


def test_defensive_weights_are_bounded():
    found = st.DefensiveMixture(
        lambda rank: rank, np.array([0.0, 0.5, 0.9, 1.0]), np.array([0.0, 0.2, 0.8]), 0.1
    )
    widths = np.array([0.5, 0.4, 0.1])
    densities = np.array([found.density(at) for at in (0.2, 0.6, 0.95)])
    assert densities == pytest.approx([0.9, 0.9 + 0.02 / 0.4, 0.9 + 0.08 / 0.1])
    assert densities @ widths == pytest.approx(1)
    drawn = cycles(
        st.DefensiveMixture(lambda rank: 1.0, found.edges, found.masses, -np.expm1(-2 / 30)), 300, most=30
    )
    largest = max(cycle.weights.max() for cycle in drawn if cycle.weights.size)
    assert largest <= np.exp(2) * (1 + 1e-12)
    ranks = np.concatenate([cycle.coordinates for cycle in drawn])
    expected = 0.1 * np.exp(-2 / 30) + 0.8 * -np.expm1(-2 / 30)
    assert np.mean(ranks > 0.9) == pytest.approx(expected, abs=0.012)


def test_a_mixture_is_used_where_the_surrogate_gains():
    found = choice(strengths=(1.0,))
    assert found.used
    assert found.variance_ratio >= 1.5
    assert found.mixture.masses[3:].sum() > 0.8  # ranks above .9
    sampler = found.sampler(30.0, np.random.default_rng(1))
    sampler.arrival(sampler.gap())
    assert len(sampler.coordinates) == 1


def test_and_not_where_it_does_not():
    found = st.defensive_choice(
        sharing(duration=1.0, capacity=60.0),
        lambda rank: 1.0,
        30.0,
        90,
        30.0,
        np.random.default_rng(7),
        cycles=300,
    )
    assert (found.used, found.strength, found.mixture.share) == (False, 0.0, 0.0)
    assert "true distribution" in found.reason
    with pytest.raises(ValueError, match="edges"):
        choice(edges=(0.0, 2.0))
