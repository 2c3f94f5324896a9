"""Claims that are looked at while trials come: geometric, at any time, CCEval's; pooled and per trial."""

import dataclasses

import numpy as np
import pytest
from tests.stopping_data import Filled, experiment_of, rows_of

from trialwise import statistics as st
from trialwise.analysis.stopping.judging import Judge
from trialwise.analysis.stopping.sentences import open_texts, too_many, what_lifts
from trialwise.measurement.samples import Samples

MEAN = 'stop = { precision = "5%", of = "mean" }'
POOLED = 'stop = { precision = "5%" }\nestimand = "pooled"'
GEOMETRIC = 'looks = "geometric"'
FLOWS = """
[metrics.tail]
stdout = "x([0-9.]+)"
measure = "p90"
estimand = "pooled"
stop = { precision = "10%" }
"""


def draws(n, seed=1, centre=10.0, spread=2.0):
    return np.random.default_rng(seed).normal(centre, spread, n)


def flows(n, seed=1, each=40):
    random = np.random.default_rng(seed)
    return random.lognormal(random.normal(0, 0.1, (n, 1)), 0.5, (n, each))


@pytest.mark.parametrize("rule", ["geometric", "cceval", "anytime"])
def test_a_mean_stops_where_its_statistic_does(rule):
    a = draws(800)
    state = Filled(experiment_of(MEAN, f'looks = "{rule}"', sides='"a"'), a=a).run_until_it_stops()
    expected = st.sequential_mean(a, 5, rule=rule)
    claim = state.claims[0]
    assert expected.stopped
    assert (state.rounds, state.reason) == (expected.n, "everything asked for is known (1 claim)")
    assert (claim.low, claim.high, claim.looks) == (expected.low, expected.high, expected.looks)
    assert (claim.estimand, claim.convention, claim.method) == ("per_trial", "", expected.method)


