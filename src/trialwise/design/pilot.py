"""Estimate how long trials take from trials that were run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from trialwise.design.timing import TrialTimes
from trialwise.design.treatments import treatments
from trialwise.experiment.model import Experiment
from trialwise.store.records import TrialRow


def measured_times(experiment: Experiment, rows: Sequence[TrialRow]) -> TrialTimes | None:
    """Return the median time of each treatment's finished trials, including preparation and recording; None if none finished.

    A treatment without finished trials gets the median of the others.
    """
    taken: dict[str, list[float]] = {}
    for row in rows:
        if row.status == "finished" and row.claimed is not None and row.finished is not None:
            taken.setdefault(row.treatment, []).append(row.finished - row.claimed)
    medians = {treatment: median(times) for treatment, times in taken.items()}
    if not medians:
        return None
    usual = median(medians.values())
    names = [treatment.name for treatment in treatments(experiment)]
    beside = _beside(rows) if experiment.design.span is None else 0.0
    return TrialTimes({name: medians.get(name, usual) for name in names}, beside, "pilot")


def _beside(rows: Sequence[TrialRow]) -> float:
    """Return the median time between the rounds of one session, which a reset takes."""
    done = sorted((row for row in rows if row.claimed and row.finished), key=lambda row: row.claimed or 0.0)
    gaps = [
        after.claimed - before.finished
        for before, after in pairwise(done)
        if before.session == after.session
        and (before.series, before.round, before.warmup) != (after.series, after.round, after.warmup)
        and after.claimed is not None
        and before.finished is not None
    ]
    return max(0.0, median(gaps)) if gaps else 0.0
