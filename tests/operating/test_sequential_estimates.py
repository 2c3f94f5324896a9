"""Coverage of sequential means: ESTIMATORS (a); of intervals of all samples: (b); of control variates: (d)."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from trialwise import statistics as st

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
    print(f"{name} {rule}: {100 * held:.1f} % at {trials:.0f} trials")
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
    print(f"{kind} p{percentile} n={n}: {100 * held:.1f} %")
    assert held >= 0.92 - 2.5 * np.sqrt(0.08 * 0.92 / repetitions) * (repetitions < 1000)


@repeated
@pytest.mark.parametrize(
    ("kind", "n", "least"), [("lognormal", 30, 0.89), ("lognormal", 100, 0.91), ("WebSearch", 30, 0.91)]
)
def test_pooled_means_of_skewed_sizes_hold_too_seldom(kind, n, least, repetitions):
    random = np.random.default_rng([13, n, *kind.encode()])
    found = [st.pooled_mean(trials_of(kind, n, random)) for _ in range(repetitions)]
    held = np.mean([one.low <= SIZES[kind][2] <= one.high for one in found])
    print(f"{kind} mean n={n}: {100 * held:.1f} %")
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
    print(f"sequential p90: {100 * held:.1f} % at {np.mean([one.n for one in found]):.0f} trials")
    assert held >= 0.935 - 2.5 * np.sqrt(0.06 * 0.94 / repetitions)


def spiky(n, random):
    """A fluid model that is nearly exact, but for one trial in fifty in which packets cost much."""
    fluid = random.lognormal(0, 0.5, n)
    packets = np.where(random.random(n) < 0.02, random.exponential(1, n), 0.02 * random.normal(size=n))
    return fluid + packets, fluid


MEANS = np.exp(0.125)


@pytest.mark.parametrize(
    ("n", "least", "most"), [(30, 0.35, 0.75), (100, 0.78, 0.93), (200, 0.88, 0.97), (400, 0.92, 0.98)]
)
@pytest.mark.parametrize("repetitions", [500, pytest.param(4000, marks=pytest.mark.soak)])
def test_few_spiky_residuals_make_an_interval_too_short(n, least, most, repetitions):
    """Without the guards: that is why they are there."""
    random = np.random.default_rng([15, n])
    held = []
    for _ in range(repetitions):
        y, x = spiky(n, random)
        found = st.control_variates(y, x, MEANS)
        held.append(found.controlled.low <= MEANS + 0.02 <= found.controlled.high)
    print(f"controlled n={n}: {100 * np.mean(held):.1f} %")
    assert least <= np.mean(held) <= most


@pytest.mark.parametrize("n", [30, 100, 200])
@pytest.mark.parametrize("repetitions", [500, pytest.param(4000, marks=pytest.mark.soak)])
def test_guarded_intervals_hold(n, repetitions):
    """At 4 %: plain below 200 trials; from there controlled, and never narrower than 2 %."""
    random = np.random.default_rng([16, n])
    held = []
    for _ in range(repetitions):
        y, x = spiky(n, random)
        found = st.control_variates(y, x, MEANS, precision=1)
        held.append(found.low <= MEANS + 0.02 <= found.high)
    print(f"guarded n={n}: {100 * np.mean(held):.1f} %")
    assert np.mean(held) >= 0.915 - 2.5 * np.sqrt(0.08 * 0.92 / repetitions)
