"""What a changed file would do to an experiment that has begun."""

import contextlib
from pathlib import Path

from trialwise.execution.create import differences_of
from trialwise.experiment.amendable import KeyChange
from trialwise.experiment.model import Experiment
from trialwise.store.directory import ExperimentDirectory, latest
from trialwise.study.locating import default_directory


def changes(source: Path, experiment: Experiment, path: Path | None = None) -> tuple[KeyChange, ...]:
    """Return how an experiment, read from `source`, differs from the one that its directory began with; nothing if none has begun.

    The directory is `path`, `source` if that is one, or the default one.
    """
    directory = ExperimentDirectory(
        latest(source) if source.is_dir() else path or default_directory(experiment)
    )
    if not directory.is_begun:
        return ()
    with contextlib.closing(directory.ledger()) as ledger:
        return differences_of(experiment, directory, ledger)
