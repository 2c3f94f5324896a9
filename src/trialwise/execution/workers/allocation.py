"""Allocate workers with one command and release them with another: the release always happens, even after a crash.

A record in the experiment directory is written before the first command runs, and removed when the second has succeeded.
A process beside the runner sleeps until the runner ends, and releases what it left; after a power cut, the next run does.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from trialwise.errors import WorkerError
from trialwise.execution.workers import heartbeat as watch
from trialwise.execution.workers.heartbeat import VARIABLE, record_lock
from trialwise.experiment.model import Experiment
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event

RECORD = "allocation.json"
LOG = "allocation.log"
"""Output of the watch's release command."""
PATIENCE = 3600.0


@contextmanager
def allocated(experiment: Experiment, directory: ExperimentDirectory, ledger: Ledger) -> Generator[list[str]]:
    """Allocate workers for as long as it is entered.

    Raises
    ------
    WorkerError
        The command failed, or named no worker.
    """
    release_leftovers(experiment, directory, ledger)
    words = experiment.workers.allocate
    if words is None:
        yield list(experiment.workers.use)
        return
    token = uuid.uuid4().hex
    _record(directory, token, [])
    watching = _watch(experiment, directory, token)
    try:
        names = _run(experiment, words, "allocate", []).split()
        _record(directory, token, names)
        if not names:
            raise WorkerError(
                "workers.allocate: it named no workers", hint="print their names, as in ssh://user@host"
            )
        yield names
    finally:
        release_leftovers(experiment, directory, ledger)
        if watching is not None:
            watching.communicate()


def release_leftovers(experiment: Experiment, directory: ExperimentDirectory, ledger: Ledger) -> None:
    """Release what is recorded as allocated, by this run or by one that was killed; the next run retries what fails."""
    file = directory.path / RECORD
    if not file.exists():
        return
    with record_lock(file):
        _release(experiment, file, ledger)


def _release(experiment: Experiment, file: Path, ledger: Ledger) -> None:
    with contextlib.suppress(FileNotFoundError):  # released by the watch of a run that was killed
        names = json.loads(file.read_text())["workers"]
        if (words := experiment.workers.release) is not None:
            try:
                _run(experiment, words, "release", names)
            except WorkerError as error:
                ledger.add_event(Event(time.time(), "release failed", error.message))
                return
        file.unlink()


def _record(directory: ExperimentDirectory, token: str, names: list[str]) -> None:
    content = {"token": token, "workers": names}
    directory.write_durably(RECORD, json.dumps(content).encode())


def _watch(
    experiment: Experiment, directory: ExperimentDirectory, token: str
) -> subprocess.Popen[bytes] | None:
    """Start the process that releases workers after we end; it notices the end of its standard input, to which we never write."""
    words = experiment.workers.release
    if words is None:
        return None
    record = (directory.path / RECORD).absolute()
    with (directory.path / LOG).open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-IS", watch.__file__, record, experiment.folder.absolute(), token, *words],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _run(experiment: Experiment, words: tuple[str, ...], what: str, names: list[str]) -> str:
    """Run one of the commands in the experiment's folder; it gets no signals from our terminal."""
    try:
        done = subprocess.run(
            words,
            cwd=experiment.folder,
            env={**os.environ, VARIABLE: " ".join(names)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WorkerError(f"workers.{what}: {error}", hint="run the command by hand") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it printed nothing to standard error"])[-1]
        raise WorkerError(f"workers.{what}: ended with exit code {done.returncode}: {last[:300]}")
    return done.stdout
