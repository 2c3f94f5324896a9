"""Verdicts on a re-run against the published figures of their procedures, and each word reached by a pair of campaigns.

The figures are those of a simulation of 20,000 campaigns with log-normal errors of 5 % on a re-run machine that is 20 % slower
(ARTIFACTS.md, section 4). Ours are simulated anew, with bounds of the binomial distribution.
"""

from math import log

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_ind

from claims_data import trials as made
from trialwise.analysis.claims.judging import judge_claim
from trialwise.analysis.claims.reproduction import (
    agreement,
    difference_interval,
    effect_of,
    prediction_interval,
    reproduce,
)
from trialwise.experiment.claims import (
    Amount,
    StatedClaim,
    StatedDifference,
    StatedEvery,
    StatedKpi,
    StatedRatio,
    StatedValue,
)
from trialwise.experiment.file.values import Extent

RUNS = 1500
CV = 0.05


def campaigns(rng, ratio, n, *, slower=1.0, spread=0.0):
    """The two sides of a ratio on one host: times of which the second is 1, both slower by the host, the ratio off by its spread."""
    scale = np.sqrt(np.log1p(CV**2))
    off = rng.normal(0, spread)
    return [slower * size * np.exp(rng.normal(shift, scale, n)) for size, shift in ((ratio, off), (1.0, 0.0))]


def share(check):
    rng = np.random.default_rng(7)
    return sum(check(rng) for _ in range(RUNS))


def is_compatible(count, published):
    """The published share has an error of its own: up to 0.01 beside ours."""
    low, high = binomtest(count, RUNS).proportion_ci(0.999)
    return low - 0.01 <= published <= high + 0.01


@pytest.mark.parametrize(("before", "now", "power"), [((10), 10, 0.81), (30, 10, 0.95), (5, 5, 0.29)])
def test_agreement_within_ten_per_cent_has_its_published_power_and_a_common_factor_does_not_matter(
    before, now, power
):
    def agrees(rng):
        sides = campaigns(rng, 1.3, before), campaigns(rng, 1.3, now, slower=1.2)
        effects = [effect_of(each, logarithms=True) for each in sides]
        return agreement(difference_interval(*effects, 0.9), log(1.1)) == "agrees"

    assert is_compatible(share(agrees), power)


@pytest.mark.parametrize(
    ("before", "now", "spread", "coverage"),
    [(10, 10, 0.0, 0.953), (10, 10, 0.05, 0.72), (30, 10, 0.0, 0.95), (30, 10, 0.05, 0.64)],
)
def test_the_prediction_interval_has_its_published_coverage(before, now, spread, coverage):
    """The published figures have the spread on the host of the re-run alone."""

    def covers(rng):
        first = effect_of(campaigns(rng, 1.3, before), logarithms=True)
        second = effect_of(campaigns(rng, 1.3, now, slower=1.2, spread=spread), logarithms=True)
        low, high = prediction_interval(first, now, 0.95)
        return low <= second.estimate <= high

    assert is_compatible(share(covers), coverage)


@pytest.mark.parametrize("n", [5, 20])
def test_a_declared_spread_of_hosts_gives_at_least_the_nominal_coverage(n):
    def covers(rng):
        first = effect_of(campaigns(rng, 1.3, n, spread=0.05), logarithms=True)
        second = effect_of(campaigns(rng, 1.3, n, spread=0.05), logarithms=True)
        low, high = prediction_interval(first, n, 0.95, 0.05)
        return low <= second.estimate <= high

    assert binomtest(share(covers), RUNS, 0.95, alternative="less").pvalue > 1e-3


@pytest.mark.parametrize("off", [1.1, 1 / 1.1])
def test_a_number_at_the_tolerance_is_said_to_agree_in_at_most_5_per_cent(off):
    def agrees(rng):
        effects = [effect_of(campaigns(rng, ratio, 15), logarithms=True) for ratio in (1.3, 1.3 * off)]
        return agreement(difference_interval(*effects, 0.9), log(1.1)) == "agrees"

    assert binomtest(share(agrees), RUNS, 0.05, alternative="greater").pvalue > 1e-3


def test_an_effect_is_that_of_welch():
    rng = np.random.default_rng(3)
    a, b = rng.normal(5, 1, 8), rng.normal(4, 3, 12)
    found, scipy = effect_of([a, b]), ttest_ind(a, b, equal_var=False)
    assert (found.estimate / found.error, found.freedom) == pytest.approx((scipy.statistic, scipy.df))
    assert effect_of([np.ones(5), np.ones(5)]) is None
    assert effect_of([np.array([1.0, -1.0]), np.ones(2)], logarithms=True) is None


LEVELS = {"of": {"scheme": "a"}, "to": {"scheme": "b"}}
TEN = Extent(10, relative=True)


def claim(tolerance=TEN, **said):
    said = said or {"ratio": StatedRatio(**LEVELS, at_least=Amount(1.2))}
    return StatedClaim(id="C1", text="x", metric="delay", tolerance=tolerance, **said)


def trials(a, b, n=12, noise=0.01):
    rng = np.random.default_rng(n)
    return made(**{name: size * (1 + noise * rng.standard_normal(n)) for name, size in (("a", a), ("b", b))})


def judged(stated, again, *, same_kind=True, before=None):
    original = before or trials(13, 10)
    here = judge_claim(again, stated, 0.95)
    return reproduce(stated, original, again, here, same_kind=same_kind)


@pytest.mark.parametrize(
    ("again", "stated", "word"),
    [
        (trials(26, 20), claim(), "reproduced"),
        (trials(40, 20), claim(), "holds, with another size"),
        (
            trials(13, 10, n=12, noise=0.04),
            claim(Extent(1, relative=True)),
            "holds; too few trials to compare sizes",
        ),
        (trials(13, 10), claim(tolerance=None), "holds; sizes are not compared"),
        (trials(12, 10, n=3, noise=0.2), claim(), "too few trials yet"),
        (trials(11, 10), claim(), "not reproduced"),
        (trials(13, 10), claim(every=StatedEvery(at_most=Amount(20))), "holds; sizes are not compared"),
    ],
)
def test_each_word_is_reached(again, stated, word):
    assert judged(stated, again).word == word


def test_numbers_with_a_unit_are_compared_on_machines_of_one_kind_alone():
    said = claim(value=StatedValue(treatment={"scheme": "a"}, at_most=Amount(15)))
    assert judged(said, trials(13.1, 10)).word == "reproduced"
    assert judged(said, trials(16, 10), same_kind=False).word == "not comparable"
    assert (
        judged(claim(difference=StatedDifference(**LEVELS, at_least=Amount(1))), trials(13, 10)).word
        == "reproduced"
    )
    assert judged(claim(), trials(13 * 9, 90), same_kind=False).word == "reproduced"


@pytest.mark.parametrize(
    "stated",
    [
        claim(machine="same-kind", ratio=StatedRatio(**LEVELS, at_least=Amount(1.2))),
        claim(
            machine="same-kind", kpi=StatedKpi(treatment={"scheme": "a"}, percentile=50, at_most=Amount(20))
        ),
        claim(machine="same-kind", every=StatedEvery(at_most=Amount(1))),
    ],
)
def test_a_claim_on_machines_of_one_kind_is_not_comparable_on_another_whatever_it_says(stated):
    found = judged(stated, trials(13, 10), same_kind=False)
    assert (found.word, found.why) == (
        "not comparable",
        "its authors state it for machines of one kind, and this one is of another",
    )
    assert judged(stated, trials(13, 10)).word != "not comparable"
