"""Analysis of variance against statsmodels, SciPy, and what is printed elsewhere."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.diagnostic import het_breuschpagan

from trialwise import statistics as st


def spread(mean, variance, n):
    """As many values with just this mean and variance."""
    values = np.linspace(-1, 1, n)
    return mean + values * np.sqrt(variance / values.var(ddof=1))


def made(counts, seed=1):
    rng = np.random.default_rng(seed)
    counts = np.asarray(counts)
    rows = np.repeat(np.argwhere(np.ones(counts.shape)), counts.ravel(), axis=0)
    frame = pd.DataFrame({name: rows[:, place] for place, name in enumerate("abc"[: counts.ndim])})
    return frame.assign(
        y=rng.normal(size=len(rows)) + 0.4 * frame["a"] + 0.3 * frame["a"] * frame.get("b", 0)
    )


UNBALANCED = [[3, 5, 2], [4, 2, 6]]
THREE = [[[2, 3], [1, 4]], [[3, 3], [2, 2]], [[5, 1], [2, 3]]]


@pytest.mark.parametrize("counts", [[4, 7, 3], [[5] * 3] * 4, UNBALANCED, THREE], ids=str)
def test_type_three_is_that_of_statsmodels(counts):
    frame = made(counts)
    names = [name for name in frame if name != "y"]
    model = ols("y ~ " + " * ".join(f"C({name}, Sum)" for name in names), frame).fit()
    expected = sm.stats.anova_lm(model, typ=3)
    found = st.anova(frame, "y", names, method="ordinary")
    assert len(found.rows) == len(expected) - 2
    for row in found.rows:
        there = expected.loc[":".join(f"C({name}, Sum)" for name in row.factors)]
        assert (row.df, row.sum_sq, row.f, row.p_value) == pytest.approx(
            tuple(there[["df", "sum_sq", "F", "PR(>F)"]])
        )
        assert row.mean_sq == pytest.approx(row.sum_sq / row.df)
    residual = expected.loc["Residual"]
    assert (found.residual_df, found.residual_sum_sq) == pytest.approx((residual["df"], residual["sum_sq"]))


@pytest.mark.parametrize("counts", [UNBALANCED, [[3, 2, 4], [0, 3, 2]]], ids=str)
def test_main_effects_alone_are_type_two_of_statsmodels(counts):
    frame = made(counts)
    expected = sm.stats.anova_lm(ols("y ~ C(a) + C(b)", frame).fit(), typ=2)
    found = st.anova(frame, "y", ["a", "b"], method="ordinary", interactions=1)
    for name in "ab":
        there, row = expected.loc[f"C({name})"], found.row(name)
        assert (row.sum_sq, row.f, row.p_value) == pytest.approx(tuple(there[["sum_sq", "F", "PR(>F)"]]))


@pytest.mark.parametrize(
    "counts",
    [
        [[8, 8, 8], [8, 8, 0]],
        [[3, 2, 4], [0, 3, 2]],
        [[3, 0, 4, 2], [5, 3, 0, 2], [2, 4, 3, 1]],
        [[0, 3, 2], [4, 0, 2], [2, 5, 3], [1, 2, 2]],
    ],
    ids=str,
)
def test_with_empty_cells_what_can_be_estimated_is_that_of_nested_models(counts):
    """As R's `anova(lm(y ~ a * b))`: the interaction beside both factors, each factor beside the other, residuals of all cells."""
    frame = made(counts)
    frame["cell"] = frame["a"] * 10 + frame["b"]
    cells = ols("y ~ C(cell)", frame).fit()
    additive = ols("y ~ C(a) + C(b)", frame).fit()
    expected = sm.stats.anova_lm(additive, cells).loc[1]
    found = st.anova(frame, "y", ["a", "b"], method="ordinary")
    row = found.row("a:b")
    assert (row.df, row.sum_sq, row.f, row.p_value) == pytest.approx(
        tuple(expected[["df_diff", "ss_diff", "F", "Pr(>F)"]])
    )
    assert (found.residual_df, found.residual_sum_sq) == pytest.approx((cells.df_resid, cells.ssr))
    for name, other in ("ab", "ba"):
        beside = sm.stats.anova_lm(ols(f"y ~ C({other})", frame).fit(), additive).loc[1]
        f = beside["ss_diff"] / beside["df_diff"] / cells.mse_resid
        assert (found.row(name).df, found.row(name).f) == pytest.approx((beside["df_diff"], f))


