"""Variance components: against other computations, with levels missing, and what a budget is spent on."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats

from trialwise import statistics as st
from trialwise.statistics.effects.component_bounds import difference_bounds


def table(shape, sds, seed=1, names=("host", "boot", "trial")):
    """Nested values, balanced; labels repeat within the level above."""
    random = np.random.default_rng(seed)
    y = 100.0
    for at in range(len(shape)):
        inner = (1,) * (len(shape) - at - 1)
        y = y + sds[at] * random.normal(size=shape[: at + 1]).reshape(shape[: at + 1] + inner)
    places = np.indices(shape).reshape(len(shape), -1)
    return {"y": y.ravel(), **dict(zip(names, places, strict=False))}


def rows(columns, kept):
    return {name: values[kept] for name, values in columns.items()}


def test_mean_squares_of_balanced_data_by_hand():
    data = table((4, 3, 5), (3, 2, 1))
    y = data["y"].reshape(4, 3, 5)
    trial = y.var(axis=2, ddof=1).mean()
    boot = 5 * y.mean(axis=2).var(axis=1, ddof=1).mean()
    host = 15 * y.mean(axis=(1, 2)).var(ddof=1)
    found = st.variance_components(data, "y", ["host", "boot", "trial"])
    assert found == pytest.approx({"host": (host - boot) / 15, "boot": (boot - trial) / 5, "trial": trial})
    assert list(found) == ["host", "boot", "trial"]
    assert [one.df for one in found.components.values()] == [3, 8, 48]
    assert [one.units for one in found.components.values()] == [4, 12, 60]
    assert found.n == 60


def test_the_lowest_level_has_the_interval_of_chi_square():
    data = table((4, 3, 5), (3, 2, 1))
    one = st.variance_components(data, "y", ["host", "boot", "trial"], confidence=90).components["trial"]
    low, high = stats.chi2.ppf([0.95, 0.05], 48)
    assert (one.low, one.high) == pytest.approx((48 * one.variance / low, 48 * one.variance / high))


def test_bounds_of_a_difference_are_exact_where_they_must_be():
    """With nothing subtracted they are those of chi square; they are 0 just where the F test is at its level."""
    low, high = difference_bounds(2.0, 7, 1e-12, 50, 0.025)
    assert (low, high) == pytest.approx(
        (14 / stats.chi2.ppf(0.975, 7), 14 / stats.chi2.ppf(0.025, 7)), rel=1e-6
    )
    for df, other in itertools.product((2, 5, 30), (4, 40)):
        edge = stats.f.ppf(0.975, df, other)
        assert difference_bounds(edge, df, 1.0, other, 0.025)[0] == pytest.approx(0, abs=1e-9)
        edge = stats.f.ppf(0.025, df, other)
        assert difference_bounds(edge, df, 1.0, other, 0.025)[1] == pytest.approx(0, abs=1e-9)


def one_way_by_searle(groups):
    """n0 = (N - sum n²/N)/(a - 1), the textbook's one-way coefficient for groups of unequal size."""
    sizes = np.array([len(group) for group in groups])
    total, count = sizes.sum(), len(groups)
    means = np.array([np.mean(group) for group in groups])
    grand = np.concatenate(groups).mean()
    between = np.sum(sizes * (means - grand) ** 2) / (count - 1)
    within = sum(np.sum((group - mean) ** 2) for group, mean in zip(groups, means, strict=True))
    within /= total - count
    return (between - within) / ((total - np.sum(sizes**2) / total) / (count - 1)), within


def test_unbalanced_groups_have_searles_coefficient():
    random = np.random.default_rng(3)
    groups = [random.normal(random.normal(0, 4), 1, size) for size in (2, 7, 3, 1, 5)]
    data = {
        "y": np.concatenate(groups),
        "host": np.repeat(list("abcde"), [2, 7, 3, 1, 5]),
        "trial": np.arange(18),
    }
    found = st.variance_components(data, "y", ["host", "trial"])
    assert tuple(found.values()) == pytest.approx(one_way_by_searle(groups))


def unclipped(y, codes):
    """Moments, none set to 0, solved from the expectation of each sum of squares under unit variances."""
    everything = [np.zeros(y.size, dtype=int), *codes]

    def projected(code):
        onto = (code[:, None] == code).astype(float)
        return onto / onto.sum(axis=1)

    steps = [projected(b) - projected(a) for a, b in itertools.pairwise(everything)]
    expected = [[np.trace(step @ (code[:, None] == code)) for code in codes] for step in steps]
    return np.linalg.solve(expected, [y @ step @ y for step in steps])


def test_unbalanced_estimates_are_those_of_projections():
    random = np.random.default_rng(11)
    data = table((5, 3, 4), (3, 2, 1), seed=5)
    kept = np.flatnonzero(random.random(60) < 0.7)
    codes = [data["host"][kept], (3 * data["host"] + data["boot"])[kept], kept]
    codes = [np.unique(code, return_inverse=True)[1] for code in codes]
    found = st.variance_components(rows(data, kept), "y", ["host", "boot", "trial"])
    assert tuple(found.values()) == pytest.approx(unclipped(data["y"][kept], codes))


