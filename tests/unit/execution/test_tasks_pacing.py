"""How many trials travel together."""

from __future__ import annotations

import pytest

from trialwise.execution.tasks.pacing import BATCH_SECONDS, MAX_TOGETHER, Pacing


def paced(trial: float) -> Pacing:
    pacing = Pacing()
    pacing.learn(10, 10 * trial)
    return pacing


def test_while_nothing_is_known_trials_travel_alone():
    assert (Pacing().batch(4, 1000), Pacing().in_hand(4)) == (1, 4)


@pytest.mark.parametrize(
    ("trial", "cores", "wanted"),
    [
        (0.01, 2, 10),
        (0.06, 2, 1),
        (5.0, 2, 1),
        (0.01, 10_000, 1000),
        (0.06, 10_000, 166),
        (0.0, 2, MAX_TOGETHER),
    ],
)
def test_batches_take_long_enough_for_their_journey_and_for_one_scheduler(
    trial: float, cores: int, wanted: int
):
    assert paced(trial).batch(cores, 10**9) == wanted


def test_towards_the_end_batches_become_smaller():
    sizes = [paced(BATCH_SECONDS / 50).batch(4, remaining) for remaining in (1000, 100, 16, 8, 3, 0)]
    assert sizes == [50, 12, 2, 1, 1, 1]


def test_long_trials_do_not_wait_behind_one_another():
    assert paced(60.0).in_hand(8) == 8
    assert paced(0.02).in_hand(8) == 16


def test_later_batches_weigh_an_eighth():
    """Of 0.9 s and then 1.7 s a trial, an eighth of the way is 1.0 s, and the next eighth is beyond the bound of long trials."""
    pacing = paced(0.9)
    pacing.learn(1, 1.7)
    assert pacing.in_hand(4) == 8
    pacing.learn(1, 1.7)
    assert pacing.in_hand(4) == 4
    for _ in range(200):
        pacing.learn(10, 0.19)
    assert pacing.batch(2, 10**9) == int(BATCH_SECONDS / 0.019)
