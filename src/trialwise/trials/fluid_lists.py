"""Run many flow lists at once through the fluid model, in chunks that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.arrays import Array
from trialwise.errors import PlanError
from trialwise.experiment.simulation import SimulationTrial
from trialwise.trials.drawn_flows import drawing
from trialwise.trials.fabrics import open_fabric
from trialwise.trials.list_statistics import Statistic
from trialwise.trials.simulating import congestion_of

Seeds = npt.NDArray[np.uint64]
_STEPS_A_FLOW, _STEPS_A_LIST = 20, 60
"""Cost of sampling a flow and sharing one link, and of a list besides its flows, in steps of the max-min model (about 5 ns each)."""
_STEPS_A_CHUNK, _MAX_IN_CHUNK = 20_000_000, 20_000
"""A chunk takes a tenth of a second, so that progress is visible, and limits the lists held at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class ListTable:
    """Numbers of some lists: features (flows, bytes, largest flow), statistics, and the cost of each in steps."""

    features: Array
    found: Array
    steps: Array


class _Window(TypedDict, total=False):
    """The least time between two searches for rates, in picoseconds; absent for the exact model."""

    window_ps: int


class FluidLists:
    """The flow lists that seeds sample for a trial with its placeholders filled in, and their results in the fluid model.

    The same seeds give the same bits, with any number of threads.
    """

    def __init__(self, trial: SimulationTrial, folder: Path, threads: int | None = None) -> None:
        """`folder` contains the files that the trial names; `threads` None means one per processor.

        Raises
        ------
        PlanError
            The workload is invalid.
        """
        self._fabric = open_fabric(trial, folder)
        self._workload = drawing(trial.workload, self._fabric, folder)
        self._congestion = congestion_of(trial, folder)
        self._network = trial.network
        self._threads = threads
        self._window: _Window = (
            {"window_ps": round(trial.rate_interval * 1e12)} if trial.rate_interval else {}
        )

    @property
    def framing(self) -> tuple[int, int]:
        """Return payload and headers of a full packet: all that the model takes from the controller and the network."""
        return _core.surrogate_framing(self._fabric, controller=self._congestion, network=self._network)

    def table(self, seeds: Seeds, statistics: Sequence[Statistic]) -> ListTable:
        """Return features and statistics of one list per seed; there may be no seeds.

        Raises
        ------
        PlanError
            The workload is invalid.
        """
        try:
            found, features = _core.surrogate_batch(
                self._fabric,
                seeds,
                statistics=statistics,
                controller=self._congestion,
                network=self._network,
                threads=self._threads,
                **self._window,
                **self._workload,
            )
        except _core.SimulationError as error:
            raise PlanError(f"workload: {error}") from error
        steps = features[:, 4] + _STEPS_A_FLOW * features[:, 0] + _STEPS_A_LIST
        return ListTable(features[:, :3], found, steps)

    def samples(self, seeds: Seeds, statistic: Statistic) -> list[Array]:
        """Return the numbers of the flows of each list that a statistic covers, whatever its summary; raises as `table` does."""
        try:
            found, counts = _core.surrogate_samples(
                self._fabric,
                seeds,
                statistic=statistic,
                controller=self._congestion,
                network=self._network,
                threads=self._threads,
                **self._window,
                **self._workload,
            )
        except _core.SimulationError as error:
            raise PlanError(f"workload: {error}") from error
        return np.split(found, np.cumsum(counts)[:-1]) if len(counts) else []

    def chunks(
        self, seeds: Seeds, statistics: Sequence[Statistic], steps_a_list: float
    ) -> Iterator[ListTable]:
        """Yield `table` of all seeds, in chunks that each cost a tenth of a second."""
        together = max(1, min(_MAX_IN_CHUNK, int(_STEPS_A_CHUNK / steps_a_list)))
        for first in range(0, len(seeds), together):
            yield self.table(seeds[first : first + together], statistics)
