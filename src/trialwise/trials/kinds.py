"""The plug-in that executes the trials of an experiment."""

from __future__ import annotations

from trialwise.experiment.model import Experiment
from trialwise.kinds import part
from trialwise.trials.base import TrialKind


def kind_of(experiment: Experiment) -> TrialKind:
    """The plug-in that executes the trials of `experiment`."""
    return part(experiment.trial.traits.runs)()
