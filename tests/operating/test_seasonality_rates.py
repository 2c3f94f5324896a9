"""How often `seasonality` finds a day or a week that is there, and one that is not (METHODS d)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from trialwise.statistics.time.seasonality import seasonality

DAY, WEEK = 86_400.0, 604_800.0
STEP = 7200.0


@dataclass(frozen=True)
class Rates:
    day: int
    week: int
    other: int
    span: int


def rates(repetitions, *, rho, day=0.0, week=0.0, weeks=4, seed=1):
    """Two-hourly AR(1) noise of sd 1, 20 % of it and two whole days missing, with waves of the given sd."""
    rng = np.random.Generator(np.random.PCG64DXSM(seed))
    counts = np.zeros(4, dtype=int)
    for _ in range(repetitions):
        times, values = conditions(rng, weeks, rho, day, week)
        result = seasonality(times, values)
        calendar = [period.name for period in result.periods if period.correction == "holm"]
        other = any(period.correction == "maximum" for period in result.periods)
        counts += ["day" in calendar, "week" in calendar, other, result.span == WEEK]
    return Rates(*counts.tolist())


def conditions(rng, weeks, rho, day, week):
    times = np.arange(0, weeks * WEEK, STEP)
    noise = rng.standard_normal(times.size)
    noise[1:] *= np.sqrt(1 - rho**2)
    values = lfilter([1], [1, -rho], noise)
    for period, sd in ((DAY, day), (WEEK, week)):
        values = values + sd * np.sqrt(2) * np.sin(2 * np.pi * times / period + rng.uniform(0, 2 * np.pi))
    kept = rng.random(times.size) > 0.2
    start = rng.integers(0, times.size - 24)
    kept[start : start + 24] = False
    return times[kept], values[kept]


def at_most(count, repetitions, rate):
    """Whether so many would be a surprise (1 in 1,000) at that rate."""
    return stats.binom.sf(count - 1, repetitions, rate) > 0.001


def at_least(count, repetitions, rate):
    return stats.binom.cdf(count, repetitions, rate) > 0.001


def check_null(repetitions, rho):
    found = rates(repetitions, rho=rho)
    assert at_most(found.day, repetitions, 0.03)
    assert at_most(found.week, repetitions, 0.05)
    assert at_most(found.other, repetitions, 0.03)


def check_power(repetitions, *, day, week, day_power, week_power, **setting):
    found = rates(repetitions, day=day, week=week, seed=2, **setting)
    assert at_least(found.day, repetitions, day_power)
    assert at_least(found.week, repetitions, week_power)
    assert found.span >= found.week
    assert at_most(found.other, repetitions, 0.03)


@pytest.mark.operating
@pytest.mark.parametrize("rho", [0.3, 0.95])
def test_false_alarms(rho):
    check_null(40, rho)


@pytest.mark.operating
def test_power_of_half_a_standard_deviation_in_four_weeks():
    check_power(40, rho=0.3, day=0.5, week=0.5, day_power=0.99, week_power=0.95)


@pytest.mark.operating
def test_a_day_alone_is_not_taken_for_a_week():
    found = rates(40, rho=0.3, day=0.5, seed=3)
    assert found.day >= 39
    assert at_most(found.week, 40, 0.07)


def unsteady(kind, rng, n=336):
    """Two-hourly values of four weeks without a period: steps, blocks, wandering, drift."""
    place, noise = np.arange(n), rng.standard_normal(n)
    if kind == "step":
        return noise + 3 * (place >= rng.integers(60, n - 60))
    if kind == "block":
        begin, end = sorted(rng.integers(30, n - 30, 2))
        return noise + 3 * ((place >= begin) & (place < end))
    if kind == "random walk":
        return np.cumsum(noise)
    if kind == "autoregression":
        return lfilter([1], [1, -0.9], noise)
    return noise + 6 * place / n + 4 * (place / n) ** 2


def with_periods(repetitions, kind):
    """In how many records that are not stationary a period is reported, and in how many a shift or a drift."""
    rng = np.random.Generator(np.random.PCG64DXSM(5))
    periods = levels = 0
    for _ in range(repetitions):
        values = unsteady(kind, rng)
        found = seasonality(np.arange(values.size) * STEP, values)
        periods += bool(found.periods)
        levels += bool(found.shifts or found.drift)
    return periods, levels


UNSTEADY = ["step", "block", "random walk", "autoregression", "drift"]


@pytest.mark.operating
@pytest.mark.parametrize("kind", UNSTEADY)
def test_conditions_that_are_not_stationary_have_no_periods(kind):
    periods, levels = with_periods(10, kind)
    assert at_most(periods, 10, 0.05)
    assert kind not in {"step", "drift"} or levels >= 8


@pytest.mark.operating
@pytest.mark.soak
@pytest.mark.parametrize("kind", UNSTEADY)
def test_conditions_that_are_not_stationary_have_no_periods_long(kind):
    assert at_most(with_periods(200, kind)[0], 200, 0.05)


@pytest.mark.operating
@pytest.mark.soak
@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.3, 0.7, 0.9, 0.95])
def test_false_alarms_long(rho):
    check_null(500, rho)


@pytest.mark.operating
@pytest.mark.soak
@pytest.mark.parametrize(
    ("setting", "day_power", "week_power"),
    [
        ({"rho": 0.3, "day": 0.5, "week": 0.5}, 0.99, 0.97),
        ({"rho": 0.3, "day": 0.3, "week": 0.3}, 0.84, 0.66),
        ({"rho": 0.7, "day": 0.7, "week": 0.7, "weeks": 8}, 0.99, 0.99),
        ({"rho": 0.3, "day": 0.5, "week": 0.0}, 0.99, 0.0),
    ],
)
def test_power_long(setting, day_power, week_power):
    check_power(300, **setting, day_power=day_power, week_power=week_power)
