"""Opportunities of traces and rates, and what a trace is like."""

from __future__ import annotations

import numpy as np
import pytest

from trialwise import _core
from trialwise.measurement import opportunities
from trialwise.measurement.opportunities import summary


def trace(*milliseconds: int) -> np.ndarray:
    return np.array(milliseconds, np.uint64)


def stepped(milliseconds: list[int], start: float, stop: float, base: float) -> list[float]:
    """By walking from the first opportunity on."""
    times, time_zero, found = list(milliseconds), base, []
    while time_zero <= stop:
        found += [time_zero + each for each in times]
        time_zero += times[-1]
    return [time for time in found if start < time <= stop]


@pytest.mark.parametrize("times", [[1], [0, 1], [3, 3, 7], [5, 100], [0, 0, 9]])
@pytest.mark.parametrize(("start", "stop", "base"), [(0, 50, 0), (13, 200, 0), (7, 90, 35), (100, 100, 0)])
def test_a_repeated_trace_against_walking(times: list[int], start: int, stop: int, base: int):
    found = opportunities.of_trace(trace(*times), start, stop, base=base)
    assert found.tolist() == stepped(times, start, stop, base)


def test_a_trace_once():
    assert opportunities.of_trace(trace(2, 5), 0, 100, base=10, repeat=False).tolist() == [12, 15]
    assert opportunities.of_trace(trace(2, 5), 12, 100, base=10, repeat=False).tolist() == [15]
    assert opportunities.of_trace(trace(2, 5), 50, 100, base=10, repeat=False).size == 0


@pytest.mark.parametrize("megabits", [12, 4, 24, 97.11, 0.57])
def test_a_constant_rate_has_the_opportunities_of_its_trace(megabits: float):
    made = _core.make_trace(f"{megabits}Mbit/s", length="2s", seed=0)
    assert opportunities.of_rate(megabits * 1e6, 0, 2000).tolist() == made.tolist()


def test_capacity_counts_what_can_leave():
    assert opportunities.capacity(trace(1), 0, 10) == pytest.approx(12)
    assert opportunities.capacity(trace(1, 1, 10), 0, 0.005) == pytest.approx(2 * 12_000 / 0.005 / 1e6)


def test_rates_in_bins():
    ends, values = opportunities.rates(trace(1, 2, 3, 10), 5)
    assert ends.tolist() == [0.005, 0.01]
    assert values == pytest.approx([3 * 12 / 5, 1 * 12 / 5])
    assert opportunities.rates(trace(1), 500)[1] == pytest.approx([12])


def test_a_summary_by_hand():
    found = summary(trace(100, 200, 200, 1700, 2000), 1000)
    assert (found.opportunities, found.period_ms, found.bin_ms) == (5, 2000, 1000)
    assert found.mean_rate == pytest.approx(5 * 12_000 / 2 / 1e6)
    assert found.mean_rate_mahimahi == pytest.approx(5 * 1504 * 8 / 2 / 1e6)
    assert found.percentiles["0"] == pytest.approx(2 * 0.012)
    assert found.percentiles["100"] == pytest.approx(3 * 0.012)
    assert (found.longest_gap_ms, found.longest_gap_at_ms, found.most_in_a_millisecond) == (1500, 200, 2)
    assert any("nothing leaves for 1500 ms" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("times", "warning"),
    [
        ((0, 1), "coincides with the last"),
        ((9000, 9001), "`trialwise trace cut --from 8999ms`"),
        ((1, *[500] * 30), "30 packets leave in one millisecond"),
        ((1, 7), "repeats every 7 ms"),
    ],
)
def test_warnings(times: tuple[int, ...], warning: str):
    assert any(warning in found for found in summary(trace(*times)).warnings)


def test_periods_shorter_than_a_bin_are_taken_whole():
    found = summary(trace(*[200] * 10), 500)
    assert found.bin_ms == 600
    assert found.percentiles["0"] == found.percentiles["100"] == pytest.approx(0.6)
    assert not any("cut" in warning for warning in found.warnings)


def test_a_plain_trace_has_no_warnings():
    assert summary(trace(1)).warnings == ()
    assert summary(_core.make_trace("poisson:rate=3Mbit/s", length="60s", seed=1)).warnings == ()
