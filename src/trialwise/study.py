"""A study from its file to its analysis: composes the stages, and is the only module beside `cli` that sees them all."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.analysis.calibration.calibrating import CalibrateOptions, calibrate
from trialwise.analysis.calibration.results import Calibration
from trialwise.analysis.comparison.between import VerdictView, between_treatments
from trialwise.analysis.context import way_text
from trialwise.analysis.directory import analyse_directory
from trialwise.analysis.effects.directory import EffectsInput, read_effects_directory
from trialwise.analysis.estimation.controls import Workloads
from trialwise.analysis.estimation.flow_lists import flow_list_names, paired_by_round
from trialwise.analysis.estimation.results import Controls
from trialwise.analysis.estimation.trial_values import with_pooled_values
from trialwise.analysis.observations import StoreObservations
from trialwise.analysis.observing.flavours import in_order
from trialwise.analysis.observing.observing import ObserveOptions, factor_and_base, observe
from trialwise.analysis.observing.results import Observation
from trialwise.analysis.order import analyse_order
from trialwise.analysis.order_directory import read_order_directory
from trialwise.analysis.order_trials import OrderTrials
from trialwise.analysis.order_view import OrderView, view_of
from trialwise.analysis.path_results import PathFacts, PathScheme, TreatmentPath
from trialwise.analysis.results import Analysis
from trialwise.analysis.stopping.judging import Judge
from trialwise.analysis.stopping.results import StoppingState
from trialwise.analysis.stopping.sentences import what_lifts
from trialwise.analysis.trial_set import TrialSet, read_trial_set
from trialwise.design.few_samples import refuse_few_samples, wants_enough_samples
from trialwise.design.plan import Plan, make_plan
from trialwise.design.stopping import comparisons
from trialwise.design.subset import Subset, matches, subset
from trialwise.errors import AnalysisError, PlanError, StoreError
from trialwise.execution.beginning import begin, factors_of, refuse_foreign, resume
from trialwise.execution.documents import ClaimDocument, StoppingDocument
from trialwise.execution.events import (
    EnvironmentChanged,
    Observer,
    RunEvent,
    SessionEnded,
    SessionStarted,
    StopRequested,
)
from trialwise.execution.interruption import Interruption
from trialwise.execution.lanes import abandon_local, assign_lanes, has_lanes, planned_row
from trialwise.execution.leftovers import end_leftovers
from trialwise.execution.recalling import recalled
from trialwise.execution.reset import check_reset, refuse_on_workers
from trialwise.execution.runner import Ending, Runner
from trialwise.execution.session import LocalWatch, SessionKeeper, marker_of
from trialwise.execution.state import State
from trialwise.execution.state import state as state_of
from trialwise.execution.stopping import (
    RunThePlan,
    StopByResults,
    StoppingRule,
    refuse_partial,
    refuse_several,
)
from trialwise.execution.tasks.crew import Crew
from trialwise.execution.tasks.opening import opened_crew, refuse_crew
from trialwise.execution.tasks.runner import TaskRunner
from trialwise.execution.workers.address import addresses, is_alone, runs_here, with_workers
from trialwise.execution.workers.allocation import allocated
from trialwise.execution.workers.kind import refuse_kinds
from trialwise.execution.workers.pool import Common, OneAtATime, run_pool
from trialwise.experiment.against_itself import against_itself
from trialwise.experiment.model import Experiment, Level, Method, PathSettings, PathTrial, SimulationTrial
from trialwise.experiment.reading import parse_experiment, read_text
from trialwise.experiment.stopping import stops_by_itself
from trialwise.experiment.writing import with_looks, write_experiment
from trialwise.store.directory import EXPERIMENT, DirectoryLock, ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.trials.base import IndependentKind, TrialKind
from trialwise.trials.kinds import kind_of
from trialwise.trials.path_plan import NOWHERE, flow_plans, settings_of
from trialwise.trials.simulation import samples_by_metric

__all__ = [
    "RunResult",
    "State",
    "analyse",
    "calibration",
    "comparison_set",
    "default_directory",
    "effects_input",
    "itself",
    "load",
    "observed",
    "open_directory",
    "order_trials",
    "order_view",
    "planned_row",
    "run",
    "run_experiment",
    "state",
    "trial_set",
    "verdict_view",
]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended, how many attempts there are of each status, and how many trials failed or are invalid for good.

    `stopping` says what is known, where something says when to stop.
    """

    directory: Path
    ending: Ending
    counts: dict[str, int]
    failed: int
    stopping: StoppingDocument | None = None


