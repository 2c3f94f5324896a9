"""The key `trial.process`: it survives its file, and belongs to the plan only where it says something."""

import dataclasses
from pathlib import Path

from trialwise.design.plan import plan_digest
from trialwise.experiment.aa_design import against_itself
from trialwise.experiment.model import Experiment, Metric
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.sources import ReturnSource
from trialwise.experiment.trials import PythonTrial
from trialwise.experiment.writing import write_experiment

FRESH = Experiment("x", Path("/nowhere"), PythonTrial("m:f"), (Metric("m", ReturnSource("m")),))
SHARED = dataclasses.replace(FRESH, trial=PythonTrial("m:f", process="shared"))


def test_it_survives_its_file():
    for experiment in (FRESH, SHARED):
        text = write_experiment(experiment)
        assert ("process" in text) == (experiment is SHARED)
        assert parse_experiment(text, Path("/nowhere/experiment.toml")).trial == experiment.trial


def test_it_decides_the_plan_and_leaves_the_digest_of_directories_that_began_without_it():
    # As printed by the version before there was the key.
    assert plan_digest(FRESH) == "83cba0cca9d349753a0baf727c14c91750d8c80209f5c5d158654fcde3c8ff61"
    assert plan_digest(SHARED) != plan_digest(FRESH)


def test_trials_against_themselves_are_series_where_a_series_shares_a_process():
    assert against_itself(SHARED, 12).design.series == 12
    design = against_itself(FRESH, 12).design
    assert (design.series, design.rounds) == (1, 12)
