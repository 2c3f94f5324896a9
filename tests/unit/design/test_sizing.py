import math
from decimal import Decimal

import pytest

from trialwise.design.sizing import rounds_needed, size
from trialwise.experiment.model import Kpi


def by_eq_4(share_on_the_far_side: str, confidence: str) -> int:
    """TriScale Eq. (4): N >= log(1 - C) / log(p)."""
    return math.ceil((1 - Decimal(confidence)).ln() / Decimal(share_on_the_far_side).ln())


@pytest.mark.parametrize(
    ("percentile", "bound", "share"),
    [
        (95, "upper", "0.95"),
        (95, "lower", "0.05"),
        (75, "lower", "0.25"),
        (10, "lower", "0.9"),
        (10, "upper", "0.1"),
    ],
)
def test_either_bound_follows_equation_4(percentile, bound, share):
    assert rounds_needed(Kpi(percentile, 95, bound), 0) == by_eq_4(share, "0.95")


def test_a_lower_bound_on_p75_needs_few():
    """1 - (1 - 0.75)^N >= 0.95 from N = 3 on."""
    assert rounds_needed(Kpi(75, 95, "lower"), 0) == 3


@pytest.mark.parametrize(("robustness", "needed"), [(0, 59), (1, 93), (2, 124), (5, 208)])
def test_robustness_leaves_out_extremes(robustness, needed):
    """METHODS a, table for p95 at 95 %."""
    assert rounds_needed(Kpi(95, 95, "upper"), robustness) == needed


def test_the_most_demanding_objective_decides(make):
    kpi = (
        "kpi = [{ percentile = 95, confidence = 75 }, { percentile = 75 }]\nvariability = { confidence = 90 }"
    )
    sizing = size(make(metric=kpi))
    assert [need.amount for need in sizing.rounds_needed] == [28, 11]
    assert (sizing.rounds, sizing.series) == (28, 5)


def test_what_is_given_wins(make):
    sizing = size(make(metric="kpi = { percentile = 95 }\nvariability = {}", design="rounds = 7\nseries = 2"))
    assert (sizing.rounds, sizing.series) == (7, 2)
    assert sizing.rounds_needed[0].amount == 59


def test_without_objectives_one_round_runs(make):
    sizing = size(make())
    assert (sizing.rounds, sizing.series) == (1, 1)


@pytest.mark.parametrize(
    ("order", "levels", "rounds"),
    [
        ("random", 3, 59),
        ("fixed+random", 3, 60),
        ("balanced", 3, 60),
        ("balanced", 4, 60),
        ("balanced", 8, 64),
    ],
)
def test_orders_whose_rounds_belong_together_get_whole_blocks(make, order, levels, rounds):
    kpi = "kpi = { percentile = 95 }"
    factors = f"a = {list(range(levels))}"
    assert size(make(factors=factors, metric=kpi, design=f'order = "{order}"')).rounds == rounds
    assert size(make(factors=factors, metric=kpi, design=f'order = "{order}"\nrounds = 7')).rounds == 7
