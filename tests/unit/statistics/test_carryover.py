"""Carry-over: agreement with an ordinary regression, missing trials, what cannot be told."""

import itertools

import numpy as np
import pytest

from order_data import made, named, williams
from trialwise import statistics as st
from trialwise.statistics.order.predecessors import FIRST, UNKNOWN, read_trials


def test_predecessors():
    trials = read_trials(
        [1, 2, 3, 4, np.nan, 6, 7],
        ["b", "a", "c", "a", "b", "c", "a"],
        [0, 0, 0, 1, 1, 1, 2],
        [2, 1, 4, 1, 2, 3, 3],
    )
    label = [*trials.labels, "unknown", "first"]
    assert [trials.labels[code] for code in trials.treatment] == ["a", "b", "c", "a", "b", "c", "a"]
    assert [label[code] for code in trials.predecessor] == [
        "first",
        "a",
        "unknown",
        "first",
        "a",
        "b",
        "unknown",
    ]
    assert (label[FIRST], label[UNKNOWN]) == ("first", "unknown")


def test_williams_rows_are_balanced():
    rows = williams(6)
    follows = {(before, after) for row in rows for before, after in itertools.pairwise(row)}
    assert len(follows) == 30


def test_effects_are_those_of_a_regression():
    """One treatment with its own position term: the whole model by least squares, the named pair taken out."""
    experiment = made([11, 3], rounds=60, balanced=False)
    found = st.carry_over(*experiment.arguments)
    assert named(found, 0.02) == experiment.planted
    ((victim, culprit),) = experiment.planted
    pair = next(one for one in found.pairs if (one.treatment, one.predecessor) == (victim, culprit))
    trials = read_trials(*experiment.arguments)
    own = trials.treatment == trials.labels.index(victim)
    rows = own & (trials.predecessor >= 0)
    after = trials.predecessor[rows] == trials.labels.index(culprit)
    design = np.column_stack([np.ones(rows.sum()), after, trials.position[rows], trials.round[rows]])
    reference = np.linalg.lstsq(design, trials.values[rows], rcond=None)[0][1]
    assert pair.effect == pytest.approx(reference, rel=0.1)
    assert pair.low < reference < pair.high
    assert pair.percent == pytest.approx(100 * pair.effect / trials.values[rows][~after].mean(), rel=0.01)
    assert pair.n == after.sum()


def test_units_and_names_change_nothing():
    experiment = made([12, 1])
    plain = st.carry_over(*experiment.arguments)
    scaled = st.carry_over(1000 * experiment.values, *experiment.arguments[1:])
    assert [pair.p_value for pair in scaled.pairs] == [pair.p_value for pair in plain.pairs]
    assert [pair.effect for pair in scaled.pairs] == pytest.approx(
        [1000 * pair.effect for pair in plain.pairs]
    )
    order = np.random.default_rng(1).permutation(experiment.values.size)
    shuffled = st.carry_over(*(np.asarray(part)[order] for part in experiment.arguments))
    assert named(shuffled) == named(plain)
    assert named(
        st.carry_over(
            *experiment.arguments[:2], [f"r{turn:02}" for turn in experiment.rounds], experiment.positions
        )
    ) == named(plain)


def test_without_permutations_the_pair_is_found_too():
    experiment = made([13, 1])
    found = st.carry_over(*experiment.arguments, permutations=0)
    assert named(found, 0.02) == experiment.planted
    assert "Šidák" in found.method


def test_position_and_drift_have_the_units_of_the_values():
    rows = np.vstack([williams(4)] * 10)
    rng = np.random.default_rng(5)
    values = 100 + 2.0 * np.arange(4) + 0.5 * np.arange(40)[:, None] + rng.normal(size=rows.shape)
    rounds, positions = np.repeat(np.arange(40), 4), np.tile(np.arange(4), 40)
    found = st.carry_over(values.ravel(), rows.ravel(), rounds, positions)
    assert found.position.low < 2.0 < found.position.high
    assert found.drift.low < 0.5 < found.drift.high
    assert max(found.position.p_value, found.drift.p_value) < 0.001
    assert found.first.low < 0 < found.first.high
    assert not named(found)


