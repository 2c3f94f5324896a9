"""The geometric mean of ratios over benchmarks: against SciPy, R's numbers, and by simulation."""

import numpy as np
import pytest
from scipy import stats

from binomial import least
from trialwise.errors import StatisticsError
from trialwise.statistics import geometric_ratio

A = np.array([[1.0, 10.0, 3.0], [1.2, 11.0, 3.1], [0.9, 10.5, 2.8], [1.1, 10.2, 3.3]])
B = np.array([[1.3, 12.0, 3.0], [1.1, 11.5, 3.4], [1.4, 12.5, 3.2], [1.2, 11.0, 3.1], [1.5, 11.8, 3.6]])
R_WELCH = (1.142531514186330, 1.029741508212463, 1.267675674427192)


def of_scipy(a, b, test, confidence=0.95):
    found = test(np.log(b).mean(axis=1), np.log(a).mean(axis=1))
    interval = found.confidence_interval(confidence)
    return np.exp([interval.low, interval.high])


def test_one_block_is_welch_of_the_mean_logarithms():
    found = geometric_ratio([(A, B)])
    # R 4.2.2: t.test(rowMeans(log(b)), rowMeans(log(a))), exp of its estimate and interval.
    assert found.estimate == pytest.approx(R_WELCH[0], rel=1e-12)
    assert (found.low, found.high) == pytest.approx(R_WELCH[1:], rel=1e-12)
    welch = of_scipy(A, B, lambda x, y: stats.ttest_ind(x, y, equal_var=False))
    assert (found.low, found.high) == pytest.approx(tuple(welch), rel=1e-10)
    assert found.estimate == pytest.approx(stats.gmean(B, axis=None) / stats.gmean(A, axis=None), rel=1e-12)
    assert found.n == (4, 5)


def test_pairs_are_students():
    found = geometric_ratio([(A, B[:4])], paired=True, confidence=90)
    student = of_scipy(A, B[:4], stats.ttest_rel, 0.9)
    assert (found.low, found.high) == pytest.approx(tuple(student), rel=1e-10)


def test_blocks_that_ran_apart_weigh_by_their_benchmarks():
    found = geometric_ratio([(A[:, :1], B[:, :1]), (A[:3, 1:], B[:, 1:])])
    logs = [(np.log(A[:, :1]), np.log(B[:, :1])), (np.log(A[:3, 1:]), np.log(B[:, 1:]))]
    estimate = sum(b.mean(axis=0).sum() - a.mean(axis=0).sum() for a, b in logs) / 3
    parts = [(part.sum(axis=1).var(ddof=1) / 9 / len(part), len(part) - 1) for pair in logs for part in pair]
    variance = sum(part for part, _ in parts)
    df = variance**2 / sum(part**2 / free for part, free in parts)
    # Welch's two-sided df of the two sides, each with Satterthwaite's of its blocks, is Satterthwaite's of all.
    reach = stats.t.ppf(0.975, df) * variance**0.5
    assert np.log([found.estimate, found.low, found.high]) == pytest.approx(
        [estimate, estimate - reach, estimate + reach], rel=1e-9
    )


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (A[:1], B, "1 and 5 runs"),
        (A * 0, B, "above 0"),
        (A[:, :2], B, "same benchmarks"),
        (np.full((2, 1), np.inf), np.ones((2, 1)), "finite"),
    ],
)
def test_what_has_no_geometric_mean(a, b, said):
    with pytest.raises(StatisticsError, match=said):
        geometric_ratio([(a, b)])
    with pytest.raises(StatisticsError):
        geometric_ratio([])


def draw(random, runs, benchmarks, common):
    """Times whose logarithms share `common` of their variance within a run; each benchmark has its own size."""
    shared = random.normal(size=(runs, 1)) * common**0.5
    own = random.normal(size=(runs, benchmarks)) * (1 - common) ** 0.5
    return np.exp(np.log(np.arange(1, benchmarks + 1)) + 0.1 * (shared + own))


@pytest.mark.parametrize("common", [0.0, 0.5, 0.95])
def test_the_interval_covers_where_benchmarks_of_a_run_vary_together(common):
    random = np.random.default_rng(21)
    repetitions, ratio = 400, 1.03
    found = [
        geometric_ratio([(draw(random, 6, 20, common), ratio * draw(random, 8, 20, common))])
        for _ in range(repetitions)
    ]
    held = np.mean([one.low <= ratio <= one.high for one in found])
    assert held >= least(0.95, repetitions)
    if common:
        # What takes each benchmark of a run as a trial of its own is wrong far more often, so that this can fail.
        naive = [naive_interval(draw(random, 6, 20, common), draw(random, 8, 20, common)) for _ in range(100)]
        assert np.mean([low <= 0 <= high for low, high in naive]) < 0.7


def naive_interval(a, b):
    centre = np.log(np.arange(1, 21))
    first, second = (np.log(side) - centre for side in (a, b))
    interval = stats.ttest_ind(second.ravel(), first.ravel()).confidence_interval(0.95)
    return interval.low, interval.high
