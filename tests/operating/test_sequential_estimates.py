"""Coverage of sequential means: ESTIMATORS (a); of intervals of all samples: (b); of control variates: (d)."""

import logging

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from trialwise import statistics as st

LOG = logging.getLogger(__name__)
pytestmark = pytest.mark.operating
repeated = pytest.mark.parametrize("repetitions", [150, pytest.param(4000, marks=pytest.mark.soak)])

# How it is drawn, its mean, the relative precision in percent, and the coverage of each rule at nominal 95 %, in percent.
CELLS = {
    "normal CV .1": (lambda random, n: random.normal(1, 0.1, n), 1, 5, {"cceval": 93.4, "geometric": 95.9, "anytime": 99.5}),
    "normal CV .2": (lambda random, n: random.normal(1, 0.2, n), 1, 5, {"cceval": 93.7, "geometric": 95.6, "anytime": 99.7}),
    "lognormal .3": (
        lambda random, n: random.lognormal(0, 0.3, n), np.exp(0.045), 5, {"cceval": 94.1, "geometric": 95.5, "anytime": 99.7},
    ),
    "lognormal 1": (
        lambda random, n: random.lognormal(0, 1, n), np.exp(0.5), 5, {"cceval": 94.4, "geometric": 95.5, "anytime": 99.7},
    ),
    "exponential": (lambda random, n: random.exponential(1, n), 1, 5, {"cceval": 94.8, "geometric": 95.7, "anytime": 99.8}),
    "Pareto 2.5": (
        lambda random, n: 1 + random.pareto(2.5, n), 2.5 / 1.5, 5, {"cceval": 88.7, "geometric": 91.0, "anytime": 98.6},
    ),
}  # fmt: skip


def numbers(draw, random):
    """One by one, drawn in blocks."""
    while True:
        yield from draw(random, 500).tolist()


def run(name, rule, repetitions):
    """Share of the repetitions whose interval holds the mean, and the mean number of trials."""
    draw, mean, precision, _ = CELLS[name]
    random = np.random.default_rng([11, *name.encode(), *rule.encode()])
    found = [st.sequential_mean(numbers(draw, random), precision, rule=rule) for _ in range(repetitions)]
    return np.mean([one.low <= mean <= one.high for one in found]), np.mean([one.n for one in found])


@pytest.mark.parametrize("rule", ["cceval", "geometric"])
@pytest.mark.parametrize("name", ["normal CV .1", "normal CV .2", "lognormal .3"])
def test_coverage_in_short(near, name, rule):
    held, _ = run(name, rule, 300)
    assert near(held, CELLS[name][3][rule] / 100, 300, of=20_000)


@pytest.mark.soak
@pytest.mark.parametrize("rule", ["cceval", "geometric", "anytime"])
@pytest.mark.parametrize("name", CELLS)
def test_coverage_is_that_of_the_table(near, name, rule):
    held, trials = run(name, rule, 4000)
    LOG.info("%s, %s: holds in %.3f at %.0f trials", name, rule, held, trials)
    assert near(held, CELLS[name][3][rule] / 100, 4000, of=4000, slack=0.004)


def test_the_confidence_sequence_costs_twice_and_holds():
    held, trials = run("normal CV .2", "anytime", 150)
    assert held >= 0.97
    assert 1.9 <= trials / 61.5 <= 3.2


KNOTS = (0, 1e4, 2e4, 3e4, 5e4, 8e4, 2e5, 1e6, 2e6, 5e6, 1e7, 3e7)
SHARES = (0, 0.15, 0.2, 0.3, 0.4, 0.53, 0.6, 0.7, 0.8, 0.9, 0.97, 1)
SIZES = {
    "lognormal": (np.exp, lambda p: np.exp(ndtri(p)), np.exp(0.5)),
    "WebSearch": (
        lambda z: np.interp(ndtr(z), SHARES, KNOTS),
        lambda p: np.interp(p, SHARES, KNOTS),
        1711250,
    ),
}


def trials_of(kind, n, random):
    """Trials with 45 samples on average (gamma-Poisson), correlated by .2 within a trial."""
    numbers_ = 1 + random.poisson(random.gamma(4, 11, n))
    own = random.normal(size=numbers_.sum())
    common = np.repeat(random.normal(size=n), numbers_)
    return np.split(SIZES[kind][0](np.sqrt(0.2) * common + np.sqrt(0.8) * own), np.cumsum(numbers_)[:-1])