# Reading


def load(source: Path) -> Experiment:
    """Read the experiment of a file, or of the directory of an experiment that has begun."""
    return _sources(source, None)[1]


def default_directory(experiment: Experiment) -> Path:
    """Where results go unless told otherwise: NAME.results in the current folder."""
    return Path(f"{experiment.name}.results")


def open_directory(path: Path) -> tuple[Experiment, ExperimentDirectory, Ledger]:
    """Open an experiment directory for reading."""
    directory = ExperimentDirectory(path)
    ledger = directory.ledger()
    return _frozen_experiment(directory, ledger), directory, ledger


@contextlib.contextmanager
def _opened(path: Path) -> Generator[tuple[Experiment, ExperimentDirectory, Ledger]]:
    """Open an experiment directory for reading, and close it."""
    experiment, directory, ledger = open_directory(path)
    try:
        yield experiment, directory, ledger
    finally:
        ledger.close()


def analyse(
    path: Path, method: Method = "default", *, all_trials: bool = False, controls: Controls | None = None
) -> Analysis:
    """Analyse an experiment directory.

    Parameters
    ----------
    all_trials
        Show all trials of a path over time, not only the first ones.
    controls
        Control variates of simulated trials; None for workload controls where there are trials enough.
    """
    with _opened(path) as (experiment, directory, ledger):
        return analyse_directory(
            experiment,
            directory,
            ledger,
            method,
            facts=path_facts(experiment, ledger),
            all_trials=all_trials,
            workloads=_workloads(experiment, controls),
        )


def _workloads(experiment: Experiment, controls: Controls | None) -> Workloads | None:
    """What flow lists of an experiment are like that no trial had, drawn when they are asked for; None without simulation."""
    if not isinstance(experiment.trial, SimulationTrial):
        return None
    from trialwise.trials.workloads import KnownWorkloads  # other kinds need not wait for what it imports

    return Workloads(KnownWorkloads(experiment), controls)


def state(path: Path) -> State:
    """Say how far the experiment in a directory is; while it runs, or after."""
    directory = ExperimentDirectory(path)
    return dataclasses.replace(state_of(path), stopping=_stopping(directory))


def _stopping(directory: ExperimentDirectory) -> StoppingDocument | None:
    """What is known of the claims that an experiment waits for, as a document; None where the plan alone decides."""
    found = _stopping_state(directory)
    if found is None:
        return None
    values = dataclasses.asdict(found)
    values["claims"] = tuple(ClaimDocument(**dataclasses.asdict(claim)) for claim in found.claims)
    return StoppingDocument(**values, lifts=what_lifts(found))


def _stopping_state(directory: ExperimentDirectory) -> StoppingState | None:
    ledger = directory.ledger()
    try:
        experiment = _frozen_experiment(directory, ledger)
        if not stops_by_itself(experiment):
            return None
        judge = Judge(experiment)
        past = StopByResults(judge, lambda _: None)
        for event in recalled(directory, ledger):
            past.notice(event)
        return judge.state(ledger.next_open())
    finally:
        ledger.close()


def observed(path: Path, options: ObserveOptions) -> Observation:
    """Judge the flavours of an experiment directory against their base, for `trialwise observe`."""
    with _opened(path) as (experiment, directory, ledger):
        factor, base = factor_and_base(experiment, options)
        trials = in_order(read_trial_set(experiment, directory, ledger), experiment, factor)
        return observe(trials, factor, base, options)


