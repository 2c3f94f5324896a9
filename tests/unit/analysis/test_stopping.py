"""When an experiment has enough: pilots and fresh trials, looks at any time, CCEval's rule; families, units, time."""

import dataclasses
import re

import numpy as np
import pytest
from tests.stopping_data import Filled, experiment_of, simulated_pair

from trialwise import statistics as st
from trialwise.analysis.stopping.differences import verdict_at_any_time
from trialwise.analysis.stopping.elapsed import Elapsed
from trialwise.analysis.stopping.sentences import open_texts, remedy
from trialwise.experiment.model import Extent
from trialwise.store.records import TrialRow

MEAN = 'stop = { precision = "5%", of = "mean" }'
VERDICT = 'stop = "verdict"'


def draws(n, seed=1, centre=10.0, spread=1.0):
    return np.random.default_rng(seed).normal(centre, spread, n)


def row(session, number=1):
    return TrialRow(number, 1, "finished", "-", {}, 1, 1, 1, "random", 1, False, None, session=session)


# Two stages


def test_the_pilot_forecasts_and_only_fresh_trials_are_judged():
    a = draws(200)
    filled = Filled(experiment_of(MEAN, sides='"a"'), a=a)
    assert filled.run(19).phase == "pilot"
    state = filled.run(1)
    size = st.two_stage_size(a[:20], 5, relative=True).size
    assert (state.phase, state.reason, state.forecast) == ("fresh", None, 20 + size)
    assert state.claims[0].wanted == size
    assert state.claims[0].low is None, "nobody may peek"
    state = filled.run_until_it_stops()
    expected = st.two_stage_interval(a[20 : 20 + size], 5, relative=True)
    claim = state.claims[0]
    assert (claim.low, claim.high, claim.n) == (expected.low, expected.high, (size,))
    assert claim.state == ("decided" if expected.reached else "undecided")
    assert state.rounds == 20 + size


def test_an_interval_that_came_out_too_wide_ends_the_run_and_is_reported():
    a = np.concatenate([draws(20, spread=0.2), draws(100, spread=2)])
    state = Filled(experiment_of(MEAN, sides='"a"'), a=a).run_until_it_stops()
    assert not state.decided
    assert "judged once: 0 of 1 claim known" in state.reason
    assert state.claims[0].width > state.claims[0].target
    assert "begin anew" in remedy(state)


def test_more_trials_change_nothing_after_the_verdict():
    filled = Filled(experiment_of(MEAN, sides='"a"'), a=draws(500))
    first = filled.run_until_it_stops()
    filled.run(30)
    assert filled.judge.state(filled.upcoming).claims == first.claims


def test_failed_trials_do_not_count():
    a = draws(200)
    holes = np.insert(a, [3, 7, 30], np.nan)
    whole = Filled(experiment_of(MEAN, sides='"a"'), a=a).run_until_it_stops()
    holed = Filled(experiment_of(MEAN, sides='"a"'), a=holes).run_until_it_stops()
    assert holed.claims == whole.claims


def test_a_round_that_was_cut_off_does_not_count_yet():
    values = {"a": draws(300), "b": draws(300, 2)}
    filled = Filled(experiment_of(MEAN), **values)
    assert filled.run(39).phase == "pilot"
    again = Filled(experiment_of(MEAN), **values)
    assert again.run(40).phase == "fresh"
    filled.run(1)
    assert filled.judge.state(filled.upcoming) == again.judge.state(again.upcoming)


def test_whole_blocks_of_the_order_are_run():
    design = 'order = "balanced"\npilot = 21'
    filled = Filled(
        experiment_of(MEAN, design, sides='"a", "b", "c", "d"'), **{x: draws(300, ord(x)) for x in "abcd"}
    )
    state = filled.run_until_it_stops()
    assert state.rounds % 4 == 0
    assert filled.at == 4 * state.rounds


@pytest.mark.parametrize("precision", ["0.1%", "0.000001%"])
def test_a_pilot_that_forecasts_far_more_than_there_is_room_for_ends_the_run(precision):
    filled = Filled(
        experiment_of(f'stop = {{ precision = "{precision}", of = "mean" }}', "max_trials = 60", sides='"a"'),
        a=draws(60),
    )
    state = filled.run_until_it_stops()
    assert (state.rounds, state.phase, state.out_of_reach) == (20, "fresh", True)
    assert "takes over 10 times max_trials, at best" in state.reason
    assert "wider precision" in remedy(state)