def test_a_fixed_order_tells_nothing_about_predecessors():
    values = np.random.default_rng(1).normal(size=60)
    found = st.carry_over(values, ["a", "b", "c"] * 20, np.repeat(np.arange(20), 3), [0, 1, 2] * 20)
    assert not named(found)
    assert all(np.isnan(pair.p_value) for pair in found.pairs)
    assert "vary the order" in found.note


def test_of_two_predecessors_both_are_named_with_opposite_effects():
    experiment = made([14, 2], treatments=3, rounds=60, balanced=False)
    found = st.carry_over(*experiment.arguments)
    ((victim, culprit),) = experiment.planted
    effects = {pair.predecessor: pair.effect for pair in found.pairs if pair.treatment == victim}
    assert experiment.planted <= named(found, 0.02)
    assert effects[culprit] > 0
    assert sum(effects.values()) == pytest.approx(0, abs=1e-6 * effects[culprit])


def test_too_few_trials_say_how_many_more():
    found = st.carry_over(*made([15, 1], rounds=6).arguments)
    assert not named(found)
    assert "more would do" in found.note


def test_nothing_but_first_trials():
    found = st.carry_over([1.0, 2.0, 3.0], ["a", "b", "a"], [0, 1, 2], [0, 0, 0])
    assert found.pairs == ()
    assert found.note


def test_constant_values_have_no_effect():
    experiment = made([16, 1])
    found = st.carry_over(np.full(experiment.values.size, 3.0), *experiment.arguments[1:])
    assert not named(found)


def test_a_treatment_that_never_varies_is_in_no_pair():
    experiment = made([16, 2], slope=0.5)
    values = np.where(np.array(experiment.treatments) == "t2", 0.0, experiment.values)
    found = st.carry_over(values, *experiment.arguments[1:])
    assert not [pair for pair in found.pairs if pair.named and pair.treatment == "t2"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, 2], ["a"], [0, 0], [0, 1]), "1 treatments for 2 values"),
        (([1, 2], ["a", "b"], [0, 0], [1, 1]), "the same round and position"),
        (([1, float("inf")], ["a", "b"], [0, 0], [0, 1]), "infinite"),
    ],
)
def test_refusals(arguments, words):
    with pytest.raises(ValueError, match=words):
        st.carry_over(*arguments)


@pytest.mark.parametrize("follows", [None, [False] * 6])
@pytest.mark.parametrize(
    ("values", "measured"),
    [
        ([np.nan] * 6, 0),
        ([np.nan, 2.0, np.nan, np.nan, np.nan, np.nan], 1),
        ([np.nan, 2.0, np.nan, np.nan, np.nan, 3.0], 2),
    ],
)
def test_where_no_trial_has_a_value_and_a_known_predecessor_there_are_no_pairs(values, measured, follows):
    """Six trials of which most failed."""
    known = [True] * 6 if follows is None else follows
    found = st.carry_over(values, list("abcabc"), [1, 1, 1, 2, 2, 2], [1, 2, 3] * 2, follows=known)
    assert found.n == measured
    assert found.n_pairs == (0 if follows else measured)
    assert all(np.isnan(pair.p_value) for pair in found.pairs)
    assert not any(pair.named for pair in (*found.pairs, *found.lasting))
    assert np.isnan(found.position.estimate)


@pytest.mark.parametrize("value", [0.3653452685421995, 11.99, 1e-9, 7e12])
def test_a_constant_has_no_effects_at_all(value):
    """What rounding leaves of a difference of equal numbers is no effect: all of them are 0, not 1e-13 %."""
    generator = np.random.default_rng(5)
    orders = [generator.permutation(4) for _ in range(40)]
    rounds, positions = np.repeat(np.arange(40), 4), np.tile(np.arange(1, 5), 40)
    found = st.carry_over(np.full(160, value), np.concatenate(orders), rounds, positions)
    assert found.pairs
    assert found.lasting
    for pair in (*found.pairs, *found.lasting):
        assert (pair.effect, pair.percent) == (0.0, 0.0)