def test_frames_mappings_text_labels_and_any_order_of_rows_are_the_same():
    data = table((4, 2, 3), (3, 2, 1))
    expected = st.variance_components(data, "y", ["host", "boot", "trial"])
    shuffled = pl.DataFrame(data).sample(fraction=1, shuffle=True, seed=1)
    named = shuffled.with_columns(host=pl.format("h{}", "host"), boot=pl.col("boot").cast(pl.String))
    for other in (shuffled, named, named.to_dict(as_series=False)):
        found = st.variance_components(other, "y", ["host", "boot", "trial"])
        assert found == pytest.approx(dict(expected))
        assert found.interval().low == pytest.approx(expected.interval().low)


def test_what_labels_do_not_tell_apart_is_a_level_of_its_own():
    data = table((4, 2, 3), (3, 2, 1))
    found = st.variance_components(data, "y", ["host", "boot"])
    assert list(found) == ["host", "boot", "residual"]
    expected = st.variance_components(data, "y", ["host", "boot", "trial"])
    assert tuple(found.values()) == pytest.approx(tuple(expected.values()))


def test_duplicated_rows_count_once():
    data = table((4, 2, 3), (3, 2, 1))
    twice = {name: np.concatenate([values, values[5:9]]) for name, values in data.items()}
    found = st.variance_components(twice, "y", ["host", "boot", "trial"])
    assert found == pytest.approx(dict(st.variance_components(data, "y", ["host", "boot", "trial"])))
    assert "4 rows repeat another" in found.note


def test_a_negative_estimate_is_0_and_said():
    data = {"host": [0, 0, 1, 1], "trial": [0, 1, 0, 1], "y": [1.0, 9.0, 7.0, 2.0]}
    found = st.variance_components(data, "y", ["host", "trial"])
    assert found["host"] == 0
    assert found.components["host"].negative
    assert found.components["host"].low == 0 < found.components["host"].high
    assert found.note == "estimated below 0 and set to 0: host"


def test_one_host_has_no_variance_between_hosts():
    found = st.variance_components(table((1, 5, 4), (3, 2, 1)), "y", ["host", "boot", "trial"])
    assert np.isnan(found["host"])
    assert found["boot"] > 0
    assert "there is one host only; repeat host" in found.note
    interval = found.interval()
    assert (interval.level, interval.n) == ("boot", 5)
    assert interval.note.startswith("for this host alone")
    spread = found.allocation({"host": 100, "boot": 10, "trial": 1}, 400)
    assert spread.counts["host"] == 1
    assert spread.cost <= 400


@pytest.mark.parametrize(
    ("shape", "missing", "owner"),
    [((5, 1, 4), "boot", "host"), ((5, 4, 1), "trial", "boot"), ((5, 1, 1), "boot", "host")],
)
def test_one_unit_in_each_is_part_of_the_level_above(shape, missing, owner):
    data = table(shape, (1, 1, 1))
    found = st.variance_components(data, "y", ["host", "boot", "trial"])
    assert np.isnan(found[missing])
    assert missing in found.components[owner].includes
    assert f"repeat {missing} within {owner}" in found.note
    left = [name for name in ("host", "boot", "trial") if not np.isnan(found[name])]
    assert [found[name] for name in left] == pytest.approx(
        list(st.variance_components(data, "y", left).values())
    )


def test_interval_prediction_and_limit_rest_on_the_means_of_the_highest_level():
    data = table((6, 2, 5), (3, 2, 1))
    found = st.variance_components(data, "y", ["host", "boot", "trial"])
    means = data["y"].reshape(6, 10).mean(axis=1)
    theirs = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    assert (found.interval().low, found.interval().high) == pytest.approx(tuple(theirs))
    reach = stats.t.ppf(0.975, 5) * means.std(ddof=1) * np.sqrt(7 / 6)
    assert found.prediction().high == pytest.approx(means.mean() + reach)
    # Balanced and none negative: the components add up to the variance of the means.
    assert found.reproducibility_limit() == pytest.approx(1.96 * np.sqrt(2) * means.std(ddof=1))


def test_in_means_of_unequal_hosts_each_boot_counts_alike():
    data = {
        "host": ["a", "a", "a", "b", "b"],
        "boot": [1, 1, 2, 1, 2],
        "trial": [1, 2, 1, 1, 1],
        "y": [1.0, 3.0, 8.0, 4.0, 6.0],
    }
    found = st.variance_components(data, "y", ["host", "boot", "trial"])
    assert found.means.tolist() == [5.0, 5.0]


@pytest.mark.parametrize(
    ("change", "levels", "message"),
    [
        ({}, [], "one or more different columns"),
        ({}, ["host", "host"], "one or more different columns"),
        ({}, ["host", "rack"], "no column 'rack'"),
        ({"y": [1.0, np.nan, 2.0, 3.0]}, ["host"], "NaN"),
        ({"host": [1, 2]}, ["host"], "2 labels for 4 values"),
    ],
)
def test_bad_tables(change, levels, message):
    data = {"y": [1.0, 2.0, 3.0, 4.0], "host": [0, 0, 1, 1], "trial": [0, 1, 0, 1]} | change
    with pytest.raises(ValueError, match=message):
        st.variance_components(data, "y", levels)


