"""Which kind of trial an experiment has."""

from __future__ import annotations

from trialwise.experiment.model import CommandTrial, Experiment
from trialwise.trials.base import TrialKind
from trialwise.trials.command import CommandKind
from trialwise.trials.python import PythonKind


def kind_of(experiment: Experiment) -> TrialKind:
    """The plug-in that executes the trials of `experiment`."""
    return CommandKind() if isinstance(experiment.trial, CommandTrial) else PythonKind()
