"""Sequential estimates with control variates, against the plain ones and against the regression at the end."""

import numpy as np
import pytest

from trialwise import statistics as st

KNOWN = np.exp(0.125)


def fit(trials, controls, precision):
    return st.control_variates(
        [each[0] for each in trials], controls, [KNOWN], precision=precision, surrogate_trials=100_000
    )


def drawn(n=4000, seed=1, noise=0.2):
    random = np.random.default_rng(seed)
    x = random.lognormal(0, 0.5, n)
    return x + noise * random.normal(size=n) + 1, x


def run(sequence, y, x):
    for value, control in zip(y, x, strict=True):
        if sequence.add(value, None if control is None else [control]):
            break
    return sequence.state


def test_it_stops_earlier_by_the_controlled_interval():
    y, x = drawn()
    sequence = st.SequentialControlled(st.SequentialMean(1.5), fit)
    state = run(sequence, y, x)
    plain = st.sequential_mean(y, 1.5)
    expected = st.control_variates(
        y[: state.n], x[: state.n], [KNOWN], precision=1.5, surrogate_trials=100_000
    )
    assert state.stopped
    assert 100 <= state.n < plain.n / 2
    assert (state.low, state.high) == (expected.controlled.low, expected.controlled.high)
    assert sequence.found.plain.low == expected.plain.low
    assert "control variates" in state.method
    assert "looks from 30 trials on" in state.method
    with pytest.raises(ValueError, match="stopped after"):
        sequence.add(1.0, [1.0])


def test_few_trials_are_looked_at_without_controls():
    """The plain interval is narrow before there are a hundred, and is what is given."""
    y, x = drawn(noise=0.01)
    state = run(st.SequentialControlled(st.SequentialMean(15), fit), y, x)
    plain = st.sequential_mean(y, 15)
    assert plain.n < 100
    assert (state.n, state.low, state.high) == (plain.n, plain.low, plain.high)


def test_the_forecast_is_that_of_the_controlled_interval():
    y, x = drawn()
    sequence = st.SequentialControlled(st.SequentialMean(1), fit)
    state = run(sequence, y[:60], x[:60])
    assert not state.stopped
    assert state.n == 57
    assert 200 <= state.forecast.trials < st.sequential_mean(y[:60], 1).forecast.trials / 2
    assert state.forecast.low <= state.forecast.trials <= state.forecast.high


def test_one_trial_that_makes_most_of_the_residuals_keeps_the_rule_from_stopping():
    y, x = drawn(noise=0.01)
    y[20] += 5
    state = run(st.SequentialControlled(st.SequentialMean(3), fit), y, x)
    plain = st.sequential_mean(y, 3)
    assert (state.n, state.low) == (plain.n, plain.low)
    assert run(st.SequentialControlled(st.SequentialMean(3), fit), *drawn(noise=0.01)).n < plain.n / 2


def test_a_trial_that_stands_for_lost_ones_takes_the_controls_away():
    y, x = drawn()
    controls = [None if place == 40 else control for place, control in enumerate(x)]
    sequence = st.SequentialControlled(st.SequentialMean(3), fit)
    state = run(sequence, y, controls)
    assert state.n == st.sequential_mean(y, 3).n
    assert sequence.found is None
    assert any("gave no values" in text for text in state.warnings)


def test_useless_controls_leave_the_plain_interval():
    y, _ = drawn(noise=1)
    x = np.random.default_rng(9).lognormal(0, 0.5, y.size)
    state = run(st.SequentialControlled(st.SequentialMean(4), fit), y, x)
    plain = st.sequential_mean(y, 4)
    assert plain.stopped
    assert state.n <= plain.n


def test_what_cannot_be_fitted_leaves_the_plain_interval():
    y, _ = drawn()
    state = run(st.SequentialControlled(st.SequentialMean(3), fit), y, np.ones(y.size))
    assert state.n == st.sequential_mean(y, 3).n


def test_pooled_estimates_take_the_samples_of_trials():
    random = np.random.default_rng(2)
    trials = random.lognormal(random.normal(0, 0.3, (3000, 1)), 0.5, (3000, 20))
    x = np.log(trials).mean(axis=1)

    def quantile(units, controls, precision):
        return st.control_variates_quantile(units, 90, controls, [0.0], precision=precision)

    sequence = st.SequentialControlled(st.SequentialQuantile(90, 2), quantile)
    state = run(sequence, trials, x)
    plain = st.sequential_quantile(trials, 90, 2)
    assert state.n < plain.n
    assert state.low < np.exp(1.281552 * np.sqrt(0.3**2 + 0.5**2)) < state.high


def test_only_the_geometric_rule_has_controls():
    with pytest.raises(ValueError, match="geometric rule"):
        st.SequentialControlled(st.SequentialMean(1, rule="anytime"), fit)


def test_columns_that_are_determined_are_left_out():
    x = np.random.default_rng(3).normal(size=(50, 2))
    columns = np.column_stack([x, x @ [1, 2], np.ones(50), x[:, 0] ** 2])
    assert st.independent_controls(columns) == [0, 1, 4]
