from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.signal import lfilter

from trialwise.statistics.sizing.common_periods import recommended_span
from trialwise.statistics.time.seasonality import seasonality

DAY, WEEK = 86_400.0, 604_800.0


def generator(seed):
    return np.random.Generator(np.random.PCG64DXSM(seed))


def red(n, rho, rng):
    noise = rng.standard_normal(n)
    noise[1:] *= np.sqrt(1 - rho**2)
    return lfilter([1], [1, -rho], noise)


def wave(t, period, sd):
    return sd * np.sqrt(2) * np.sin(2 * np.pi * t / period + 1)


def lengths(result):
    return [period.seconds for period in result.periods]


def conditions(weeks, *, day=0.0, week=0.0, rho=0.3, seed=1, step=7200.0):
    t = np.arange(0, weeks * WEEK, step)
    return t, red(t.size, rho, generator(seed)) + wave(t, DAY, day) + wave(t, WEEK, week)


def test_day_and_week_give_a_span_of_a_week():
    result = seasonality(*conditions(4, day=0.7, week=0.7))
    assert [(period.name, period.correction) for period in result.periods] == [
        ("day", "holm"),
        ("week", "holm"),
    ]
    assert result.span == WEEK
    assert result.tested == ("day", "week")
    assert all(period.p_value <= 0.05 for period in result.periods)
    assert result.note == ""


def test_strength_is_the_share_of_variance():
    t, y = conditions(8, day=1.0, rho=0.0)
    assert seasonality(t, y).periods[0].strength == pytest.approx(0.5, abs=0.07)


def test_red_noise_has_no_period_and_asks_for_no_span():
    result = seasonality(*conditions(4, rho=0.9))
    assert result.periods == ()
    assert result.span is None
    assert "No period was found" in result.note


def test_a_week_that_cannot_be_excluded_is_covered():
    result = seasonality(*conditions(1.5, day=1.0))
    assert [period.name for period in result.periods] == ["day"]
    assert result.tested == ("day",)
    assert result.span == WEEK
    assert "neither show nor exclude a week" in result.note


def test_a_short_period_nobody_named_is_found_in_fast_data():
    t = np.arange(6000) / 100
    result = seasonality(t, generator(2).normal(size=6000) + wave(t, 2.0, 0.5))
    assert lengths(result) == pytest.approx([2.0], rel=0.005)
    assert result.span == result.periods[0].seconds
    assert result.periods[0].correction == "maximum"
    assert result.tested == ()


def test_a_sawtooth_is_one_period():
    t = np.arange(3000.0)
    result = seasonality(t, (t % 50) / 50 + 0.05 * generator(3).normal(size=3000))
    assert lengths(result) == pytest.approx([50], rel=0.001)


@pytest.mark.parametrize(
    ("n", "cycles", "noise"),
    [(300, 5, 0.05), (500, 5, 0.15), (500, 5, 0.05), (300, 7.6, 0.05), (800, 7.6, 0.15), (500, 5.3, 0.3)],
)
def test_few_cycles_of_a_sawtooth_are_one_period_of_the_right_length(n, cycles, noise):
    """Its period was up to 2.9 % off, and up to five of its harmonics beyond the sixth were listed as periods;
    with little noise its edges were level shifts beside a drift."""
    t = np.arange(n) * 1.0
    values = (t * cycles / n + 0.3) % 1 + noise * generator(8).normal(size=n)
    found = seasonality(t, values)
    assert lengths(found) == pytest.approx([n / cycles], rel=0.01)
    assert found.shifts == ()
    assert found.drift is None


@pytest.mark.parametrize(("cycles", "noise", "beside"), [(5, 0.3, 0.25), (7.6, 0.15, 0.15)])
def test_a_period_beside_a_sawtooth_is_found_too(cycles, noise, beside):
    t = np.arange(600) * 1.0
    values = (t * cycles / 600 + 0.3) % 1 + beside * np.sin(2 * np.pi * t / 18.5)
    found = seasonality(t, values + noise * generator(9).normal(size=600))
    assert lengths(found) == pytest.approx([18.5, 600 / cycles], rel=0.01)


def test_two_unnamed_periods_come_out_one_after_the_other():
    t = np.arange(2000) * 10.0
    result = seasonality(t, red(2000, 0.5, generator(4)) + wave(t, 700, 1.0) + wave(t, 3100, 0.7))
    assert lengths(result) == pytest.approx([700, 3100], rel=0.01)


def test_irregular_times_show_the_same_periods():
    rng = generator(5)
    t = np.sort(rng.uniform(0, 5 * WEEK, 700))
    result = seasonality(t, rng.normal(size=700) + wave(t, DAY, 0.7) + wave(t, 30_000, 0.7))
    assert lengths(result) == pytest.approx([30_000, DAY], rel=0.005)