def nested_values(path: Path) -> dict[tuple[str, str], dict[str, list[float] | list[str]]]:
    """The values of each metric and treatment with their series and round; nothing where no trial has one."""
    try:
        with _opened(path) as (experiment, directory, ledger):
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
    """The trials of an experiment directory with their order, for `trialwise order`."""
    with _opened(path) as (experiment, directory, ledger):
        return read_order_directory(experiment, directory, ledger, metrics)


def effects_input(path: Path, metrics: Sequence[str] = (), *, samples: bool = False) -> EffectsInput:
    """The trials of an experiment directory by their factors, for `trialwise effects`."""
    with _opened(path) as (experiment, directory, ledger):
        return read_effects_directory(experiment, directory, ledger, metrics, samples=samples)


def order_view(path: Path) -> OrderView:
    """What the order of trials did, for the report; who wins is only said of metrics that say which direction is better."""
    try:
        with _opened(path) as (experiment, directory, ledger):
            trials = read_order_directory(experiment, directory, ledger)
    except AnalysisError as error:
        return OrderView(None, f"The order cannot be judged: {error.message}.")
    found = analyse_order(trials)
    told = tuple(one for one in found.conclusions if one.metric in trials.better)
    found = dataclasses.replace(found, conclusions=told)
    return view_of(trials, found, {metric.name: metric.unit for metric in experiment.metrics})


def verdict_view(path: Path) -> VerdictView:
    """What the trials of an experiment directory say of its treatments, and what is known of when to stop, for the report."""
    stopping = _stopping_state(ExperimentDirectory(path))
    lifts = stopping and what_lifts(stopping)
    try:
        with _opened(path) as (experiment, directory, ledger):
            pairs = comparisons(experiment)
            found = (
                between_treatments(_comparison_set(experiment, directory, ledger), pairs)
                if pairs
                else VerdictView()
            )
    except (AnalysisError, PlanError) as error:
        hint = f"; {error.hint}" if error.hint else ""
        found = VerdictView(refusal=f"Treatments cannot be compared: {error.message}{hint}.")
    return dataclasses.replace(found, stopping=stopping, lifts=lifts)


def trial_set(path: Path, metrics: Sequence[str] = ()) -> TrialSet:
    """The trials of an experiment directory, one value for each trial and metric."""
    with _opened(path) as (experiment, directory, ledger):
        return read_trial_set(experiment, directory, ledger, metrics)


def comparison_set(path: Path, metrics: Sequence[str] = (), *, paired: bool = True) -> TrialSet:
    """The trials of an experiment directory as they are compared: pooled metrics by what each trial contributes.

    `paired`: simulated trials that met the same flows have the same name.
    """
    with _opened(path) as (experiment, directory, ledger):
        return _comparison_set(experiment, directory, ledger, metrics, paired=paired)


def _comparison_set(
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    metrics: Sequence[str] = (),
    *,
    paired: bool = True,
) -> TrialSet:
    trials = read_trial_set(experiment, directory, ledger, metrics)
    if not isinstance(experiment.trial, SimulationTrial):
        return trials
    store = StoreObservations(experiment, directory, ledger)
    trials = with_pooled_values(trials, experiment, store)
    return paired_by_round(trials, flow_list_names(experiment, store.rows)) if paired else trials


def calibration(
    path: Path, metrics: Sequence[str] = (), options: CalibrateOptions | None = None
) -> Calibration:
    """What the trials of an experiment directory say of the bench, for `trialwise aa`."""
    found = calibrate(trial_set(path, metrics), options)
    return dataclasses.replace(found, source=str(path))


def path_facts(experiment: Experiment, ledger: Ledger) -> PathFacts:
    """The schemes and paths of an experiment of kind path, as far as their files are there."""
    if not isinstance(experiment.trial, PathTrial):
        return PathFacts()
    schemes: dict[str, PathScheme] = {}
    paths: dict[str, TreatmentPath] = {}
    for row in ledger.trials():
        if row.treatment not in paths:
            values = dict(NOWHERE) | dict(row.factors)
            with contextlib.suppress(PlanError):
                paths[row.treatment] = _treatment_path(row.treatment, settings_of(experiment, values))
                found = (plan.scheme for plan in flow_plans(experiment, values))
                schemes |= {known.name: PathScheme(known.name, known.title, known.color) for known in found}
    return PathFacts(tuple(schemes.values()), tuple(paths.values()))


