"""Rounds that conditions ask for, against R and against simulated experiments."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

from trialwise import statistics as st
from trialwise.errors import StatisticsError

DAY, MINUTE = 86_400.0, 60.0


def conditions(rng, days=3, curve=2.0, noise=1.0):
    """A level that follows the hour of day, with noise of its own for each minute."""
    times = np.arange(0, days * DAY, MINUTE)
    return times, 30 + curve * np.sin(2 * np.pi * times / DAY) + noise * rng.standard_normal(times.size)


def needed(times, values, margin, **changed):
    settings = {"every": MINUTE, "trial": MINUTE, "slot": MINUTE, "treatments": 2}
    return st.rounds_needed(times, values, margin, **settings | changed)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
@pytest.mark.parametrize("margin", [0.4, 0.8, 1.5])
def test_rounds_are_those_of_r_where_the_variance_is_known(margin):
    times, values = conditions(np.random.default_rng(1), days=60, curve=0.0)
    found = needed(times, values, margin)
    # As for every number of trials that Trialwise asks for, the truth may lie a tenth of the margin from 0.
    program = (
        f"p <- function(n, share) power.t.test(n = n, delta = share * {margin}, sd = {found.deviation!r}, sig.level = .05, "
        'type = "one.sample", alternative = "one.sided")$power; '
        "n <- 2; while (p(n, .9) + p(n, 1.1) - 1 < .9) n <- n + 1; cat(n)"
    )
    said = subprocess.run(["Rscript", "-e", program], capture_output=True, text=True, check=True).stdout
    assert found.deviation == pytest.approx(np.sqrt(2), rel=0.02)
    assert abs(found.rounds - int(said)) <= 1


@pytest.mark.parametrize(("curve", "treatments"), [(6.0, 12), (0.0, 2)])
def test_so_many_rounds_over_a_day_show_that_equal_treatments_are_equivalent(curve, treatments):
    rng = np.random.default_rng(5)
    slot, margin = 20 * MINUTE, 1.0
    found = needed(*conditions(rng, curve=curve), margin, slot=slot, treatments=treatments)

    def experiment(rounds):
        """The verdict on two equal treatments of a randomized round, under the same law of conditions."""
        starts = np.sort(rng.uniform(0, DAY, rounds))
        places = np.array([rng.permutation(treatments)[:2] for _ in range(rounds)]).T
        at = starts + places * slot
        one, other = 30 + curve * np.sin(2 * np.pi * at / DAY) + rng.standard_normal(at.shape)
        return st.paired_difference(one, other, margin=margin).verdict == "equivalent"

    assert np.mean([experiment(found.rounds) for _ in range(400)]) > 0.86
    assert np.mean([experiment(max(2, found.rounds * 2 // 3)) for _ in range(400)]) < 0.86


def test_a_curve_counts_as_far_as_it_moves_within_a_round():
    rng = np.random.default_rng(2)
    times, values = conditions(rng, curve=8.0, noise=0.5)
    near, far = (needed(times, values, 1.0, slot=slot) for slot in (MINUTE, 3 * 3600))
    # Two trials three hours apart differ by 16 sin(π/8) cos(…), so the mean square is half of that squared.
    assert far.deviation == pytest.approx(np.sqrt((16 * np.sin(np.pi / 8)) ** 2 / 2 + 0.5), rel=0.02)
    assert near.deviation == pytest.approx(np.sqrt(0.5), rel=0.02)
    assert far.rounds > 10 * near.rounds


def test_long_trials_average_what_rows_show():
    times, values = conditions(np.random.default_rng(3), curve=0.0)
    found = needed(times, values, 1.0, trial=10 * MINUTE, slot=10 * MINUTE)
    assert found.deviation == pytest.approx(np.sqrt(2 / 10), rel=0.05)


def test_gaps_and_missing_rows_are_left_out():
    times, values = conditions(np.random.default_rng(4), curve=0.0)
    kept = (times % 3600 < 1800) & (times > DAY / 2)
    values[100:200] = np.nan
    found = needed(times[kept], values[kept], 1.0, slot=20 * MINUTE)
    assert found.deviation == pytest.approx(np.sqrt(2), rel=0.05)
    assert found.n < kept.sum() / 2


def test_conditions_that_never_move_ask_for_as_many_rounds_as_a_rank_test():
    found = needed(np.arange(100) * MINUTE, np.full(100, 30.0), 1.0)
    assert (found.deviation, found.rounds) == (0.0, st_smallest())


def st_smallest():
    """The fewest pairs of equal values that a verdict can rest on."""
    count = 2
    while (
        st.paired_difference(np.full(count, 30.0), np.full(count, 30.0), margin=1.0).verdict != "equivalent"
    ):
        count += 1
    return count


def test_a_short_record_says_what_it_lacks():
    times, values = conditions(np.random.default_rng(6))
    found = needed(times[:20], values[:20], 1.0)
    assert found.rounds is None
    assert "only 19 pairs" in found.reason
    assert needed(times[:0], values[:0], 1.0).n == 0
    assert needed(times, values, 1e-3).reason.startswith("more than 10000")


@pytest.mark.parametrize(
    "wrong", [{"margin": 0.0}, {"treatments": 1}, {"trial": 90.0}, {"every": 0.0}, {"confidence": 40}]
)
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(StatisticsError):
        needed(np.arange(100) * MINUTE, np.zeros(100), **{"margin": 1.0} | wrong)
