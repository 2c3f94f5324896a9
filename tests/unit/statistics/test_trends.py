"""Trends over positions and rounds against statsmodels: least squares with treatments as dummies, errors by leaving out rounds."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from trialwise.statistics.order.predecessors import FIRST, read_trials
from trialwise.statistics.tests.trends import trends

ROUNDS, TREATMENTS = 9, 4


def trials_of(seed, *, wave=0.0, missing=0):
    random = np.random.default_rng(seed)
    codes = np.concatenate([random.permutation(TREATMENTS) for _ in range(ROUNDS)])
    rounds, positions = np.repeat(np.arange(ROUNDS), TREATMENTS), np.tile(np.arange(TREATMENTS), ROUNDS)
    noise = random.normal(size=codes.size) * (1 + codes)
    values = 10 * codes + noise + 0.2 * positions + wave * np.sin(rounds * 2 * np.pi / ROUNDS)
    values[(codes == 0) & (rounds < missing)] = np.nan
    return read_trials(values, codes.tolist(), rounds, positions)


def reference(trials):
    """By name: slope and jackknife standard error in the data's unit; and the residuals."""
    known = ~np.isnan(trials.values)
    codes, values, rounds = trials.treatment[known], trials.values[known], trials.round[known]
    spreads = np.array([values[codes == code].std(ddof=1) for code in range(TREATMENTS)])
    centres = np.array([values[codes == code].mean() for code in range(TREATMENTS)])
    columns = {
        "drift": rounds,
        "position": trials.position[known],
        "first": (trials.predecessor[known] == FIRST).astype(float),
    }
    scores = (values - centres[codes]) / spreads[codes]
    made = np.column_stack([within(column, codes) for column in columns.values()])
    fit = sm.OLS(scores, made).fit()
    left_out = np.array(
        [sm.OLS(scores[rounds != one], made[rounds != one]).fit().params for one in range(ROUNDS)]
    )
    changes = ((left_out - fit.params) ** 2).sum(axis=0)
    errors = np.sqrt((ROUNDS - 1) / ROUNDS * changes) * spreads.mean()
    slopes = fit.params * spreads.mean()
    return {name: (slopes[at], errors[at]) for at, name in enumerate(columns)}, fit.resid


def within(column, codes):
    means = np.array([column[codes == code].mean() for code in range(TREATMENTS)])
    return column - means[codes]


@pytest.mark.parametrize("seed", range(4))
def test_slopes_and_intervals_are_those_of_least_squares_without_each_round_in_turn(seed):
    trials = trials_of(seed, missing=5)
    found, (expected, _) = trends(trials, 0.9), reference(trials)
    law = stats.t(ROUNDS - 2)
    for name in ("position", "first"):
        slope, error = expected[name]
        trend = found[name]
        assert trend.estimate == pytest.approx(slope, rel=1e-8)
        assert trend.high - trend.low == pytest.approx(2 * law.ppf(0.95) * error, rel=1e-8)
        assert trend.p_value == pytest.approx(2 * law.sf(abs(slope / error)), rel=1e-8)
        assert trend.n == ROUNDS


def test_errors_of_the_drift_grow_by_the_correlation_of_neighbouring_rounds():
    trials = trials_of(1, wave=8)
    found, (expected, residuals) = trends(trials, 0.9)["drift"], reference(trials)
    means = residuals.reshape(ROUNDS, TREATMENTS).mean(axis=1)
    r = float(means[1:] @ means[:-1] / (means @ means))
    assert r > 0.3
    slope, error = expected["drift"]
    wide = error * np.sqrt((1 + r) / (1 - r))
    assert found.estimate == pytest.approx(slope, rel=1e-8)
    assert found.high - found.low == pytest.approx(2 * stats.t(ROUNDS - 2).ppf(0.95) * wide, rel=1e-6)
    assert found.p_value == pytest.approx(2 * stats.t(ROUNDS - 2).sf(abs(slope / wide)), rel=1e-6)


def test_values_that_never_change_show_no_trend():
    codes = [code for _ in range(ROUNDS) for code in range(TREATMENTS)]
    rounds, positions = np.repeat(np.arange(ROUNDS), TREATMENTS), np.tile(np.arange(TREATMENTS), ROUNDS)
    shuffled = np.random.default_rng(2).permuted(positions.reshape(ROUNDS, -1), axis=1).ravel()
    found = trends(read_trials(np.full(rounds.size, 3.0), codes, rounds, shuffled), 0.9)
    assert {(found[name].estimate, found[name].p_value) for name in ("position", "drift")} == {(0.0, 1.0)}
