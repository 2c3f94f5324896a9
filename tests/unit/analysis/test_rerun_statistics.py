"""What re-runs may conclude, by simulation: planned looks, small telescopes, several claims, and machines that are 20 % slower.

Figures in tables are those of ARTIFACTS.md, section 4 (20,000 campaigns with log-normal errors of 5 %); d33 is that of Simonsohn 2015.
"""

import numpy as np
import pytest
from scipy.stats import binomtest, t

from claims_data import trials as made
from rerun_campaigns import HOLDING, LEVELS, SCALE, QuickCampaigns, campaign, claim, looks_of, measured_again
from trialwise.analysis.claims.judging import judge_claim
from trialwise.analysis.claims.looks import KICK_ROUNDS, next_share
from trialwise.analysis.claims.reproduction import Reproduced, confirmed, reproduce
from trialwise.analysis.claims.telescopes import d33_of, rejects, telescope
from trialwise.experiment.claims import Amount, StatedDifference

# The published table


@pytest.mark.parametrize(
    ("spread", "ratio", "published"),
    [
        (0.0, 1.3, (0.73, 0.965, 0.999)),
        (0.0, 1.2, (0.048, 0.049, 0.049)),
        (0.02, 1.3, (0.70, 0.91, 0.98)),
        (0.02, 1.2, (0.07, 0.10, 0.15)),
        (0.05, 1.3, (0.64, 0.78, 0.85)),
        (0.05, 1.2, (0.17, 0.24, 0.31)),
    ],
)
def test_how_often_a_ratio_holds_is_as_published(spread, ratio, published):
    """One-sided bounds by Welch on logarithms, 20,000 campaigns: within 1.5 points."""
    rng = np.random.default_rng(11)
    for n, expected in zip((5, 10, 20), published, strict=True):
        a = np.log(ratio) + rng.normal(0, spread, (20_000, 1)) + rng.normal(0, SCALE, (20_000, n))
        b = rng.normal(0, SCALE, (20_000, n))
        parts = [side.var(axis=1, ddof=1) / n for side in (a, b)]
        freedom = sum(parts) ** 2 / sum(part**2 / (n - 1) for part in parts)
        low = a.mean(axis=1) - b.mean(axis=1) - t.ppf(0.95, freedom) * np.sqrt(sum(parts))
        assert np.mean(low > np.log(1.2)) == pytest.approx(expected, abs=0.015)


@pytest.mark.parametrize(
    ("spread", "ratio", "n", "published"), [(0.0, 1.3, 10, 0.965), (0.05, 1.2, 20, 0.31)]
)
def test_claims_are_judged_with_the_published_rates(spread, ratio, n, published):
    rng = np.random.default_rng(12)
    runs, stated = 150, claim()
    held = sum(
        judge_claim(campaign(rng, ratio, n, spread=spread), stated, 0.95).verdict == "supported"
        for _ in range(runs)
    )
    low, high = binomtest(held, runs).proportion_ci(0.999)
    assert low - 0.01 <= published <= high + 0.01


# Planned looks


def test_looks_spend_the_error_and_no_more():
    for first in (None, 3, KICK_ROUNDS, 29, 30):
        assert sum(look.share for look in looks_of(30, first)) == pytest.approx(1)
    taken = looks_of(30, KICK_ROUNDS)
    assert [(look.rounds, look.share) for look in taken] == [(7, 0.2), (15, 0.2), (30, pytest.approx(0.6))]
    assert next_share(taken, 60, 30) == 0
    assert next_share(taken[:2], 20, 30) == 0


RUNS = 100


def test_on_a_machine_that_is_slower_right_claims_reproduce():
    """The original measured 1.3; a machine that is 20 % slower measures the ratio in the rounds planned, at three looks."""
    rng = np.random.default_rng(5)
    words = [measured_again(rng, 1.3).word for _ in range(RUNS)]
    assert binomtest(words.count("reproduced"), RUNS, 0.9, alternative="less").pvalue > 1e-3
    assert binomtest(words.count("not reproduced"), RUNS, 0.05, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize(("ratio", "rate"), [(1.2, 0.05), (1.1, 0.001)])
def test_a_claim_on_its_bound_holds_in_one_of_twenty_and_a_false_one_never(ratio, rate):
    """By the quick way, which agrees with the one by tables."""
    rng, quick = np.random.default_rng(5), QuickCampaigns()
    found = [quick.holds(rng, ratio) for _ in range(4000)]
    assert binomtest(sum(found), len(found), rate, alternative="greater").pvalue > 1e-3
    rng = np.random.default_rng(5)
    assert [measured_again(rng, ratio).word in HOLDING for _ in range(20)] == found[:20]


# Small telescopes


@pytest.mark.parametrize(("n", "published"), [(5, 1.097), (10, 0.722), (20, 0.496), (30, 0.401)])
def test_d33_and_the_chance_to_refute_are_as_published(n, published):
    d33 = d33_of((n, n))
    assert d33 == pytest.approx(published, abs=0.0006)
    assert 0.47 - 0.015 <= rejects(d33, n) <= 0.54 + 0.015
    assert 0.79 - 0.015 <= rejects(d33, int(2.5 * n)) <= 0.84 + 0.015


def test_telescopes_reject_an_effect_at_d33_in_5_per_cent_and_name_the_size_that_would_refute():
    rng = np.random.default_rng(3)
    d33 = d33_of((10, 10))
    seen = [telescope((rng.normal(d33, 1, 25), rng.normal(0, 1, 25)), (10, 10)) for _ in range(1000)]
    wrongly = sum(each.is_too_small for each in seen)
    assert binomtest(wrongly, 1000, 0.05).pvalue > 1e-3
    without = [telescope((rng.normal(0, 1, 25), rng.normal(0, 1, 25)), (10, 10)) for _ in range(500)]
    assert binomtest(sum(each.is_too_small for each in without), 500, rejects(d33, 25)).pvalue > 1e-3
    assert rejects(d33, seen[0].enough) >= 0.8 > rejects(d33, seen[0].enough - 1)


def test_a_claim_that_there_is_an_effect_has_a_telescope_and_no_other_claim_has():
    original, rerun = made(a=[3, 4, 5, 6], b=[1, 2, 3, 2.5]), made(a=[1, 2, 3] * 20, b=[1, 2.2, 3] * 20)
    for said, there in ((0, True), (0.1, False)):
        stated = claim(difference=StatedDifference(**LEVELS, at_least=Amount(said)))
        found = reproduce(stated, original, rerun, judge_claim(rerun, stated, 0.95), same_kind=True)
        assert (found.telescope is not None) == there
        if found.telescope:
            assert found.telescope.is_too_small


# Several claims


def test_contradictions_are_those_of_holm():
    """P values 0.004, 0.02, 0.04 of four claims at 5 %: Holm's bounds are 0.0125, 0.0167, 0.025, so that the first alone stays."""
    p = {"C1": 0.004, "C2": 0.02, "C3": 0.04}
    trials = campaign(np.random.default_rng(1), 1.3, 10)
    here = judge_claim(trials, claim(), 0.95)
    found = [
        Reproduced(name, "not reproduced", here, None, is_factor=True, expected=None, why="") for name in p
    ]

    def words(number):
        kept = confirmed(found, number, lambda one, share: p[one.id] <= 0.05 * share)
        return [one.id for one in kept if one.word == "not reproduced"]

    assert words(4) == ["C1"]
    assert words(3) == ["C1", "C2", "C3"]