@pytest.mark.parametrize(
    ("measure", "sequential"),
    [
        ("mean", lambda trials, rule: st.sequential_pooled_mean(trials, 5, rule=rule)),
        ("median", lambda trials, rule: st.sequential_quantile(trials, 50, 5, rule=rule, convention="linear")),
        ("p90", lambda trials, rule: st.sequential_quantile(trials, 90, 5, rule=rule, convention="linear")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("rule", ["geometric", "anytime"])
def test_a_pooled_metric_stops_where_its_statistic_does(measure, sequential, rule):
    trials = flows(600)
    experiment = experiment_of(f'{POOLED}\nmeasure = "{measure}"', f'looks = "{rule}"', sides='"a"')
    state = Filled(experiment, a=trials).run_until_it_stops()
    expected = sequential(trials, rule)
    claim = state.claims[0]
    assert expected.stopped
    assert (state.rounds, claim.estimate, claim.low, claim.high) == (
        expected.n,
        expected.estimate,
        expected.low,
        expected.high,
    )
    assert claim.estimand == "pooled"
    assert claim.convention == ("" if measure == "mean" else "linear")
    assert "of all samples" in claim.what


def test_every_metric_of_every_treatment_has_its_own_end_and_whole_rounds_are_run():
    experiment = experiment_of(f"{POOLED}\nmeasure = 90", GEOMETRIC, rest=FLOWS.replace("10%", "3%"))
    filled = Filled(experiment, a=flows(900), b=flows(900, 2))
    state = filled.run_until_it_stops()
    ends = [claim.n[0] for claim in state.claims]
    assert state.decided
    assert [claim.metric for claim in state.claims] == ["m", "m", "tail", "tail"]
    assert min(ends) < max(ends) == state.rounds
    assert filled.at == 2 * state.rounds


def test_the_end_is_a_function_of_the_trials_in_plan_order():
    """However often it was asked meanwhile, and in whatever order trials of earlier rounds came in."""
    experiment = experiment_of(POOLED, GEOMETRIC)
    a, b = flows(300), flows(300, 2)
    stopped = Filled(experiment, a=a, b=b).run_until_it_stops()
    rows = rows_of(experiment)
    end = 2 * stopped.rounds

    def told(order):
        judge, given = Judge(experiment), {"side=a": a, "side=b": b}
        for place in order:
            row = dataclasses.replace(rows[place], session=1, worker="local", boot="0")
            judge.add(row, {experiment.metrics[0].source.key: Samples(given[row.treatment][row.round - 1])})
            if place % 7 == 0:
                judge.state(rows[end])
        return judge.state(rows[end])

    straight = told(range(end))
    late = told([*range(10), *range(12, end), 10, 11])
    assert straight.claims == stopped.claims == late.claims
    assert late.reason == stopped.reason


def test_more_trials_change_nothing_after_the_end():
    filled = Filled(experiment_of(POOLED, GEOMETRIC, sides='"a"'), a=flows(900))
    first = filled.run_until_it_stops()
    filled.run(100)
    assert filled.judge.state(filled.upcoming).claims == first.claims


def test_a_trial_that_fails_does_not_count():
    a = flows(600)
    holes = np.insert(a, [3, 7, 60], np.nan, axis=0)
    whole, holed = (
        Filled(experiment_of(POOLED, GEOMETRIC, sides='"a"'), a=values).run_until_it_stops()
        for values in (a, holes)
    )
    assert holed.claims == whole.claims


def test_whole_blocks_of_the_order_are_run():
    design = f'{GEOMETRIC}\norder = "balanced"'
    values = {side: draws(900, ord(side)) for side in "abcd"}
    filled = Filled(experiment_of(MEAN, design, sides='"a", "b", "c", "d"'), **values)
    state = filled.run_until_it_stops()
    assert state.decided
    assert state.rounds % 4 == 0


def test_the_forecast_has_an_interval_and_is_told_while_it_runs():
    filled = Filled(experiment_of(MEAN.replace("5%", "2%"), GEOMETRIC, sides='"a"'), a=draws(900))
    before = filled.run(29)
    assert (before.forecast, before.claims[0].note) == (None, "the first look is at 30 trials")
    assert open_texts(before) == ["m side=a: mean ±2 %: open, no bounds yet"]
    state = filled.run(1)
    claim = state.claims[0]
    assert claim.wanted_low < claim.wanted < claim.wanted_high
    assert state.forecast == claim.wanted
    assert f"about {claim.wanted:,} trials ({claim.wanted_low:,} to " in open_texts(state)[0]


def test_more_than_there_is_room_for_is_said_at_the_first_look():
    filled = Filled(
        experiment_of(MEAN.replace("5%", "0.1%"), f"{GEOMETRIC}\nmax_trials = 200", sides='"a"'), a=draws(200)
    )
    assert filled.run(29).warnings == ()
    (warning,) = filled.run(1).warnings
    assert warning.startswith("m side=a: mean ±0.1 % would take about 1")
    assert "and there are 200: ask for a wider interval, or raise max_trials" in warning
    state = filled.run_until_it_stops()
    assert state.reason == "max_trials is reached (200 rounds): 0 of 1 claim known"
    assert "--extend" in what_lifts(state)


def test_a_billion_trials_are_said():
    filled = Filled(experiment_of(MEAN.replace("5%", "0.0001%"), GEOMETRIC, sides='"a"'), a=draws(100))
    claim = filled.run(30).claims[0]
    assert claim.wanted is None
    assert "would take more than 1,000,000,000 trials" in too_many(claim, 1000)


def test_boots_are_the_units_where_a_reset_boots_the_machine():
    rest = '[reset]\nreboot = true\nevery = "round"'
    a = draws(400)
    filled = Filled(experiment_of(MEAN, GEOMETRIC, sides='"a"', rest=rest), a=a)
    state = filled.run(400, boot=lambda one: f"boot{(one.round - 1) // 2}")
    expected = st.sequential_mean(a.reshape(200, 2).mean(axis=1), 5)
    assert (state.claims[0].n, state.claims[0].low) == ((expected.n,), expected.low)
    assert state.claims[0].level == "boot"
