"""Orders are uniform (chi-square over all orders, with a fixed seed), and balanced where they are to be."""

import itertools
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from trialwise.design.orders import order_of_round, round_order, rounds_in_block, williams_rows
from trialwise.design.treatments import Treatment

TREATMENTS = [Treatment((("a", level),)) for level in "wxyz"]


def some(number):
    return [Treatment((("a", level),)) for level in range(number)]


def neighbours(rounds):
    return Counter(pair for order in rounds for pair in itertools.pairwise(order))


def test_all_orders_are_equally_likely():
    rounds = 4800
    counts = Counter(round_order("random", TREATMENTS, 11, 1, round_) for round_ in range(rounds))
    observed = [counts[order] for order in itertools.permutations(TREATMENTS)]
    assert sum(observed) == rounds
    assert chisquare(observed).pvalue > 0.001


def test_orders_of_successive_rounds_are_not_related():
    last_then_first = Counter()
    orders = [round_order("random", TREATMENTS, 12, 1, round_) for round_ in range(4000)]
    for before, after in itertools.pairwise(orders):
        last_then_first[before[-1], after[0]] += 1
    pairs = [last_then_first[pair] for pair in itertools.product(TREATMENTS, repeat=2)]
    assert chisquare(pairs).pvalue > 0.001


def test_the_order_does_not_depend_on_that_of_the_file():
    for round_ in range(20):
        one = round_order("random", TREATMENTS, 1, 1, round_)
        assert one == round_order("random", TREATMENTS[::-1], 1, 1, round_)


def test_series_have_orders_of_their_own():
    orders = {
        series: [round_order("random", TREATMENTS, 1, series, r) for r in range(10)] for series in (1, 2)
    }
    assert orders[1] != orders[2]


def test_the_rows_of_four_are_those_of_williams():
    assert williams_rows(4) == ((0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1))
    assert williams_rows(1) == ((0,),)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 14), st.integers(0, 2**63 - 1), st.integers(1, 3), st.integers(1, 3))
def test_whole_squares_balance_neighbours_and_positions(number, seed, series, squares):
    treatments = some(number)
    block = rounds_in_block("balanced", number)
    rounds = [round_order("balanced", treatments, seed, series, r + 1) for r in range(squares * block)]
    assert all(sorted(order, key=treatments.index) == treatments for order in rounds)
    each = squares * (1 if number % 2 == 0 else 2)
    assert neighbours(rounds) == dict.fromkeys(itertools.permutations(treatments, 2), each)
    places = Counter(place for order in rounds for place in enumerate(order))
    assert places == dict.fromkeys(itertools.product(range(number), treatments), each)


def test_balanced_rounds_are_shuffled_and_every_treatment_is_first_equally_often():
    firsts = Counter(round_order("balanced", TREATMENTS, seed, 1, 1) for seed in range(2400))
    assert set(firsts) == set(itertools.permutations(TREATMENTS))  # labels and rows together reach all 24
    assert chisquare(list(firsts.values())).pvalue > 0.001
    squares = [
        tuple(round_order("balanced", TREATMENTS, 5, 1, 4 * square + row) for row in range(1, 5))
        for square in range(50)
    ]
    assert len(set(squares)) > 30  # of 144 that there are: 4! orders of the rows of 6 squares


def test_half_of_the_rounds_are_fixed_in_every_two():
    rules = [order_of_round("fixed+random", 3, 1, round_) for round_ in range(1, 2001)]
    twos = Counter(zip(rules[::2], rules[1::2], strict=True))
    assert set(twos) == {("fixed", "random"), ("random", "fixed")}
    assert chisquare(list(twos.values())).pvalue > 0.001
    assert rules != [order_of_round("fixed+random", 3, 2, round_) for round_ in range(1, 2001)]
    for round_, rule in enumerate(rules[:50], 1):
        order = round_order("fixed+random", TREATMENTS, 3, 1, round_)
        assert order == round_order(rule, TREATMENTS, 3, 1, round_)
        assert rule == "random" or list(order) == TREATMENTS


def test_warm_up_rounds_are_outside_of_halves_and_squares():
    for order in ("fixed+random", "balanced"):
        assert order_of_round(order, 1, 1, "warmup 1") == "random"
        warm = round_order(order, TREATMENTS, 1, 1, "warmup 1")
        assert warm == round_order("random", TREATMENTS, 1, 1, "warmup 1")
    assert order_of_round("fixed", 1, 1, "warmup 1") == "fixed"