def test_one_factor_is_scipys_f_oneway():
    frame = made([4, 7, 3])
    expected = stats.f_oneway(*(part["y"] for _, part in frame.groupby("a")))
    row = st.anova(frame, "y", "a", method="ordinary").rows[0]
    assert (row.f, row.p_value) == pytest.approx((expected.statistic, expected.pvalue))


def test_one_factor_with_its_own_variances_is_near_other_tests_of_that():
    """Alexander and Govern's and Welch's statistics are others: the p-values only lie near, where spreads do not differ much."""
    rng = np.random.default_rng(5)
    parts = [rng.normal(place, spread, 40) for place, spread in [(0, 1), (0.1, 1.2), (0.25, 1.1)]]
    row = st.anova({"y": np.concatenate(parts), "a": np.repeat(range(3), 40)}, "y", "a").rows[0]
    for expected in (stats.alexandergovern(*parts).pvalue, stats.f_oneway(*parts, equal_var=False).pvalue):
        assert np.log(row.p_value) == pytest.approx(np.log(expected), abs=0.3)


PIZZA = {
    # Crust, Coke, Bread: mean and variance of two delivery times
    ("thin", "no", "no"): (19.0, 2.0),
    ("thin", "no", "yes"): (17.5, 0.5),
    ("thin", "yes", "no"): (17.5, 4.5),
    ("thin", "yes", "yes"): (15.0, 2.0),
    ("thick", "no", "no"): (19.5, 0.5),
    ("thick", "no", "yes"): (18.0, 2.0),
    ("thick", "yes", "no"): (21.5, 0.5),
    ("thick", "yes", "yes"): (18.5, 0.5),
}
PIZZA_STATISTICS = {
    "Crust": (11.56, 0.02121110),
    "Coke": (0.36, 0.57625702),
    "Crust:Coke": (6.76, 0.05122842),
    "Bread": (11.56, 0.02121110),
    "Crust:Bread": (0.04, 0.84984482),
    "Coke:Bread": (1.00, 0.36598284),
    "Crust:Coke:Bread": (0.04, 0.84984482),
}


def test_the_anova_type_statistics_that_the_r_package_gfd_prints_for_its_pizza_data():
    """Introduction to GFD (CRAN), first example."""
    rows = [(*levels, y) for levels, given in PIZZA.items() for y in spread(*given, 2)]
    table = dict(zip(["Crust", "Coke", "Bread", "y"], zip(*rows, strict=True), strict=True))
    found = st.anova(table, "y", ["Crust", "Coke", "Bread"])
    assert len(found.rows) == 7
    for row in found.rows:
        assert (round(row.f, 2), round(row.p_value, 8)) == PIZZA_STATISTICS[row.term]
        assert (row.df, round(row.residual_df, 6)) == (1, 4.699248)


def test_the_anova_type_statistic_that_the_r_package_gfd_prints_for_its_curdies_data():
    """Its second example: six cells of six, variances from .07 to 35.7. The season alone does not know of nesting."""
    cells = [
        ("summer", 1, 0.4190947, 0.4615290),
        ("summer", 2, 0.2290862, 0.3148830),
        ("summer", 3, 0.1942443, 0.0729142),
        ("winter", 1, 2.0494375, 4.0647606),
        ("winter", 2, 4.1819078, 35.6801853),
        ("winter", 3, 0.6782063, 0.1910970),
    ]
    rows = [(season, site, y) for season, site, *given in cells for y in spread(*given, 6)]
    table = dict(zip(["season", "site", "y"], zip(*rows, strict=True), strict=True))
    row = st.anova(table, "y", ["season", "site"]).row("season")
    assert (row.f, row.residual_df, row.p_value) == pytest.approx((5.415180, 6.447707, 0.05593278), rel=1e-6)


@pytest.mark.parametrize("counts", [[4, 7, 3], UNBALANCED], ids=str)
def test_breusch_pagan_is_that_of_statsmodels(counts):
    frame = made(counts)
    names = [name for name in frame if name != "y"]
    model = ols("y ~ " + " * ".join(f"C({name})" for name in names), frame).fit()
    found = st.assumptions(frame, "y", names)
    for one, robust in [(found.breusch_pagan, True), (found.breusch_pagan_original, False)]:
        statistic, p_value, _, _ = het_breuschpagan(model.resid, model.model.exog, robust=robust)
        assert (one.statistic, one.p_value, one.studentised) == (
            pytest.approx(statistic),
            pytest.approx(p_value),
            robust,
        )
