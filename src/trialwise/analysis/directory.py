"""The analysis of an experiment directory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from trialwise.analysis.beside import Surroundings, analysed_beside
from trialwise.analysis.changes import changes_of, reread_notes
from trialwise.analysis.conditions.timescales import analyse_metric
from trialwise.analysis.context import changes_text, log_tail, plan_summary, populations, session_facts
from trialwise.analysis.equal_trials import notes_of
from trialwise.analysis.estimation.controls import Workloads
from trialwise.analysis.estimation.estimates import is_estimated
from trialwise.analysis.estimation.estimating import Observed, estimate_directory
from trialwise.analysis.estimation.weighted import TiltWeights, is_tilted
from trialwise.analysis.missing_cells import missing_cells
from trialwise.analysis.observations import StoreObservations
from trialwise.analysis.path.results import PathAnalysis
from trialwise.analysis.progress import Progress
from trialwise.analysis.results import Analysis, MetricAnalysis, TrialFailure
from trialwise.analysis.retries import retries_text
from trialwise.analysis.skips import skips_text, waiting_text
from trialwise.errors import StoreError
from trialwise.experiment.model import Experiment, Method
from trialwise.measurement.path_moves import moves_in
from trialwise.store.directory import EXPERIMENT, ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import MASKED_OUTPUTS, PATH_CHANGED, TrialRow


def analyse_directory(
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    method: Method = "default",
    *,
    facts: object = None,
    all_trials: bool = False,
    workloads: Workloads | None = None,
    told: Progress | None = None,
    overview: bool = False,
) -> Analysis:
    """Analyse what the directory holds so far; nothing is written.

    Parameters
    ----------
    facts
        Facts from outside the directory, as the kind of trials collects them (`Trial.knows`).
    all_trials
        Show every trial over time, not only the first ones, where the kind shows them.
    workloads
        Facts about the workloads of simulated trials, for control variates; None for none.
    told
        Called with the current step, the amount done, and the total.
    overview
        Skip slow parts that the terminal overview does not show: sizes, durations and courses of `Estimation`.
    """
    store = StoreObservations(experiment, directory, ledger)
    counted = [row for row in store.rows if not row.warmup]
    amendments = ledger.amendments()
    treatments = _treatments(experiment, counted)
    observed = {metric.name: store.of(metric) for metric in experiment.metrics}
    metrics = tuple(_metrics(experiment, observed, method, told))
    beside = dict(
        analysed_beside(
            Surroundings(
                experiment=experiment,
                directory=directory,
                ledger=ledger,
                store=store,
                metrics=metrics,
                treatments=treatments,
                method=method,
                facts=facts,
                all_trials=all_trials,
            )
        )
    )
    return Analysis(
        name=experiment.name,
        description=experiment.description,
        method=method,
        seed=experiment.seed,
        treatments=treatments,
        series=tuple(dict.fromkeys(store.series_of(row) for row in counted)),
        planned=len({row.number for row in counted}),
        counts=_counts(counted),
        metrics=metrics,
        failures=tuple(_failure(store, directory, row) for row in store.rows if _has_failed(row)),
        notes=(
            *experiment.trial.caveats(experiment),
            *_notes(experiment, store, ledger),
            *reread_notes(experiment.metrics, amendments),
            *missing_cells(
                experiment.metrics,
                store.rows,
                {name: len(each) for name, each in observed.items()},
                ledger.found_sources(),
            ),
            *_equal(experiment, metrics),
        ),
        boots=tuple(dict.fromkeys(session.boot for session in ledger.sessions())),
        plan=plan_summary(experiment, counted, ledger.events()),
        populations=populations(experiment, counted),
        sessions=session_facts(directory, ledger),
        path=cast("PathAnalysis | None", beside.pop("path", None)),
        estimation=estimate_directory(
            experiment,
            directory,
            store.rows,
            treatments,
            observed,
            workloads,
            TiltWeights.of(store) if is_tilted(experiment) else None,
            told=told,
            overview=overview,
        ),
        changes=changes_of(amendments, store.rows),
        chain=ledger.head(),
        further=beside,
    )


def _metrics(
    experiment: Experiment, observed: Observed, method: Method, told: Progress | None
) -> Iterator[MetricAnalysis]:
    for done, metric in enumerate(experiment.metrics):
        if told is not None:
            told("looking at metrics", done, len(experiment.metrics))
        yield analyse_metric(metric, observed[metric.name], method)


def _equal(experiment: Experiment, metrics: tuple[MetricAnalysis, ...]) -> Iterator[str]:
    """Yield notes on trials that are all equal; for estimated metrics they are shown with the estimates."""
    estimated = {metric.name for metric in experiment.metrics if is_estimated(metric)}
    return notes_of(metrics, estimated, may_repeat=experiment.trial.traits.repeats)


def _treatments(experiment: Experiment, rows: list[TrialRow]) -> tuple[str, ...]:
    """Return the treatments in the order of the levels in the file, the last factor changing fastest."""

    def place(row: TrialRow) -> list[int]:
        try:
            return [factor.levels.index(row.factors[factor.name]) for factor in experiment.fixed_factors]
        except (KeyError, ValueError) as error:
            raise StoreError(
                f"trial {row.number} of the ledger has no level of the factors in {EXPERIMENT}: {row.treatment}",
                hint=f"put the {EXPERIMENT} back that the trials ran with",
            ) from error

    first = {row.treatment: row for row in rows}
    return tuple(sorted(first, key=lambda name: place(first[name])))


def _counts(rows: list[TrialRow]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.status] = counts.get(row.status, 0) + 1
    return counts


def _has_failed(row: TrialRow) -> bool:
    return row.status in ("failed", "abandoned", "invalid", "excluded")


def _failure(store: StoreObservations, directory: ExperimentDirectory, row: TrialRow) -> TrialFailure:
    log = f"logs/{row.number:06d}-{row.attempt}.txt"
    return TrialFailure(
        number=row.number,
        attempt=row.attempt,
        treatment=row.treatment,
        series=store.series_of(row),
        round=row.round,
        status=row.status,
        exit_code=row.exit_code,
        reason=row.reason,
        log=log if (directory.path / log).is_file() else None,
        tail=log_tail(directory.path, log),
    )


def _beginnings(store: StoreObservations) -> Iterator[str]:
    """Say with which trial each part of a series began that was divided, so that its label can be found from what changed."""
    firsts: dict[str, TrialRow] = {}
    for row in store.rows:
        if row.status == "finished" and not row.warmup:
            firsts.setdefault(store.series_of(row), row)
    parts = [f"{label} with trial {row.number}" for label, row in firsts.items() if label != str(row.series)]
    if parts:
        yield f"series begin: {', '.join(parts)}"


def _notes(experiment: Experiment, store: StoreObservations, ledger: Ledger) -> tuple[str, ...]:
    notes = changes_text(event for event in ledger.events() if event.is_caveat)
    if masked := sum(event.routine == MASKED_OUTPUTS for event in ledger.events()):
        notes.append(f"{MASKED_OUTPUTS}: {masked}, each an event of the ledger")
    if any(event.kind == PATH_CHANGED for event in ledger.events()):
        notes += _beginnings(store)
    notes += [each.text for each in moves_in(ledger.meta()) if each.text]
    notes += skips_text(ledger, store.rows)
    notes += waiting_text(store.rows)
    notes += retries_text(store.rows)
    notes += [text for text in (store.dropped,) if text]
    boots = {row.boot for row in store.rows if row.boot}
    if len(boots) > 1 and not experiment.trial.traits.computed:
        notes.append(f"the trials ran in {len(boots)} boots of the machine")
    return tuple(notes)
