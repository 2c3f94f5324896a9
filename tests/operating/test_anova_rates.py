"""False alarms and power of analyses of variance of 4 x 2 treatments: METHODS f.

`.venv/bin/python tests/operating/test_anova_rates.py` prints the table of docs/concepts/statistics.md.
"""

import sys

import numpy as np
import pytest
from scipy.signal import lfilter

from trialwise import statistics as st

pytestmark = pytest.mark.operating
LEVELS = (4, 2)
METHODS = ("welch", "ordinary", "freedman_lane", "raw_permutation")
SIZES = (3, 5, 10)
PAIRS = ("games_howell", "tukey")
KINDS = {
    "normal": lambda random, shape: random.normal(size=shape),
    "lognormal": lambda random, shape: np.exp(random.normal(size=shape)),
    "unequal": lambda random, shape: (
        random.normal(size=shape) * np.array([3.0, 1.0, 1.0, 1.0]).reshape(-1, 1, 1)
    ),
    "bimodal": lambda random, shape: (
        random.choice([-2.0, 2.0], size=shape) + random.normal(scale=0.5, size=shape)
    ),
}


def table(values):
    """Trials of treatments, an array of levels of a, levels of b, trials."""
    a, b, _ = np.indices(values.shape)
    return {"a": a.ravel(), "b": b.ravel(), "y": values.ravel()}


def alarms(kind, n, method, repetitions, permutations=199, shift=0.0, start=1):
    """Share of experiments in which each term is significant at 5 %; `shift` is added to the first level of a."""
    random = np.random.default_rng([start, n])
    found = []
    for seed in range(repetitions):
        values = KINDS[kind](random, (*LEVELS, n))
        values[0] += shift
        result = st.anova(table(values), "y", ["a", "b"], method=method, permutations=permutations, seed=seed)
        found.append([row.p_value <= 0.05 for row in result.rows])
    return dict(zip(("a", "b", "a:b"), np.mean(found, axis=0), strict=True))


def slack(share, repetitions):
    """What Monte Carlo may add, in three of a thousand."""
    return 2.75 * np.sqrt(share * (1 - share) / repetitions) if repetitions < 4000 else 0.0


repeated = pytest.mark.parametrize("repetitions", [150, pytest.param(4000, marks=pytest.mark.soak)])


@repeated
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_false_alarms_of_the_default(kind, n, repetitions):
    most = 0.06 if kind == "normal" else 0.08
    assert max(alarms(kind, n, "welch", repetitions).values()) <= most + slack(most, repetitions)


@repeated
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("method", METHODS[1:])
def test_false_alarms_of_the_others_where_all_spreads_are_equal(method, n, repetitions):
    for kind in ("normal", "bimodal"):
        assert max(alarms(kind, n, method, repetitions).values()) <= 0.065 + slack(0.065, repetitions)


@repeated
def test_one_variance_for_all_treatments_is_not_enough_where_spreads_differ(repetitions):
    """METHODS f: .07 to .14 with three times the spread in one level."""
    found = alarms("unequal", 10, "ordinary", repetitions)["a"]
    assert found + slack(found, repetitions) >= 0.08


def unbalanced_alarms(method, repetitions, start=6):
    """Treatments of 4 to 20 trials; where they are few, the spread is three times as large."""
    random = np.random.default_rng(start)
    counts = np.array([[4, 6], [8, 10], [12, 15], [20, 20]])
    a, b = np.repeat(np.argwhere(counts), counts.ravel(), axis=0).T
    found = []
    for seed in range(repetitions):
        y = random.normal(size=a.size) * np.where(a == 0, 3.0, 1.0)
        rows = st.anova(
            {"a": a, "b": b, "y": y}, "y", ["a", "b"], method=method, permutations=199, seed=seed
        ).rows
        found.append([row.p_value <= 0.05 for row in rows])
    return dict(zip(("a", "b", "a:b"), np.mean(found, axis=0), strict=True))


@repeated
def test_few_trials_where_the_spread_is_large(repetitions):
    assert max(unbalanced_alarms("welch", repetitions).values()) <= 0.08 + slack(0.08, repetitions)
    for method in METHODS[1:]:
        assert unbalanced_alarms(method, repetitions)["a"] >= 0.15


@repeated
def test_power_is_near_that_of_ordinary_analysis(repetitions):
    """Of one level 1.5 standard deviations above the others."""
    welch, ordinary, permuted = (
        alarms("normal", 5, method, repetitions, shift=1.5)["a"] for method in METHODS[:3]
    )
    assert ordinary >= 0.7
    assert welch >= ordinary - 0.08 - slack(0.25, repetitions) / 2
    assert abs(permuted - ordinary) <= 0.03 + slack(0.25, repetitions) / 2


