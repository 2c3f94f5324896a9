"""What a calibration says of a bench holds: planted variances, false alarms, the noise floor, and what can be seen."""

import numpy as np
import pytest
from scipy.stats import binomtest

from calibration_data import autoregressive, bench, lognormal, normal
from trialwise import statistics as st
from trialwise.analysis.calibration.calibrating import CalibrateOptions, calibrate
from trialwise.analysis.nesting import units

pytestmark = pytest.mark.operating
repeated = pytest.mark.parametrize("repetitions", [36, pytest.param(1000, marks=pytest.mark.soak)])
QUICK = CalibrateOptions(splits=200)
NOISES = [(normal, 6.0), (lognormal, 8.0), (autoregressive, 6.0)]


def at_most(hits, of, share):
    """Whether hits are compatible with a probability of at most `share`."""
    return binomtest(hits, of, share, "greater").pvalue > 0.001


@repeated
@pytest.mark.parametrize(("noise", "most"), NOISES, ids=lambda one: getattr(one, "__name__", ""))
@pytest.mark.parametrize("sides", [True, False])
def test_the_verdict_keeps_its_level_and_a_sound_bench_is_called_fine(noise, most, sides, repetitions):
    found = [
        calibrate(bench([seed, 1], rounds=20 if sides else 40, noise=noise, sides=sides), QUICK)
        for seed in range(repetitions)
    ]
    rates = np.array([one.rows[0].false_alarms.percent for one in found])
    assert rates.mean() - 3.3 * rates.std() / np.sqrt(repetitions) <= most
    # By the re-splits and, where there are sides, by their own difference.
    assert at_most(sum(one.finding == "alarms" for one in found), repetitions, 0.025 + 0.06 * sides)


@repeated
def test_the_rate_is_five_percent_where_rounds_do_nothing(repetitions):
    rates = [
        calibrate(bench([seed, 2], rounds=30, sides=False), QUICK).rows[0].false_alarms.percent
        for seed in range(repetitions)
    ]
    assert np.mean(rates) == pytest.approx(5.0, abs=3.3 * np.std(rates) / np.sqrt(repetitions))


@repeated
def test_a_side_that_differs_is_found_out(repetitions):
    found = [calibrate(bench([seed, 3], rounds=20, shift=2.0), QUICK) for seed in range(repetitions // 3)]
    assert all(one.finding == "alarms" and "different from itself" in one.reason for one in found)


def opposed(random, size):
    """The second trial of a round undoes the first, as one that gets the memory that the first gave back."""
    first = random.normal(size=(size[0], 1))
    return np.hstack([first, -first]) + 0.3 * random.normal(size=size)


@repeated
def test_a_round_whose_trials_oppose_each_other_is_found_out(repetitions):
    found = [calibrate(bench([seed, 4], rounds=20, noise=opposed), QUICK) for seed in range(repetitions // 3)]
    assert np.mean([one.rows[0].false_alarms.percent > 10 for one in found]) >= 0.95
    assert np.mean([one.finding == "alarms" for one in found]) >= 0.9


@pytest.mark.parametrize("repetitions", [100, pytest.param(2000, marks=pytest.mark.soak)])
def test_planted_variances_are_within_their_intervals(repetitions):
    planted = {"host": 4.0, "boot": 2.25, "round": 1.0, "trial": 1.0}
    hits = dict.fromkeys(planted, 0)
    for seed in range(repetitions):
        trials = bench([seed, 5], hosts=6, boots=4, rounds=4, host=2.0, boot=1.5, round_=1.0)
        (spread,) = calibrate(trials, CalibrateOptions(splits=20)).spreads
        for level in spread.levels:
            hits[level.level] += level.low <= planted[level.level] <= level.high
    assert all(at_most(repetitions - hit, repetitions, 0.05) for hit in hits.values()), hits


@pytest.mark.parametrize("repetitions", [80, pytest.param(3000, marks=pytest.mark.soak)])
def test_differences_of_nothing_stay_under_the_floor(repetitions):
    under = 0
    for seed in range(repetitions):
        floor = calibrate(bench([seed, 6], rounds=40, sides=False), QUICK).rows[0].floor
        a, b = np.random.default_rng([seed, 7]).normal(100, 1, (2, floor.n))
        under += abs(b.mean() - a.mean()) <= floor.value
    assert under / repetitions == pytest.approx(0.94, abs=0.02 + 3.3 * np.sqrt(0.06 * 0.94 / repetitions))


@pytest.mark.parametrize("repetitions", [80, pytest.param(3000, marks=pytest.mark.soak)])
def test_nine_of_ten_differences_that_can_be_seen_are_seen(repetitions):
    seen = 0
    for seed in range(repetitions):
        first = calibrate(bench([seed, 8], rounds=30), QUICK).rows[0].detectable[0].found
        random = np.random.default_rng([seed, 9])
        a, b = random.normal(100, 1, first.n), random.normal(100 + first.difference, 1, first.n)
        seen += st.difference(a, b).verdict == "different"
    assert seen / repetitions == pytest.approx(0.89, abs=0.02 + 3.3 * np.sqrt(0.09 / repetitions))


@repeated
@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_trials_inside_a_process_make_no_more_alarms(spread, repetitions):
    """Sides whose processes differ at random: judged by processes the verdict keeps its level, by trials it does not."""
    found = [bench([seed, 9], rounds=40, process=spread) for seed in range(10 * repetitions)]
    sides = [[one.of("time", f"x=1 side={side}") for side in ("A", "A'")] for one in found]
    by_process, by_trial = (
        sum(st.difference(*(units(*pair, level).a, units(*pair, level).b)).p_value <= 0.05 for pair in sides)
        for level in (None, "trial")
    )
    assert at_most(by_process, len(found), 0.06)
    if spread:
        assert by_trial > 0.25 * len(found)
    rates = [calibrate(one, QUICK).rows[0].false_alarms.percent for one in found[:repetitions]]
    assert np.mean(rates) <= 5 + 3.3 * np.std(rates) / np.sqrt(repetitions)
