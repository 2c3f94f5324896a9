"""The window over the plan: whatever order things come back in, they are taken in plan order, each once."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from trialwise.execution.tasks.in_flight import MAX_LOSSES, Window
from trialwise.store.records import TrialRow
from trialwise.trials.base import TrialOutcome


def rows(number: int) -> list[TrialRow]:
    return [
        TrialRow(n, 1, "planned", "-", {}, 1, n, 1, "random", n, warmup=False, planned_start=None)
        for n in range(1, number + 1)
    ]


def outcome(place: int) -> TrialOutcome:
    return TrialOutcome("finished", 0.0, float(place))


def taken(window: Window) -> list[tuple[int, float]]:
    found: list[tuple[int, float]] = []
    while (one := window.take()) is not None:
        found.append((one[0].number, one[1].finished))
    return found


@given(st.integers(0, 60), st.integers(1, 7), st.randoms(use_true_random=False), st.floats(0, 0.5))
def test_any_order_of_return_and_any_losses_give_the_plan_order(
    number: int, size: int, chance: random.Random, loss: float
):
    window, flights, found = Window(rows(number)), [], []
    losses = dict.fromkeys(range(number), 0)
    while window.head is not None:
        while (window.has_lost or window.remaining) and len(flights) < 5:
            flights.append(window.hand_out(size, 0.0))
        places = flights.pop(chance.randrange(len(flights)))
        if chance.random() < loss and all(losses[place] + 1 < MAX_LOSSES for place in places):
            for place in places:
                losses[place] += 1
            assert window.lose(places) == []
        else:
            window.come_back(places, [outcome(place) for place in places])
        found += taken(window)
    assert found == [(n + 1, float(n)) for n in range(number)]
    assert (window.in_hand, window.ahead, window.remaining) == (0, 0, 0)


def test_what_is_lost_goes_out_first_and_alone():
    window = Window(rows(5))
    first = window.hand_out(3, 1.0)
    assert window.lose(first) == []
    assert [window.hand_out(3, 2.0) for _ in range(4)] == [[0], [1], [2], [3, 4]]


def test_it_knows_since_when_the_first_of_those_that_are_out_is_out():
    window = Window(rows(4))
    assert window.oldest is None
    first, second = window.hand_out(2, 1.0), window.hand_out(1, 2.0)
    assert window.oldest == 1.0
    assert window.lose(first) == []
    assert window.oldest == 2.0
    again = window.hand_out(1, 3.0)
    window.come_back(second, [outcome(2)])
    assert (again, window.oldest) == ([0], 3.0)


def test_a_trial_that_is_lost_too_often_is_given_back_as_hopeless_and_keeps_its_place():
    window = Window(rows(2))
    for _ in range(MAX_LOSSES - 1):
        assert window.lose(window.hand_out(1, 0.0)) == []
    assert window.lose(window.hand_out(1, 0.0)) == [0]
    window.come_back([0], [TrialOutcome("failed", None, 9.0)])
    assert taken(window) == [(1, 9.0)]
    assert window.hand_out(5, 0.0) == [1]


def test_nothing_is_taken_past_one_that_is_missing():
    window = Window(rows(3))
    places = [window.hand_out(1, 0.0) for _ in range(3)]
    window.come_back(places[2], [outcome(2)])
    window.come_back(places[1], [outcome(1)])
    assert taken(window) == []
    assert window.ahead == 3
    window.come_back(places[0], [outcome(0)])
    assert [number for number, _ in taken(window)] == [1, 2, 3]
