"""Tables with a row for each trial; of many trials they show the first, so that a page stays small."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from trialwise.analysis.results import Analysis, MetricAnalysis
from trialwise.analysis.trial_columns import TrialMetric
from trialwise.report.document import Cell, Table, table_of
from trialwise.report.numbers import ABSENT, Number
from trialwise.report.tables import metric_scale, moment, treatment_cell, yes_no
from trialwise.report.units import Scale

MAX_ROWS = 200
"""Maximum number of trials that have a row: with seven metrics these take 0.2 MB of a page."""


def _cut(there: int, form: str, option: str) -> str:
    """Say at the end of a caption where the other rows are; empty if all are in the table."""
    return (
        f": the first {MAX_ROWS} of {there:,}; trialwise analyze {option} has all as {form}"
        if there > MAX_ROWS
        else ""
    )


def trial_table(analysis: Analysis, names: Collection[str] | None = None) -> Table:
    """Return one row for each of the first trials, in the order of the plan, with one column per metric, or per one of these names."""
    shown = {
        place: metric_scale(found)
        for place, found in enumerate(analysis.metrics)
        if names is None or found.metric.name in names
    }
    places = {place: _by_trial(analysis.metrics[place]) for place in shown}
    trials: dict[tuple[int, int], TrialMetric] = {}
    for found in analysis.metrics:
        for trial in found.trials:
            trials.setdefault((trial.number, trial.attempt), trial)
    return table_of(
        key="trials",
        caption=f"Metrics of all trials, in the order of the plan{_cut(len(trials), 'CSV', '--csv')}",
        titles=(
            "trial",
            "treatment",
            "series",
            "round",
            "started (UTC)",
            *(f"{analysis.metrics[place].metric.name}{one.heading}" for place, one in shown.items()),
        ),
        rows=tuple(
            _trial_row(analysis, shown, places, key, trials[key]) for key in sorted(trials)[:MAX_ROWS]
        ),
        numeric={0, 3, *range(5, 5 + len(shown))},
    )


def _by_trial(found: MetricAnalysis) -> dict[tuple[int, int], int]:
    return {(trial.number, trial.attempt): place for place, trial in enumerate(found.trials)}


def _trial_row(
    analysis: Analysis,
    scales: Mapping[int, Scale],
    places: Mapping[int, Mapping[tuple[int, int], int]],
    key: tuple[int, int],
    trial: TrialMetric,
) -> tuple[Cell, ...]:
    again = f" (attempt {trial.attempt})" if trial.attempt > 1 else ""
    values = (
        _trial_value(analysis, scales[metric], metric, known.get(key)) for metric, known in places.items()
    )
    return (
        f"{trial.number}{again}",
        treatment_cell(trial.treatment),
        trial.series,
        str(trial.round),
        moment(trial.started),
        *values,
    )


def _trial_value(analysis: Analysis, shown: Scale, metric: int, place: int | None) -> Cell:
    if place is None:
        return ABSENT
    trial = analysis.metrics[metric].trials[place]
    if trial.value is None:
        return f"none: {trial.reason}"
    return shown.number(trial.value, f"/metrics/{metric}/trials/{place}/value")


def convergence_tables(analysis: Analysis) -> list[Table]:
    """Return the convergence tests of the trials of each metric that requests one."""
    tables = (_convergence(found, f"/metrics/{index}") for index, found in enumerate(analysis.metrics))
    return [table for table in tables if table.rows]


def _convergence(found: MetricAnalysis, at: str) -> Table:
    tested = sum(trial.convergence is not None for trial in found.trials)
    return table_of(
        key=f"convergence-{found.metric.name}",
        caption=f"Convergence tests of {found.metric.name}{_cut(tested, 'JSON', '--json')}",
        titles=(
            "trial",
            "treatment",
            "samples",
            "converged",
            "slope",
            "low",
            "high",
            "tolerance %",
            "what it says",
        ),
        rows=tuple(islice(_convergence_rows(found, at), MAX_ROWS)),
        numeric={0, 2, 4, 5, 6, 7},
        remarks={8},
    )


def _convergence_rows(found: MetricAnalysis, at: str) -> Iterator[tuple[Cell, ...]]:
    for place, trial in enumerate(found.trials):
        test = trial.convergence
        if test is not None:
            here = f"{at}/trials/{place}"
            yield (
                str(trial.number),
                treatment_cell(trial.treatment),
                Number(trial.samples, f"{here}/samples"),
                yes_no(test.converged),
                Number(test.slope, f"{here}/convergence/slope"),
                Number(test.low, f"{here}/convergence/low", rounding="down"),
                Number(test.high, f"{here}/convergence/high", rounding="up"),
                Number(test.tolerance, f"{here}/convergence/tolerance"),
                test.reason,
            )