def _treatment_path(treatment: str, settings: PathSettings) -> TreatmentPath:
    ways = way_text(settings.uplink), way_text(settings.downlink)
    return TreatmentPath(treatment, *ways, settings.mtu, settings.source)


def _frozen_experiment(directory: ExperimentDirectory, ledger: Ledger) -> Experiment:
    experiment = parse_experiment(read_text(directory.experiment_file), directory.experiment_file)
    return dataclasses.replace(experiment, folder=Path(ledger.fact("folder")))


# Running


def itself(source: Path, trials: int | None = None) -> Experiment:
    """The experiment of a file with every treatment against itself."""
    return against_itself(load(source), trials)


def run(
    source: Path,
    path: Path | None = None,
    *,
    extend: bool = False,
    again: bool = False,
    anytime: bool = False,
    only: Sequence[str] = (),
    workers: Sequence[str] = (),
    jobs: int | None = None,
    cluster: str | None = None,
    stopping: StoppingRule | None = None,
    observers: Sequence[Observer] = (),
) -> RunResult:
    """Run an experiment, or go on with it.

    Parameters
    ----------
    source
        An experiment file, or the directory of an experiment that has begun.
    path
        The experiment directory; default `default_directory`, or `source` where that is a directory.
    extend
        Whether more rounds or series than before may be planned.
    again
        Whether trials that failed or are invalid get a further attempt.
    anytime
        Whether to look at any time, whatever the file says of looks; only from the beginning on.
    only
        Run the trials with these levels and leave the others planned, as ``scheme=cubic,bbr``.
    workers
        Names of workers, instead of those of the file: ``local``, ``ssh://user@host:port``.
    jobs, cluster
        Of simulated trials: how many processes compute them (default: one for each core), and the Dask cluster that does so instead of
        this machine: ``tcp://host:port``, ``slurm`` (which `jobs` then counts the jobs of), ``ssh:host,host``.
    stopping, observers
        The rule that may end the run before the plan is used up (default: what the file says), and who is told what happens.

    Raises
    ------
    PlanError
        The file is wrong, or differs from the one that the directory began with.
    StoreError
        The directory cannot be used: another runner is at work, the disk is full.
    WorkerError
        Workers cannot be allocated, or the cluster cannot be used.
    """
    text, experiment, directory = _sources(source, path)
    if anytime and experiment.design.looks != "anytime":
        text, experiment = _at_any_time(text, experiment, source, directory)
    if workers:
        experiment = with_workers(experiment, workers)
    if stopping is None and stops_by_itself(experiment):
        refuse_partial(experiment, only)
        if experiment.workers.allocate is None:
            refuse_several(experiment.workers.use)
        rule = StopByResults(Judge(experiment), lambda event: _tell(observers, event))
        stopping, observers = rule, [rule, *observers]
    result = _with_errors(
        lambda: _run(
            text,
            experiment,
            directory,
            stopping or RunThePlan(),
            observers,
            only,
            extend=extend,
            again=again,
            jobs=jobs,
            cluster=cluster,
        ),
        directory,
    )
    return dataclasses.replace(result, stopping=_stopping(directory))


def _at_any_time(
    text: str, experiment: Experiment, source: Path, directory: ExperimentDirectory
) -> tuple[str, Experiment]:
    """The experiment with looks at any time; PlanError where nothing says when to stop, or it began with other looks."""
    if not stops_by_itself(experiment):
        raise PlanError(
            f"{experiment.name}: --anytime says how to look, and nothing says when to stop",
            hint='add stop = { precision = "1%" } to a metric',
        )
    if directory.is_begun and (began := load(directory.path).design.looks) != "anytime":
        raise PlanError(
            f"{directory.path}: --anytime has to be there from the beginning; this began with looks = {began!r}",
            hint="bounds that hold at any time hold only where they were the rule from the first look on: take another --dir",
        )
    text = with_looks(text, "anytime")
    return text, parse_experiment(text, source)


