"""Lanes: the plan's rule with a separate seed for each worker.

Lane 1 is the plan itself. Lane k has a seed derived from the experiment's and from k, and hence other orders, other
sampled values and other trial seeds. No lane depends on another, so that a slow or lost worker delays only its own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from trialwise.design.seeds import seed_of
from trialwise.experiment.model import Experiment

Blocks = tuple[tuple[int, int], ...]
"""The numbers of a lane's trials: first and last of each contiguous range."""


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """The trials for one worker: `number` counts from 1; `worker` is None until a worker starts on them."""

    number: int
    worker: str | None
    blocks: Blocks

    def experiment(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the lane's seed."""
        if self.number == 1:
            return experiment
        return dataclasses.replace(experiment, seed=seed_of(experiment.seed, "worker", self.number))

    def with_block(self, first: int, last: int) -> WorkerPlan:
        """Return the lane with further trials."""
        if last < first:
            return self
        return dataclasses.replace(self, blocks=(*self.blocks, (first, last)))


def lanes_from_the_start(workers: tuple[str, ...], trials: int) -> tuple[WorkerPlan, ...]:
    """Return the lanes of workers that begin an experiment together, with `trials` trials each."""
    return tuple(
        WorkerPlan(number, worker, ((trials * (number - 1) + 1, trials * number),))
        for number, worker in enumerate(workers, 1)
    )
