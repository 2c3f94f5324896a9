"""Analysis of variance: permutations by brute force, empty cells, effect sizes, refusals, kinds of tables."""

from itertools import permutations
from math import isnan

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from trialwise import _core
from trialwise import statistics as st


def grid(counts, seed=1, **shift):
    """A table of a design with these trials in its cells; `shift` adds to a level of a factor."""
    rng = np.random.default_rng(seed)
    counts = np.asarray(counts)
    names = "abcd"[: counts.ndim]
    places = np.argwhere(np.ones(counts.shape))
    rows = np.repeat(places, counts.ravel(), axis=0)
    table = {name: [f"{name}{level}" for level in rows[:, place]] for place, name in enumerate(names)}
    effect = sum(shift.get(one, 0.0) * (np.array(table[one[0]]) == one) for one in shift)
    return {**table, "y": rng.normal(10, 1, len(rows)) + effect}, list(names)


def f_of(table, names, term):
    return st.anova(table, "y", names, method="ordinary").row(term).f


@pytest.mark.parametrize(
    ("counts", "term"), [([[2, 2], [1, 1]], "a"), ([[2, 2], [1, 1]], "a:b"), ([3, 2, 1], "a")]
)
def test_raw_permutations_are_all_orders(counts, term):
    """Of all n! orders by hand, each distinct arrangement is as frequent as any other."""
    table, names = grid(counts)
    found = st.anova(table, "y", names, method="raw_permutation")
    observed = f_of(table, names, term)
    orders = [f_of(table | {"y": list(order)}, names, term) for order in permutations(table["y"])]
    assert found.row(term).p_value == pytest.approx(np.mean(np.array(orders) >= observed * (1 - 1e-9)))
    assert found.exact
    assert found.permutations * np.prod([np.prod(range(1, n + 1)) for n in np.ravel(counts)]) == len(orders)


def test_freedman_and_lane_permute_residuals_of_the_model_without_the_term():
    table, names = grid([[2, 2], [1, 1]], a1=2.0)
    table = pd.DataFrame(table)
    one, other = (np.where(table[name] == f"{name}0", 1.0, -1.0) for name in names)
    reduced = np.column_stack([np.ones(len(table)), other, one * other])
    expected = reduced @ np.linalg.lstsq(reduced, table["y"])[0]
    residuals = table["y"] - expected
    observed = f_of(table, names, "a")
    orders = [
        f_of(table.assign(y=expected + np.array(order)), names, "a") for order in permutations(residuals)
    ]
    found = st.anova(table, "y", names, method="freedman_lane")
    assert found.exact
    assert found.row("a").p_value == pytest.approx(np.mean(np.array(orders) >= observed * (1 - 1e-9)))
    assert found.row("a").p_value != st.anova(table, "y", names, method="raw_permutation").row("a").p_value


@pytest.mark.parametrize("method", ["freedman_lane", "raw_permutation"])
@pytest.mark.parametrize("counts", [[[3, 3], [3, 3]], [[3, 2, 2], [1, 2, 1]]])
def test_drawn_permutations_come_near_all_of_them_and_repeat_with_their_seed(method, counts):
    table, names = grid(counts)
    every = st.anova(table, "y", names, method=method, permutations=20_000_000)
    drawn = st.anova(table, "y", names, method=method, permutations=9_999, seed=5)
    assert every.exact
    assert not drawn.exact
    for one, other in zip(every.rows, drawn.rows, strict=True):
        assert other.p_value == pytest.approx(one.p_value, abs=0.017)
        assert 1 <= other.p_value * 10_000 == pytest.approx(round(other.p_value * 10_000))
    again, other = (
        st.anova(table, "y", names, method=method, permutations=9_999, seed=seed) for seed in (5, 6)
    )
    assert drawn.rows == again.rows
    assert drawn.rows != other.rows


def test_permutations_do_not_depend_on_threads():
    rng = np.random.default_rng(2)
    values, basis = rng.normal(size=(4800, 3)), rng.normal(size=(1, 8))
    given = (values, [600] * 8, np.zeros((0, 8)), [basis] * 3, [0, 1, 2])
    found = [
        _core.term_exceedances(*given, shuffles=499, seed=1, threads=threads) for threads in (1, 2, 3, None)
    ]
    assert found[0][1] == 499
    assert all(one == found[0] for one in found)


def test_the_kernel_refuses_what_does_not_fit_together():
    values = np.zeros((4, 1))
    for sizes, basis, column in [
        ([2, 3], (1, 2), 0),
        ([4, 0], (1, 2), 0),
        ([2, 2], (1, 3), 0),
        ([2, 2], (1, 2), 1),
    ]:
        with pytest.raises(ValueError, match=r"do not fit|size of a cell is 0"):
            _core.term_exceedances(
                values, sizes, np.zeros((0, 2)), [np.zeros(basis)], [column], shuffles=1, seed=1
            )


