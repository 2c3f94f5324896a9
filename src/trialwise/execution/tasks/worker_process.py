"""The code that computes trials, in a process of this machine or on a node: tasks in, outcomes out.

Imports nothing that a trial does not need, since every process of an executor starts with it.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from trialwise.errors import TrialwiseError
from trialwise.trials.base import IndependentKind, Task, TrialOutcome
from trialwise.trials.own_cost import costed


@dataclass(frozen=True, slots=True)
class Batch:
    """Tasks that travel together, and the kind that computes them; their common experiment is pickled once."""

    kind: IndependentKind
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """The outcomes of a batch, in order; `node` computed it in `seconds`."""

    node: str
    seconds: float
    outcomes: tuple[TrialOutcome, ...]


def compute(batch: Batch, node: str) -> Computed:
    """Compute the trials of a batch one after the other."""
    begun = time.perf_counter()
    outcomes = tuple(_compute(batch.kind, task) for task in batch.tasks)
    return Computed(node, time.perf_counter() - begun, outcomes)


def _compute(kind: IndependentKind, task: Task) -> TrialOutcome:
    """Compute one trial; an error in it becomes its outcome, and affects no other trial."""
    started = time.time()
    try:
        return costed(kind, task, lambda: kind.compute(task))
    except TrialwiseError as error:
        return TrialOutcome("failed", started, time.time(), reason=str(error))
    except (Exception, SystemExit) as error:  # the same task would fail the same way again
        reason = f"{type(error).__name__}: {error}"
        errors = traceback.format_exc().encode()
        return TrialOutcome("failed", started, time.time(), reason=reason, errors=errors)


def failures(number: int, reason: str) -> Sequence[TrialOutcome]:
    """Return the outcomes of trials that could not be computed."""
    now = time.time()
    return [TrialOutcome("failed", None, now, reason=reason)] * number