def samples(random, rho, trials, between=0.0, length=600):
    """Samples of trials, AR(1) with standard deviation 1 inside each, levels of trials `between` apart."""
    shape = (*LEVELS, trials, length + 200)
    inside = lfilter([1], [1, -rho], random.normal(size=shape) * np.sqrt(1 - rho**2))[..., 200:]
    return inside + between * random.normal(size=(*LEVELS, trials, 1))


def resampled_alarms(rho, repetitions, start=2):
    """The study's procedure: one trial of 600 samples for each treatment, resampled, ANOVA. Share of each term."""
    random = np.random.default_rng([start, round(100 * rho)])
    found = []
    for seed in range(repetitions):
        drawn = samples(random, rho, 1)[:, :, 0]
        for index, place in enumerate(np.ndindex(*LEVELS)):
            drawn[place] = st.resampled(drawn[place], seed=1000 * seed + index)
        rows = st.anova(table(drawn), "y", ["a", "b"], method="ordinary").rows
        found.append([row.p_value <= 0.05 for row in rows])
    return dict(zip(("a", "b", "a:b"), np.mean(found, axis=0), strict=True))


def trial_alarms(rho, between, trials, repetitions, start=3):
    """One number for each trial, its mean: share of experiments in which a is significant."""
    random = np.random.default_rng([start, round(100 * rho), trials])
    found = [
        st.anova(table(samples(random, rho, trials, between).mean(axis=-1)), "y", ["a", "b"]).row("a").p_value
        for _ in range(repetitions)
    ]
    return float(np.mean(np.array(found) <= 0.05))


@pytest.mark.parametrize("repetitions", [200, pytest.param(2000, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("rho", "expected"), [(0.0, 0.31), (0.5, 0.56), (0.9, 0.95)])
def test_resampling_fails_as_measured(rho, expected, repetitions, near):
    found = resampled_alarms(rho, repetitions)["a"]
    assert near(found, expected, repetitions, of=160)
    if rho == 0:
        assert near(found, st.RESAMPLING_FALSE_ALARMS, repetitions, of=2000, slack=0.005)


def test_resampling_makes_turning_points_pass():
    random = np.random.default_rng(4)
    dependent = samples(random, 0.9, 25).reshape(-1, 600)
    before = [st.turning_points(one).p_value <= 0.05 for one in dependent]
    after = [st.turning_points(st.resampled(one, seed)).p_value <= 0.05 for seed, one in enumerate(dependent)]
    assert np.mean(before) >= 0.99
    assert np.mean(after) <= 0.1


@pytest.mark.parametrize("repetitions", [200, pytest.param(2000, marks=pytest.mark.soak)])
def test_one_number_for_each_trial_keeps_the_level(repetitions):
    assert trial_alarms(0.9, 0.3, 5, repetitions) <= 0.06 + slack(0.06, repetitions)


def family_alarms(kind, n, method, repetitions, start=5):
    """Share of experiments in which any pair of the 8 treatments is significant at 5 %."""
    random = np.random.default_rng([start, n])
    return np.mean(
        [
            min(
                row.p_value
                for row in st.posthoc(
                    table(KINDS[kind](random, (*LEVELS, n))), "y", ["a", "b"], method=method
                ).rows
            )
            <= 0.05
            for _ in range(repetitions)
        ]
    )


@pytest.mark.parametrize("repetitions", [150, pytest.param(4000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", ["normal", "unequal"])
def test_all_pairs_together_keep_the_level(kind, repetitions):
    assert family_alarms(kind, 5, "games_howell", repetitions) <= 0.08 + slack(0.08, repetitions)
    if kind == "normal":
        assert family_alarms(kind, 5, "tukey", repetitions) <= 0.06 + slack(0.06, repetitions)


def show(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def rounded(shares):
    return {term: round(float(share), 3) for term, share in shares.items()}


def main(repetitions):
    show(
        "power",
        rounded({method: alarms("normal", 5, method, repetitions, shift=1.5)["a"] for method in METHODS}),
    )
    show("unbalanced", *(rounded(unbalanced_alarms(method, repetitions)) for method in METHODS))
    for rho in (0.0, 0.5, 0.9):
        show("resampled", rho, rounded(resampled_alarms(rho, repetitions // 2)))
    show("one number for each trial", trial_alarms(0.9, 0.3, 5, repetitions // 2))
    for method in METHODS:
        for kind in KINDS:
            for n in SIZES:
                show(method, kind, n, rounded(alarms(kind, n, method, repetitions)))
    for kind in KINDS:
        for n in SIZES:
            found = {method: family_alarms(kind, n, method, repetitions // 4) for method in PAIRS}
            show("all pairs", kind, n, rounded(found))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
