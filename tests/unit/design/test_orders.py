"""Orders are uniform: chi-square over all orders, with a fixed seed."""

import itertools
from collections import Counter

from scipy.stats import chisquare

from trialwise.design.orders import round_order
from trialwise.design.treatments import Treatment

TREATMENTS = [Treatment((("a", level),)) for level in "wxyz"]


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