def test_values_that_do_not_vary():
    found = st.variance_components(
        {"y": [5.0] * 4, "host": [0, 0, 1, 1], "trial": [0, 1, 0, 1]}, "y", ["host", "trial"]
    )
    assert tuple(found.values()) == (0.0, 0.0)
    assert found.interval().low == found.interval().high == 5.0


def components(**variances):
    """Balanced data that have just these variances."""
    shape = (5, 4, 3)[: len(variances)]
    sizes = np.prod(shape) // np.cumprod(shape)
    wanted = list(variances.values())
    y = np.zeros(shape)
    mean_square = 0.0
    for at in reversed(range(len(wanted))):
        mean_square += sizes[at] * wanted[at]
        effect = np.linspace(-1, 1, shape[at])
        scale = np.sqrt(mean_square / sizes[at] / effect.var(ddof=1))
        y = y + (scale * effect).reshape((-1,) + (1,) * (len(shape) - at - 1))
    places = np.indices(shape).reshape(len(shape), -1)
    data = {"y": y.ravel(), **dict(zip(variances, places, strict=True))}
    found = st.variance_components(data, "y", list(variances))
    assert found == pytest.approx(variances)
    return found


@pytest.mark.parametrize(
    ("between", "within", "dear", "cheap", "inside"),
    [(1, 1, 9, 1, 3), (1, 4, 25, 1, 10), (4, 1, 1, 1, 1), (0.1, 1, 10, 1, 10), (1, 1e5, 10, 1, 30)],
)
def test_two_levels_by_the_formula(between, within, dear, cheap, inside):
    """r* = sqrt(cS/cR · sR²/sS²), at most 30, at least 1."""
    result = components(host=between, trial=within).allocation({"host": dear, "trial": cheap}, 2000)
    assert result.counts["trial"] == inside
    assert result.counts["host"] == 2000 // (dear + inside * cheap)
    assert result.cost == result.counts["host"] * (dear + inside * cheap) <= result.budget
    assert result.n == result.counts["host"] * inside
    spread = np.sqrt((between + within / inside) / result.counts["host"])
    assert result.half_width == pytest.approx(stats.t.ppf(0.975, result.counts["host"] - 1) * spread)


@pytest.mark.parametrize(
    ("variances", "costs"),
    [
        ((1, 1, 1), (100, 10, 1)),
        ((1, 4, 9), (50, 10, 2)),
        ((1, 0.01, 4), (50, 10, 1)),
        ((2, 3, 0.1), (5, 10, 1)),
        ((1, 1, 1), (1, 20, 1)),
        ((1, 0.1, 1), (1, 1, 1)),
    ],
)
def test_three_levels_are_within_rounding_of_the_best_of_all(variances, costs):
    """Every choice up to 30 x 30, with as many hosts as the budget buys."""
    names = ("host", "boot", "trial")
    found = components(**dict(zip(names, variances, strict=True)))
    budget = 40 * sum(costs)
    result = found.allocation(dict(zip(names, costs, strict=True)), budget)
    boots, trials = np.meshgrid(np.arange(1, 31), np.arange(1, 31))
    hosts = np.floor(budget / (costs[0] + boots * (costs[1] + trials * costs[2])))
    with np.errstate(divide="ignore"):
        spread = (variances[0] + variances[1] / boots + variances[2] / boots / trials) / hosts
    counts = result.counts
    ours = (
        variances[0] + variances[1] / counts["boot"] + variances[2] / counts["boot"] / counts["trial"]
    ) / counts["host"]
    assert ours <= 1.06 * spread[hosts >= 5].min()


def test_limits_of_an_allocation():
    no_host = components(host=0.0, trial=1.0)
    capped = no_host.allocation({"host": 1, "trial": 1}, 500)
    assert capped.counts == {"host": 16, "trial": 30}
    assert "limited to 30" in capped.note
    few = no_host.allocation({"host": 1, "trial": 1}, 40)
    assert few.counts == {"host": 5, "trial": 7}
    assert "for 5 of host" in few.note
    fewer = no_host.allocation({"host": 10, "trial": 1}, 35)
    assert fewer.counts == {"host": 3, "trial": 1}
    assert "buys 3 of host" in fewer.note
    with pytest.raises(ValueError, match="does not buy two of host; 22 would"):
        no_host.allocation({"host": 10, "trial": 1}, 21)


@pytest.mark.parametrize(
    ("costs", "budget", "message"),
    [
        ({"host": 1}, 10, "cost of 'trial' is None"),
        ({"host": 1, "trial": -1}, 10, "cost of 'trial' is -1"),
        ({"host": 1, "trial": 1, "boot": 1}, 10, "key of costs"),
        ({"host": 0, "trial": 0}, 10, "costs nothing"),
        ({"host": 1, "trial": 1}, float("nan"), "budget"),
    ],
)
def test_bad_costs(costs, budget, message):
    with pytest.raises(ValueError, match=message):
        components(host=1.0, trial=1.0).allocation(costs, budget)
