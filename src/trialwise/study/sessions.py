"""One session of a run: begin or continue the directory, choose the runner, and report on it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.design.few_samples import refuse_few_samples, wants_enough_samples
from trialwise.design.plan import Plan, make_plan
from trialwise.design.subset import Part, Subset, matches, subset
from trialwise.errors import PlanError
from trialwise.execution.allowance import Allowance, Budget, Budgeted
from trialwise.execution.create import begin, factors_of, refuse_foreign, resume
from trialwise.execution.endings import Ending
from trialwise.execution.events import (
    EnvironmentChanged,
    Observer,
    Remarked,
    RunEvent,
    SessionEnded,
    SessionStarted,
    StopRequested,
    TreatmentsSkipped,
)
from trialwise.execution.interruption import Interruption
from trialwise.execution.limits import SomeRounds
from trialwise.execution.orders import Orders, employed
from trialwise.execution.replay import recalled
from trialwise.execution.reset import check_reset, refuse_on_workers
from trialwise.execution.runner import Runner
from trialwise.execution.services.lifecycle import check_services
from trialwise.execution.session import SessionKeeper, local_watch, marker_of
from trialwise.execution.stopping import (
    StopByResults,
    StoppingRule,
    refuse_several,
)
from trialwise.execution.tasks.executor import Executor
from trialwise.execution.tasks.runner import TaskRunner
from trialwise.execution.tasks.start_cluster import opened_executor, refuse_executor
from trialwise.execution.worker_plan import abandon_local, assign_lanes, has_lanes
from trialwise.execution.workers.address import addresses, is_alone, runs_here
from trialwise.execution.workers.allocation import allocated
from trialwise.execution.workers.pool import Common, OneAtATime, run_pool
from trialwise.execution.workers.remote_kind import refuse_kinds
from trialwise.experiment.model import Experiment, Level
from trialwise.store.directory import DirectoryLock, ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow
from trialwise.study.documents import StoppingDocument
from trialwise.study.locating import check_factors
from trialwise.trials.base import IndependentKind, TrialKind
from trialwise.trials.client_check import check_clients, end_left_containers
from trialwise.trials.kinds import kind_of
from trialwise.trials.marked import end_leftovers
from trialwise.trials.removing import remove_tree
from trialwise.trials.surroundings import inheriting, not_passed


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended, the number of attempts of each status, and how many of all trials finally failed or are invalid.

    `retried` of these failed several times. `stopping` says what is known, if there is a stopping condition.
    """

    directory: Path
    ending: Ending
    counts: dict[str, int]
    failed: int
    trials: int
    stopping: StoppingDocument | None = None
    retried: int = 0


def run_session(
    text: str,
    experiment: Experiment,
    directory: ExperimentDirectory,
    stopping: StoppingRule,
    observers: Sequence[Observer],
    only: Sequence[str | Part],
    *,
    extend: bool,
    again: bool,
    reread: bool = False,
    amend: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    allowed: Allowance | None = None,
    rounds: int | None = None,
    names_workers: bool = False,
) -> RunResult:
    """Run one session of the runner: begin or continue, run what is wanted, report how it ended; raises as `run` does."""
    addresses(experiment.workers.use)
    kind = kind_of(experiment)
    refuse_executor(kind, experiment, jobs, cluster)
    if allowed is not None:
        _allow(kind, allowed)
    plan: Plan | None = None
    if not directory.is_begun:
        refuse_foreign(directory)
        plan = make_plan(experiment)
        _check(kind, experiment, factors_of(plan), only)
    if runs_here(experiment.workers):
        check_reset(experiment, directory.path)
    with opened_executor(kind, jobs, cluster) as executor:
        directory.make()
        interruption = Interruption(lambda at_once: tell(observers, StopRequested(at_once)))
        with DirectoryLock(directory), interruption:
            ledger = _open_ledger(
                text,
                experiment,
                plan,
                directory,
                kind,
                only,
                extend=extend,
                reread=reread,
                amend=amend,
                observers=observers,
            )
            try:
                experiment = inheriting(experiment, ledger.meta())
                wanted = subset(only, _factors(experiment, ledger))
                if again:
                    ledger.plan_again(unsuccessful(experiment, ledger))
                return _Session(
                    experiment,
                    directory,
                    ledger,
                    kind,
                    stopping,
                    observers,
                    interruption,
                    wanted,
                    rounds,
                    Orders(ledger, lambda event: tell(observers, event), wanted),
                    names_workers,
                ).run(executor)
            finally:
                ledger.close()


