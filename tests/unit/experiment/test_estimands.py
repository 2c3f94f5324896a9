"""What a metric estimates over several trials: what follows from the file, and what goes with neither."""

from pathlib import Path

import pytest

from trialwise.design.plan import plan_digest
from trialwise.errors import PlanError
from trialwise.experiment.estimands import estimand_text
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.writing import write_experiment

TEXT = """
[experiment]
name = "flows"
[trial]
kind = "simulation"
scheme = "dctcp"
topology = "dumbbell:2x2,10Gbit/s,1us"
workload = {{ sizes = "fixed:10kB", load = "30%", duration = "1ms" }}
[metrics.fct]
{metric}
"""
COMMAND = """
[experiment]
name = "echo"
[trial]
command = "echo 1"
[metrics.m]
stdout = "([0-9.]+)"
{metric}
"""


def metric_of(text: str, metric: str = ""):
    return parse_experiment(text.format(metric=metric), Path("made.toml")).metrics[0]


@pytest.mark.parametrize(
    ("text", "metric", "estimand", "convention"),
    [
        (TEXT, "", "pooled", "nearest_rank"),
        (TEXT, 'measure = "p99"', "pooled", "nearest_rank"),
        (TEXT, 'measure = "max"', "per_trial", "nearest_rank"),
        (TEXT, 'quantity = "queue"\nmeasure = "p99"', "per_trial", "nearest_rank"),
        (TEXT, 'estimand = "per_trial"\nconvention = "linear"', "per_trial", "linear"),
        (COMMAND, 'measure = "p99"', "per_trial", "linear"),
        (COMMAND, 'measure = "p99"\nestimand = "pooled"', "pooled", "linear"),
    ],
)
def test_estimand_and_convention_follow_from_what_is_measured(text, metric, estimand, convention):
    found = metric_of(text, metric)
    assert (found.estimand, found.convention) == (estimand, convention)


@pytest.mark.parametrize(
    "metric",
    ["", 'estimand = "per_trial"\nfew_samples = "allow"\nmeasure = "p99"', 'convention = "linear"'],
)
def test_they_survive_their_file(metric):
    experiment = parse_experiment(TEXT.format(metric=metric), Path("/nowhere/made.toml"))
    assert parse_experiment(write_experiment(experiment), Path("/nowhere/made.toml")) == experiment


def test_a_file_that_leaves_them_out_is_written_without_them():
    text = write_experiment(parse_experiment(TEXT.format(metric=""), Path("/nowhere/made.toml")))
    assert "estimand" not in text
    assert "convention" not in text


def test_they_do_not_decide_which_trials_run():
    pooled, each = (
        parse_experiment(TEXT.format(metric=f'estimand = "{name}"'), Path("/nowhere/made.toml"))
        for name in ("pooled", "per_trial")
    )
    assert plan_digest(pooled) == plan_digest(each)


@pytest.mark.parametrize(
    ("text", "metric", "said"),
    [
        (TEXT, "kpi = { percentile = 50 }", "takes one number for each trial"),
        (COMMAND, 'estimand = "pooled"\nconvergence = true', "takes one number for each trial"),
        (TEXT, 'measure = "max"\nestimand = "pooled"', "the max of all samples grows with the trials"),
        (TEXT, 'estimand = "per_trial"\nconvergence = true', "windows of a trial have linear percentiles"),
        (TEXT, 'estimand = "both"', "pooled"),
    ],
)
def test_what_does_not_go_together_is_refused(text, metric, said):
    with pytest.raises(PlanError, match=said):
        metric_of(text, metric)


@pytest.mark.parametrize(
    ("metric", "estimand", "text"),
    [
        ('quantity = "fct"\nmeasure = "p99"', "pooled", "p99 of all samples"),
        ('quantity = "fct"\nmeasure = "p99"', "per_trial", "mean over trials of each one's p99"),
        ('quantity = "fct"\nmeasure = "max"', "per_trial", "mean over trials of each one's max"),
        ('quantity = "peak_queue"', "per_trial", "mean over trials"),
    ],
)
def test_an_estimand_has_one_name(metric, estimand, text):
    assert estimand_text(metric_of(TEXT, metric), estimand) == text


def test_a_metric_with_a_single_estimand_needs_no_name():
    assert not estimand_text(metric_of(COMMAND), "per_trial")
