"""Blocks of trials as the units of a sequential estimate."""

import numpy as np
import pytest

from trialwise import statistics as st

SIZE = 4


def trials(blocks: int, seed: int = 1) -> np.ndarray:
    """Shape (blocks, trials, samples)."""
    return np.random.default_rng(seed).exponential(size=(blocks, SIZE, 5))


def test_a_block_is_what_a_trial_is_to_the_rule_of_its_estimand():
    found = st.SequentialBlocks(st.SequentialQuantile(50, 1, start=8), SIZE, 50.0)
    values = trials(12)
    for number, block in enumerate(values):
        for trial in block:
            found.add(number, trial)
    plain = st.SequentialQuantile(50, 1, start=8).until_known(values.reshape(12, -1))
    state = found.state
    assert (state.estimate, state.low, state.high) == (plain.estimate, plain.low, plain.high)
    assert (state.n, state.next_look) == (SIZE * plain.n, SIZE * plain.next_look)
    assert state.forecast.trials == SIZE * plain.forecast.trials
    assert "looks from 8 blocks on" in state.method
    assert found.gain == st.block_gain(st.pooled_influence(values.reshape(48, 5), 50.0), SIZE)


def test_of_one_number_for_each_trial_a_block_gives_the_mean():
    found = st.SequentialBlocks(st.SequentialMean(1, start=8), SIZE, None)
    values = trials(9)[:, :, 0]
    for number, block in enumerate(values):
        for trial in block:
            found.add(number, trial)
    assert found.state.estimate == pytest.approx(values.mean())
    assert found.state.high == st.SequentialMean(1, start=8).until_known(values.mean(axis=1)).high
    assert found.gain == st.block_gain(values.ravel(), SIZE)


def test_a_block_that_does_not_become_whole_is_left_out():
    found = st.SequentialBlocks(st.SequentialPooledMean(1, start=8), SIZE, None)
    values = trials(10)
    for number, block in enumerate(values):
        for trial in block[: 3 if number == 4 else SIZE]:
            found.add(number, trial)
    whole = np.delete(values, 4, axis=0)
    assert (found.blocks, found.state.n) == (9, 36)
    assert found.state.estimate == pytest.approx(whole.mean())
    assert found.state.next_look == 39 + SIZE, "the tenth look-point is one whole block away"


def test_the_first_look_is_as_many_blocks_away_as_the_rule_begins_with():
    found = st.SequentialBlocks(st.SequentialMean(1, start=8), SIZE, None)
    for number, block in enumerate(trials(3)[:, :, 0]):
        for trial in block:
            found.add(number, trial)
    assert (found.state.n, found.state.next_look) == (3 * SIZE, 8 * SIZE)