def test_a_day_seen_once_a_day_is_not_tested():
    t = np.arange(120) * DAY
    result = seasonality(t, red(120, 0.0, generator(6)) + wave(t, WEEK, 1.0))
    assert [period.name for period in result.periods] == ["week"]
    assert result.tested == ("week",)
    assert result.span == WEEK


def test_order_and_shifts_of_time_do_not_matter():
    t, y = conditions(3, day=0.6)
    shuffled = generator(7).permutation(t.size)
    one, other = seasonality(t, y), seasonality(t[shuffled], y[shuffled])
    assert one.periods == other.periods
    dates = np.datetime64("2019-08-03T23:00:00", "ms") + (1000 * t).astype("timedelta64[ms]")
    assert seasonality(dates, y).periods == one.periods


def test_monotone_transformations_and_one_outlier_change_nothing_much():
    t, y = conditions(3, day=0.6)
    assert seasonality(t, np.exp(5 * y)).periods == pytest.approx(seasonality(t, y).periods)
    spoilt = y.copy()
    spoilt[17] = 1e300
    assert [period.name for period in seasonality(t, spoilt).periods] == ["day"]


def test_missing_and_repeated_values_are_counted():
    t, y = conditions(3, day=0.8)
    y[5:30] = np.nan
    result = seasonality(np.append(t, t[100]), np.append(y, y[100]))
    assert (result.n, result.missing) == (t.size - 25, 25)
    assert "25 values are missing" in result.note
    assert "1 value shares its time" in result.note
    assert [period.name for period in result.periods] == ["day"]


def test_same_input_same_result_and_nothing_changed():
    t, y = conditions(3, day=0.3)
    before = y.copy()
    y.flags.writeable = t.flags.writeable = False
    first, second = (dataclasses.asdict(seasonality(t, y)) for _ in range(2))
    np.testing.assert_equal(first, second)
    np.testing.assert_array_equal(y, before)


@pytest.mark.parametrize("method", ["default", "paper"])
@pytest.mark.parametrize("n", [2, 3, 4, 19, 300])
@pytest.mark.parametrize("kind", ["constant", "linear", "huge"])
def test_few_constant_and_huge_values(method, n, kind):
    t = np.arange(n) * 7200.0
    y = {"constant": np.full(n, 3), "linear": np.arange(n), "huge": 1.7e308 * np.cos(np.arange(n) ** 2)}[kind]
    result = seasonality(t, y, method=method)
    assert result.n == n
    assert np.isfinite(result.autocorrelation.values).all()
    if method == "default":
        assert result.periods == ()
        assert result.note
        assert result.span == (None if n == 300 else WEEK)


def test_clusters_of_times_far_apart_are_too_few():
    t = np.concatenate([np.arange(100) * 1e-6, 3e8 + np.arange(100) * 1e-6])
    assert "2 values are too few" in seasonality(t, np.arange(200)).note


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [0, np.nan], "values": [1, 2]}, "times"),
        ({"times": [0, 1], "values": [1, np.inf]}, "values"),
        ({"times": [0], "values": [1]}, "at least 2"),
        ({"times": [0, 1], "values": [1, 2], "method": "fourier"}, "method"),
        ({"times": [0, 1], "values": [1, 2], "confidence": 100}, "confidence"),
        ({"times": [0, 1], "values": [1, 2], "surrogates": 10}, "at least 50"),
    ],
)
def test_errors_say_which(arguments, message):
    with pytest.raises(ValueError, match=message):
        seasonality(**arguments)


def test_higher_confidence_draws_as_many_surrogates_as_it_needs():
    result = seasonality(*conditions(4, day=1.0), confidence=99.9)
    assert result.periods[0].name == "day"
    assert result.periods[0].p_value <= 0.001


def test_paper_reads_the_peaks_that_stand_out():
    result = seasonality(*conditions(4, day=1.0, week=1.0, rho=0.0), method="paper")
    assert [period.name for period in result.periods] == ["day", "week"]
    assert {period.p_value for period in result.periods} == {None}
    assert result.span == pytest.approx(WEEK)


def test_paper_fills_gaps_with_the_median():
    t, y = conditions(1)
    full = y.copy()
    full[[10, 11, 40]] = np.median(np.delete(y, [10, 11, 40]))
    gappy = seasonality(np.delete(t, [10, 11, 40]), np.delete(y, [10, 11, 40]), method="paper")
    np.testing.assert_allclose(
        gappy.autocorrelation.values, seasonality(t, full, method="paper").autocorrelation.values
    )
    assert "3 empty cells" in gappy.note


@pytest.mark.parametrize(
    ("periods", "span"),
    [
        ([], None),
        ([DAY], DAY),
        ([DAY, WEEK], WEEK),
        ([24, 36], 72),
        ([10, 11.5], 69),
        ([2.0003, WEEK], WEEK),
        ([7, 9], 63),
        ([6.9, 7.0], 7.0),
    ],
)
def test_recommended_span(periods, span):
    assert recommended_span(periods) == (None if span is None else pytest.approx(span))
