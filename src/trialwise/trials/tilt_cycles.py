"""Cycles for the search of a tilt: single tilted trials, by the packet simulator or by the fluid model of the same flows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.arrays import Array
from trialwise.experiment.simulation import SimulationTrial
from trialwise.experiment.tilts import SwitchingTilt
from trialwise.trials.drawn_flows import Drawing, drawing, flow_list
from trialwise.trials.fabrics import open_fabric
from trialwise.trials.simulating import congestion_of
from trialwise.trials.tilting import at_finish, switching_trial

_LARGEST = 1e15
"""Bytes; at 100 Gbit/s these take a day of simulated time, which is still an integer number of picoseconds."""


@dataclass(frozen=True, slots=True, eq=False)
class RawCycle:
    """A tilted trial: completion times (s), logarithms of likelihood ratios, and ln S of the sizes sampled in the tilted phase."""

    responses: Array
    log_likelihood: Array
    coordinates: Array


class Sampler(Protocol):
    """Samples sizes one by one and knows the likelihood ratio so far (`statistics.SwitchingSampler`)."""

    def arrival(self, gap: float) -> float:
        """Return the size of the next flow."""
        ...

    def finish(self, response: float, age: float = 0.0) -> float:
        """Return the logarithm of the likelihood ratio."""
        ...


class TiltCycles:
    """Cycles of one treatment with its placeholders filled in; every cycle has its own seed from `random`."""

    def __init__(self, trial: SimulationTrial, folder: Path, random: np.random.Generator) -> None:
        self._trial = replace(trial, workload=replace(trial.workload, tilt=""))
        self._folder = folder
        self._random = random
        self._congestion = congestion_of(trial, folder)
        self.fabric: _core.Fabric = open_fabric(trial, folder)
        self.drawing: Drawing = drawing(trial.workload, self.fabric, folder)

    @property
    def size_table(self) -> tuple[Array, Array]:
        """Return sizes in bytes, and the percentage of flows up to each; raise ValueError if sizes have a formula instead."""
        return _core.size_knots(self.drawing["sizes"], self.drawing["size_table"])

    @property
    def mean_flows(self) -> float:
        """Mean number of flows, λT."""
        return _core.expected_flows(self.fabric, **self.drawing)

    @property
    def seconds(self) -> float:
        """Seconds during which flows begin."""
        return self.drawing["duration_ps"] / 1e12

    def packets(
        self, tilt: SwitchingTilt, progress: Callable[[int, int, int], object] | None = None
    ) -> RawCycle:
        """Run a trial of the packet simulator with tilted sizes until the threshold."""
        flows, result, logs, switched = switching_trial(
            tilt,
            self._trial,
            self.fabric,
            self.drawing,
            self._congestion,
            flow_seed=self._seed(),
            seed=self._seed(),
            progress=progress,
        )
        tilted = flows["start_ps"] < (np.inf if switched is None else switched)
        ended = result.fct_ps >= 0
        return RawCycle(
            result.fct_ps[ended] / 1e12, logs[ended], np.log(flows["size_bytes"][tilted].astype(np.float64))
        )

    def fluid(self, tilt: SwitchingTilt) -> RawCycle:
        """Run the same with the fluid model.

        Flows that begin later cannot change flows that have ended. So the end of the first flow above the threshold is known from a
        list with tilted sizes throughout, and flows that begin after it get untilted sizes.
        """
        flows = flow_list(self._trial.workload, self.fabric, self._folder, self._seed())
        number = len(flows["start_ps"])
        normal = self._random.standard_normal(number)
        places = tilt.tilted_mu + tilt.tilted_sigma * normal
        fct = self._fluid(flows, np.exp(places))
        slow = fct > tilt.threshold * 1e12
        switch = (flows["start_ps"] + fct)[slow].min() if slow.any() else np.inf
        tilted = flows["start_ps"] < switch
        places = np.where(tilted, places, tilt.mu + tilt.sigma * normal)
        if slow.any():
            fct = self._fluid(flows, np.exp(places))
        squares = ((places - tilt.tilted_mu) / tilt.tilted_sigma) ** 2 - (
            (places - tilt.mu) / tilt.sigma
        ) ** 2
        ratios = np.where(tilted, np.log(tilt.tilted_sigma / tilt.sigma) + squares / 2, 0.0)
        return RawCycle(fct / 1e12, at_finish(flows, ratios, fct), places[tilted])

    def listed(self, sampler: Sampler) -> tuple[Array, Array]:
        """Run the fluid model on a flow list with sizes from a sampler: return completion times (s) and log likelihood ratios.

        The list is fixed before the trial: no response changes the distribution.
        """
        flows = flow_list(self._trial.workload, self.fabric, self._folder, self._seed())
        sizes = np.empty(len(flows["start_ps"]))
        totals = np.zeros(sizes.size + 1)
        for place in range(sizes.size):
            sizes[place] = sampler.arrival(0.0)
            totals[place + 1] = sampler.finish(0.0)
        fct = self._fluid(flows, sizes)
        return fct / 1e12, at_finish(flows, np.diff(totals), fct)

    def _fluid(self, flows: dict[str, npt.NDArray[np.int64]], sizes: Array) -> npt.NDArray[np.int64]:
        if not sizes.size:
            return np.empty(0, dtype=np.int64)
        whole = np.clip(sizes, 1, _LARGEST).astype(np.int64)
        return _core.fluid(
            self.fabric,
            flows | {"size_bytes": whole},
            controller=self._congestion,
            network=self._trial.network,
        )

    def _seed(self) -> int:
        return int(self._random.integers(2**63))
