"""Flow lists that the trials of a workload might have had: what they are in the mean, at the cost of drawing them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import BUILT_IN
from trialwise.experiment.seeds import seed_of
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.trials.simulating import expected_flows, filled, flow_list, open_fabric
from trialwise.trials.simulation import trial_of

Array = npt.NDArray[np.float64]
LISTS = 10_000
MOST_FLOWS = 20_000_000
"""Together, so that large workloads take seconds: 28,000 flows a trial leave 700 lists."""


class KnownWorkloads:
    """Draws the flow lists of each workload of an experiment once, however many treatments have it."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._known: dict[tuple[Workload, str], Array | None] = {}

    def features(self, factors: Mapping[str, Level]) -> Array | None:
        """Number of flows, their bytes and the largest of them in many drawn flow lists: shape (lists, 3).

        None where flows come from a file. The lists have seeds of their own, so that no trial is among them, and are the same
        in every analysis.

        Raises
        ------
        PlanError
            The workload cannot be as it is written.
        """
        trial = filled(trial_of(self._experiment), {**dict.fromkeys(BUILT_IN, 0), **factors})
        key = trial.workload, trial.topology
        if key not in self._known:
            self._known[key] = None if trial.workload.flows else _drawn(trial, self._experiment)
        return self._known[key]


def _drawn(trial: SimulationTrial, experiment: Experiment) -> Array:
    fabric = open_fabric(trial, experiment.folder)
    expected = expected_flows(trial.workload, fabric, experiment.folder)
    lists = min(LISTS, max(2, int(MOST_FLOWS / max(expected, 1.0))))
    found = np.empty((lists, 3))
    for place in range(lists):
        seed = seed_of(experiment.seed, "known workloads", place)
        sizes = flow_list(trial.workload, fabric, experiment.folder, seed)["size_bytes"]
        found[place] = len(sizes), sizes.sum(), sizes.max(initial=0)
    return found
