"""How often change points are found where nothing changes, and where something does; `benches/changes.py` has more of the rates."""

import numpy as np
import pytest

from binomial import least, most
from trialwise import statistics as st

pytestmark = pytest.mark.operating
repeated = pytest.mark.parametrize("repetitions", [100, pytest.param(2000, marks=pytest.mark.soak)])
KINDS = {
    "normal": lambda random, n: random.normal(size=n),
    "heavy tails": lambda random, n: random.standard_cauchy(n),
    "skewed": lambda random, n: np.exp(random.normal(size=n)),
    "rounded": lambda random, n: np.round(random.normal(size=n)),
    "outliers": lambda random, n: random.normal(size=n) + 20 * (random.random(n) < 0.05),
    "spikes": lambda random, n: 100.0 + (random.random(n) < 0.05),
    "two values": lambda random, n: 100.0 + (random.random(n) < 0.2),
}

CORRELATED = ((12, 0.8), (20, 0.3), (20, 0.8), (50, 0.5), (100, 0.3), (100, 0.8))
"""Number of values, and correlation of neighbours."""
HIDING = {
    "rounded": lambda _, row: np.round(row),
    "two values": lambda _, row: 100.0 + (row > 0.84),
    "outliers": lambda random, row: row + 20 * (random.random(row.size) < 0.05),
}
"""What is made of series whose neighbours correlate, which then look as if they correlated less."""
STEPS = ((20, 2, 0.33), (20, 3, 0.55), (20, 10, 0.85), (100, 1, 0.65), (100, 2, 0.95))
"""Number of values, height of a step in standard deviations, and the power that look-back.md says."""


def moved(found):
    """Whether anything is said to have changed."""
    return bool(found.changes) or found.drift is not None


@repeated
@pytest.mark.parametrize("count", [20, 100, pytest.param(500, marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", KINDS)
def test_where_nothing_changes_one_series_in_twenty_at_most_shows_something(kind, count, repetitions):
    random = np.random.default_rng([count, len(kind)])
    found = [moved(st.change_points(KINDS[kind](random, count))) for _ in range(repetitions)]
    assert np.mean(found) <= most(0.05, repetitions)


@repeated
@pytest.mark.parametrize(("count", "rho"), CORRELATED)
def test_correlated_neighbours_are_allowed_for(autoregressive, count, rho, repetitions):
    rows = autoregressive(np.random.default_rng([count, int(10 * rho)]), count, rho, repetitions)
    found = np.mean([moved(st.change_points(row)) for row in rows])
    assert found <= most(0.05, repetitions)


@repeated
@pytest.mark.parametrize("count", [20, 100, pytest.param(400, marks=pytest.mark.soak)])
@pytest.mark.parametrize("kind", HIDING)
def test_correlation_that_ties_or_outliers_hide_is_allowed_for(autoregressive, kind, count, repetitions):
    random = np.random.default_rng([count, len(kind)])
    rows = autoregressive(random, count, 0.8, repetitions)
    found = np.mean([moved(st.change_points(HIDING[kind](random, row))) for row in rows])
    assert found <= most(0.05, repetitions)


@pytest.mark.soak
def test_means_of_blocks_allow_for_correlation_in_long_series(autoregressive):
    rows = autoregressive(np.random.default_rng(6), 1200, 0.8, 400)
    found = np.mean([moved(st.change_points(100.0 + (row > 0.84))) for row in rows])
    assert found <= most(0.05, 400)


def test_a_family_of_series_is_wrong_in_one_of_twenty_at_most():
    random = np.random.default_rng(3)
    histories, series = 60, 10
    found = [
        any(moved(st.change_points(row, alpha=0.05 / series)) for row in random.normal(size=(series, 40)))
        for _ in range(histories)
    ]
    assert np.mean(found) <= most(0.05, histories)


@repeated
@pytest.mark.parametrize(("count", "height", "power"), STEPS)
def test_a_step_in_the_middle_is_found(count, height, power, repetitions):
    random = np.random.default_rng([count, height])
    step = height * (np.arange(count) >= count // 2)
    found = [st.change_points(random.normal(size=count) + step) for _ in range(repetitions)]
    assert np.mean([bool(each.changes) for each in found]) >= least(power, repetitions)
    firsts = [each.changes[0] for each in found if each.changes]
    assert np.mean([abs(each.at - count // 2) <= 2 for each in firsts]) >= least(
        0.5 if height == 1 else 0.85, len(firsts)
    )
    extra = np.mean([len(each.changes) > 1 for each in found])
    assert extra <= most(0.05, repetitions)


@repeated
def test_the_interval_of_a_clear_change_covers_its_size(repetitions):
    random = np.random.default_rng(4)
    step = 3.0 * (np.arange(100) >= 60)
    found = [st.change_points(random.normal(size=100) + step).changes[0] for _ in range(repetitions)]
    assert np.mean([each.low <= 3 <= each.high for each in found]) >= least(0.92, repetitions)


@repeated
def test_a_line_is_no_change_at_one_place(repetitions):
    random = np.random.default_rng(5)
    found = [st.change_points(random.normal(size=100) + np.linspace(0, 6, 100)) for _ in range(repetitions)]
    assert np.mean([each.drift is not None for each in found]) >= least(0.9, repetitions)
