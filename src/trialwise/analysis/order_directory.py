"""The trials of an experiment directory with their order, as the analysis of order wants them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from trialwise.analysis.observations import StoreObservations
from trialwise.analysis.order_trials import OrderColumns, OrderTrials, order_trials
from trialwise.analysis.timescales import analyse_metric
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Experiment, Metric
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow

_RAN = ("finished", "failed", "invalid", "abandoned")
_SCHEMA = dict.fromkeys(
    ("metric", "group", "family", "treatment", "order", "worker", "round", "position", "value"), pl.String
)


def read_order_directory(
    experiment: Experiment, directory: ExperimentDirectory, ledger: Ledger, wanted: Sequence[str] = ()
) -> OrderTrials:
    """The last attempt at every trial that ran; failed ones have no value, but may leave something behind.

    Raises
    ------
    AnalysisError
        A metric is not one of the experiment's, or no trial has a value.
    """
    metrics = _metrics(experiment, wanted)
    store = StoreObservations(experiment, directory, ledger)
    last = {row.number: row for row in store.rows if row.status in _RAN and not row.warmup}
    ran = sorted(last.values(), key=lambda row: (row.started or row.claimed or 0.0, row.number))
    rows = [{"line": place, **cells} for place, cells in enumerate(_cells(store, metrics, ran), start=1)]
    table = pl.DataFrame(rows, schema={"line": pl.Int64, **_SCHEMA})
    return order_trials(str(directory.path), table, OrderColumns(), lines=False)


def _metrics(experiment: Experiment, wanted: Sequence[str]) -> list[Metric]:
    known = {metric.name: metric for metric in experiment.metrics}
    for name in wanted:
        if name not in known:
            raise AnalysisError(
                f"no metric {name!r} in this experiment", hint=f"there are: {', '.join(known)}"
            )
    return [known[name] for name in wanted or known]


def _cells(
    store: StoreObservations, metrics: Sequence[Metric], ran: Sequence[TrialRow]
) -> Iterator[dict[str, str | None]]:
    several = len({row.worker for row in ran}) > 1
    for metric in metrics:
        found = analyse_metric(metric, store.of(metric), "default")
        values = {(trial.number, trial.attempt): trial.value for trial in found.trials}
        for row in ran:
            value = values.get((row.number, row.attempt))
            yield {
                "metric": metric.name,
                "group": None,
                "family": metric.name,
                "treatment": row.treatment,
                "order": row.order,
                "worker": row.worker if several else None,
                # A boot in the middle of a round is a reset: what ran before it leaves nothing behind.
                "round": f"{row.series}.{row.round} {row.boot or ''}".strip(),
                "position": str(row.position),
                "value": None if value is None else repr(float(value)),
            }
