"""Metrics that trials found, and that not every finished trial has, or has in the same unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from trialwise.experiment.model import Metric
from trialwise.experiment.sources import ResultSource
from trialwise.experiment.traits import sources_of
from trialwise.numbers import counted
from trialwise.store.records import TrialRow

_NAMED = 5
"""Metrics that the sentence names; the others are counted."""


def not_comparable(keys: Iterable[str]) -> dict[str, str]:
    """Return the metrics that treatments have in several units or directions, by the keys of all sources, and what is said of each."""
    found: dict[str, list[str]] = {}
    for source in map(ResultSource.from_key, keys):
        if source is not None:
            found.setdefault(source.name, []).append(source.told)
    return {
        name: f"not comparable: {', and '.join(units)}" for name, units in found.items() if len(units) > 1
    }


def missing_cells(
    metrics: Iterable[Metric], rows: Iterable[TrialRow], numbers: Mapping[str, int], keys: Iterable[str]
) -> Iterator[str]:
    """Yield sentences on the metrics that the harness did not print in every finished trial, or in several units.

    `numbers` of trials have each metric; `keys` are those of all sources that trials found.
    """
    apart = not_comparable(keys)
    yield from (f"{name}: {said}; only trials as the first are taken" for name, said in apart.items())
    finished = sum(row.status == "finished" and not row.warmup for row in rows)
    lacking = {
        metric.name: finished - numbers[metric.name]
        for metric, _ in sources_of(metrics, ResultSource)
        if numbers[metric.name] < finished and metric.name not in apart
    }
    if lacking:
        named = [f"{name} in {lack} of {finished}" for name, lack in list(lacking.items())[:_NAMED]]
        more = f", and {counted(len(lacking) - _NAMED, 'more metric')}" if len(lacking) > _NAMED else ""
        yield f"finished trials without a value: {', '.join(named)}{more}; the harness did not print it there"
