from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialwise.report.numbers import (
    ABSENT,
    bounds,
    change,
    counted,
    decimals,
    ordinal,
    p_value,
    percent,
    signed,
    write,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.1, "4.1"),
        (4.14789, "4.148"),
        (123456.7, "123457"),
        (0.30000000000000004, "0.3"),
        (1e-7, "1e-07"),
        (1234567890.0, "1.235e+09"),
        (-0.00123456, "-0.001235"),
        (9.99999, "10.000"),
        (0.0, "0"),
        (-0.0, "0"),
        (12345678, "12345678"),
        (None, ABSENT),
        (float("nan"), ABSENT),
        (float("inf"), ABSENT),
    ],
)
def test_numbers_have_four_digits_and_none_that_they_lack(value: float | None, text: str) -> None:
    assert write(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (-math.inf, math.inf, "no bounds"),
        (math.nan, math.nan, "no bounds"),
        (None, None, "no bounds"),
        (-math.inf, 5.0, "at most 5"),
        (3.0, math.inf, "at least 3"),
        (3.0, 5.0, "3 to 5"),
    ],
)
def test_an_interval_that_is_open_is_called_so(low: float | None, high: float | None, text: str) -> None:
    assert bounds(low, high) == text


@pytest.mark.parametrize(
    ("estimate", "low", "high", "text"),
    [
        (81157.3, 80521.1, 81792.4, "+81157 (80521 to 81793)"),
        (0.01796, -1.347, 1.412, "+0.018 (-1.347 to 1.412)"),
        (-3.4e-05, -0.02748, 0.0282, "-0.00003 (-0.02748 to 0.0282)"),
        (12.68, 11.99, 13.38, "+12.68 (11.99 to 13.38)"),
        (3e10, 1e9, 5e10, "+3e+10 (1e+09 to 5e+10)"),
        (1e-9, -1.0, 1.0, "0 (-1 to 1)"),
        (12.3, -math.inf, math.inf, "+12.3 (no bounds)"),
        (math.nan, math.nan, math.nan, f"{ABSENT} (no bounds)"),
    ],
)
def test_a_change_and_its_bounds_are_written_in_one_form(
    estimate: float, low: float, high: float, text: str
) -> None:
    """Beside bounds of 80521 to 81793 the estimate was +8.116e+04, and beside -1.3 to 1.4 it had four digits of noise."""
    assert change(estimate, low, high) == text


def test_bounds_are_rounded_away_from_what_they_bound() -> None:
    assert write(4.14789, "down") == "4.147"
    assert write(4.14711, "up") == "4.148"
    assert write(-4.14711, "down") == "-4.148"
    assert write(123456.2, "up") == "123457"


@given(st.floats(-1e300, 1e300))
def test_rounding_never_passes_the_number(value: float) -> None:
    twelve_digits = float(f"{value:.12g}")
    assert float(write(value, "down")) <= twelve_digits <= float(write(value, "up"))
    assert float(write(value)) == pytest.approx(value, rel=1e-3, abs=0)


def test_percentiles_and_counts_in_words() -> None:
    assert [ordinal(value) for value in (50, 1, 2, 3, 11, 12, 13, 22, 99.9)] == [
        "median",
        "1st percentile",
        "2nd percentile",
        "3rd percentile",
        "11th percentile",
        "12th percentile",
        "13th percentile",
        "22nd percentile",
        "99.9th percentile",
    ]
    assert percent(99.9) == "99.9 %"
    assert (counted(1, "trial"), counted(2, "trial"), counted(2, "series", "series")) == (
        "1 trial",
        "2 trials",
        "2 series",
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.00026, "0.00026"),
        (0.0002601, "0.00027"),
        (9.99e-5, "< 0.0001"),
        (0.0, "< 0.0001"),
        (0.0496, "0.0496"),
        (0.049996, "0.049996"),
        (0.05, "0.05"),
        (0.0501, "0.051"),
        (0.0249, "0.0249"),
        (0.8905, "0.9"),
        (0.01234, "0.013"),
        (1.0, "1"),
        (float("nan"), "–"),
        (None, "–"),
    ],
)
def test_a_p_value_is_rounded_up(value: float | None, text: str) -> None:
    assert p_value(value) == text


@given(st.floats(1e-4, 1))
def test_no_printed_p_value_is_smaller_than_it_is(value: float) -> None:
    assert value * (1 - 1e-9) <= float(p_value(value)) <= value * 1.1 + 1e-12


@given(st.sampled_from([0.1, 0.05, 0.03, 0.025, 0.01, 0.005, 0.001]), st.floats(0.9, 1.1))
def test_a_printed_p_value_is_on_the_same_side_of_its_level(level: float, times: float) -> None:
    value = level * times
    assert (float(p_value(value)) < level) == (value < level * (1 - 1e-11))


@given(st.floats(-1e8, 1e8), st.floats(-1e8, 1e8))
def test_no_printed_interval_is_narrower_than_it_is(one: float, other: float) -> None:
    low, high = sorted((one, other))
    texts = bounds(low, high).split(" to ")
    assert float(texts[0]) <= low + abs(low) * 1e-9
    assert float(texts[1]) >= high - abs(high) * 1e-9


@pytest.mark.parametrize(
    ("value", "low", "nearest", "high"),
    [
        (41.444, "+41.4", "+41.4", "+41.5"),
        (-5.3019, "-5.31", "-5.30", "-5.30"),
        (0.12345, "+0.123", "+0.123", "+0.124"),
        (5986.4, "+5986", "+5986", "+5987"),
        (17.0, "+17", "+17", "+17"),
        (0.0, "0", "0", "0"),
        (float("inf"), "–", "–", "–"),
    ],
)
def test_bounds_of_changes_are_rounded_outward(value, low, nearest, high):
    assert [signed(value, rounding) for rounding in ("down", "nearest", "up")] == [low, nearest, high]


@pytest.mark.parametrize(
    ("value", "low", "high"), [(0.802, "0.80", "0.81"), (0.8, "0.80", "0.80"), (-0.001, "-0.01", "0.00")]
)
def test_bounds_with_so_many_decimals_are_rounded_outward(value, low, high):
    assert decimals(value, 2, "down") == low
    assert decimals(value, 2, "up") == high
