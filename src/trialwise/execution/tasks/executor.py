"""Those who compute: what the runner of tasks asks of processes and clusters alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from trialwise.errors import WorkerError
from trialwise.execution.tasks.worker_process import Batch, Computed


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the executor that is there now, with the cores that compute on it."""

    name: str
    cores: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """What came of the batch that was handed out as `ticket`; without `computed` it is lost, and `reason` says how."""

    ticket: int
    computed: Computed | None
    reason: str = ""


class ExecutorLostError(WorkerError):
    """Nobody is left who computes; what is recorded is kept (exit code 6)."""


class Executor(Protocol):
    """Processes that compute batches of trials."""

    def nodes(self) -> Sequence[Node]:
        """Who is there now."""
        ...

    def submit(self, ticket: int, batch: Batch) -> None:
        """Have a batch computed; what comes of it is delivered once."""
        ...

    def collect(self, seconds: float) -> Sequence[Delivery]:
        """What has come back, waiting at most so long for the first.

        Raises
        ------
        ExecutorLostError
            Nobody is left, and nobody is expected.
        """
        ...

    def close(self) -> None:
        """End at once; what is still being computed is thrown away."""
        ...
