"""Flow lists that the trials of a workload might have had: what they are in the mean, at the cost of drawing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import BUILT_IN
from trialwise.experiment.seeds import seed_of
from trialwise.experiment.simulation import SimulationSource, SimulationTrial, Workload
from trialwise.trials.simulating import Flows, duration_of, expected_flows, filled, flow_list, open_fabric
from trialwise.trials.simulation import chosen_flows, trial_of

Array = npt.NDArray[np.float64]
Round = tuple[int, int]
LISTS = 10_000
MOST_FLOWS = 5_000_000
"""Together, so that large workloads take seconds: 28,000 flows a trial leave 180 lists."""


class KnownWorkloads:
    """Draws the flow lists of each workload of an experiment once, however many treatments and metrics ask for them.

    The lists have seeds of their own, so that no trial is among them, and are the same in every analysis.
    """

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._drawn: dict[tuple[Workload, str], list[Flows]] = {}

    def features(self, factors: Mapping[str, Level]) -> Array | None:
        """Number of flows, their bytes and the largest of them in many drawn flow lists: shape (lists, 3).

        None where flows come from a file.

        Raises
        ------
        PlanError
            The workload cannot be as it is written.
        """
        trial = self._trial(factors)
        if trial.workload.flows:
            return None
        sizes = [flows["size_bytes"] for flows in self._lists(trial)]
        return np.array([(len(each), each.sum(), each.max(initial=0)) for each in sizes], dtype=np.float64)

    def surrogate(
        self, factors: Mapping[str, Level], source: SimulationSource, rounds: Sequence[Round]
    ) -> tuple[list[Array], list[Array]]:
        """What a source says by the fluid model: for the flow lists of rounds, (series, round), and for the drawn lists.

        Raises
        ------
        PlanError
            The workload cannot be as it is written.
        """
        trial, folder = self._trial(factors), self._experiment.folder
        fabric = open_fabric(trial, folder)
        seeds = [seed_of(self._experiment.seed, "flows", *each) for each in rounds]
        own = (flow_list(trial.workload, fabric, folder, seed) for seed in seeds)
        return (
            [_fluid_samples(trial, source, fabric, flows) for flows in own],
            [_fluid_samples(trial, source, fabric, flows) for flows in self._lists(trial)],
        )

    def _trial(self, factors: Mapping[str, Level]) -> SimulationTrial:
        return filled(trial_of(self._experiment), {**dict.fromkeys(BUILT_IN, 0), **factors})

    def _lists(self, trial: SimulationTrial) -> list[Flows]:
        key = trial.workload, trial.topology
        if key not in self._drawn:
            folder = self._experiment.folder
            fabric = open_fabric(trial, folder)
            expected = expected_flows(trial.workload, fabric, folder)
            count = min(LISTS, max(2, int(MOST_FLOWS / max(expected, 1.0))))
            seeds = (seed_of(self._experiment.seed, "known workloads", place) for place in range(count))
            drawn = (flow_list(trial.workload, fabric, folder, seed) for seed in seeds)
            # A trial without a flow fails, and is no trial that counts.
            self._drawn[key] = [flows for flows in drawn if len(flows["size_bytes"])]
        return self._drawn[key]


def _fluid_samples(
    trial: SimulationTrial, source: SimulationSource, fabric: _core.Fabric, flows: Flows
) -> Array:
    """The samples of a source, fct (s) or throughput (bit/s), as the fluid model has them."""
    seconds = _core.fluid(fabric, flows, controller=trial.scheme, network=trial.network) / 1e12
    chosen = chosen_flows(source, trial, flows, duration_of(trial.workload, flows))
    if source.quantity == "throughput":
        return 8 * flows["size_bytes"][chosen] / seconds[chosen]
    return seconds[chosen]
