"""Export the metrics of all trials as CSV in long form: one row per trial and metric."""

from __future__ import annotations

from trialwise.analysis.results import Analysis
from trialwise.analysis.trial_columns import TrialMetric
from trialwise.exchange.csv_text import csv_text

_COLUMNS = (
    "metric",
    "unit",
    "trial",
    "attempt",
    "treatment",
    "series",
    "round",
    "position",
    "started",
    "samples",
    "value",
    "converged",
)


def trials_csv(analysis: Analysis) -> str:
    """Write the metrics of all trials; factors have their own columns, after the others."""
    factors = list(
        dict.fromkeys(name for found in analysis.metrics for trial in found.trials for name in trial.factors)
    )
    rows = (
        [found.metric.name, found.metric.unit, *_row(trial), *(trial.factors.get(name) for name in factors)]
        for found in analysis.metrics
        for trial in found.trials
    )
    return csv_text([*_COLUMNS, *factors], rows)


def _row(trial: TrialMetric) -> list[object]:
    return [
        trial.number,
        trial.attempt,
        trial.treatment,
        trial.series,
        trial.round,
        trial.position,
        trial.started,
        trial.samples,
        trial.value,
        trial.converged,
    ]
