"""How the flow lists of simulated trials are drawn."""

from __future__ import annotations

from trialwise.experiment.model import Experiment
from trialwise.experiment.simulation import SimulationTrial


def is_sobol(experiment: Experiment) -> bool:
    """Whether the flow lists of an experiment are Sobol samples, block by block of rounds."""
    return isinstance(experiment.trial, SimulationTrial) and experiment.trial.workload.sampling == "sobol"