def _with_errors(running: Callable[[], RunResult], directory: ExperimentDirectory) -> RunResult:
    try:
        return running()
    except OSError as error:
        hint = (
            "free some space and run again; what is finished is kept" if error.errno == errno.ENOSPC else None
        )
        raise StoreError(f"{error.filename or directory.path}: {error.strerror}", hint=hint) from error


def run_experiment(
    experiment: Experiment,
    path: Path,
    *,
    stopping: StoppingRule | None = None,
    observers: Sequence[Observer] = (),
) -> RunResult:
    """Run an experiment that no file has, or go on with it, also with more rounds than before; errors as of `run`."""
    text = write_experiment(experiment)
    # As the directory's own copy will be read.
    read = parse_experiment(text, experiment.folder / EXPERIMENT)
    directory = ExperimentDirectory(path)
    return _with_errors(
        lambda: _run(
            text, read, directory, stopping or RunThePlan(), observers, (), extend=True, again=False
        ),
        directory,
    )


def _run(
    text: str,
    experiment: Experiment,
    directory: ExperimentDirectory,
    stopping: StoppingRule,
    observers: Sequence[Observer],
    only: Sequence[str],
    *,
    extend: bool,
    again: bool,
    jobs: int | None = None,
    cluster: str | None = None,
) -> RunResult:
    addresses(experiment.workers.use)
    kind = kind_of(experiment)
    refuse_crew(kind, experiment, jobs, cluster)
    plan: Plan | None = None
    if not directory.is_begun:
        refuse_foreign(directory)
        plan = make_plan(experiment)
        _check(kind, experiment, factors_of(plan), only)
    if runs_here(experiment.workers):
        check_reset(experiment, directory.path)
    with opened_crew(kind, jobs, cluster) as crew:
        directory.make()
        interruption = Interruption(lambda at_once: _tell(observers, StopRequested(at_once)))
        with DirectoryLock(directory), interruption:
            ledger = _open_ledger(text, experiment, plan, directory, kind, only, extend=extend)
            try:
                wanted = subset(only, ledger.factors())
                if again:
                    ledger.plan_again()
                if not is_alone(experiment.workers) or has_lanes(ledger):
                    return _pool(
                        experiment, directory, ledger, kind, stopping, observers, interruption, wanted
                    )
                programs = list(kind.programs(experiment, ledger.factors()))
                keeper = SessionKeeper(directory, ledger, LocalWatch(programs, experiment.folder))
                runner = _runner(
                    experiment, directory, ledger, kind, keeper, crew, stopping, observers, wanted
                )
                return _session(runner, keeper, directory, ledger, observers, interruption, wanted)
            finally:
                ledger.close()


def _runner(
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    kind: TrialKind,
    keeper: SessionKeeper,
    crew: Crew | None,
    stopping: StoppingRule,
    observers: Sequence[Observer],
    only: Subset,
) -> Runner | TaskRunner:
    """The runner that suits: trials of a crew are computed at the same time, others measured one by one."""
    if crew is not None and isinstance(kind, IndependentKind):
        return TaskRunner(
            experiment,
            directory,
            ledger,
            kind,
            keeper,
            crew,
            stopping=stopping,
            observers=observers,
            only=only,
        )
    return Runner(
        experiment, directory, ledger, kind, keeper, stopping=stopping, observers=observers, only=only
    )


def _open_ledger(
    text: str,
    experiment: Experiment,
    plan: Plan | None,
    directory: ExperimentDirectory,
    kind: TrialKind,
    only: Sequence[str],
    *,
    extend: bool,
) -> Ledger:
    """Begin the experiment, or go on with it where it has begun; somebody else may have begun it a moment ago."""
    if not directory.is_begun:
        plan = plan or make_plan(experiment)
        return begin(text, experiment, plan, directory, kind.attachments(experiment, factors_of(plan)))
    ledger = resume(text, experiment, directory, extend=extend)
    try:
        _check(kind, experiment, ledger.factors(), only)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _check(
    kind: TrialKind, experiment: Experiment, factors: Sequence[Mapping[str, Level]], only: Sequence[str]
) -> None:
    """Look whether what is asked for can run; raise PlanError where it cannot. Workers are looked at when they are reached."""
    wanted = subset(only, factors)
    if not is_alone(experiment.workers):
        refuse_kinds(experiment)
        refuse_on_workers(experiment)
    if runs_here(experiment.workers):
        known = [values for values in factors if matches(values, wanted)]
        kind.check(experiment, known)
        check_samples(experiment, known)