def test_a_difference_may_turn_out_large_and_is_never_out_of_reach():
    sides = {"a": draws(60, 1), "b": draws(60, 2)}
    state = Filled(
        experiment_of('margin = "0.0001%"', f"{VERDICT}\nmax_trials = 60"), **sides
    ).run_until_it_stops()
    assert (state.rounds, state.out_of_reach) == (60, False)


def test_a_forecast_beyond_max_trials_runs_to_the_end_and_says_so():
    filled = Filled(
        experiment_of('stop = { precision = "2%", of = "mean" }', "max_trials = 60", sides='"a"'),
        a=draws(60),
    )
    state = filled.run_until_it_stops()
    assert (state.rounds, state.decided) == (60, False)
    assert state.reason == "max_trials is reached (60 rounds): 0 of 1 claim known"
    assert state.claims[0].n == (40,)


def test_verdicts_come_from_holm_over_the_family_of_fresh_trials():
    values = {"a": draws(400), "b": draws(400, 2, 10.05), "c": draws(400, 3, 12)}
    filled = Filled(experiment_of('margin = "10%"', VERDICT, sides='"a", "b", "c"'), **values)
    state = filled.run_until_it_stops()
    fresh = slice(20, state.rounds)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    family = st.difference_family(
        {
            pair: st.difference(values[pair[0]][fresh], values[pair[1]][fresh], margin=10, relative=True)
            for pair in pairs
        }
    )
    assert [claim.verdict for claim in state.claims] == [family.members[pair].verdict for pair in pairs]
    assert state.decided
    assert state.correction == "Holm over 3 differences"


def test_a_base_names_what_the_others_are_held_against():
    values = {side: draws(400, ord(side)) for side in "abc"}
    state = Filled(
        experiment_of('margin = "10%"', f'{VERDICT}\nbase = "side=b"', sides='"a", "b", "c"'), **values
    ).run(3)
    assert [claim.subject for claim in state.claims] == ["side=a against side=b", "side=c against side=b"]


def test_boots_are_the_units_where_a_reset_boots_the_machine():
    rest = '[reset]\nreboot = true\nevery = "round"'
    values = {"a": draws(300), "b": draws(300, 2, 11)}
    filled = Filled(experiment_of('margin = "3%"', VERDICT, rest=rest), **values)
    state = filled.run(600, boot=lambda one: f"boot{one.round}")
    claim = state.claims[0]
    assert claim.level == "boot"
    n = claim.n[0]
    expected = st.paired_difference(
        values["a"][20 : 20 + n], values["b"][20 : 20 + n], margin=3, relative=True
    )
    assert (claim.low, claim.high) == (expected.welch.low, expected.welch.high)


def test_a_variability_score_counts_series():
    metric = (
        'kpi = { percentile = 50, confidence = 75, bound = "lower" }\n'
        'variability = { percentile = 50, confidence = 75, stop = { precision = "20%", confidence = 75 } }'
    )
    filled = Filled(experiment_of(metric, "max_trials = 400", sides='"a"'), a=draws(400))
    state = filled.run_until_it_stops()
    claim = state.claims[0]
    assert (claim.kind, claim.level) == ("variability", "series")
    assert state.decided
    assert state.rounds == filled.at
    assert filled.upcoming is None or filled.upcoming.round == 1, "it ends with a series"


# At any time


def test_looks_at_any_time_stop_at_the_first_narrow_bounds():
    a = draws(300)
    filled = Filled(experiment_of('stop = { precision = "8%" }', 'looks = "anytime"', sides='"a"'), a=a)
    state = filled.run_until_it_stops()
    found = st.median_confidence_sequence(a)
    medians = np.array([np.median(a[: n + 1]) for n in range(a.size)])
    first = int(np.flatnonzero((found.high - found.low) / 2 <= 0.08 * medians)[0]) + 1
    assert state.rounds == first
    assert (state.claims[0].low, state.claims[0].high) == (found.low[first - 1], found.high[first - 1])


