"""Which trials have the largest values."""

from __future__ import annotations

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.report.document import Chapter, Note, Table, table_of
from trialwise.report.tables import metric_scale

MAX_TRIALS = 5


def chapter(analysis: Analysis) -> Chapter:
    """Return the trials with the largest values, metric by metric."""
    tables = (_table(found, place) for place, found in enumerate(analysis.metrics))
    return Chapter(
        "slowest", "Largest values", (Note((f"The {MAX_TRIALS} largest of each metric.",)), *tables)
    )


def _table(found: MetricAnalysis, metric: int) -> Table:
    scale = metric_scale(found)
    values = {place: trial.value for place, trial in enumerate(found.trials) if trial.value is not None}
    largest = sorted(values, key=lambda place: values[place], reverse=True)[:MAX_TRIALS]
    rows = (
        (
            found.trials[place].treatment,
            scale.number(values[place], f"/metrics/{metric}/trials/{place}/value"),
        )
        for place in largest
    )
    return table_of(f"slowest-{metric}", found.metric.name, ("treatment", "value"), rows, {1})
