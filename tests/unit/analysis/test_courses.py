"""Claims that are looked at while trials come: geometric, at any time, CCEval's; pooled and per trial."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.stopping_data import Filled, experiment_of, rows_of

from trialwise import statistics as st
from trialwise.analysis.stopping.sentences import controls_text, open_texts, remedy, too_many
from trialwise.analysis.stopping.verdicts import StoppingMonitor
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.seeds import seed_of
from trialwise.measurement.samples import Samples
from trialwise.trials import drawn_means, workloads
from trialwise.trials.fluid_lists import FluidLists
from trialwise.trials.list_statistics import statistic_of

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
        judge, given = StoppingMonitor(experiment), {"side=a": a, "side=b": b}
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
        experiment_of(MEAN.replace("5%", "1%"), f"{GEOMETRIC}\nmax_trials = 200", sides='"a"'), a=draws(200)
    )
    assert filled.run(29).warnings == ()
    (warning,) = filled.run(1).warnings
    assert warning.startswith("m side=a: mean ±1 % would take about 1,")
    assert "and there are 200: ask for a wider interval, or raise max_trials" in warning
    state = filled.run_until_it_stops()
    assert state.reason == "max_trials is reached (200 rounds): 0 of 1 claim known"
    assert "--extend" in remedy(state)


def test_what_is_far_out_of_reach_ends_at_the_first_look_and_goes_on_once_it_is_lifted():
    a, fine = draws(900), MEAN.replace("5%", "0.1%")
    filled = Filled(experiment_of(fine, f"{GEOMETRIC}\nmax_trials = 200", sides='"a"'), a=a)
    state = filled.run_until_it_stops()
    assert (state.rounds, state.out_of_reach, state.decided) == (30, True, False)
    assert state.reason == "what is asked for takes over 10 times max_trials, at best: 0 of 1 claim known"
    assert "would take about" in state.warnings[0]
    assert "goes on from here, and nothing is lost" in remedy(state)
    wider = Filled(experiment_of(MEAN, f"{GEOMETRIC}\nmax_trials = 200", sides='"a"'), a=a)
    assert wider.run_until_it_stops().decided
    more = Filled(experiment_of(fine, f"{GEOMETRIC}\nmax_trials = 200000", sides='"a"'), a=a[:30])
    assert more.run(30).reason is None


def test_an_estimate_that_may_as_well_be_large_is_not_out_of_reach():
    """About 0 the forecast in percent of the estimate is a billion, and says nothing: the interval allows wide targets."""
    a = draws(30, centre=0.0)
    filled = Filled(
        experiment_of(MEAN.replace("5%", "50%"), f"{GEOMETRIC}\nmax_trials = 200", sides='"a"'),
        a=a - a.mean() + 1e-9,
    )
    state = filled.run(30)
    assert state.claims[0].wanted is None
    assert state.reason is None


def test_a_billion_trials_are_said():
    filled = Filled(experiment_of(MEAN.replace("5%", "0.0001%"), GEOMETRIC, sides='"a"'), a=draws(100))
    claim = filled.run(30).claims[0]
    assert claim.wanted is None
    assert "would take more than 1,000,000,000 trials" in too_many(claim, 1000)


def test_without_both_bounds_nothing_is_forecast():
    """The p99.9 of 30 trials with ten samples each lies beyond them: that is no forecast of a billion trials."""
    filled = Filled(experiment_of(f'{POOLED}\nmeasure = "p99.9"', GEOMETRIC, sides='"a"'), a=flows(30))
    claim = filled.run(30).claims[0]
    assert (claim.high, claim.width, claim.wanted) == (None, None, None)
    assert "both bounds on p99.9 take about" in claim.note
    assert too_many(claim, 1000) is None


def test_boots_are_the_units_where_a_reset_boots_the_machine():
    rest = '[reset]\nreboot = true\nevery = "round"'
    a = draws(400)
    filled = Filled(experiment_of(MEAN, GEOMETRIC, sides='"a"', rest=rest), a=a)
    state = filled.run(400, boot=lambda one: f"boot{(one.round - 1) // 2}")
    expected = st.sequential_mean(a.reshape(200, 2).mean(axis=1), 5)
    assert (state.claims[0].n, state.claims[0].low) == ((expected.n,), expected.low)
    assert state.claims[0].level == "boot"


# Control variates


SIMULATED = """
[experiment]
name = "controlled"
seed = 4
[trial]
kind = "simulation"
scheme = "dctcp"
topology = "dumbbell:4x4,10Gbit/s,1us"
workload = { sizes = "websearch", load = "40%", duration = "50ms" }
[metrics.m]
quantity = "fct"
measure = "MEASURE"
ESTIMAND
stop = { precision = "5%", controls = "fluid" }
[design]
max_trials = 3000
"""


@pytest.fixture
def few_lists(monkeypatch):
    """A known mean is as known from a few thousand lists, here."""
    monkeypatch.setattr(drawn_means, "MAX_LISTS", 20_000)


class FluidTrials:
    """Trials of an experiment that is not simulated: the fluid model of each round's flows, and something on top."""

    def __init__(self, measure, estimand="", stop=""):
        text = SIMULATED.replace("MEASURE", measure).replace("ESTIMAND", estimand)
        self.experiment = parse_experiment(
            text.replace(', controls = "fluid"', stop or ', controls = "fluid"'), Path("x.toml")
        )
        self.known = workloads.KnownWorkloads(self.experiment)
        self.random = np.random.default_rng(8)

    def run(self, lost=(), without=()):
        """As the runner: the judge is asked before each round; those `without` have no flow."""
        judge = StoppingMonitor(self.experiment, self.known)
        source, trial = self.experiment.metrics[0].source, self.experiment.trial
        lists, statistic = FluidLists(trial, Path()), statistic_of(source, trial, None)
        for row in rows_of(self.experiment):
            if row.round not in lost:
                seed = seed_of(self.experiment.seed, "flows", row.series, row.round)
                (fluid,) = lists.samples(np.array([seed], dtype=np.uint64), statistic)
                fluid = fluid[: 0 if row.round in without else None]
                values = fluid * (1.1 + 0.1 * np.random.default_rng(row.round).random(fluid.size))
                judge.add(
                    dataclasses.replace(row, session=1, worker="local", boot="0"),
                    {source.key: Samples(values)},
                )
            following = next((one for one in rows_of(self.experiment) if one.round == row.round + 1), None)
            state = judge.state(following)
            if state.reason:
                return state
        return state


