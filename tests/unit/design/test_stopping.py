"""The plan of an experiment that stops by itself: how long at least and at most, and what cannot work."""

from pathlib import Path

import pytest
from tests.stopping_data import experiment_of

from trialwise.design.plan import make_plan
from trialwise.design.sizing import size
from trialwise.design.stopping import comparisons, condition, stopping_plan
from trialwise.design.timing import TrialTimes
from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.stopping import goals

STOP = 'stop = { precision = "5%" }'
SCORE = "kpi = { percentile = 50, confidence = 75 }\nvariability = { percentile = 50, confidence = 75STOP }"


def test_the_plan_has_room_for_max_trials_and_begins_as_a_shorter_one():
    long, short = (make_plan(experiment_of(STOP, f"max_trials = {most}")).trials for most in (300, 40))
    assert len(long) == 600
    assert long[:80] == short


_HARNESS = """
[experiment]
name = "suite"
[trial]
command = "bench {level}"
[factors]
level = [1, 2]
[design]
max_trials = 100
[results]
format = "go-bench"
[results.metrics."Encode/*"]
stop = { precision = "2%", of = "mean" }
"""


def test_a_plan_says_that_a_pattern_waits_for_every_metric():
    experiment = parse_experiment(_HARNESS, Path("x.toml"))
    found = stopping_plan(experiment, size(experiment), None)
    assert found
    (text,) = found.stops_when
    assert text.startswith("Encode/*: the mean of every treatment is known to ±2 % at 95 %")
    assert text.endswith("in every metric that matches: one that few trials have keeps all waiting")


def test_times_at_least_and_at_most():
    experiment = experiment_of(STOP, "max_trials = 300")
    found = stopping_plan(experiment, size(experiment), TrialTimes({"a": 1.0, "b": 2.0}, 0.0, "runtime"))
    assert found
    assert (found.least, found.most, found.least_seconds, found.most_seconds) == (26, 300, 78, 900)


def test_balanced_orders_have_room_for_whole_squares():
    assert size(experiment_of(STOP, 'max_trials = 301\norder = "balanced"')).rounds == 300


def test_series_are_laid_out_where_a_score_says_when_to_stop():
    found = size(experiment_of(SCORE.replace("STOP", ', stop = { precision = "5%" }'), "max_trials = 300"))
    assert (found.rounds, found.series) == (2, 150)


def test_pairs_are_all_or_those_with_the_base():
    sides = '"a", "b", "c"'
    assert len(comparisons(experiment_of(sides=sides))) == 3
    assert comparisons(experiment_of(design='base = "side=b"', sides=sides)) == (
        ("side=b", "side=a"),
        ("side=b", "side=c"),
    )


@pytest.mark.parametrize(
    ("metric", "design", "says"),
    [
        (STOP, 'span = "1h"', "design.span: spreads a known number"),
        (STOP, "pilot = 300\nmax_trials = 300", "leaves no fresh trials"),
        (STOP, "series = 3", "may come inside the first"),
        (STOP + "\n" + SCORE.replace("STOP", ""), "", "takes several series"),
        (SCORE.replace("STOP", ', stop = { precision = "5%" }'), "series = 3", "is fixed, while"),
        (STOP, 'looks = "cceval"', "cceval's rule knows a mean only"),
        ('stop = { precision = 5, of = "mean" }', 'looks = "cceval"', "a precision in percent only"),
        (STOP, 'looks = "geometric"', "the geometric rule knows a mean only"),
        ('margin = "3%"', 'stop = "verdict"\nlooks = "geometric"', "knows no verdicts"),
        (STOP + '\nestimand = "pooled"', "", "two-stage judges one number for each trial"),
        (STOP + '\nestimand = "pooled"', 'looks = "cceval"', "cceval judges one number for each trial"),
        (STOP[:-2] + ', of = 90 }\nestimand = "pooled"', 'looks = "anytime"', "is one number for all trials"),
        ('margin = "3%"\nestimand = "pooled"', 'stop = "verdict"\nlooks = "anytime"', "anytime knows no verdict of what is pooled"),
        ('stop = { precision = "5%", of = "mean" }', 'looks = "geometric"\nmax_trials = 20', "takes at least 30 trials"),
        ('margin = "3%"', 'stop = "verdict"\nlooks = "cceval"', "knows no verdicts"),
        (STOP + "\nkpi = { percentile = 99, confidence = 95 }", "max_trials = 100", "needs 299 trials; max_trials is 100"),
        ('stop = { precision = "5%", of = 99 }', "max_trials = 400", "takes at least"),
        ('stop = { precision = "5%", of = "mean" }', 'looks = "anytime"\nmax_trials = 40', "takes at least 50 trials"),
    ],
)  # fmt: skip
def test_what_cannot_work_says_what_lifts_it(metric, design, says):
    with pytest.raises(PlanError, match=says) as caught:
        make_plan(experiment_of(metric, design))
    assert caught.value.hint


def test_one_treatment_has_no_verdict():
    with pytest.raises(PlanError, match="compares treatments, and there is one"):
        experiment_of('margin = "3%"', 'stop = "verdict"', sides='"a"')


def test_a_condition_names_the_estimand_and_the_controls_and_writes_small_precisions_plainly():
    metric = """quantity = "fct"
{estimand}
stop = {{ precision = "{precision}"{more} }}"""
    pooled, each = (
        condition(
            goals(parse_experiment(_SIMULATED.format(metric=metric.format(**given)), Path("x.toml")))[0]
        )
        for given in (
            {"estimand": "", "precision": "0.00001%", "more": ', controls = "fluid"'},
            {"estimand": 'estimand = "per_trial"', "precision": "5%", "more": ""},
        )
    )
    assert pooled == (
        "m: the mean of all samples of every treatment is known to ±0.00001 % at 95 %, with control variates "
        '(controls = "fluid")'
    )
    assert each == "m: the mean over trials of each one's mean of every treatment is known to ±5 % at 95 %"


_SIMULATED = """
[experiment]
name = "flows"
[trial]
kind = "simulation"
scheme = "dctcp"
topology = "dumbbell:2x2,10Gbit/s,1us"
workload = {{ sizes = "websearch", load = "30%", duration = "5ms" }}
[metrics.m]
{metric}
"""
