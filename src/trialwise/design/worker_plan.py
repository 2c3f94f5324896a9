"""Lanes: the plan's rule with a seed of its own for each worker.

Lane 1 is the plan itself. Lane k has the seed that derives from the experiment's and from k, and so other orders, other
draws and other seeds of trials. A lane depends on no other, so that a slow or lost worker holds up only its own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from trialwise.design.seeds import seed_of
from trialwise.experiment.model import Experiment

Blocks = tuple[tuple[int, int], ...]
"""The numbers of a lane's trials: first and last of each run of them."""


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """The trials for one worker: `number` counts from 1; `worker` is None until the first one runs them."""

    number: int
    worker: str | None
    blocks: Blocks

    def experiment(self, experiment: Experiment) -> Experiment:
        """The experiment with the lane's seed."""
        if self.number == 1:
            return experiment
        return dataclasses.replace(experiment, seed=seed_of(experiment.seed, "worker", self.number))

    def with_block(self, first: int, last: int) -> WorkerPlan:
        """The lane with further trials."""
        if last < first:
            return self
        return dataclasses.replace(self, blocks=(*self.blocks, (first, last)))


def lanes_from_the_start(workers: tuple[str, ...], trials: int) -> tuple[WorkerPlan, ...]:
    """The lanes of workers that begin an experiment together, in which each runs so many trials."""
    return tuple(
        WorkerPlan(number, worker, ((trials * (number - 1) + 1, trials * number),))
        for number, worker in enumerate(workers, 1)
    )
