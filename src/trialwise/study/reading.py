"""Read what the trials of a directory say, for every command that reads one."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from trialwise.analysis.calibration.calibrating import CalibrateOptions, calibrate
from trialwise.analysis.calibration.results import Calibration
from trialwise.analysis.comparison.between import VerdictSummary, between_treatments
from trialwise.analysis.comparison.comparing import CompareOptions
from trialwise.analysis.directory import analyse_directory
from trialwise.analysis.effects.directory import EffectsInput, read_effects_directory
from trialwise.analysis.estimation.controlled_sides import Wanted, stopped_by, with_controls
from trialwise.analysis.estimation.controls import Workloads
from trialwise.analysis.estimation.flow_lists import flow_list_names, paired_by_round
from trialwise.analysis.estimation.trial_values import with_estimands
from trialwise.analysis.exclusions import changed_answers, changed_means, changed_verdicts
from trialwise.analysis.missing_cells import not_comparable
from trialwise.analysis.observations import StoreObservations
from trialwise.analysis.observing.observer_designs import in_order
from trialwise.analysis.observing.observing import ObserveOptions, factor_and_base, observe
from trialwise.analysis.observing.results import Observation
from trialwise.analysis.order.analysing import analyse_order
from trialwise.analysis.order.directory import read_order_directory
from trialwise.analysis.order.summary import OrderSummary, view_of
from trialwise.analysis.order.trials import OrderTrials
from trialwise.analysis.progress import Progress
from trialwise.analysis.results import Analysis
from trialwise.analysis.stopping.sentences import remedy
from trialwise.analysis.trial_set import TrialSet, read_trial_set
from trialwise.design.stopping import comparisons
from trialwise.errors import AnalysisError, PlanError
from trialwise.experiment.model import Controls, Experiment, Levels, Method
from trialwise.kinds import part
from trialwise.store.directory import ExperimentDirectory, latest
from trialwise.store.ledger import Ledger
from trialwise.study.locating import opened
from trialwise.study.stopping import known_workloads, stopping_state
from trialwise.trials.drawn_means import Watch


def analyse(
    path: Path,
    method: Method = "default",
    *,
    all_trials: bool = False,
    controls: Controls | None = None,
    levels: Levels | None = None,
    lists_within: float | None = None,
    watch: Watch | None = None,
    told: Progress | None = None,
    overview: bool = False,
) -> Analysis:
    """Analyse an experiment directory.

    Parameters
    ----------
    all_trials
        Show all trials of a path over time, not only the first ones.
    controls
        Control variates of simulated trials; None for workload controls if there are enough trials.
    levels
        How many lists engines among them simulate; None for what the metric's stop says, else for as many as pay.
    lists_within
        Seconds of one core that the lists of an engine and treatment may take; None for 20 of the fluid model.
    watch
        Called with the progress of sampling flow lists, which their means take.
    told
        Called with what is being done, how much is done, and the total.
    overview
        Leave out what the overview in the terminal does not show, as in `analyse_directory`.
    """

    def found(*, with_excluded: bool) -> Analysis:
        with opened(path, with_excluded=with_excluded) as (experiment, directory, ledger):
            return analyse_directory(
                experiment,
                directory,
                ledger,
                method,
                facts=part(knows)(experiment, ledger) if (knows := experiment.trial.knows) else None,
                all_trials=all_trials,
                workloads=Workloads(
                    known_workloads(experiment, directory, watch, lists_within), controls, levels
                )
                if experiment.trial.traits.workload
                else None,
                told=told,
                overview=overview,
            )

    without = found(with_excluded=False)
    if not without.counts.get("excluded"):
        return without
    changed = changed_answers(without, found(with_excluded=True))
    return dataclasses.replace(without, exclusions=changed)


def observed(path: Path, options: ObserveOptions) -> Observation:
    """Judge the flavours of an experiment directory against their base, for `trialwise observe`."""
    with opened(path) as (experiment, directory, ledger):
        factor, base = factor_and_base(experiment, options)
        trials = in_order(read_trial_set(experiment, directory, ledger), experiment, factor)
        return observe(trials, factor, base, options)


def nested_values(path: Path) -> dict[tuple[str, str], dict[str, list[float] | list[str]]]:
    """Return the values of each metric and treatment with their series and round; nothing if no trial has one."""
    try:
        with opened(path) as (experiment, directory, ledger):
            trials = read_trial_set(experiment, directory, ledger)
    except AnalysisError:
        return {}
    found: dict[tuple[str, str], dict[str, list[float] | list[str]]] = {}
    for metric in trials.metrics:
        for treatment in trials.treatments:
            table = trials.of(metric, treatment)
            if table.height:
                found[metric, treatment] = {
                    name: table[name].to_list() for name in ("value", "series", "round")
                }
    return found


def order_trials(path: Path, metrics: Sequence[str] = ()) -> OrderTrials:
    """Return the trials of an experiment directory with their order, for `trialwise order`."""
    with opened(path) as (experiment, directory, ledger):
        found = read_order_directory(experiment, directory, ledger, metrics)
    with opened(path, with_excluded=True) as (experiment, directory, ledger):
        if not ledger.exclusions():
            return found
        with_them = read_order_directory(experiment, directory, ledger, metrics)
    changed = changed_verdicts(_order_verdicts(found), _order_verdicts(with_them))
    return dataclasses.replace(found, notes=(*found.notes, *changed))


def _order_verdicts(trials: OrderTrials) -> dict[str, str]:
    """Return whether order matters, by the default analysis."""
    try:
        return {"whether order matters": analyse_order(trials).verdict}
    except AnalysisError as error:
        return {"whether order matters": f"not judged ({error.message})"}


def effects_input(path: Path, metrics: Sequence[str] = (), *, samples: bool = False) -> EffectsInput:
    """Return the trials of an experiment directory by their factors, for `trialwise effects`."""
    with opened(path) as (experiment, directory, ledger):
        found = read_effects_directory(experiment, directory, ledger, metrics, samples=samples)
    return dataclasses.replace(
        found,
        trials=_with_left_out(
            found.trials, path, lambda of, place, ledger: read_trial_set(of, place, ledger, metrics)
        ),
    )


def order_view(path: Path) -> OrderSummary:
    """Summarise the effect of order for the report; a winner is only named for metrics whose better direction is given."""
    try:
        with opened(path) as (experiment, directory, ledger):
            trials = read_order_directory(experiment, directory, ledger)
    except AnalysisError as error:
        return OrderSummary(None, f"The order cannot be judged: {error.message}.")
    found = analyse_order(trials)
    told = tuple(one for one in found.conclusions if one.metric in trials.better)
    found = dataclasses.replace(found, conclusions=told)
    return view_of(trials, found, {metric.name: metric.unit for metric in experiment.metrics})


def verdict_view(
    path: Path,
    watch: Watch | None = None,
    told: Progress | None = None,
    options: CompareOptions | None = None,
) -> VerdictSummary:
    """Summarise the verdicts on an experiment directory's treatments, and what is known about when to stop, for the report.

    `watch` and `told` as in `analyse`; `options` have margins, by default those of the experiment.
    """
    stopping = stopping_state(ExperimentDirectory(latest(path)), watch, told)
    lifts = stopping and remedy(stopping)
    try:
        with opened(path) as (experiment, directory, ledger):
            pairs = comparisons(experiment)
            if told is not None and pairs:
                told("comparing pairs of treatments", 0, len(pairs))
            found = (
                between_treatments(_comparison_set(experiment, directory, ledger), pairs, options)
                if pairs
                else VerdictSummary()
            )
    except (AnalysisError, PlanError) as error:
        hint = f"; {error.hint}" if error.hint else ""
        found = VerdictSummary(refusal=f"Treatments cannot be compared: {error.message}{hint}.")
    return dataclasses.replace(found, stopping=stopping, lifts=lifts)


def trial_set(path: Path, metrics: Sequence[str] = ()) -> TrialSet:
    """Return the trials of an experiment directory, one value for each trial and metric."""
    with opened(path) as (experiment, directory, ledger):
        found = read_trial_set(experiment, directory, ledger, metrics)
    return _with_left_out(found, path, lambda of, place, ledger: read_trial_set(of, place, ledger, metrics))


def _with_left_out(
    found: TrialSet, path: Path, read: Callable[[Experiment, ExperimentDirectory, Ledger], TrialSet]
) -> TrialSet:
    """Add to trials how their means change with those that somebody left out, which `read` reads."""
    with opened(path, with_excluded=True) as (experiment, directory, ledger):
        if not ledger.exclusions():
            return found
        return dataclasses.replace(
            found, notes=(*found.notes, *changed_means(found, read(experiment, directory, ledger)))
        )


@dataclasses.dataclass(frozen=True, slots=True)
class ComparedControls:
    """Controls of comparisons, the confidence of these in percent, and who is told of the lists that are drawn."""

    kind: Controls
    confidence: float = 95.0
    watch: Watch | None = None


def comparison_set(
    path: Path,
    metrics: Sequence[str] = (),
    *,
    paired: bool = True,
    told: Progress | None = None,
    controls: ComparedControls | None = None,
) -> TrialSet:
    """Return the trials of an experiment directory for comparison: for pooled metrics, each trial's contribution.

    `paired`: simulated trials that met the same flows get the same name. `told` receives the number of trials read of each
    metric. The notes say how means change with the trials that somebody left out. `controls` adjust the values of trials that met the
    same flows for what is known of these.
    """
    with opened(path) as (experiment, directory, ledger):
        found = _comparison_set(
            experiment, directory, ledger, metrics, paired=paired, told=told, controls=controls
        )
    return _with_left_out(
        found,
        path,
        lambda of, place, ledger: _comparison_set(
            of, place, ledger, metrics, paired=paired, controls=controls
        ),
    )


def comparison_set_with_left_out(path: Path) -> TrialSet | None:
    """Return what `comparison_set` does, with the trials that somebody left out; None if nobody left any out."""
    with opened(path, with_excluded=True) as (experiment, directory, ledger):
        return _comparison_set(experiment, directory, ledger) if ledger.exclusions() else None


def _comparison_set(
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    metrics: Sequence[str] = (),
    *,
    paired: bool = True,
    told: Progress | None = None,
    controls: ComparedControls | None = None,
) -> TrialSet:
    store = StoreObservations(experiment, directory, ledger, told)
    trials = read_trial_set(experiment, directory, ledger, metrics, store)
    trials = with_estimands(trials, experiment, store)
    levels = {row.treatment: row.factors for row in store.rows}
    names = flow_list_names(experiment, levels)
    if controls is not None:
        known = known_workloads(experiment, directory, controls.watch)
        trials = with_controls(
            trials, experiment, store, names, Wanted(controls.kind, known, controls.confidence)
        )
    elif paired and len(set(names.values())) < len(names):
        trials = dataclasses.replace(trials, notes=(*trials.notes, *stopped_by(experiment)))
    return paired_by_round(trials, names) if paired else trials


def metrics_apart(path: Path) -> dict[str, str]:
    """Return the metrics of a directory that its treatments have in several units or directions, with what is said of it."""
    with opened(path) as (_, _, ledger):
        return not_comparable(ledger.found_sources())


def calibration(
    path: Path, metrics: Sequence[str] = (), options: CalibrateOptions | None = None
) -> Calibration:
    """Return what the trials of an experiment directory say about the bench, for `trialwise aa`."""
    found = calibrate(trial_set(path, metrics), options)
    return dataclasses.replace(found, source=str(path))
