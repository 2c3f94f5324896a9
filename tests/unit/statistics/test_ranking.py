"""Rank sets, the set of the best and the Pareto set."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binomtest, mannwhitneyu

from trialwise import statistics as st
from trialwise.statistics.comparing.pairwise import better_p_values, paired_p_values


def drawn(count=6, n=8, spacing=1.0, seed=1):
    random = np.random.default_rng(seed)
    return {
        f"t{at}": random.normal(spacing * at, 1 + at / 4, n + at) for at in random.permutation(count).tolist()
    }


def test_p_values_are_those_of_scipy():
    groups = list(drawn().values())
    p_values = better_p_values(groups, 1)
    for first, second in itertools.permutations(range(len(groups)), 2):
        theirs = stats.ttest_ind(groups[first], groups[second], equal_var=False, alternative="greater")
        assert p_values[first, second] == pytest.approx(theirs.pvalue, rel=1e-10)
    np.testing.assert_allclose(better_p_values(groups, -1), p_values.T)


def naive_ranks(groups, alpha):
    """Holm by hand: the smallest p-value first, until one is not small enough."""
    pairs = list(itertools.combinations(groups, 2))
    p_values = [stats.ttest_ind(groups[a], groups[b], equal_var=False).pvalue for a, b in pairs]
    better = dict.fromkeys(groups, 0)
    worse = dict.fromkeys(groups, 0)
    for step, at in enumerate(np.argsort(p_values)):
        if p_values[at] > alpha / (len(pairs) - step):
            break
        a, b = sorted(pairs[at], key=lambda name: np.mean(groups[name]))
        worse[b] += 1
        better[a] += 1
    return {name: (1 + better[name], len(groups) - worse[name]) for name in groups}


@pytest.mark.parametrize("seed", range(20))
def test_rank_sets_are_those_of_pairs_tested_one_by_one(seed):
    groups = drawn(spacing=0.8, seed=seed)
    assert st.rank_sets(groups) == naive_ranks(groups, 0.05)
    assert st.rank_sets(groups, confidence=80) == naive_ranks(groups, 0.2)


def test_the_result_is_a_mapping_in_the_order_of_the_means():
    result = st.rank_sets(drawn(spacing=5))
    assert list(result) == ["t5", "t4", "t3", "t2", "t1", "t0"]
    assert result["t5"] == (1, 1)
    assert len(result) == 6
    assert result.best == {"t5"}
    assert list(st.rank_sets(drawn(spacing=5), better="lower")) == list(result)[::-1]
    assert (result.n["t0"], result.n["t5"], result.confidence) == (8, 13, 95.0)


def test_the_best_set_leaves_out_what_some_other_beats():
    groups = drawn(spacing=0.8, seed=3)
    kept = {
        name
        for name in groups
        if all(
            stats.ttest_ind(groups[other], groups[name], equal_var=False, alternative="greater").pvalue > 0.01
            for other in groups
            if other != name
        )
    }
    assert 0 < len(kept) < len(groups)
    assert st.rank_sets(groups).best == kept


def test_one_treatment_and_low_confidence():
    assert st.rank_sets({"a": [1, 2]}) == {"a": (1, 1)}
    assert st.rank_sets({"a": [1, 2]}).best == {"a"}
    assert "a" in st.rank_sets({"a": [1.0, 2.0], "b": [1.0, 2.0]}, confidence=10).best
    groups = plane({"a": (1, 1), "b": (1, 1), "c": (1, 1)})
    assert st.pareto_set(groups, BETTER, confidence=1) >= st.pareto_set(groups, BETTER).front_of_means
    assert st.pareto_set({"a": {"x": [1, 2]}}, {"x": "higher"}) == {"a"}


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9])
def test_what_does_not_vary_is_told_from_its_like_as_a_pair_is(n):
    groups = {"a": [1.0] * n, "b": [2.0] * n}
    by_ranks = mannwhitneyu(groups["b"], groups["a"], method="exact").pvalue
    told = by_ranks <= 0.05
    assert told == (st.difference(groups["a"], groups["b"]).verdict == "different")
    result = st.rank_sets(groups)
    assert result == ({"b": (1, 1), "a": (2, 2)} if told else {"b": (1, 2), "a": (1, 2)})
    assert result.best == ({"b"} if by_ranks / 2 <= 0.05 else {"a", "b"})
    assert "a, b do not vary" in result.note


@pytest.mark.parametrize("n", [2, 4, 5, 6, 9])
def test_pairs_that_all_differ_by_one_number_are_judged_by_their_signs(n):
    first = np.random.default_rng(n).integers(0, 2**20, n).astype(float)
    groups = {"a": first, "b": first + 0.3}
    one_sided = binomtest(n, n, alternative="greater").pvalue
    assert paired_p_values(list(groups.values()), 1)[1, 0] == pytest.approx(one_sided)
    pair = st.paired_difference(groups["a"], groups["b"])
    assert pair.p_value == pytest.approx(2 * one_sided)
    told = 2 * one_sided <= 0.05
    assert (pair.verdict == "different") == told
    assert st.rank_sets(groups, paired=True)["b"] == ((1, 1) if told else (1, 2))


def test_losses_of_nothing_and_of_a_third_rank_as_they_compare():
    groups = {"cubic": [0.3653] * 9, "reno": [0.0] * 9, "bbr": [0.0] * 9}
    result = st.rank_sets(groups, better="lower")
    assert result == {"reno": (1, 2), "bbr": (1, 2), "cubic": (3, 3)}
    assert result.best == {"reno", "bbr"}
    both = {name: {"loss": values, "delay": [1.0, 2.0] * 4 + [1.5]} for name, values in groups.items()}
    worse = {**both, "cubic": {**both["cubic"], "delay": [9.0, 9.5] * 4 + [9.1]}}
    assert st.pareto_set(worse, {"loss": "lower", "delay": "lower"}) == {"reno", "bbr"}


def test_equal_numbers_are_never_told_apart():
    assert st.rank_sets({"a": [0.1] * 3, "b": [0.1] * 7}) == {"a": (1, 2), "b": (1, 2)}


def test_large_numbers_rank_like_small_ones():
    groups = drawn(seed=4)
    huge = {name: values * 1e300 for name, values in groups.items()}
    assert st.rank_sets(huge) == st.rank_sets(groups)


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        ({}, {}, "no groups"),
        ({"a": [1.0], "b": [1, 2]}, {}, "'a' has 1 numbers; at least 2 are needed"),
        ({"a": [1.0, np.nan]}, {}, r"'a'\[1\] is NaN"),
        ({"a": [1, 2]}, {"better": "more"}, "allowed: higher, lower"),
        ({"a": [1, 2]}, {"confidence": 100}, "confidence"),
    ],
)
def test_bad_groups(groups, options, message):
    with pytest.raises(ValueError, match=message):
        st.rank_sets(groups, **options)


BETTER = {"throughput": "higher", "delay": "lower"}


def plane(points, n=10, seed=5):
    random = np.random.default_rng(seed)
    return {
        name: {"throughput": random.normal(x, 0.1, n), "delay": random.normal(y, 0.1, n)}
        for name, (x, y) in points.items()
    }


def test_what_is_clearly_worse_in_every_metric_is_left_out():
    groups = plane({"fast": (9, 9), "quick": (5, 2), "both": (4, 3), "slow": (1, 8), "near": (5.01, 2)})
    result = st.pareto_set(groups, BETTER)
    assert result == {"fast", "quick", "near"}
    assert set(result.excluded_by) == {"both", "slow"}
    assert set(result.excluded_by["both"]) == {"quick", "near"}
    assert set(result.excluded_by["slow"]) == {"quick", "near", "both"}
    assert result.p_values["both"] < 0.05 < result.p_values["near"]
    assert result.front_of_means <= result
    assert {"fast"} < result
    assert result | {"x"} == {"fast", "quick", "near", "x"}


def test_p_values_are_the_largest_over_metrics_and_smallest_over_others():
    groups = plane({"a": (1, 1), "b": (1.1, 0.95), "c": (0.9, 1.1)})

    def beaten(name, by):
        return max(
            stats.ttest_ind(
                groups[by][metric],
                groups[name][metric],
                equal_var=False,
                alternative="greater" if better == "higher" else "less",
            ).pvalue
            for metric, better in BETTER.items()
        )

    found = st.pareto_set(groups, BETTER).p_values
    whole = st.pareto_set(groups, BETTER, holds="front").p_values
    for name in groups:
        smallest = min(beaten(name, by) for by in groups if by != name)
        assert found[name] == pytest.approx(min(1, 2 * smallest))
        assert whole[name] == pytest.approx(min(1, 6 * smallest))


def test_paired_p_values_are_those_of_scipy_on_differences():
    random = np.random.default_rng(6)
    rounds = random.normal(0, 5, (2, 12))
    groups = {
        name: {
            "throughput": rounds[0] + random.normal(x, 1, 12),
            "delay": rounds[1] + random.normal(y, 1, 12),
        }
        for name, (x, y) in {"a": (1, 1), "b": (3, -1), "c": (0, 2)}.items()
    }

    def beaten(name, by):
        return max(
            stats.ttest_rel(
                groups[by][metric],
                groups[name][metric],
                alternative="greater" if better == "higher" else "less",
            ).pvalue
            for metric, better in BETTER.items()
        )

    found = st.pareto_set(groups, BETTER, paired=True)
    for name in groups:
        assert found.p_values[name] == pytest.approx(
            min(1, 2 * min(beaten(name, by) for by in groups if by != name))
        )
    assert found == {"b"}
    assert st.pareto_set(groups, BETTER) == set(groups)
    assert "paired differences" in found.method


def test_one_equal_metric_keeps_a_treatment_and_any_number_of_metrics_counts():
    groups = plane({"a": (5, 2), "b": (1, 2)})
    assert st.pareto_set(groups, BETTER) == {"a", "b"}
    assert st.pareto_set(groups, {"throughput": "higher"}) == {"a"}
    for name, values in groups.items():
        values["loss"] = np.linspace(0, 1, 10) + (name == "a")
        values["delay"] = values["delay"] + (name == "b")
    assert st.pareto_set(groups, BETTER) == {"a"}
    assert st.pareto_set(groups, {**BETTER, "loss": "lower"}) == {"a", "b"}


@pytest.mark.parametrize(
    ("change", "better", "message"),
    [
        ({}, {}, "no metric"),
        ({"b": {"throughput": [1, 2]}}, BETTER, "'b' has no 'delay'"),
        ({"b": {"throughput": [1, 2, 3], "delay": [1, 2]}}, BETTER, "not of the same trials"),
        ({"b": {"throughput": [1], "delay": [1]}}, BETTER, "at least 2"),
        ({}, {"delay": "less"}, "allowed: higher, lower"),
    ],
)
def test_bad_metrics(change, better, message):
    with pytest.raises(ValueError, match=message):
        st.pareto_set(plane({"a": (1, 1), "b": (2, 2)}) | change, better)


def test_paired_treatments_have_as_many_values():
    with pytest.raises(ValueError, match="paired groups have 8 to 10 values"):
        st.pareto_set(plane({"a": (1, 1)}) | plane({"b": (2, 2)}, n=8), BETTER, paired=True)