def test_welch_of_two_groups_is_welchs_t():
    table, _ = grid([5, 9])
    row = st.anova(table, "y", "a").rows[0]
    parts = [np.array(table["y"])[np.array(table["a"]) == level] for level in ("a0", "a1")]
    t = stats.ttest_ind(*parts, equal_var=False)
    assert (row.f, row.p_value, row.residual_df) == pytest.approx((t.statistic**2, t.pvalue, t.df))
    assert row.df == 1


@pytest.mark.parametrize("method", ["welch", "ordinary", "freedman_lane", "raw_permutation"])
def test_nothing_depends_on_unit_place_or_order_of_rows(method):
    table, names = grid([[4, 3], [2, 5], [3, 3]], a1=1.0)
    frame = pd.DataFrame(table)
    first = st.anova(frame, "y", names, method=method, permutations=300)
    other = st.anova(frame.assign(y=1e6 + 1e-3 * frame["y"]), "y", names, method=method, permutations=300)
    for one, two in zip(first.rows, other.rows, strict=True):
        assert (two.f, two.p_value, two.effect_low) == pytest.approx(
            (one.f, one.p_value, one.effect_low), rel=1e-4
        )
    if method in ("welch", "ordinary"):
        for one, two in zip(
            first.rows,
            st.anova(frame.sample(frac=1, random_state=1), "y", names, method=method).rows,
            strict=True,
        ):
            assert two.p_value == pytest.approx(one.p_value)


def test_every_kind_of_table_says_the_same():
    table, names = grid([[3, 2], [2, 3]])
    given = [
        table,
        {name: np.array(column) for name, column in table.items()},
        pd.DataFrame(table),
        pd.DataFrame(table).astype({"a": "category"}),
        pl.DataFrame(table),
        pl.DataFrame(table).with_columns(pl.col("a").cast(pl.Categorical)),
    ]
    found = [st.anova(one, "y", names) for one in given]
    assert all(one == found[0] for one in found)
    assert found[0].n == 10
    assert [cell.n for cell in found[0].cells] == [3, 2, 2, 3]
    assert found[0].cells[1].levels == ("a0", "b1")


def test_levels_of_any_plain_type_stay_what_they_are():
    y = [1.0, 2.0, 4.0, 8.0, 3.0, 5.0]
    found = st.anova({"y": y, "rate": [10, 10, "10", "10", (1, 2), (1, 2)]}, "y", "rate")
    assert [cell.levels for cell in found.cells] == [(10,), ("10",), ((1, 2),)]


@pytest.mark.parametrize("method", ["welch", "ordinary", "freedman_lane", "raw_permutation"])
def test_an_interaction_with_an_empty_cell_is_tested_as_far_as_it_can_be(method):
    table, names = grid([[3, 3], [3, 0], [3, 3]], a1=4.0)
    found = st.anova(table, "y", names, method=method, permutations=999)
    assert found.row("a:b").p_value > 0.01
    assert found.row("a:b").partial == "no trial at a=a1, b=b1; 1 of 2 contrasts can be tested"
    assert found.row("a").p_value < 0.01 < found.row("b").p_value
    assert not found.row("a").reason
    assert found.residual_df == 15 - 5


def test_an_interaction_that_no_treatment_shows_is_refused():
    table, names = grid([[3, 3], [3, 0]])
    row = st.anova(table, "y", names).row("a:b")
    assert isnan(row.p_value)
    assert row.reason == "no trial at a=a1, b=b1; the other treatments show none of it"


def test_three_factors_with_one_empty_cell_keep_their_pairs():
    counts = np.full((2, 2, 2), 3)
    counts[1, 1, 1] = 0
    found = st.anova(*swap(grid(counts)))
    assert [row.term for row in found.rows if row.reason] == ["a:b:c"]


def test_factors_that_cannot_be_told_apart_are_both_named():
    table = {"a": list("ppqq"), "b": list("xxyy"), "y": [1.0, 2.0, 5.0, 7.0]}
    found = st.anova(table, "y", ["a", "b"])
    assert all("do not tell it from" in found.row(term).reason for term in "ab")
    assert "no trial at" in found.row("a:b").reason


def swap(given):
    return given[0], "y", given[1]


def test_one_trial_of_each_treatment_is_refused_with_what_to_repeat():
    table, names = grid([[1, 1], [1, 1]])
    with pytest.raises(
        ValueError, match=r"a=a0, b=b0 and 3 other treatments have one trial.*at least 2 trials"
    ):
        st.anova(table, "y", names)
    for method in ("ordinary", "freedman_lane", "raw_permutation"):
        with pytest.raises(ValueError, match=r"each treatment has one trial.*interactions=1"):
            st.anova(table, "y", names, method=method)
    additive = st.anova(table, "y", names, method="ordinary", interactions=1)
    assert [row.term for row in additive.rows] == ["a", "b"]
    assert additive.residual_df == 1
    with pytest.raises(ValueError, match="repeat treatments"):
        st.anova({"y": [1.0, 2.0], "a": [1, 2]}, "y", "a", method="ordinary")


