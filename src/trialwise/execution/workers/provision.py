"""Make a worker ready: connect, check, send what the trials need, set up once, and collect what it still holds."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence

from trialwise.errors import WorkerError
from trialwise.execution.interruption import Interruption
from trialwise.execution.runner import Runner
from trialwise.execution.worker_plan import WorkerPlan, in_blocks
from trialwise.execution.workers.files import digest_of, manifest, send
from trialwise.execution.workers.remote import Remote
from trialwise.execution.workers.remote_kind import RemoteKind, task_key
from trialwise.execution.workers.tasks import RemoteRun, Tasks
from trialwise.experiment.model import Experiment, Level
from trialwise.numbers import counted
from trialwise.store.ledger import Ledger
from trialwise.store.records import TrialRow
from trialwise.trials.starting import ending

MIN_FREE = 64 * 1024 * 1024
MAX_OFFSET = 1.0
"""Seconds by which a worker's clock may be off before that is reported."""
_CLONE = """set -e
test -d .git || git init -q .
have() { git cat-file -e "$2^{commit}" 2>/dev/null; }
have "$@" || git fetch -q -- "$1" "$2" 2>/dev/null || git fetch -q --tags -- "$1" "+refs/heads/*:refs/remotes/origin/*"
git checkout -q -f "$2"
"""
"""Checks out a commit of a repository; if the server does not serve single commits, all branches are fetched."""


class Preparation:
    """Makes one worker ready; `tell` receives remarks."""

    def __init__(
        self, experiment: Experiment, remote: Remote, tasks: Tasks, marker: str, tell: Callable[[str], None]
    ) -> None:
        self._experiment = experiment
        self._remote = remote
        self._tasks = tasks
        self._marker = marker
        self._tell = tell

    def connect(self) -> None:
        """Connect to the worker and check its free space and its clock."""
        self._remote.connect()
        require_space(self._remote)
        if abs(self._remote.clock.shift) > MAX_OFFSET:
            self._tell(f"{self._remote.clock.text}; times are recorded by our clock")

    def provide(self, cancel: int) -> None:
        """Send the experiment's files, or a commit, and set up once what was sent."""
        settings = self._experiment.workers
        if settings.git is None:
            files = manifest(self._experiment.folder, settings)
            content = digest_of(files)
            if sent := send(self._remote, self._experiment.folder, files):
                self._tell(f"{counted(sent, 'file')} sent")
        else:
            content = settings.git.commit
            words = ["sh", "-c", _CLONE, "sh", settings.git.url, settings.git.commit]
            self._command("git", words, settings.setup_timeout, cancel, once=None)
        if settings.setup is not None:
            once = hashlib.sha256(json.dumps([content, settings.setup]).encode()).hexdigest()[:32]
            self._command("setup", settings.setup, settings.setup_timeout, cancel, once=once)

    def check(self, kind: RemoteKind, factors: Sequence[Mapping[str, Level]]) -> None:
        """Check that the programs of the trials exist."""
        kind.check(self._experiment, factors)

    @property
    def _name(self) -> str:
        return self._remote.address.name

    def _command(
        self, what: str, words: Sequence[str], timeout: float, cancel: int, *, once: str | None
    ) -> RemoteRun:
        marker = f"{self._marker}:{what}"
        run = self._tasks.command(what, words, marker=marker, timeout=timeout, cancel=cancel, once=once)
        self._tasks.acknowledge()
        if isinstance(run, str):
            raise WorkerError(
                f"{self._name}: {what}: {run}", hint="check that the program is installed there"
            )
        if run.timed_out:
            raise WorkerError(
                f"{self._name}: {what} took longer than {timeout:g} s", hint="raise workers.setup_timeout"
            )
        if run.exit_code != 0:
            raise WorkerError(
                f"{self._name}: {what} {ending(run)}", hint=f"run it by hand in {self._remote.files}"
            )
        return run


def require_space(remote: Remote) -> None:
    """Raise WorkerError if too little is free on a worker."""
    free = int(remote.hello["free"])
    if free < MIN_FREE:
        raise WorkerError(
            f"{remote.address.name}: the disk is full there: {free >> 20} MiB are free in {remote.folder}, "
            f"{MIN_FREE >> 20} are needed",
            hint="free some space there, or choose another place with workers.folder",
        )


def collect(
    remote: Remote,
    tasks: Tasks,
    kind: RemoteKind,
    runner: Runner,
    ledger: Ledger,
    lane: WorkerPlan,
    interruption: Interruption,
) -> tuple[int, int]:
    """Ask a worker what became of the trials that an earlier run began there, and wait for the current one.

    Returns how many were collected, and how many are to run again. Trials that the ledger no longer waits for are forgotten.
    """
    held = set(remote.hello["keys"])
    running = [row for row in ledger.trials("running") if in_blocks(row.number, lane.blocks)]
    for key in sorted(held - {task_key(row.number, row.attempt) for row in running}):
        _drop(remote, key)
    collected = [_collect_one(kind, runner, ledger, row, interruption) for row in running]
    tasks.acknowledge()
    return sum(collected), len(collected) - sum(collected)


def _collect_one(
    kind: RemoteKind, runner: Runner, ledger: Ledger, row: TrialRow, interruption: Interruption
) -> bool:
    outcome = kind.recall(runner.request(row, interruption))
    if outcome is None:
        ledger.abandon_running("the worker never heard of this trial", [row])
        return False
    runner.record_late(row, outcome)
    return outcome.status != "abandoned"


def _drop(remote: Remote, key: str) -> None:
    """End a trial that the ledger no longer waits for, and forget it."""
    while not remote.ask("cancel", {"key": key}).head.get("cancelled"):
        time.sleep(0.05)
    remote.run(key, None, marker="\0", cancel=None)
    remote.forget(key)