def _open_ledger(
    text: str,
    experiment: Experiment,
    plan: Plan | None,
    directory: ExperimentDirectory,
    kind: TrialKind,
    only: Sequence[str | Part],
    *,
    extend: bool,
    reread: bool,
    amend: bool,
    observers: Sequence[Observer],
) -> Ledger:
    """Begin the experiment, or continue it if it has begun; another process may have begun it a moment ago."""
    if not directory.is_begun:
        plan = plan or make_plan(experiment)
        if lacking := not_passed(experiment):
            tell(observers, Remarked(lacking))
        return begin(text, experiment, plan, directory, kind.attachments(experiment, factors_of(plan)))

    def attachments(factors: Sequence[Mapping[str, Level]]) -> Iterable[tuple[str, Path]]:
        _check(kind, experiment, factors, ())
        return kind.attachments(experiment, factors)

    ledger = resume(
        text,
        experiment,
        directory,
        extend=extend,
        reread=reread,
        amend=amend,
        attachments=attachments,
        tell=lambda line: tell(observers, Remarked(line)),
    )
    try:
        _check(kind, inheriting(experiment, ledger.meta()), _factors(experiment, ledger), only)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _allow(kind: TrialKind, allowed: Allowance) -> None:
    if not isinstance(kind, Budgeted):
        raise PlanError(
            "--allow-rate and --allow-bytes are about real paths, and this experiment has none",
            hint="leave them out",
        )
    kind.allow(allowed)


def _factors(experiment: Experiment, ledger: Ledger) -> list[dict[str, Level]]:
    """Return the distinct factors of the trials, without those of dropped treatments.

    Raises
    ------
    StoreError
        A trial of the ledger lacks a factor: it is not one of this experiment.
    """
    check_factors(experiment, ledger)
    return [factors for factors in ledger.factors() if experiment.includes(factors)]


def unsuccessful(experiment: Experiment, ledger: Ledger) -> list[TrialRow]:
    """Return the last attempts of trials that failed or are invalid, without those of dropped treatments and those set apart."""
    apart = ledger.apart_series()
    return [row for row in ledger.unsuccessful() if row.series > apart and experiment.includes(row.factors)]


def _check(
    kind: TrialKind,
    experiment: Experiment,
    factors: Sequence[Mapping[str, Level]],
    only: Sequence[str | Part],
) -> None:
    """Check that what is requested can run; raise PlanError if not. Workers are checked when they are reached."""
    wanted = subset(only, factors)
    if not is_alone(experiment.workers):
        refuse_kinds(experiment)
        refuse_on_workers(experiment)
    known = [values for values in factors if matches(values, wanted)]
    check_clients(experiment, known, runs_here=runs_here(experiment.workers))
    if runs_here(experiment.workers):
        kind.check(experiment, known)
        check_services(experiment, known)
        check_samples(experiment, known)


