"""Percentiles of each simulated trial, where its flows are too few for one."""

from pathlib import Path

import pytest

from trialwise.design.few_samples import refuse_few_samples
from trialwise.errors import PlanError
from trialwise.experiment.reading import parse_experiment
from trialwise.trials.simulation import samples_by_metric

TEXT = """
[experiment]
name = "flows"
[trial]
kind = "simulation"
scheme = "dctcp"
topology = "dumbbell:2x2,10Gbit/s,1us"
workload = {{ sizes = "fixed:10kB", load = "30%", duration = "{duration}" }}
[metrics.fct]
{metric}
"""
EACH = 'estimand = "per_trial"\nmeasure = "p90"'


def checked(metric: str, duration: str = "1ms"):
    experiment = parse_experiment(TEXT.format(metric=metric, duration=duration), Path("made.toml"))
    expected = samples_by_metric(experiment, [{}])
    refuse_few_samples(experiment, expected)
    return expected["fct"]


def test_fewer_than_five_flows_beyond_are_refused_and_it_says_what_lifts_that():
    with pytest.raises(
        PlanError, match=r"metric fct: p90 of a trial with .* samples has .* beyond it and 5"
    ) as caught:
        checked(EACH)
    assert 'few_samples = "allow"' in str(caught.value)
    assert 'estimand = "pooled"' in str(caught.value)


@pytest.mark.parametrize(
    ("metric", "duration"),
    [
        (EACH, "4ms"),
        (f'{EACH}\nfew_samples = "allow"', "1ms"),
        ('measure = "p90"', "1ms"),
        ('measure = "max"', "1ms"),
        ('estimand = "per_trial"', "1ms"),
    ],
)
def test_what_has_enough_is_pooled_or_forced_is_not(metric, duration):
    checked(metric, duration)


def test_flows_of_a_class_are_counted():
    every, small = checked(EACH, "4ms"), checked(f'{EACH}\nsizes = "20kB.."\nfew_samples = "allow"', "4ms")
    # 30 % of 10 Gbit/s for 4 ms, in flows of 10 kB.
    assert every == pytest.approx(0.3 * 10e9 * 4e-3 / 8 / 10_000, rel=0.05)
    assert small == 0
