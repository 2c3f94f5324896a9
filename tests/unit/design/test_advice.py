import dataclasses

import pytest
from tests.stopping_data import experiment_of

from trialwise.design.advice import advice
from trialwise.design.sizing import size
from trialwise.design.timing import TrialTimes, stated_times
from trialwise.experiment.reading import parse_experiment

SAMPLES = 'csv = "x"\ntime = "t"\n'


def said(experiment, times=None):
    return "\n".join(advice(experiment, size(experiment), times or stated_times(experiment)))


def test_nothing_to_say_about_a_sound_plan(make):
    experiment = make(
        trial='runtime = "1s"', metric="kpi = { percentile = 95 }\nvariability = {}", design='span = "1h"'
    )
    assert said(experiment) == ""


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (
            {"metric": "kpi = { percentile = 95 }", "design": "rounds = 40"},
            "m: 95 % upper bound on p95 needs 59 rounds; there are 40: it will not be had",
        ),
        (
            {"design": 'order = "balanced"\nrounds = 10'},
            'order = "balanced" comes out even every 6 rounds; there are 10: give rounds = 12 or 6',
        ),
        (
            {"design": 'order = "fixed+random"\nrounds = 1'},
            'order = "fixed+random" comes out even every 2 rounds; there are 1: give rounds = 2',
        ),
        (
            {"factors": "", "design": 'order = "balanced"\nrounds = 1'},
            'there is one treatment, so order = "balanced" changes nothing',
        ),
        (
            {
                "metric": "kpi = {}\nvariability = { confidence = 90 }",
                "design": 'series = 3\nspan = "1h"',
                "trial": 'runtime = "1s"',
            },
            "m: variability score (p50, 90 %) needs 5 series; there are 3: it will not be had",
        ),
        ({}, "no metric has a kpi and the design gives no rounds"),
        ({"metric": "kpi = { confidence = 60 }"}, "m: a confidence of 60 % is wrong more often"),
        ({"metric": "kpi = {}\nconvergence = true"}, "m: convergence cannot be tested"),
        ({"metric": "kpi = {}", "trial": 'warmup = "2s"'}, "trial.warmup cuts nothing"),
        ({"metric": "kpi = {}\nvariability = {}"}, "without a span the series run one right after the other"),
        ({"metric": "kpi = {}", "design": 'span = "1h"'}, "how long a trial takes is unknown"),
        (
            {"metric": "kpi = {}", "trial": 'runtime = "1min"', "design": 'span = "10min"'},
            "the rounds of a series take 15min, longer than the span of 10min",
        ),
        (
            {"metric": "kpi = {}", "trial": 'runtime = "1min"', "design": 'span = "16min"'},
            "the rounds of a series take 15min of the span of 16min, so their start times are hardly random",
        ),
    ],
)
def test_doubts(make, parts, expected):
    lines = said(make(**parts)).splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(expected)


def test_a_pilot_says_which_runtime_to_write(make):
    times = TrialTimes({"a=1": 1.0, "a=2": 2.5, "a=3": 1.0}, 0.0, "pilot")
    assert 'runtime = "2.5s"' in said(make(metric="kpi = {}", design='span = "1h"'), times)


def test_one_series_of_shared_processes_infers_nothing(tmp_path):
    text = (
        '[experiment]\nname = "x"\n[trial]\nkind = "python"\ncall = "m:f"\nprocess = "shared"\nruntime = "1s"\n'
        '[metrics.m]\nkpi = {}\n[design]\nrounds = 9\nspan = "1h"\nseries = '
    )
    one, ten = (parse_experiment(text + number, tmp_path / "experiment.toml") for number in ("1", "10"))
    assert "one process of each treatment: nothing can be inferred about other processes" in said(one)
    assert "nothing can be inferred" not in said(ten)
    assert "a KPI speaks of that process" in said(ten)


FINE = "is known to ±{} at 95 %: that takes {} trials even if trials vary by 1 % only"


@pytest.mark.parametrize(
    ("metric", "design", "told"),
    [
        ('stop = { precision = "0.01%", of = "mean" }', 'looks = "geometric"', FINE.format("0.01 %", "about 42,182")),
        ('stop = { precision = "0.01%", of = "mean" }', "", FINE.format("0.01 %", "about 50,379")),
        ('stop = { precision = "0.0000001%", of = "mean" }', "", FINE.format("0.0000001 %", "more than 1,000,000,000")),
        ('margin = "0.001%"', 'stop = "verdict"', "m: a margin of 0.001 % takes more than 1,000 trials"),
    ],
)  # fmt: skip
def test_what_even_steady_trials_do_not_reach(metric, design, told):
    """(2.054 · 1 % / 0.01 %)² trials by geometric looks, 1.15 (2.093 · 1 % / 0.01 %)² by a pilot of 20."""
    assert told in said(experiment_of(metric, design))


@pytest.mark.parametrize(
    ("metric", "design"),
    [
        ('stop = { precision = "0.01%", of = "mean" }', 'looks = "geometric"\nmax_trials = 50000'),
        ('stop = { precision = 0.00001, of = "mean" }', ""),
        ('stop = { precision = "1%" }', ""),
        ('margin = "1%"', 'stop = "verdict"'),
    ],
)
def test_what_may_be_reached_is_no_matter_for_warnings(metric, design):
    assert "vary by 1 % only" not in said(experiment_of(metric, design))


@pytest.mark.parametrize(
    ("order", "levels", "rounds"),
    [("random", 5, 1), ("balanced", 4, 4), ("balanced", 5, 10), ("fixed+random", 3, 2)],
)
def test_without_objectives_the_number_of_rounds_is_that_of_the_plan(make, order, levels, rounds):
    experiment = make(factors=f"a = {[*range(levels)]}", metric="", design=f'order = "{order}"')
    experiment = dataclasses.replace(
        experiment, metrics=tuple(dataclasses.replace(m, kpis=()) for m in experiment.metrics)
    )
    sizing = size(experiment)
    assert sizing.rounds == rounds
    told = said(experiment)
    assert ("one round runs" in told) == (rounds == 1)
    assert rounds == 1 or f"{rounds} rounds run" in told
