"""An experiment in which every treatment stands against itself."""

import dataclasses
from pathlib import Path

import pytest

from trialwise.design.plan import make_plan
from trialwise.errors import PlanError
from trialwise.experiment.aa_design import against_itself
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.writing import write_experiment

TEXT = """
[experiment]
name = "compressors"
[factors]
level = [1, 9]
[trial]
command = "gzip -{level} file"
[metrics.time]
resource = "wall"
margin = "3%"
stop = { precision = "2%" }
[design]
stop = "verdict"
rounds = 7
series = 2
base = "level=1"
pilot = 5
budget = "1h"
[reset]
command = "sync"
[workers]
use = ["ssh://me@node1"]
setup = "make -C bench"
"""
EXPERIMENT = parse_experiment(TEXT, Path("/nowhere/experiment.toml"))


def test_every_treatment_runs_on_both_sides_of_every_round():
    found = against_itself(EXPERIMENT)
    plan = make_plan(found)
    assert len(plan.trials) == 2 * 2 * 7 * 2
    for start in range(0, len(plan.trials), 4):
        treatments = {trial.treatment.name for trial in plan.trials[start : start + 4]}
        assert len(treatments) == 4


def test_nothing_but_the_sides_and_what_ends_it_is_changed():
    found = against_itself(EXPERIMENT)
    assert (found.reset, found.workers, found.trial) == (
        EXPERIMENT.reset,
        EXPERIMENT.workers,
        EXPERIMENT.trial,
    )
    assert (found.design.order, found.design.stop, found.design.budget) == ("random", "plan", None)
    assert found.metrics[0].stop is None
    assert found.metrics[0].margin == EXPERIMENT.metrics[0].margin


def test_so_many_trials_for_each_side():
    design = against_itself(EXPERIMENT, 12).design
    assert (design.series, design.rounds) == (1, 12)


def test_it_reads_back_from_a_file():
    found = against_itself(EXPERIMENT)
    assert parse_experiment(write_experiment(found), Path("/nowhere/experiment.toml")) == found


def test_what_runs_is_not_told_the_side():
    commands = {trial.factors["side"] for trial in make_plan(against_itself(EXPERIMENT)).trials}
    assert commands == {"A", "A'"}
    assert "side" not in str(against_itself(EXPERIMENT).trial)


def test_a_factor_of_that_name_is_refused():
    taken = dataclasses.replace(EXPERIMENT.fixed_factors[0], name="side")
    with pytest.raises(PlanError, match="'side' already"):
        against_itself(dataclasses.replace(EXPERIMENT, factors=(taken,)))
