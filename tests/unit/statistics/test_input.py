"""Bad, odd and extreme input, for every function that takes values."""

import numpy as np
import pytest

from trialwise import statistics as st

FUNCTIONS = {
    "percentile_interval": lambda values: st.percentile_interval(values, 50, 75),
    "cdf_band": lambda values: st.cdf_band(values, 95),
    "convergence": st.convergence,
    "convergence, paper": lambda values: st.convergence(values, method="paper"),
    "measure_of": lambda values: st.measure_of(values, 90),
    "mean": lambda values: st.measure_of(values, "mean"),
    "trial_metric": lambda values: st.trial_metric(values, 95, convergence={}),
    "trial_metric, mean": lambda values: st.trial_metric(values, "mean", convergence={}),
    "trial_metric, paper": lambda values: st.trial_metric(values, 95, convergence={}, method="paper"),
    "trial_metric, paper, mean": lambda values: st.trial_metric(
        values, "mean", convergence={}, method="paper"
    ),
    "independence": st.independence,
    "independence, paper": lambda values: st.independence(values, method="paper"),
    "kpi": lambda values: st.kpi(values, 75, 75),
    "kpi, paper": lambda values: st.kpi(values, 75, 75, method="paper"),
    "median_confidence_sequence": st.median_confidence_sequence,
    "mean_confidence_sequence": st.mean_confidence_sequence,
    "variability": lambda values: st.variability(values, 50, 75),
    "variability, paper": lambda values: st.variability(values, 50, 75, method="paper"),
}
SCORES = (FUNCTIONS["variability"], FUNCTIONS["variability, paper"])
every_function = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())


def largest_gap(values):
    with np.errstate(over="ignore"):
        return float(values.max() - values.min())


@every_function
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "0 numbers"),
        ([1.0, float("nan"), 2.0], r"\[1\] is NaN"),
        ([1.0, 2.0, float("-inf")], r"\[2\] is infinite"),
        ([1.0, None], r"\[1\] is NaN"),
        ([[1.0, 2.0], [3.0, 4.0]], "2 dimensions"),
        (np.ma.masked_equal([1.0, 2.0, 3.0], 2.0), "masked"),
        (["fast", "slow"], "not numbers"),
        ([1 + 2j], "not numbers"),
        ([10**400, 1], "range of a double"),
        (7.0, "0 dimensions"),
    ],
    ids=str,
)
def test_what_is_no_series_of_numbers_is_refused(function, values, message):
    with pytest.raises(ValueError, match=message):
        function(values)


def plain(result):
    """Everything in a result, so that two can be compared."""
    if hasattr(result, "__dataclass_fields__"):
        return {name: plain(getattr(result, name)) for name in result.__dataclass_fields__}
    return repr(result.tolist()) if isinstance(result, np.ndarray) else repr(result)


@every_function
def test_lists_integers_masked_and_read_only_arrays_say_the_same_and_stay_as_they_are(function):
    numbers = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4]
    expected = plain(function([float(number) for number in numbers]))
    frozen = np.array(numbers, dtype=float)
    frozen.setflags(write=False)
    strided = np.repeat(np.array(numbers, dtype=np.float32), 2)[::2]
    for values in (numbers, np.array(numbers), frozen, strided, np.ma.array(frozen), tuple(numbers)):
        assert plain(function(values)) == expected
    assert frozen.tolist() == numbers


@every_function
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 11, 60, 400])
@pytest.mark.parametrize(
    "make",
    [
        lambda count: np.full(count, 0.1),
        np.zeros,
        lambda count: -np.arange(count, dtype=float),
        lambda count: np.where(np.arange(count) % 2 == 0, 1.7e308, -1.7e308),
        lambda count: 1.7e308 - 1e306 * (np.arange(count) % 3),
        lambda count: 5e-324 * (np.arange(count) % 3),
        lambda count: np.arange(count) % 2 * 1e-300,
        lambda count: np.where(np.arange(count) == count // 2, 1e300, 1e-300),
    ],
    ids=["constant", "zeros", "descending", "opposite", "huge", "denormal", "half zero", "outlier"],
)
def test_few_constant_and_extreme_values_give_an_answer(function, make, count):
    values = make(count)
    if function in SCORES and count >= 3 and largest_gap(values) == np.inf:
        with pytest.raises(ValueError, match="largest double"):
            function(values)
        return
    result = function(values)
    for name in ("value", "low", "high", "slope", "score", "p_value"):
        number = getattr(result, name, None)
        assert number is None or isinstance(number, np.ndarray) or np.isfinite(number), name


@every_function
def test_a_second_call_says_the_same(function):
    values = np.random.default_rng(8).normal(10, 1, 90)
    first = plain(function(values))
    function(values[::-1])
    assert plain(function(values)) == first


@pytest.mark.parametrize("statistic", [st.percentile_interval, st.kpi, st.variability])
@pytest.mark.parametrize("percentages", [(0, 95), (50, 100), (101, 95)])
def test_percentages_out_of_range_are_refused(statistic, percentages):
    with pytest.raises(ValueError, match="between 0 and 100"):
        statistic([1, 2, 3], *percentages)


@pytest.mark.parametrize("statistic", [st.convergence, st.independence])
@pytest.mark.parametrize("limits", [(1, 1), (2, 1), (0, float("nan")), (1, 2, 3), 5, "ab"])
def test_limits_out_of_order_are_refused(statistic, limits):
    with pytest.raises(ValueError, match="limits"):
        statistic([1, 2, 3], limits=limits)


@pytest.mark.parametrize("statistic", [st.convergence, st.independence])
def test_an_unknown_method_is_refused(statistic):
    with pytest.raises(ValueError, match="allowed: default, paper"):
        statistic([1, 2, 3], method="papers")
