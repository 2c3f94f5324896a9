"""Two versions by a whole suite: what a pilot picks, what fresh rounds confirm, and how often both are wrong."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from binomial import least, most
from document_text import piped
from suite_trials import identical, suite
from trialwise.analysis.versions.reach import deviations
from trialwise.analysis.versions.results import SuiteResult
from trialwise.analysis.versions.suites import (
    SuitePlan,
    complete_rounds,
    confirmed,
    judged_once,
    reach_of,
    rounds_of,
    screened,
    seconds_of_round,
)
from trialwise.experiment.model import Extent
from trialwise.report.documents.suite import document
from trialwise.report.render.markdown import markdown
from trialwise.statistics.comparing.holm import benjamini_hochberg

MARGIN = Extent(3.0, relative=True)
PLAN = SuitePlan(10, 1000, 95.0, MARGIN)


def times(seed, rounds, benchmarks, spread=0.01):
    return 100 * np.exp(np.random.default_rng(seed).normal(0, spread, (rounds, benchmarks)))


def slowed(table, at, factor):
    factors = np.ones(table.shape[1])
    factors[at] = factor
    return table * factors


def both_looks(trials, plan, pilot):
    return confirmed(screened(rounds_of(trials, 1, pilot), plan), rounds_of(trials, pilot + 1), plan)


def result(verdict, **more):
    return SuiteResult(
        verdict.outcome, verdict.outcomes, verdict.stages, verdict.crossed, verdict.rounds, 0, None, {}, verdict.comparison,
        95.0, MARGIN, "all have run", complete=True, failed=0, directory="ab.results/x", method="two looks", **more,
    )  # fmt: skip


def test_what_crosses_is_worse_only_if_fresh_rounds_confirm_it():
    base, head = times(1, 30, 5), slowed(times(2, 30, 5), 3, 1.06)
    first = screened(rounds_of(suite(base, head), 1, 10), PLAN)
    assert first.crossed == ("b3",)
    assert "worse" not in first.outcomes
    found = both_looks(suite(base, head), PLAN, 10)
    assert found.outcomes == ("fine", "fine", "fine", "worse", "fine")
    assert found.stages == ("pilot", "pilot", "pilot", "fresh", "pilot")
    assert (found.outcome, found.rounds) == ("worse", (10, 20))
    # The row is of the fresh rounds alone: Student's t of their differences.
    row = found.comparison.rows[3]
    interval = stats.ttest_rel(head[10:, 3], base[10:, 3]).confidence_interval(0.975)
    assert (row.difference.welch.low, row.difference.welch.high) == pytest.approx(tuple(interval))


def test_what_fresh_rounds_do_not_confirm_passes():
    base, head = times(1, 30, 5), times(2, 30, 5)
    head[:10, 2] *= 1.06
    found = both_looks(suite(base, head), PLAN, 10)
    assert (found.crossed, found.outcomes[2], found.stages[2]) == (("b2",), "fine", "fresh")
    assert found.outcome == "fine"


def test_without_fresh_rounds_nothing_is_worse():
    found = both_looks(suite(times(1, 10, 5), slowed(times(2, 10, 5), 0, 1.2)), PLAN, 10)
    assert (found.outcomes[0], found.outcome, found.rounds) == ("undecided", "undecided", (10, 0))
    assert "unconfirmed" in piped(document(result(found)))


def found_by_fresh_rounds_only(factor):
    """Of three benchmarks, the pilot picks the last, and the first is slower by a factor in the fresh rounds only."""
    base, head = times(1, 30, 3, 0.002), times(2, 30, 3, 0.002)
    head[:10, 0] *= 1.0 + 0.06 * np.tile([1, -1], 5)  # noisy in the pilot, without a change
    head[10:, 0] = base[10:, 0] * factor
    head[:, 2] *= 1.1
    return base, head, both_looks(suite(base, head), PLAN, 10)


def test_what_only_fresh_rounds_find_is_worse_at_a_fifth_of_the_error():
    shifts = 1 + np.random.default_rng(3).normal(0, 0.01, 20)
    # The chance of Student's t against the margin, by SciPy: between a fifth of 2.5 % and all of it, then below the fifth.
    for percent, low, high, outcome in ((3.75, 0.005, 0.025, "undecided"), (4.5, 0, 0.005, "worse")):
        factors = (1 + percent / 100) * shifts / shifts.mean()
        base, head, found = found_by_fresh_rounds_only(factors)
        beyond = head[10:, 0] - 1.03 * base[10:, 0]
        assert low < 2 * stats.ttest_1samp(beyond, 0, alternative="greater").pvalue < high
        assert found.crossed == ("b2",)
        assert found.outcomes == (outcome, "fine", "worse")
        assert found.comparison.rows[0].verdict == ("different" if outcome == "worse" else outcome)
        assert outcome == "worse" or "not at the 0.5 %" in found.comparison.rows[0].reason


def test_where_the_pilot_picks_nothing_fresh_rounds_have_all_of_the_error():
    base, head = times(1, 30, 2, 0.002), times(2, 30, 2, 0.002)
    head[:10, 0] *= 1.0 + 0.06 * np.tile([1, -1], 5)
    head[10:, 0] *= 1.06
    found = both_looks(suite(base, head), PLAN, 10)
    assert (found.crossed, found.outcomes) == ((), ("worse", "fine"))


def test_noise_that_no_number_of_rounds_overcomes_still_gets_fresh_rounds():
    base, head = times(1, 30, 2, 1.5), times(2, 30, 2, 1.5) * 20
    assert screened(rounds_of(suite(base, head), 1, 10), PLAN).fresh == 10


def test_higher_is_better_and_nobody_knows():
    base, head = times(1, 30, 3), slowed(times(2, 30, 3), 1, 1.06)
    assert both_looks(suite(base, head, better="higher"), PLAN, 10).outcome == "fine"
    assert both_looks(suite(head, base, better="higher"), PLAN, 10).outcomes[1] == "worse"
    assert both_looks(suite(head, base, better=None), PLAN, 10).outcomes[1] == "worse"


def test_a_drift_that_both_share_cancels():
    drift = np.linspace(1, 2, 30)[:, None]
    base, head = times(1, 30, 3) * drift, slowed(times(2, 30, 3), 1, 1.06) * drift
    assert both_looks(suite(base, head), PLAN, 10).outcomes == ("fine", "worse", "fine")


def test_counts_that_never_vary():
    base = np.tile([0.0, 5.0, 0.0, 5.0], (25, 1))
    head = np.tile([0.0, 5.0, 1.0, 6.0], (25, 1))
    found = both_looks(suite(base, head), PLAN, 10)
    assert found.outcomes == ("fine", "fine", "worse", "worse")
    # Six rounds of zeros decide nothing by ranks (2 / 2^6 > 0.025), and a few fresh ones do.
    assert 7 <= screened(suite(base[:6], base[:6]), PLAN).fresh <= 10


def test_one_sided_benchmarks_are_told_and_the_rest_is_judged():
    trials = suite(times(1, 10, 4), times(2, 10, 4), without={("head", 1), ("base", 2)})
    found = both_looks(trials, PLAN, 10)
    assert [row.metric.name for row in found.comparison.rows] == ["b0", "b3"]
    said = piped(document(result(found)))
    assert "b1: only in base" in said
    assert "b2: only in head" in said
    assert found.outcome == "fine"


def test_a_round_that_one_version_lost_does_not_count():
    trials = suite(times(1, 12, 2), times(2, 11, 2))
    assert complete_rounds(trials) == 11
    assert screened(trials, PLAN).comparison.rows[0].units.n == (11, 11)


def test_a_number_of_rounds_set_before_is_judged_once():
    plan = SuitePlan(10, 1000, 95.0, MARGIN, fixed=20)
    found = judged_once(suite(times(1, 20, 5), slowed(times(2, 20, 5), 3, 1.06)), plan)
    assert (found.outcomes[3], found.stages[3]) == ("worse", "all")
    assert found.comparison.confidence == 95.0
    assert found.comparison.correction == "Holm over 5 differences"


def test_the_false_discovery_rate_finds_more():
    base, head = times(1, 10, 20), times(2, 10, 20)
    head[:, :8] *= 1.042
    by = {
        name: judged_once(suite(base, head), SuitePlan(10, 1000, 95.0, MARGIN, name, fixed=10))
        for name in ("holm", "bh")
    }
    assert by["bh"].comparison.correction == "Benjamini–Hochberg over 20 differences"
    assert by["bh"].outcomes.count("worse") > by["holm"].outcomes.count("worse")
    p_values = [
        min(row.difference.p_different, row.difference.p_equivalent) for row in by["bh"].comparison.rows
    ]
    assert [row.p_adjusted for row in by["bh"].comparison.rows] == pytest.approx(
        list(stats.false_discovery_control(p_values))
    )


def test_benjamini_and_hochberg_as_they_print_it():
    # Benjamini and Hochberg 1995, section 3.2: of 15 p-values, four are found at 5 %.
    told = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0,
    ]  # fmt: skip
    assert sum(p_value <= 0.05 for p_value in benjamini_hochberg(told)) == 4


def test_markdown_of_a_large_suite_is_short():
    base, head = times(1, 16, 60), times(2, 16, 60)
    head[:, :12] *= 1.1
    trials = suite(base, head, without={("head", at) for at in range(40, 60)})
    told = markdown(document(result(both_looks(trials, PLAN, 10))))
    assert len(told.splitlines()) <= 40
    assert "Head is worse in 12 of 40 metrics" in told
    assert "24 more" in told


def test_two_fresh_rounds_confirm_nothing():
    base, head = times(1, 12, 2), slowed(times(2, 12, 2), 0, 1.5)
    assert both_looks(suite(base, head), PLAN, 10).outcomes == ("undecided", "fine")


# Which slowdown is found


def test_the_slowdown_that_is_found_with_90_percent_is_so_often_found():
    random, repetitions, pilot, fresh = np.random.default_rng(41), 300, 10, 12
    noise = np.array([0.01, 0.02, 0.03, 0.08])
    trials = suite(*(100 * np.exp(random.normal(0, noise, (pilot, 4))) for _ in range(2)))
    first = dataclasses.replace(screened(trials, PLAN), fresh=fresh)
    told = reach_of(first, PLAN, 1.0, None)
    spread = deviations(first.comparison.rows)
    assert (told.rounds, told.wanted) == (fresh, 5)
    found = 0
    for number in range(repetitions):
        at = number % 4
        changes = random.normal(told.percent, spread[at], pilot + fresh)
        screen = stats.ttest_1samp(changes[:pilot], 0, alternative="greater").pvalue < 0.05
        crossed = (
            len(first.crossed)
            if screen
            else sum(one != "fine" for one in first.outcomes) - len(first.crossed)
        )
        alpha = 0.0125 * (0.8 if screen else 0.2) / (crossed + 1)
        found += stats.ttest_1samp(changes[pilot:] - 3, 0, alternative="greater").pvalue < alpha
    assert least(0.88, repetitions) <= found / repetitions <= most(0.92, repetitions)
    # Half of it holds the pilot and its warm-up; a quarter more allows for rounds that take longer.
    assert told.budget == 1.25 * max(22, 11 + told.rounds_needed)
    with_budget = dataclasses.replace(first, fresh=told.rounds_needed)
    assert reach_of(with_budget, PLAN, 1.0, None).percent == pytest.approx(5, rel=0.02)
    assert reach_of(first, PLAN, 1.0, 4.5).percent is None


def test_a_margin_that_is_no_share_has_no_reach_and_infinite_noise_no_budget():
    absolute = SuitePlan(10, 1000, 95.0, Extent(3.0, relative=False))
    trials = suite(times(1, 10, 3), times(2, 10, 3))
    assert reach_of(screened(trials, absolute), absolute, 1.0, None) is None
    noisy = screened(suite(times(1, 10, 3, 3.0), times(2, 10, 3, 3.0)), PLAN)
    told = reach_of(noisy, PLAN, 1.0, 60.0)
    assert (told.rounds_needed, told.budget) == (None, None)


def test_a_round_is_timed_without_the_breaks_of_a_run():
    trials = suite(times(1, 10, 2), times(2, 10, 2))
    numbers = trials.table["round"].str.split(".").list.last().cast(float) * 2
    started = numbers + (trials.table["treatment"] == "version=head") + 3600.0 * (numbers > 9)
    timed = dataclasses.replace(trials, table=trials.table.with_columns(started.alias("started")))
    assert seconds_of_round(timed) == pytest.approx(2.0)


# How often both are wrong


def run(random, benchmarks, factor=1.0):
    """The verdict where the fresh rounds are as many as the pilot asked for, up to 50."""
    base, head = identical(random, 60, benchmarks)
    trials = suite(base, slowed(head, 0, factor))
    first = screened(rounds_of(trials, 1, 10), PLAN)
    return confirmed(first, rounds_of(trials, 11, 10 + min(first.fresh, 50)), PLAN)


@pytest.mark.soak
def test_two_hundred_identical_benchmarks_are_rarely_worse():
    random, repetitions = np.random.default_rng(31), 100
    red = np.mean([run(random, 200).outcome == "worse" for _ in range(repetitions)])
    assert red <= most(0.05, repetitions)


@pytest.mark.soak
def test_five_percent_in_one_of_fifty_are_found():
    random, repetitions = np.random.default_rng(32), 100
    found = np.mean([run(random, 50, 1.05).outcomes[0] == "worse" for _ in range(repetitions)])
    assert found >= least(0.9, repetitions)


def test_identical_and_slowed_suites_in_short():
    random, repetitions = np.random.default_rng(33), 8
    found = [run(random, 5, 1.05).outcomes for _ in range(repetitions)]
    assert np.mean([outcomes[0] == "worse" for outcomes in found]) >= least(0.9, repetitions)
    assert np.mean(["worse" in outcomes[1:] for outcomes in found]) <= most(0.05, repetitions)
