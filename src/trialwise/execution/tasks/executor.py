"""Executors: the interface through which the task runner uses processes and clusters alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from trialwise.errors import WorkerError
from trialwise.execution.tasks.worker_process import Batch, Computed


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the executor that is present now, with the cores that compute on it."""

    name: str
    cores: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """The result of the batch handed out as `batch_id`; without `computed` it is lost, and `reason` says how."""

    batch_id: int
    computed: Computed | None
    reason: str = ""


class ExecutorLostError(WorkerError):
    """Nothing is left to compute on; what is recorded is kept (exit code 6)."""


class Executor(Protocol):
    """Processes that compute batches of trials."""

    def nodes(self) -> Sequence[Node]:
        """Return the nodes present now."""
        ...

    def submit(self, batch_id: int, batch: Batch) -> None:
        """Have a batch computed; its result is delivered once."""
        ...

    def collect(self, seconds: float) -> Sequence[Delivery]:
        """Return what has come back, waiting at most `seconds` for the first.

        Raises
        ------
        ExecutorLostError
            No node is left, and none is expected.
        """
        ...

    def close(self) -> None:
        """End at once; what is still being computed is discarded."""
        ...