def check_samples(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
    """Raise PlanError if simulated trials are expected to have too few samples for what a metric needs from each."""
    if any(wants_enough_samples(metric) for metric in experiment.metrics):
        from trialwise.trials.simulation import samples_by_metric  # imported with the first simulation alone

        refuse_few_samples(experiment, samples_by_metric(experiment, factors))


@dataclass(frozen=True, slots=True)
class _Session:
    """The state of a session once its ledger is open."""

    experiment: Experiment
    directory: ExperimentDirectory
    ledger: Ledger
    kind: TrialKind
    stopping: StoppingRule
    observers: Sequence[Observer]
    interruption: Interruption
    only: Subset
    rounds: int | None
    orders: Orders
    names_workers: bool

    @property
    def rule(self) -> StoppingRule:
        """When to stop: by the experiment's rule, and after the rounds that were asked for."""
        return self.stopping if self.rounds is None else SomeRounds(self.stopping, self.rounds)

    def run(self, executor: Executor | None) -> RunResult:
        """Run what is wanted, and report how it ended."""
        ending = self._here(executor) if self._is_alone else None
        if ending is None or (ending.reason == "stopped" and self.orders.joined):
            self.orders.joined.clear()
            ending = self._on_workers()
        tell(self.observers, SessionEnded(ending.reason))
        ledger = self.ledger
        rows = unsuccessful(self.experiment, ledger)
        attempts = (
            Counter(row.number for row in ledger.trials("failed", "invalid")) if rows else Counter[int]()
        )
        retried = sum(attempts[row.number] > 1 for row in rows)
        counts, planned = ledger.counts(), ledger.planned_number()
        return RunResult(self.directory.path, ending, counts, len(rows), planned, retried=retried)

    @property
    def _is_alone(self) -> bool:
        """Whether this machine alone runs the whole plan."""
        workers = self.experiment.workers
        joined = () if self.names_workers else employed(workers.use, self.ledger)
        return (
            is_alone(workers) and not has_lanes(self.ledger) and tuple(joined or workers.use) == workers.use
        )

    def _here(self, executor: Executor | None) -> Ending:
        """Clear what a killed runner left, run, and record how it ended."""
        directory, ledger = self.directory, self.ledger
        measures = not isinstance(self.kind, IndependentKind)
        watch = local_watch(self.experiment, self.kind, _factors(self.experiment, ledger), measures=measures)
        keeper = SessionKeeper(directory, ledger, watch, measures=measures)
        budget = self.kind.budget(self.experiment, ledger) if isinstance(self.kind, Budgeted) else None
        runner = self._runner(keeper, executor, budget)
        end_leftovers(keeper.marker)
        end_left_containers(self.experiment, _factors(self.experiment, ledger), keeper.marker)
        remove_tree(directory.scratch)
        reclaimed = ledger.abandon_running("the runner was killed during this trial")
        change = keeper.open(ledger)
        self._tell_beginning(keeper, reclaimed)
        if change:
            tell(self.observers, EnvironmentChanged(change))
        if budget is not None and (text := budget.announcement(self._to_run())):
            tell(self.observers, Remarked(text))
        ending = runner.run(self.interruption)
        keeper.close(ledger, ending.reason)
        return ending

    def _to_run(self) -> list[TrialRow]:
        planned = self.ledger.trials("planned")
        return [row for row in planned if matches(row.factors, self.only)]

    def _runner(
        self, keeper: SessionKeeper, executor: Executor | None, budget: Budget | None
    ) -> Runner | TaskRunner:
        """Choose the runner: trials of an executor are computed concurrently, others measured one by one."""
        if executor is not None and isinstance(self.kind, IndependentKind):
            return TaskRunner(
                self.experiment,
                self.directory,
                self.ledger,
                self.kind,
                keeper,
                executor,
                stopping=self.rule,
                observers=self.observers,
                only=self.only,
            )
        return Runner(
            self.experiment,
            self.directory,
            self.ledger,
            self.kind,
            keeper,
            stopping=self.rule,
            observers=self.observers,
            only=self.only,
            budget=budget,
            orders=self.orders,
        )

    def _on_workers(self) -> Ending:
        """Run on several workers, or on one that ssh reaches."""
        experiment, directory, ledger = self.experiment, self.directory, self.ledger
        end_leftovers(marker_of(directory, ledger))
        end_left_containers(experiment, _factors(experiment, ledger), marker_of(directory, ledger))
        remove_tree(directory.scratch)
        with allocated(experiment, directory, ledger) as provided:
            names = provided if self.names_workers else employed(provided, ledger)
            if isinstance(self.stopping, StopByResults):
                refuse_several(names)
            named = {address.name: address for address in addresses(names)}
            lanes = assign_lanes(ledger, experiment, list(named))
            self._tell_beginning(None, abandon_local(ledger))
            hub = OneAtATime(self.observers, self.rule)
            self.orders.tell = hub.notice
            common = Common(
                experiment,
                directory,
                ledger,
                self.kind,
                _factors(experiment, ledger),
                hub,
                self.only,
                self.interruption,
                self.orders,
            )
            return run_pool(common, {named[name]: lane for name, lane in lanes.items()})

    def _tell_beginning(self, keeper: SessionKeeper | None, reclaimed: int) -> None:
        ledger, observers = self.ledger, self.observers
        last = ledger.last_planned_start()
        done = ledger.ended(self.only)
        if ledger.ended() and observers:
            for event in recalled(self.directory, ledger):
                tell(observers, event)
        last_start = None if last is None else float(ledger.fact("created")) + last
        total = done + ledger.count(["planned"], self.only)
        if skipped := ledger.skips():
            tell(observers, TreatmentsSkipped(frozenset(skipped), total))
        tell(observers, SessionStarted(keeper and keeper.session, done, total, reclaimed, last_start))


def tell(observers: Sequence[Observer], event: RunEvent) -> None:
    """Pass an event to every observer."""
    for observer in observers:
        observer.notice(event)
