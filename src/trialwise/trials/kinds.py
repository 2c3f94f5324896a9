"""Which kind of trial an experiment has."""

from __future__ import annotations

from trialwise.experiment.model import Experiment
from trialwise.experiment.simulation import SimulationTrial
from trialwise.experiment.trials import CommandTrial, PathTrial, PythonTrial
from trialwise.trials.base import TrialKind
from trialwise.trials.command import CommandKind
from trialwise.trials.python import PythonKind
from trialwise.trials.shared_python import SharedPythonKind


def kind_of(experiment: Experiment) -> TrialKind:
    """The plug-in that executes the trials of `experiment`."""
    match experiment.trial:
        case CommandTrial():
            return CommandKind()
        case PythonTrial(process="shared"):
            return SharedPythonKind()
        case PythonTrial():
            return PythonKind()
        case PathTrial(engine="simulated"):
            from trialwise.trials.simulated_path import SimulatedPathKind

            return SimulatedPathKind()
        case PathTrial():
            from trialwise.trials.path import PathKind  # the other kinds need not wait for what it imports

            return PathKind()
        case SimulationTrial():
            from trialwise.trials.simulation import SimulationKind

            return SimulationKind()
