"""Workers that a command allocates and another releases: the release always comes, also after a crash.

A record in the experiment directory is written before the first command runs, and removed when the second has succeeded.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager

from trialwise.errors import WorkerError
from trialwise.experiment.model import Experiment
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event

RECORD = "allocation.json"
VARIABLE = "TRIALWISE_WORKERS"
PATIENCE = 3600.0


@contextmanager
def allocated(experiment: Experiment, directory: ExperimentDirectory, ledger: Ledger) -> Generator[list[str]]:
    """Allocate workers for as long as it is entered.

    Raises
    ------
    WorkerError
        The command failed, or named none.
    """
    release_leftovers(experiment, directory, ledger)
    words = experiment.workers.allocate
    if words is None:
        yield list(experiment.workers.use)
        return
    _record(directory, [])
    try:
        names = _run(experiment, words, "allocate", []).split()
        _record(directory, names)
        if not names:
            raise WorkerError(
                "workers.allocate: it named no workers", hint="print their names, as in ssh://user@host"
            )
        yield names
    finally:
        release_leftovers(experiment, directory, ledger)


def release_leftovers(experiment: Experiment, directory: ExperimentDirectory, ledger: Ledger) -> None:
    """Release what is recorded as allocated, by this run or by one that was killed; what fails is tried at the next run."""
    file = directory.path / RECORD
    if not file.exists():
        return
    if (words := experiment.workers.release) is not None:
        try:
            _run(experiment, words, "release", json.loads(file.read_text())["workers"])
        except WorkerError as error:
            ledger.add_event(Event(time.time(), "release failed", error.message))
            return
    file.unlink()


def _record(directory: ExperimentDirectory, names: list[str]) -> None:
    directory.write_durably(RECORD, json.dumps({"workers": names}).encode())


def _run(experiment: Experiment, words: tuple[str, ...], what: str, names: list[str]) -> str:
    """Run one of the commands in the experiment's folder; it sees no signals of our terminal."""
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