def check_samples(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
    """Raise PlanError where simulated trials are expected to have too few samples for what a metric asks of each."""
    if any(wants_enough_samples(metric) for metric in experiment.metrics):
        refuse_few_samples(experiment, samples_by_metric(experiment, factors))


def _sources(source: Path, path: Path | None) -> tuple[str, Experiment, ExperimentDirectory]:
    if source.is_dir():
        directory = ExperimentDirectory(source)
        ledger = directory.ledger()
        experiment = _frozen_experiment(directory, ledger)
        ledger.close()
        return read_text(directory.experiment_file), experiment, directory
    text = read_text(source)
    experiment = parse_experiment(text, source)
    return text, experiment, ExperimentDirectory(path or default_directory(experiment))


def _session(
    runner: Runner | TaskRunner,
    keeper: SessionKeeper,
    directory: ExperimentDirectory,
    ledger: Ledger,
    observers: Sequence[Observer],
    interruption: Interruption,
    only: Subset,
) -> RunResult:
    """Clear what a killed runner has left, run, and write down how it ended."""
    end_leftovers(keeper.marker)
    shutil.rmtree(directory.scratch, ignore_errors=True)
    reclaimed = ledger.abandon_running("the runner was killed during this trial")
    change = keeper.open(ledger)
    _tell_beginning(directory, ledger, keeper, reclaimed, observers, only)
    if change:
        _tell(observers, EnvironmentChanged(change))
    ending = runner.run(interruption)
    keeper.close(ledger, ending.word)
    _tell(observers, SessionEnded(ending.word))
    return RunResult(directory.path, ending, ledger.counts(), len(ledger.unsuccessful()))


def _pool(
    experiment: Experiment,
    directory: ExperimentDirectory,
    ledger: Ledger,
    kind: TrialKind,
    stopping: StoppingRule,
    observers: Sequence[Observer],
    interruption: Interruption,
    only: Subset,
) -> RunResult:
    """Run on several workers, or on one that ssh reaches."""
    end_leftovers(marker_of(directory, ledger))
    shutil.rmtree(directory.scratch, ignore_errors=True)
    with allocated(experiment, directory, ledger) as names:
        if isinstance(stopping, StopByResults):
            refuse_several(names)
        named = {address.name: address for address in addresses(names)}
        lanes = assign_lanes(ledger, experiment, list(named))
        reclaimed = abandon_local(ledger)
        _tell_beginning(directory, ledger, None, reclaimed, observers, only)
        hub = OneAtATime(observers, stopping)
        common = Common(experiment, directory, ledger, kind, ledger.factors(), hub, only, interruption)
        ending = run_pool(common, {named[name]: lane for name, lane in lanes.items()})
    _tell(observers, SessionEnded(ending.word))
    return RunResult(directory.path, ending, ledger.counts(), len(ledger.unsuccessful()))


def _tell_beginning(
    directory: ExperimentDirectory,
    ledger: Ledger,
    keeper: SessionKeeper | None,
    reclaimed: int,
    observers: Sequence[Observer],
    only: Subset,
) -> None:
    last = ledger.last_planned_start()
    done = ledger.count(["finished", "failed", "invalid"], only)
    if ledger.count(["finished", "failed", "invalid"]) and observers:
        for event in recalled(directory, ledger):
            _tell(observers, event)
    last_start = None if last is None else float(ledger.fact("created")) + last
    _tell(
        observers,
        SessionStarted(
            keeper and keeper.session, done, done + ledger.count(["planned"], only), reclaimed, last_start
        ),
    )


def _tell(observers: Sequence[Observer], event: RunEvent) -> None:
    for observer in observers:
        observer.notice(event)