@repeated
@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("percentile", [50, 90, 99])
@pytest.mark.parametrize("kind", SIZES)
def test_pooled_quantiles_hold(kind, percentile, n, repetitions):
    random = np.random.default_rng([12, n, percentile, *kind.encode()])
    true = SIZES[kind][1](percentile / 100)
    found = [st.pooled_quantile(trials_of(kind, n, random), percentile) for _ in range(repetitions)]
    held = np.mean([one.low <= true <= one.high for one in found])
    LOG.info("%s p%g from %d trials: %.3f", kind, percentile, n, held)
    assert held >= 0.92 - 2.5 * np.sqrt(0.08 * 0.92 / repetitions) * (repetitions < 1000)


@repeated
@pytest.mark.parametrize(
    ("kind", "n", "least"), [("lognormal", 30, 0.89), ("lognormal", 100, 0.91), ("WebSearch", 30, 0.91)]
)
def test_pooled_means_of_skewed_sizes_hold_too_seldom(kind, n, least, repetitions):
    random = np.random.default_rng([13, n, *kind.encode()])
    found = [st.pooled_mean(trials_of(kind, n, random)) for _ in range(repetitions)]
    held = np.mean([one.low <= SIZES[kind][2] <= one.high for one in found])
    LOG.info("%s mean from %d trials: %.3f", kind, n, held)
    assert least - 2.5 * np.sqrt(0.1 * 0.9 / repetitions) * (repetitions < 1000) <= held <= 0.99


@pytest.mark.parametrize("repetitions", [60, pytest.param(4000, marks=pytest.mark.soak)])
def test_sequential_pooled_quantiles_hold(repetitions):
    """To 10 %, looks at 96 %."""
    random = np.random.default_rng(14)

    def trials():
        while True:
            yield from trials_of("WebSearch", 50, random)

    found = [st.sequential_quantile(trials(), 90, 25) for _ in range(repetitions)]
    held = np.mean([one.low <= 5e6 <= one.high for one in found])
    LOG.info("sequential p90: %.3f at %.0f trials", held, np.mean([one.n for one in found]))
    assert held >= 0.935 - 2.5 * np.sqrt(0.06 * 0.94 / repetitions)


def spiky(n, random, share=0.1):
    """A fluid model that is nearly exact, but for some trials in which packets cost much."""
    fluid = random.lognormal(0, 0.5, n)
    packets = np.where(random.random(n) < share, random.exponential(1, n), 0.02 * random.normal(size=n))
    return fluid + packets, fluid


FLUID = np.exp(0.125)


def controlled(n, share, precision, repetitions):
    random = np.random.default_rng([15, n, round(100 * share)])
    for _ in range(repetitions):
        yield st.control_variates(*spiky(n, random, share), FLUID, precision=precision)


of_residuals = pytest.mark.parametrize("repetitions", [400, pytest.param(4000, marks=pytest.mark.soak)])


@pytest.mark.parametrize(
    ("n", "share", "least", "most"),
    [
        (30, 0.1, 0.7, 0.9),
        (100, 0.1, 0.86, 0.95),
        (200, 0.1, 0.9, 0.97),
        (30, 0.02, 0.2, 0.6),
        (200, 0.02, 0.7, 0.9),
    ],
)
@of_residuals
def test_few_spiky_residuals_make_an_interval_too_short(n, share, least, most, repetitions):
    """Without the guards: that is why they are there, and where one trial in fifty is a spike, 200 trials are not enough."""
    true = FLUID + share
    held = np.mean(
        [one.controlled.low <= true <= one.controlled.high for one in controlled(n, share, None, repetitions)]
    )
    LOG.info("controlled, %d trials, %g of them spikes: %.3f", n, share, held)
    assert least <= held <= most


@pytest.mark.parametrize("n", [30, 100, 200])
@of_residuals
def test_guarded_intervals_hold(n, repetitions):
    """Plain below 200 trials; from there controlled."""
    found = controlled(n, 0.1, 1, repetitions)
    held = np.mean([one.low <= FLUID + 0.1 <= one.high for one in found])
    LOG.info("guarded, %d trials: %.3f", n, held)
    assert held >= 0.92 - 2.5 * np.sqrt(0.08 * 0.92 / repetitions)


@of_residuals
def test_an_interval_that_is_too_short_comes_with_a_warning_or_is_not_used(repetitions):
    """Where all spikes are missing nothing can be known; where one trial makes over half of the rest, the plain interval is used."""
    true = FLUID + 0.02
    found = list(controlled(200, 0.02, 1, repetitions))
    short = [one for one in found if not one.controlled.low <= true <= one.controlled.high]
    said = ("one trial makes", "rests on one trial")
    told = np.mean([any(words in text for text in one.warnings for words in said) for one in short])
    missed = np.mean([not one.low <= true <= one.high for one in found])
    LOG.info(
        "rare spikes: %.3f too short, %.3f of these told, %.3f missed", len(short) / repetitions, told, missed
    )
    assert told >= 0.75
    assert missed <= 0.75 * len(short) / repetitions