GOOD = {"y": [1.0, 2.0, 3.0, 5.0], "a": [1, 1, 2, 2]}


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({"y": [2.0] * 4}, {}, "all 4 values of 'y' are 2"),
        ({"a": [1] * 4}, {}, r"factor 'a' has one level, 1: leave it out"),
        ({"y": [1.0, float("nan"), 3.0, 5.0]}, {}, r"y\[1\] is NaN"),
        ({"y": [1.0, None, 3.0, 5.0]}, {}, r"y\[1\] is NaN"),
        ({"y": list("pqrs")}, {}, "y has an entry that is not a number"),
        ({"a": [1, 1, None, 2]}, {}, r"a\[2\] is missing"),
        ({"a": [1.0, 1.0, float("nan"), 2.0]}, {}, r"a\[2\] is missing"),
        ({"a": [1, 1, 2]}, {}, r"a has the shape \(3,\); expected 4 rows"),
        ({"a": "1122"}, {}, "a column is '1122'"),
        ({"a": [[1], [1], [2], [2]]}, {}, r"a\[0\] is \[1\]; a level is"),
        ({"y": [1.0, 1.0, 3.0, 3.0]}, {}, "do not differ at all"),
        ({}, {"method": "anova"}, "method is 'anova'; allowed: welch"),
        ({}, {"permutations": 0}, "permutations are 0"),
        ({}, {"seed": -1}, "seed is -1"),
        ({"y": [1e300, 0.0, 3.0, 5.0]}, {}, "span 1e.300: their squares exceed the range of doubles"),
        ({"y": [1e308, -1e308, 3.0, 5.0]}, {}, "span inf: their squares exceed the range of doubles"),
        ({"y": [1e-300, 0.0, 0.0, 0.0]}, {}, "span 1e-300"),
        ({}, {"interactions": 0}, "interactions are 0"),
        ({}, {"confidence": 0}, "confidence is 0"),
        ({}, {"factors": []}, "0 factors"),
        ({}, {"factors": ["a", "a"]}, "'a' is named twice"),
        ({}, {"factors": ["y"]}, "the response and a factor at once"),
        ({}, {"factors": "b"}, r"no column 'b'; it has: 'y', 'a'"),
    ],
)
def test_bad_input_is_said_plainly(change, options, said):
    with pytest.raises(ValueError, match=said):
        st.anova(GOOD | change, "y", **({"factors": "a"} | options))


def test_what_is_no_table_is_said_plainly():
    with pytest.raises(
        ValueError, match="of type list; expected a mapping of columns, a pandas or a polars frame"
    ):
        st.anova([1, 2], "y", "a")


def test_duplicated_rows_are_trials_as_any_other():
    twice = {name: column * 2 for name, column in GOOD.items()}
    assert st.anova(twice, "y", "a").n == 8


def test_no_numbers_are_lost_far_from_zero():
    rng = np.random.default_rng(3)
    y, a = rng.normal(size=40), np.repeat([1, 2], 20)
    near = st.anova({"y": y, "a": a}, "y", "a", method="ordinary").rows[0]
    far = st.anova({"y": y + 1e9, "a": a}, "y", "a", method="ordinary").rows[0]
    assert far.f == pytest.approx(near.f, rel=1e-4)


def test_the_interval_of_an_effect_size_is_where_its_f_is_extreme():
    table, names = grid([[6, 6], [6, 6]], a1=3.0)
    row = st.anova(table, "y", names, method="ordinary", confidence=90).row("a")
    total = row.df + row.residual_df + 1
    for bound, tail in [(row.effect_low, 0.95), (row.effect_high, 0.05)]:
        noncentrality = total * bound / (1 - bound)
        assert stats.ncf.cdf(row.f, row.df, row.residual_df, noncentrality) == pytest.approx(tail, abs=1e-6)
    assert row.effect_size == pytest.approx((row.f - 1) / (row.f - 1 + total))
    nothing = st.anova(table, "y", names, method="ordinary").row("b")
    assert nothing.f < 1
    assert (nothing.effect_size, nothing.effect_low) == (0, 0)


def test_simple_effects_are_one_way_analyses_corrected_for_their_number():
    table, _ = grid([[4, 4], [4, 4], [4, 1]], a1=3.0)
    frame = pd.DataFrame(table)
    found = st.simple_effects(frame, "y", "a", "b")
    assert [row.at for row in found.rows] == [("b0",), ("b1",)]
    alone = st.anova(frame[frame["b"] == "b0"], "y", "a").rows[0]
    assert found.rows[0].row == alone
    assert found.rows[0].n == 12
    assert found.rows[1].row is None
    assert "a=a2 has one trial" in found.rows[1].reason
    both = st.simple_effects(frame, "y", "a", "b", method="ordinary").rows
    raw = sorted(one.row.p_value for one in both)
    assert sorted(one.p_value for one in both) == pytest.approx([2 * raw[0], max(2 * raw[0], raw[1])])
