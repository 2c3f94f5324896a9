"""Claims against trials whose answer SciPy gives in another way."""

import numpy as np
import pytest
from scipy import stats

from binomial import most
from claims_data import trials
from trialwise.analysis.claims.judging import judge_claim
from trialwise.errors import AnalysisError
from trialwise.experiment.claims import (
    Amount,
    StatedBest,
    StatedClaim,
    StatedDifference,
    StatedEquivalence,
    StatedEvery,
    StatedKpi,
    StatedRanking,
    StatedRatio,
    StatedValue,
)
from trialwise.experiment.model import Extent

A, B = {"scheme": "a"}, {"scheme": "b"}


def judged(data, level=0.95, tolerance=None, **said):
    return judge_claim(
        data, StatedClaim(id="C1", text="", metric="delay", tolerance=tolerance, **said), level
    )


def samples(seed, a=100.0, b=50.0, n=(12, 9)):
    random = np.random.default_rng(seed)
    return {"a": random.normal(a, 8, n[0]), "b": random.normal(b, 3, n[1])}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bound", [0.45, 0.48, 0.5, 0.52, 0.55])
def test_a_bound_of_a_ratio_is_a_one_sided_test_of_welch(seed, bound):
    """b / a <= c is shown where Welch's test of b - c a < 0 rejects, and contradicted where that of > 0 does."""
    made = samples(seed)
    found = judged(trials(**made), ratio=StatedRatio(of=B, to=A, at_most=Amount(bound)))
    p = {
        side: stats.ttest_ind(made["b"], bound * made["a"], equal_var=False, alternative=side).pvalue
        for side in ("less", "greater")
    }
    expected = "supported" if p["less"] <= 0.05 else "contradicted" if p["greater"] <= 0.05 else "undecided"
    assert found.verdict == expected
    assert found.n == (12, 9)


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_of_a_difference_is_that_of_welch_at_90_percent(seed):
    made = samples(seed)
    found = judged(trials(**made), difference=StatedDifference(of=B, to=A, at_most=Amount(-45.0)))
    expected = stats.ttest_ind(made["b"], made["a"], equal_var=False).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.confidence == 90


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("within", [1.0, 3.0, 8.0])
def test_no_difference_within_a_margin_is_two_one_sided_tests(seed, within):
    made = samples(seed, a=50.0)
    said = StatedEquivalence(of=B, to=A, within=Extent(within, relative=False))
    found = judged(trials(**made), equivalent=said)
    below = stats.ttest_ind(made["b"], made["a"] + within, equal_var=False, alternative="less").pvalue
    above = stats.ttest_ind(made["b"], made["a"] - within, equal_var=False, alternative="greater").pvalue
    assert (found.verdict == "supported") == (max(below, above) <= 0.05)


@pytest.mark.parametrize("n", [3, 10, 11, 30])
def test_a_kpi_is_bounded_by_the_smallest_rank_that_the_binomial_gives(n):
    values = np.random.default_rng(n).permutation(np.arange(1.0, n + 1))
    found = judged(trials(a=values), kpi=StatedKpi(treatment=A, percentile=75, at_most=Amount(1e9)))
    rank = next((rank for rank in range(1, n + 1) if stats.binom.cdf(rank - 1, n, 0.75) >= 0.95), None)
    assert found.high == rank
    assert found.verdict == ("undecided" if rank is None else "supported")
    assert ("fewest" in found.reason) == (rank is None)


def test_every_trial_is_counted_and_the_share_of_further_ones_bounded():
    values = [*np.linspace(1, 2, 29), 5.0]
    one = judged(trials(a=values), every=StatedEvery(at_most=Amount(4.0)))
    none = judged(trials(a=values), every=StatedEvery(at_most=Amount(6.0)))
    assert (one.verdict, none.verdict) == ("contradicted", "supported")
    assert one.estimate == pytest.approx(100 / 30)
    assert one.high == pytest.approx(100 * stats.beta.ppf(0.95, 2, 29))
    assert none.high == pytest.approx(100 * (1 - 0.05 ** (1 / 30)))
    assert none.n == (30,)