def test_looks_at_any_time_at_differences_share_the_level():
    values = {"a": draws(400), "b": draws(400, 2, 13), "c": draws(400, 3, 16)}
    filled = Filled(
        experiment_of('margin = "5%"', f'{VERDICT}\nlooks = "anytime"', sides='"a", "b", "c"'), **values
    )
    state = filled.run_until_it_stops()
    assert state.decided
    assert [claim.confidence for claim in state.claims] == pytest.approx([100 - 5 / 3] * 3)
    assert state.rounds == 50
    assert state.correction == "Bonferroni over 3 differences"


@pytest.mark.parametrize("sign", [1, -1])
def test_verdicts_at_any_time_know_three_words(sign):
    a, near, far = (sign * (100 + draws(400, seed, centre)) for seed, centre in ((1, 0), (2, 0), (3, 9)))
    margin = Extent(3, relative=True)
    assert verdict_at_any_time(a, near, margin, confidence=95) == "equivalent"
    assert verdict_at_any_time(a, far, margin, confidence=95) == "different"
    assert verdict_at_any_time(far, a, margin, confidence=95) == "different"
    assert (
        verdict_at_any_time(a[:60], 1.03 * a[:60] + near[:60] - a[:60], margin, confidence=95) == "undecided"
    )
    assert verdict_at_any_time(a, near, Extent(0.001, relative=False), confidence=95) == "undecided"


# CCEval's rule


def test_ccevals_rule_warns_and_stops_where_its_statistic_does():
    a = draws(300)
    filled = Filled(experiment_of(MEAN, 'looks = "cceval"', sides='"a"'), a=a)
    state = filled.run_until_it_stops()
    expected = st.relative_margin_stop(a, margin=5)
    assert state.rounds == expected.n
    assert (state.claims[0].low, state.claims[0].high) == pytest.approx((expected.low, expected.high))
    assert "looks after every trial" in state.warnings[0]


# Time, and words


def test_a_budget_ends_the_run_before_it_is_exceeded():
    filled = Filled(
        experiment_of('stop = { precision = "0.5%", of = "mean" }', 'budget = "60s"', sides='"a"'),
        a=draws(500),
    )
    state = filled.run_until_it_stops()
    assert state.seconds == 60
    assert state.reason == "the budget of 1min is used up: 0 of 1 claim known"
    assert state.claims[0].n == (40,)
    assert state.claims[0].width > 0


def test_a_budget_that_ends_in_the_pilot_judges_nothing():
    state = Filled(experiment_of(MEAN, 'budget = "5s"', sides='"a"'), a=draws(500)).run_until_it_stops()
    assert (state.rounds, state.decided, state.claims[0].state) == (5, False, "open")


def test_time_between_sessions_is_not_the_experiments():
    elapsed = Elapsed()
    for session, begun, ended in ((1, 0, 1), (1, 3, 4), (2, 1000, 1002), (2, 1002, None), (2, 1005, 1006)):
        elapsed.add(row(session), begun, ended)
    assert elapsed.seconds == 4 + 6


def test_the_sentences_say_how_far_each_claim_is():
    filled = Filled(experiment_of(f'margin = "5%"\n{MEAN}', VERDICT), a=draws(300), b=draws(300, 2))
    assert open_texts(filled.run(10)) == ["pilot: 5 of 20 rounds; then a forecast"]
    texts = open_texts(filled.run(40))
    assert texts[0].startswith("m side=a: mean ±5 %: 5 of ")
    assert "fresh trials" in texts[2]
    looking = Filled(
        experiment_of('stop = { precision = "5%" }', 'looks = "anytime"', sides='"a"'), a=draws(300)
    )
    assert open_texts(looking.run(3)) == ["m side=a: median ±5 %: open, no bounds yet"]
    assert re.search(r"open, now ±[0-9.]+ %", open_texts(looking.run(20))[0])


