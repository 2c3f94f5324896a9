"""A bench against itself: re-splits as `compare` judges them, blocks, refusals."""

import numpy as np
import polars as pl
import pytest

from calibration_data import bench
from trialwise import statistics as st
from trialwise.analysis.calibration.alarms import How, re_split
from trialwise.analysis.calibration.calibrating import CalibrateOptions, calibrate
from trialwise.analysis.calibration.splits import blocks_of, distinct, judged, parents_of, random_sides
from trialwise.analysis.nesting import units


@pytest.mark.parametrize(
    ("planted", "arrangement"),
    [
        ({"rounds": 12}, "interleaved"),
        ({"rounds": 15, "sides": False}, "interleaved"),
        ({"rounds": 5, "boots": 4, "boot": 2.0}, "interleaved"),
        ({"rounds": 3, "boots": 3, "hosts": 3, "host": 2.0}, "interleaved"),
        ({"rounds": 3, "boots": 8, "boot": 2.0}, "separate"),
        ({"rounds": 2, "boots": 2, "hosts": 9, "host": 2.0}, "separate"),
    ],
)
def test_every_re_split_is_judged_as_compare_judges_it(planted, arrangement):
    trials = bench(3, **planted).table
    level = next((name for name in ("host", "boot") if 1 < trials[name].n_unique() < trials.height), "trial")
    paired = arrangement == "interleaved" and level != "trial"
    sides = random_sides(blocks_of(trials, arrangement, level), 5, np.random.default_rng(1))
    if arrangement == "separate":
        sides = sides[:, np.unique(trials[level].to_numpy(), return_inverse=True)[1]]
    values = trials["value"].to_numpy()
    found = judged(values, sides, parents_of(trials, level), paired=paired)
    for number, side in enumerate(sides):
        here = units(trials.filter(pl.Series(side)), trials.filter(pl.Series(~side)))
        assert (here.level, here.paired) == (level, paired)
        expected = (st.paired_difference if paired else st.difference)(here.a, here.b)
        assert found.differences[number] == pytest.approx(expected.welch.estimate)
        assert found.p_values[number] == pytest.approx(expected.p_value)
        assert found.n == expected.n


def test_half_of_every_round_is_on_each_side():
    trials = bench(1, rounds=10, boots=2).table
    for side in random_sides(blocks_of(trials, "interleaved", "boot"), 50, np.random.default_rng(2)):
        assert trials.filter(pl.Series(side))["round"].value_counts()["count"].to_list() == [1] * 20


def test_rounds_of_one_trial_are_dealt_out_within_their_boot():
    trials = bench(1, rounds=10, boots=2, sides=False).table
    sides = random_sides(blocks_of(trials, "interleaved", "boot"), 200, np.random.default_rng(2))
    for side in sides:
        assert trials.filter(pl.Series(side))["boot"].value_counts()["count"].to_list() == [5, 5]
    # Every trial is on either side half of the time.
    assert np.abs(sides.mean(axis=0) - 0.5).max() < 0.15


@pytest.mark.parametrize(("sizes", "expected"), [([2], 1), ([4], 3), ([8], 35), ([2, 2, 2], 4), ([3], 1)])
def test_how_many_re_splits_there_are(sizes, expected):
    assert distinct(np.repeat(np.arange(len(sizes)), sizes), 1000) == expected
    assert distinct(np.zeros(1000, dtype=np.int64), 20) == 20


def test_the_same_trials_and_seed_say_the_same():
    trials = bench(1, rounds=20, treatments=("x=1", "x=2"), metrics=("time", "energy"))
    first, second = calibrate(trials), calibrate(trials)
    assert (first.rows, first.family) == (second.rows, second.family)
    assert first.family.n == 1000


def test_the_sides_that_ran_are_compared():
    found = calibrate(bench(1, rounds=20, shift=3.0))
    (row,) = found.comparison.rows
    assert found.finding == "alarms"
    assert found.reason == "a treatment is different from itself: time of x=1"
    assert (row.treatment, row.verdict) == ("x=1", "different")
    assert found.rows[0].real == pytest.approx(row.difference.welch.estimate)


def test_without_sides_it_says_so():
    found = calibrate(bench(1, rounds=20, sides=False))
    assert found.comparison is None
    assert "re-splits alone" in found.notes[0]
    assert found.finding == "fine"


@pytest.mark.parametrize(("rounds", "sides"), [(1, True), (2, True), (5, True), (1, False), (7, False)])
def test_too_few_trials_are_refused_with_what_to_repeat(rounds, sides):
    found = calibrate(bench(1, rounds=rounds, sides=sides))
    assert found.finding == "too few"
    assert "repeat trial" in found.reason
    assert found.rows[0].floor is None


def test_few_boots_are_refused_by_themselves():
    found = calibrate(bench(1, rounds=10, boots=6))
    together, apart = found.rows
    assert together.floor.n == 6
    assert (apart.arrangement, apart.floor) == ("separate", None)
    assert "repeat boot" in apart.reason
    assert found.finding == "fine"


def test_boots_that_differ_matter_only_to_sides_of_their_own():
    together, apart = calibrate(bench(1, rounds=10, boots=8, boot=5.0)).rows
    assert (together.level, apart.level) == ("boot", "boot")
    assert apart.floor.value > 5 * together.floor.value
    assert apart.detectable[0].found.difference > 5 * together.detectable[0].found.difference


def test_constant_values_have_a_floor_of_nothing():
    row = calibrate(bench(1, rounds=20, within=0.0)).rows[0]
    assert (row.floor.value, row.false_alarms.hits, row.detectable[0].found.difference) == (0.0, 0, 0.0)


def test_more_trials_see_smaller_differences():
    row = calibrate(bench(1, rounds=25)).rows[0]
    found = [one.found.difference for one in row.detectable]
    assert [one.found.n for one in row.detectable] == [25, 50, 100, 200]
    assert found == sorted(found, reverse=True)
    assert found[0] / found[2] == pytest.approx(2, rel=0.05)


def test_a_draw_of_rounds_keeps_them_whole():
    trials = bench(1, rounds=12).table
    splits = re_split(trials, How("interleaved", "trial", False), 100, np.random.default_rng(1))
    assert splits.n == (12, 12)
    assert CalibrateOptions().splits == 1000


def test_trials_that_share_a_process_are_dealt_out_together():
    trials = bench(1, rounds=60, process=1.0, sides=True)
    (row,) = calibrate(trials).rows
    assert (row.level, row.n, row.trials) == ("process", (12, 12), 120)
    (spread,) = calibrate(trials).spreads
    assert [level.level for level in spread.levels if level.variance is not None] == ["process", "trial"]
    assert spread.levels[-1].units == 120


def test_one_process_of_each_side_is_too_few_however_many_trials_ran():
    (row,) = calibrate(bench(1, rounds=5, process=1.0)).rows
    assert "repeat process (more series, where the trials of one share a process)" in row.reason
    assert row.floor is None
