"""Several workers in parallel: a thread and a runner for each, one ledger, and observers that see one event at a time."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialwise.design.subset import Subset
from trialwise.errors import TrialwiseError, WorkerError
from trialwise.execution.endings import Ending, departed
from trialwise.execution.events import EnvironmentChanged, Observer, PlanGrew, RunEvent, WorkerNotice
from trialwise.execution.interruption import Interruption
from trialwise.execution.orders import LOOK_SECONDS, Orders
from trialwise.execution.runner import Runner
from trialwise.execution.session import SessionKeeper, local_watch, marker_of
from trialwise.execution.stopping import StoppingRule
from trialwise.execution.worker_plan import WorkerPlan, assign_lanes
from trialwise.execution.workers.address import Address, addresses
from trialwise.execution.workers.machine import RemoteMachine
from trialwise.execution.workers.provision import Preparation, collect
from trialwise.execution.workers.remote import Remote
from trialwise.execution.workers.remote_kind import RemoteKind
from trialwise.execution.workers.services import RemoteServices
from trialwise.execution.workers.ssh import folder_name
from trialwise.execution.workers.tasks import Tasks
from trialwise.experiment.model import Experiment, Level
from trialwise.numbers import counted
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event, TrialRow
from trialwise.trials.base import TrialKind
from trialwise.trials.command import trial_of


class OneAtATime:
    """Passes events, and questions whether to stop, from several threads to observers and a rule that are not thread-safe."""

    def __init__(self, observers: Sequence[Observer], stopping: StoppingRule) -> None:
        self._observers = observers
        self._stopping = stopping
        self._lock = threading.Lock()

    def notice(self, event: RunEvent) -> None:
        """Tell every observer."""
        with self._lock:
            for observer in self._observers:
                observer.notice(event)

    def reason_to_stop(self, upcoming: TrialRow) -> str | None:
        """Ask the rule."""
        with self._lock:
            return self._stopping.reason_to_stop(upcoming)


@dataclass(frozen=True, slots=True)
class Common:
    """What all workers of a run share. `factors` are those of all trials; `kind` is for the trials of this machine."""

    experiment: Experiment
    directory: ExperimentDirectory
    ledger: Ledger
    kind: TrialKind
    factors: Sequence[Mapping[str, Level]]
    hub: OneAtATime
    only: Subset
    interruption: Interruption
    orders: Orders


def run_pool(common: Common, lanes: Mapping[Address, WorkerPlan]) -> Ending:
    """Have every worker run what is planned in its lane, and return the common ending.

    Raises
    ------
    StoreError
        The directory cannot be written; the workers have been stopped after their current trials.
    """
    members = [Member(common, address, lane) for address, lane in lanes.items()]
    for member in members:
        member.start()
    while working := [member for member in members if member.is_alive()]:
        working[0].join(LOOK_SECONDS)
        common.orders.pause()
        if common.orders.joined and not common.interruption.requested:
            members += _hired(common, members)
    for member in members:
        if member.failure is not None:
            raise member.failure
    return _common_ending([member.final(common.orders) for member in members])


def _hired(common: Common, members: Sequence[Member]) -> list[Member]:
    """Begin with the workers that have joined: each gets the lane of one that has left, or one of its own."""
    stay = [member.name for member in members if member.is_alive() or member.name not in common.orders.left]
    found: list[Member] = []
    while common.orders.joined:
        (address,) = addresses([common.orders.joined.pop(0)])
        if address.name not in stay:
            stay.append(address.name)
            lane = assign_lanes(common.ledger, common.experiment, stay)[address.name]
            found.append(Member(common, address, lane))
            found[-1].start()
    if found:
        left = common.ledger.count(["planned", "running"], common.only)
        common.hub.notice(PlanGrew(common.ledger.ended(common.only) + left))
    return found


def _common_ending(endings: Sequence[Ending]) -> Ending:
    """Return the most important ending, with what its workers say."""
    for word in ("interrupted", "paused", "worker lost", "reset failed", "service failed", "stopped"):
        texts = [ending.text for ending in endings if ending.reason == word]
        if texts:
            return Ending(word, "; ".join(dict.fromkeys(texts)))
    return Ending("complete", "every planned trial of every worker has come to an end")


class Member(threading.Thread):
    """One worker of the pool, in its own thread."""

    def __init__(self, common: Common, address: Address, lane: WorkerPlan) -> None:
        super().__init__(name=address.name)
        self.address = address
        self.ending = Ending("worker lost", f"{address.name}: was not reached")
        self.failure: BaseException | None = None
        self._common = common
        self._lane = lane
        self._marker = marker_of(common.directory, common.ledger)

    def run(self) -> None:
        """Run the rest of the lane, if any; an error of the worker ends only this thread."""
        if not self._common.ledger.count(["planned", "running"], blocks=self._lane.blocks):
            self.ending = Ending("complete", "every planned trial has come to an end")
            return
        try:
            self.ending = self._run_here() if self.address.is_local else self._run_there()
        except WorkerError as error:
            self._give_up(error)
        except BaseException as error:  # reported by run_pool
            self._fail(error)

    def final(self, orders: Orders) -> Ending:
        """Return how it ended; one that was lost and has left by then is not missed."""
        if self.ending.reason == "worker lost" and self.name in orders.left:
            return departed(self._common.ledger, self.name, self._lane.blocks)
        return self.ending

    def _give_up(self, error: WorkerError) -> None:
        try:
            where = "" if error.message.startswith(self.address.name) else f"{self.address.name}: "
            self._tell(f"lost: {where}{error.line}")
            self.ending = Ending("worker lost", f"{where}{error}")
        except TrialwiseError as failure:
            self._fail(failure)

    def _fail(self, error: BaseException) -> None:
        """Keep an error that concerns all workers, and stop the others after their current trials."""
        self.failure = error
        self._common.interruption.request()

    # On this machine

    def _run_here(self) -> Ending:
        common = self._common
        watch = local_watch(common.experiment, common.kind, common.factors)
        keeper = SessionKeeper(common.directory, common.ledger, watch)
        return self._session(self._runner(common.kind, keeper, None), keeper)

    # Over ssh

    def _run_there(self) -> Ending:
        common = self._common
        cancel = common.interruption.descriptor
        settings = common.experiment.workers
        folder = folder_name(settings.folder, self._marker, self.address)
        remote = Remote(self.address, settings, folder, cancel, self._tell)
        tasks = Tasks(remote, uuid.uuid4().hex[:12])
        try:
            self._marker += remote.marker
            ready = Preparation(common.experiment, remote, tasks, self._marker, self._tell)
            ready.connect()
            return self._made_ready(remote, tasks, ready)
        finally:
            remote.close()

    def _made_ready(self, remote: Remote, tasks: Tasks, ready: Preparation) -> Ending:
        common = self._common
        services = RemoteServices(remote)
        kind = RemoteKind(remote, tasks, services)
        queries = [
            *kind.service_queries(common.experiment, common.factors),
            *kind.queries(common.experiment, common.factors),
            *kind.reset_queries(common.experiment, common.factors),
        ]
        trial = trial_of(common.experiment)
        machine = RemoteMachine(
            remote, tasks, queries, self._tell, trial.variables, services, passed=trial.passed or ()
        )
        collector = SessionKeeper(common.directory, common.ledger, machine)
        self._collect(remote, tasks, kind, self._runner(kind, collector, machine))
        services.end_all()
        ready.provide(common.interruption.descriptor)
        ready.check(kind, common.factors)
        keeper = SessionKeeper(common.directory, common.ledger, machine)
        ending = self._session(self._runner(kind, keeper, machine), keeper)
        if ending.reason != "reset failed":  # it may be gone; the next run drops what it still holds
            tasks.acknowledge()
        return ending

    def _collect(self, remote: Remote, tasks: Tasks, kind: RemoteKind, runner: Runner) -> None:
        common = self._common
        back, again = collect(remote, tasks, kind, runner, common.ledger, self._lane, common.interruption)
        remote.ask("end", {"marker": f"{self._marker}:"})
        if back or again:
            self._tell(f"{counted(back, 'trial')} of an earlier run collected, {again} to run again")

    def _session(self, runner: Runner, keeper: SessionKeeper) -> Ending:
        common = self._common
        if change := keeper.open(common.ledger):
            common.hub.notice(EnvironmentChanged(f"{self.address.name}: {change}"))
        word = "worker lost"
        try:
            ending = runner.run(common.interruption)
            word = ending.reason
        finally:
            keeper.close(common.ledger, word)
        return ending

    def _runner(self, kind: TrialKind, keeper: SessionKeeper, place: RemoteMachine | None) -> Runner:
        common = self._common
        return Runner(
            common.experiment,
            common.directory,
            common.ledger,
            kind,
            keeper,
            stopping=common.hub,
            observers=[common.hub],
            only=common.only,
            blocks=self._lane.blocks,
            host=place,
            orders=common.orders,
        )

    def _tell(self, text: str) -> None:
        """Report what happens to the worker to observers, and in the ledger."""
        self._common.ledger.add_event(Event(time.time(), "worker", f"{self.address.name}: {text}"))
        self._common.hub.notice(WorkerNotice(self.address.name, text))
