"""Metrics that trials found, and that not every finished trial has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trialwise.experiment.model import Metric
from trialwise.experiment.sources import ResultSource
from trialwise.experiment.traits import sources_of
from trialwise.store.records import TrialRow

_NAMED = 5
"""Metrics that the sentence names; the others are counted."""


def missing_cells(
    metrics: Iterable[Metric], rows: Iterable[TrialRow], numbers: Mapping[str, int]
) -> Iterator[str]:
    """Yield a sentence on the metrics that the harness did not print in every finished trial; `numbers` of trials have each metric."""
    finished = sum(row.status == "finished" and not row.warmup for row in rows)
    lacking = {
        metric.name: finished - numbers[metric.name]
        for metric, _ in sources_of(metrics, ResultSource)
        if numbers[metric.name] < finished
    }
    if lacking:
        named = [f"{name} in {lack} of {finished}" for name, lack in list(lacking.items())[:_NAMED]]
        more = f", and {len(lacking) - _NAMED} more metrics" if len(lacking) > _NAMED else ""
        yield f"finished trials without a value: {', '.join(named)}{more}; the harness did not print it there"
