"""What lasts for the rest of a round: agreement with a regression, gaps, what cannot be told apart."""

import numpy as np
import pytest

from order_data import made
from trialwise import statistics as st
from trialwise.statistics.order.predecessors import read_history, read_trials


def named(found):
    return {(one.treatment, one.earlier) for one in found.lasting if one.named}


def test_history_ends_at_a_gap():
    trials = read_trials(
        [1, 2, 3, 4, 5, 6, 7],
        ["b", "a", "c", "a", "b", "c", "a"],
        [0, 0, 0, 1, 1, 1, 2],
        [2, 1, 4, 1, 2, 3, 3],
        follows=[True, True, True, True, True, False, True],
    )
    past = read_history(trials)
    ran = [{trials.labels[code] for code in np.flatnonzero(row)} for row in past.ran]
    assert ran == [set(), {"a"}, {"a", "b"}, set(), {"a"}, {"a", "b"}, set()]
    assert past.whole.tolist() == [True, True, False, True, True, False, False]


def test_the_effect_is_that_of_a_regression():
    """The whole model by least squares: position, the column of the culprit, drift; the level of the round is small here."""
    experiment = made([21, 3], rounds=60, balanced=False, culprits=0, lasting=1)
    found = st.carry_over(*experiment.arguments)
    assert named(found) == experiment.lasting
    assert not [pair for pair in found.pairs if pair.named]
    ((victim, culprit),) = experiment.lasting
    one = next(one for one in found.lasting if one.named)
    trials = read_trials(*experiment.arguments)
    rows = trials.treatment == trials.labels.index(victim)
    after = read_history(trials).ran[rows, trials.labels.index(culprit)]
    design = np.column_stack([np.ones(rows.sum()), after, trials.position[rows], trials.round[rows]])
    reference = np.linalg.lstsq(design, trials.values[rows], rcond=None)[0][1]
    assert one.effect == pytest.approx(reference, rel=0.05)
    assert one.low < reference < one.high
    assert one.percent == pytest.approx(100 * one.effect / trials.values[rows][~after].mean(), rel=1e-6)
    assert (one.n_after, one.n_before) == (after.sum(), (~after).sum())
    assert one.alike == ()


def test_a_treatment_that_gets_slower_with_every_step_names_nobody():
    experiment = made([22, 4], rounds=40, balanced=False, culprits=0)
    slow = np.array(experiment.treatments) == "t2"
    values = experiment.values + 30 * experiment.values[slow].std() * slow * experiment.positions
    found = st.carry_over(values, *experiment.arguments[1:])
    assert not named(found)


def test_both_kinds_for_different_treatments():
    experiment = made([23, 9], rounds=48, balanced=False, culprits=1, lasting=1)
    found = st.carry_over(*experiment.arguments)
    assert named(found) == experiment.lasting
    assert {(pair.treatment, pair.predecessor) for pair in found.pairs if pair.named} == experiment.planted


def test_what_one_square_does_not_tell_apart_is_named_together():
    """In one Williams square of four each other treatment is told from the position in one way only."""
    experiment = made([24, 1], treatments=4, rounds=32, culprits=0, lasting=1)
    found = st.carry_over(*experiment.arguments)
    ((victim, culprit),) = experiment.lasting
    likes = {one.earlier: one.alike for one in found.lasting if one.named and one.treatment == victim}
    pairs = [pair for pair in found.pairs if pair.named and pair.treatment == victim]
    assert pairs or (
        culprit in likes and len(likes) == 3 and all(len(others) == 2 for others in likes.values())
    )


def test_a_predecessor_that_stood_for_what_lasts_is_said_to():
    """Right after the culprit it always has run, after others in half of the rounds: that alone stands out too."""
    rng = np.random.default_rng(6)
    rows = rng.permuted(np.tile(np.arange(5), (150, 1)), axis=1)
    ran = np.cumsum(rows == 1, axis=1) > 0
    values = 100 + rng.normal(size=rows.shape) + 40.0 * (ran & (rows == 0))
    rounds, positions = np.repeat(np.arange(150), 5), np.tile(np.arange(5), 150)
    found = st.carry_over(values.ravel(), rows.ravel(), rounds, positions)
    (one,) = (one for one in found.lasting if one.named)
    assert (one.treatment, one.earlier) == (0, 1)
    assert 1 in one.explains
    assert not [pair for pair in found.pairs if pair.named]


def test_without_permutations_it_is_not_asked_and_said_so():
    found = st.carry_over(*made([25, 1], lasting=1).arguments, permutations=0)
    assert found.lasting == ()
    assert "what lasts for the rest of a round was not looked for" in found.note


def test_too_few_trials_say_how_many_more():
    found = st.carry_over(*made([26, 1], rounds=12, balanced=False).arguments)
    assert not named(found)
    assert "too few trials to test what lasts" in found.note


def test_constant_values_last_for_nobody():
    experiment = made([27, 1], balanced=False)
    assert not named(st.carry_over(np.full(experiment.values.size, 3.0), *experiment.arguments[1:]))


def cold(seed, names, rounds, first):
    """Trials of which the first of a round takes so many times as long, and nothing else: rows of a table."""
    random = np.random.default_rng(seed)
    rows = random.permuted(np.tile(np.arange(len(names)), (rounds, 1)), axis=1)
    values = 10.0 * (1 + rows) * random.normal(1, 0.05, rows.shape)
    values[:, 0] *= first
    turns, places = np.repeat(np.arange(rounds), len(names)), np.tile(np.arange(len(names)), rounds)
    return values.ravel(), [names[code] for code in rows.ravel()], turns, places


@pytest.mark.parametrize("seed", [4, 7, 10, 17])
def test_a_cold_start_names_nobody_and_is_told(seed):
    """A slope over positions misfits a step, and the misfit would be laid on what ran earlier."""
    found = st.carry_over(*cold(seed, ["scan", "sort", "join"], 15, 2.0))
    assert not named(found)
    assert not [pair for pair in found.pairs if pair.named]
    assert found.first.p_value < 1e-6
    assert found.first.low > 0
