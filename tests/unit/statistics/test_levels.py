"""Means of controls by levels, against enumeration and repetition, and how many lists a level gets, against an optimiser."""

import numpy as np
import pytest
from numpy.linalg import lstsq
from scipy.optimize import minimize

from trialwise import statistics as st


def test_a_dear_control_is_its_regression_on_cheap_ones_at_their_means() -> None:
    random = np.random.default_rng(1)
    cheap = random.normal([2.0, 1.0], 1.0, (90, 2))
    dear = 3 + cheap @ [1.5, -0.5] + 0.2 * random.normal(size=90)
    spread = np.cov(cheap.T)
    found = st.LevelMeans.of([2.0, 1.0], 10_000, spread).extended(cheap, dear)
    design = np.column_stack([np.ones(90), cheap - [2.0, 1.0]])
    fitted, (rest,), *_ = lstsq(design, dear, rcond=None)
    assert found.means == pytest.approx([2.0, 1.0, fitted[0]])
    own = rest / (90 - 3) * np.linalg.inv(design.T @ design)[0, 0]
    assert found.covariance[2, 2] == pytest.approx(own + fitted[1:] @ spread @ fitted[1:] / 10_000)
    assert found.covariance[:2, 2] == pytest.approx(spread @ fitted[1:] / 10_000)
    assert found.lists == 90


def test_the_covariance_is_that_of_repetitions_with_ties_and_a_control_that_says_nothing() -> None:
    """Poisson counts have ties; the second dear control depends on nothing cheap, and one cheap control is a copy."""
    random = np.random.default_rng(2)
    repetitions, few, many = 2000, 60, 300
    means, told = [], []
    for _ in range(repetitions):
        drawn = random.poisson(4, (few + many, 1)).astype(float)
        cheap = np.hstack([drawn, 2 * drawn])
        dear = np.column_stack([drawn[:few, 0] ** 2, random.exponential(1, few)])
        base = st.LevelMeans.of(cheap[few:].mean(axis=0), many, np.cov(cheap[few:].T))
        found = base.extended(cheap[:few], dear)
        means.append(found.means)
        told.append(found.covariance)
    assert np.mean(means, axis=0)[:2] == pytest.approx([4, 8], rel=0.02)
    assert np.mean(means, axis=0)[2:] == pytest.approx([20, 1], rel=0.02)  # E X² = 4 + 16
    seen, expected = np.cov(np.array(means).T), np.mean(told, axis=0)
    # X² is no straight line in X, so that its errors depend on X: a tenth.
    assert np.diag(expected) == pytest.approx(np.diag(seen), rel=0.12)
    assert expected[0, 2] == pytest.approx(seen[0, 2], rel=0.25)


def levels_of(random: np.random.Generator, n: int = 4000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    cheap = random.normal(size=n)
    middle = cheap + 0.5 * random.normal(size=n)
    return middle + 0.2 * random.normal(size=n), middle, cheap


def test_lists_of_levels_are_those_that_an_optimiser_finds() -> None:
    y, middle, cheap = levels_of(np.random.default_rng(3))
    costs = [1.0, 0.1, 0.001]
    found = st.allocate(y, [middle, cheap], ["packets", "links", "fluid"], costs)
    assert [level.name for level in found.levels] == ["packets", "links", "fluid"]
    variances = np.array([level.variance for level in found.levels])
    assert variances == pytest.approx([0.04, 0.25, 1.0], rel=0.1)
    seconds = np.array([level.seconds for level in found.levels])
    assert seconds == pytest.approx([1.101, 0.101, 0.001])
    # The least variance within a budget of 1, over the logarithms of the numbers of lists.
    best = minimize(
        lambda logs: float(np.sum(variances / np.exp(logs))) * float(np.sum(np.exp(logs) * seconds)),
        np.zeros(3),
    )
    shares = np.exp(best.x - best.x[0])
    assert [level.share for level in found.levels] == pytest.approx(shares, rel=1e-3)
    assert found.gain == pytest.approx(y.var(ddof=1) * 1.0 / best.fun, rel=1e-6)


def test_a_level_that_costs_more_than_it_saves_is_dropped() -> None:
    random = np.random.default_rng(4)
    y, middle, cheap = levels_of(random)
    names = ["packets", "links", "fluid"]
    dear = st.allocate(y, [middle, cheap], names, [1.0, 0.9, 0.001])
    assert ([level.name for level in dear.levels], dear.dropped) == (["packets", "fluid"], ("links",))
    worthless = st.allocate(
        y, [random.permutation(middle), random.permutation(cheap)], names, [1.0, 0.1, 0.05]
    )
    assert (len(worthless.levels), worthless.dropped) == (1, ("links", "fluid"))
    assert worthless.gain == pytest.approx(1)
    # One that is a copy of another adds nothing but its cost; constant ones are as good as none.
    copied = st.allocate(y, [cheap, cheap], names, [1.0, 0.1, 0.001])
    assert copied.dropped == ("links",)
    constant = st.allocate(y, [np.ones(y.size), cheap], names, [1.0, 0.1, 0.001])
    assert constant.dropped == ("links",)


def test_pilots_that_say_too_little_are_refused() -> None:
    y = np.arange(5.0)
    with pytest.raises(ValueError, match="take at least 6 lists in the pilot; there are 5"):
        st.allocate(y, [np.random.default_rng(1).normal(size=(5, 3))], ["packets", "fluid"], [1, 0.1])
    with pytest.raises(ValueError, match="as many names and seconds"):
        st.allocate(y, [y**2], ["packets", "fluid"], [1, -0.1])
    with pytest.raises(ValueError, match="take at least 11 trials"):
        st.LevelMeans.of([0.0], 100, [[1.0]]).extended(np.ones(8), np.arange(8.0))
