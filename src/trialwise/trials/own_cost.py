"""What a trial cost that is computed in this process: its CPU time, and the peak of the process's memory."""

from __future__ import annotations

import dataclasses
import resource
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from trialwise.trials.base import Task, TrialOutcome
from trialwise.trials.instrumenting import as_samples

_UNIT = 1024
"""Bytes of a unit of ru_maxrss in getrusage(2)."""


@runtime_checkable
class ComputesElsewhere(Protocol):
    """A kind some of whose trials are computed by another process."""

    def computes_elsewhere(self, task: Task) -> bool:
        """Return True if another process computes this trial, so that what this one uses says nothing of it."""
        ...


def costed(kind: object, task: Task, compute: Callable[[], TrialOutcome]) -> TrialOutcome:
    """Compute a trial and add what it cost; the peak of memory is that of the process since its start."""
    if isinstance(kind, ComputesElsewhere) and kind.computes_elsewhere(task):
        return compute()
    before = resource.getrusage(resource.RUSAGE_SELF)
    outcome = compute()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cost = as_samples(
        {
            "user": after.ru_utime - before.ru_utime,
            "system": after.ru_stime - before.ru_stime,
            "max_rss": after.ru_maxrss * _UNIT,
        }
    )
    return dataclasses.replace(outcome, samples={**cost, **outcome.samples})