def test_the_best_has_to_beat_each_other_one():
    data = trials(**samples(1), c=np.random.default_rng(9).normal(51, 3, 10))
    said = StatedBest(treatment=B, over="scheme")
    assert judged(data, best=said).verdict == "undecided"
    assert judged(data, best=said).subject == "scheme=b - scheme=c"
    assert judged(trials(**samples(1)), best=said).verdict == "supported"
    assert judged(trials(**samples(1)), best=StatedBest(treatment=A, over="scheme")).verdict == "contradicted"
    assert (
        judged(
            trials("", None, **samples(1)), best=StatedBest(treatment=A, over="scheme", better="higher")
        ).verdict
        == "supported"
    )


def test_a_ranking_is_contradicted_by_one_pair():
    data = trials(**samples(1), c=np.random.default_rng(9).normal(10, 3, 10))
    assert judged(data, ranking=StatedRanking(over="scheme", order=("c", "b", "a"))).verdict == "supported"
    wrong = judged(data, ranking=StatedRanking(over="scheme", order=("b", "c", "a")))
    assert (wrong.verdict, wrong.subject) == ("contradicted", "scheme=b - scheme=c")


def test_about_lies_within_its_tolerance_and_a_magnitude_within_a_root_of_ten():
    data = trials(**samples(2, a=500))
    near = StatedRatio(of=A, to=B, about=Amount(10.0))
    assert judged(data, tolerance=Extent(10, relative=True), ratio=near).verdict == "supported"
    assert judged(data, tolerance=Extent(0.1, relative=True), ratio=near).verdict == "undecided"
    magnitude = judged(data, ratio=StatedRatio(of=A, to=B, about=Amount(4.0), magnitude=True))
    assert (magnitude.at_least, magnitude.at_most) == pytest.approx((4 / 10**0.5, 4 * 10**0.5))
    assert magnitude.verdict == "supported"


def test_bounds_are_read_in_the_unit_that_they_have():
    data = trials(**samples(3))
    for text, verdict in ((Amount(0.06, "s"), "supported"), (Amount(40000, "us"), "contradicted")):
        assert judged(data, value=StatedValue(treatment=B, at_most=text)).verdict == verdict
    with pytest.raises(AnalysisError, match="no number in ms"):
        judged(data, value=StatedValue(treatment=B, at_most=Amount(1, "Mbit/s")))


@pytest.mark.parametrize(
    ("values", "reason"), [([5.0], "2 trials are the fewest"), ([5.0, 5.0, 5.0], "all 3 values are equal")]
)
def test_too_little_is_undecided_with_its_reason(values, reason):
    found = judged(trials(a=values), value=StatedValue(treatment=A, at_most=Amount(6)))
    assert found.verdict == "undecided"
    assert reason in found.reason


def test_what_is_not_there_is_refused_with_what_is():
    data = trials(**samples(1))
    with pytest.raises(AnalysisError, match="no treatment has scheme=x") as refused:
        judged(data, value=StatedValue(treatment={"scheme": "x"}, at_most=Amount(1)))
    assert refused.value.hint == "there are: scheme=a, scheme=b"
    with pytest.raises(AnalysisError, match="is 2 treatments"):
        judged(data, value=StatedValue(treatment={}, at_most=Amount(1)))
    with pytest.raises(AnalysisError, match="did you mean 'delay'"):
        judge_claim(
            data, StatedClaim(id="C", text="", metric="dely", every=StatedEvery(at_most=Amount(1))), 0.95
        )


def test_a_claim_at_its_bound_is_called_supported_or_contradicted_in_at_most_five_percent():
    """The worst case of a wrong claim, and of a right one, is the bound itself."""
    found = [
        judged(trials(**samples(seed, n=(8, 8))), ratio=StatedRatio(of=B, to=A, at_most=Amount(0.5))).verdict
        for seed in range(120)
    ]
    for verdict in ("supported", "contradicted"):
        assert found.count(verdict) / 120 <= most(0.05, 120)
        assert found.count(verdict) > 0


def test_the_units_that_are_asked_for_give_a_verdict_in_nine_of_ten():
    first = judged(trials(**samples(5, n=(8, 8))), ratio=StatedRatio(of=B, to=A, at_most=Amount(0.51)))
    assert first.verdict == "undecided"
    assert first.more is not None
    n, ratio = 8 + first.more, first.estimate
    random = np.random.default_rng(1)
    decided = [
        judged(
            trials(a=random.normal(100, 8, n), b=random.normal(100 * ratio, 3, n)),
            ratio=StatedRatio(of=B, to=A, at_most=Amount(0.51)),
        ).verdict
        != "undecided"
        for _ in range(40)
    ]
    assert 0.7 <= np.mean(decided) <= 1