def test_a_metric_that_few_trials_have_is_named_as_what_is_waited_for():
    """As one benchmark that a harness prints in 3 of 15 trials; one that half of the trials have is not rare."""
    pilot = Filled(experiment_of(MEAN, sides='"a"'), a=draws(300)).run(3)
    assert open_texts(dataclasses.replace(pilot, rounds=6)) == ["pilot: 3 of 20 rounds; then a forecast"]
    assert open_texts(dataclasses.replace(pilot, rounds=15)) == [
        "pilot: 3 of 20 rounds; then a forecast; m side=a has a value in 3 of 15 rounds and is waited for"
    ]
    anytime = experiment_of('stop = { precision = "5%" }', 'looks = "anytime"', sides='"a"')
    (text,) = open_texts(dataclasses.replace(Filled(anytime, a=draws(300)).run(3), rounds=15))
    assert text.endswith("; it has a value in 3 of 15 rounds and is waited for")


def test_an_estimate_of_zero_has_no_percentage():
    for looks in ("two-stage", "anytime"):
        filled = Filled(
            experiment_of('stop = { precision = "5%" }', f'looks = "{looks}"\nmax_trials = 80', sides='"a"'),
            a=np.zeros(80),
        )
        state = filled.run_until_it_stops()
        assert not state.decided
        assert "the estimate is 0" in state.claims[0].note


# Simulated trials over the same flows


def same_flows(trials=120, each=44, seed=21):
    """Two schemes' completion times of the same flows, hardly different."""
    random = np.random.default_rng(seed)
    a = random.lognormal(random.normal(0, 0.3, (trials, 1)), 1, (trials, each))
    return a, 1.01 * a * random.lognormal(0, 0.05, a.shape)


def judged_pair(metric, a, b):
    """The claim on two schemes when the run has ended, and the places of the trials that it is of."""
    filled = Filled(simulated_pair(metric), dctcp=a, hpcc=b)
    state = filled.run_until_it_stops()
    assert state.phase == "judged"
    return state.claims[0], slice(20, state.rounds)


def test_verdicts_on_schemes_over_the_same_flows_are_of_pairs():
    a, b = same_flows()
    claim, fresh = judged_pair('estimand = "per_trial"\nmargin = "5%"', a, b)
    means = a.mean(axis=1)[fresh], b.mean(axis=1)[fresh]
    found = st.paired_difference(*means, margin=5, relative=True)
    assert (claim.verdict, claim.low, claim.n) == ("equivalent", found.welch.low, found.welch.n)
    assert st.difference(*means, margin=5, relative=True).verdict == "undecided"
    assert (claim.what, claim.estimand) == ("difference of mean over trials of each one's mean", "per_trial")


def test_what_is_pooled_is_compared_by_what_each_fresh_trial_contributes():
    a, b = same_flows()
    claim, fresh = judged_pair('measure = "p90"\nmargin = "5%"', a, b)
    sides = (st.pooled_influence(list(each[fresh]), 90) for each in (a, b))
    found = st.paired_difference(*sides, margin=5, relative=True)
    assert (claim.verdict, claim.low, claim.high) == ("equivalent", found.welch.low, found.welch.high)
    assert claim.estimate == pytest.approx(
        np.quantile(b[fresh], 0.9, method="inverted_cdf") - np.quantile(a[fresh], 0.9, method="inverted_cdf")
    )
    assert (claim.what, claim.estimand, claim.convention) == (
        "difference of p90 of all samples",
        "pooled",
        "nearest_rank",
    )


def test_a_verdict_on_a_pooled_tail_waits_for_twenty_flows_beyond_it():
    a, b = same_flows()
    claim, fresh = judged_pair('measure = "p99"\nmargin = "200%"', a, b)
    assert (claim.wanted, claim.n) == (46, (46, 46))  # 20 / (0.01 · 44)
    assert fresh == slice(20, 66)


def test_a_trial_that_failed_takes_its_pair_with_it():
    a, b = same_flows(60)
    a[30] = np.nan
    claim, _ = judged_pair('measure = "p90"\nmargin = "50%"', a, b)
    wanted = claim.wanted
    assert wanted is not None
    assert claim.n in ((wanted - 1, wanted - 1), (wanted, wanted))


def test_treatments_of_different_load_are_not_paired():
    a, b = same_flows()
    experiment = simulated_pair('measure = "p90"\nmargin = "50%"', varied="load")
    claim = Filled(experiment, **{"20%": a, "30%": b}).run_until_it_stops().claims[0]
    assert claim.method.startswith("two stages: Welch")