@pytest.mark.parametrize(
    ("measure", "estimand"), [("mean", ""), ("p90", ""), ("mean", 'estimand = "per_trial"')]
)
@pytest.mark.usefixtures("few_lists")
def test_a_fluid_control_ends_it_earlier(measure, estimand):
    claim = FluidTrials(measure, estimand).run().claims[0]
    plain = FluidTrials(measure, estimand, " ").run().claims[0]
    assert (claim.controls, plain.controls) == ("fluid", "")
    assert 100 <= claim.n[0] < plain.n[0] / 2
    assert claim.gain > 5
    assert (claim.low, claim.high) == (claim.controlled_low, claim.controlled_high)
    assert claim.plain_low < claim.low < claim.high < claim.plain_high
    assert claim.low < plain.high
    assert plain.low < claim.high
    # Half of the precision is the least that is told.
    assert claim.width >= 0.025 * claim.estimate * (1 - 1e-9)
    plain_percent = 50 * (claim.plain_high - claim.plain_low) / claim.estimate
    assert claim.note.startswith(f"±{plain_percent:.2g} % plain and ±")


@pytest.mark.usefixtures("few_lists")
def test_controls_end_where_a_trial_gave_no_values():
    claim = FluidTrials("mean").run(lost={5}).claims[0]
    plain = FluidTrials("mean", "", " ").run(lost={5}).claims[0]
    assert (claim.n, claim.low, claim.controls) == (plain.n, plain.low, "")
    assert "gave no values" in claim.note


@pytest.mark.usefixtures("few_lists")
def test_the_progress_tells_both_intervals():
    trials = FluidTrials("mean")
    trials.experiment = dataclasses.replace(
        trials.experiment, design=dataclasses.replace(trials.experiment.design, max_trials=80)
    )
    state = trials.run()
    assert "% plain and ±" in open_texts(state)[0]
    assert "fluid, gain " in open_texts(state)[0]


@pytest.mark.usefixtures("few_lists")
def test_a_gain_is_told_only_where_the_controlled_interval_is_used():
    """Ten times less variance of few trials, and yet a wider interval: the claim has the plain one."""
    claim = FluidTrials("mean").run().claims[0]
    assert controls_text(claim).endswith(f", gain {float(f'{claim.gain:.3g}'):g}")
    plain = dataclasses.replace(claim, low=claim.plain_low, high=claim.plain_high)
    assert controls_text(plain) == controls_text(claim).rpartition(", gain")[0] + ", the plain one is used"


@pytest.mark.parametrize("controls", ["", " "])
@pytest.mark.parametrize("measure", ["mean", "p90"])
@pytest.mark.usefixtures("few_lists")
def test_trials_without_a_flow_count_and_the_first_look_waits_for_one(measure, controls):
    trials = FluidTrials(measure, "", controls)
    empty = trials.run(without=range(1, 36))
    assert empty.claims[0].n[0] >= 36  # at 30 trials there was nothing to look at
    assert not any("gave no values" in warning for warning in (empty.claims[0].note, *empty.warnings))
