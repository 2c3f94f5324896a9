"""Locate a study: its file, its directory, its ledger."""

import contextlib
import dataclasses
from collections.abc import Generator
from pathlib import Path

from trialwise.errors import StoreError
from trialwise.experiment.aa_design import against_itself
from trialwise.experiment.model import Experiment
from trialwise.experiment.reading import parse_experiment, read_text
from trialwise.experiment.results import with_found
from trialwise.store.directory import EXPERIMENT, ExperimentDirectory, latest
from trialwise.store.ledger import Ledger


def load(source: Path) -> Experiment:
    """Read the experiment of a file, or of the directory of an experiment that has begun."""
    return sources(source, None)[1]


def itself(source: Path, trials: int | None = None) -> Experiment:
    """Return the experiment of a file with every treatment compared to itself."""
    return against_itself(load(source), trials)


def default_directory(experiment: Experiment) -> Path:
    """Return where results go by default: NAME.results in the current folder."""
    return Path(f"{experiment.name}.results")


def open_directory(
    path: Path, *, with_excluded: bool = False
) -> tuple[Experiment, ExperimentDirectory, Ledger]:
    """Open an experiment directory for reading; `with_excluded` counts the trials that are left out."""
    directory = ExperimentDirectory(latest(path))
    ledger = directory.ledger(with_excluded=with_excluded)
    return frozen_experiment(directory, ledger), directory, ledger


@contextlib.contextmanager
def opened(
    path: Path, *, with_excluded: bool = False
) -> Generator[tuple[Experiment, ExperimentDirectory, Ledger]]:
    """Open an experiment directory for reading, as `open_directory` does, and close it."""
    experiment, directory, ledger = open_directory(path, with_excluded=with_excluded)
    try:
        yield experiment, directory, ledger
    finally:
        ledger.close()


def frozen_text(directory: ExperimentDirectory) -> str:
    """Return the experiment file of a directory, without following links; raise PlanError if it cannot be read."""
    return read_text(directory.experiment_file, within=directory.path)


def frozen_experiment(directory: ExperimentDirectory, ledger: Ledger) -> Experiment:
    """Return the experiment as it was when it began, with the folder of its files and the metrics that its trials found.

    Raises
    ------
    StoreError
        A trial, even one only planned, lacks a factor.
    """
    experiment = _frozen(directory, ledger)
    check_factors(experiment, ledger)
    return with_found(experiment, ledger.found_sources()) if experiment.results else experiment


def _frozen(directory: ExperimentDirectory, ledger: Ledger) -> Experiment:
    experiment = parse_experiment(frozen_text(directory), directory.experiment_file, frozen=True)
    return dataclasses.replace(experiment, folder=Path(ledger.fact("folder")))


def check_factors(experiment: Experiment, ledger: Ledger) -> None:
    """Raise StoreError if a trial of the ledger lacks a factor of the experiment and hence is not one of its trials."""
    for factors in ledger.factors():
        lacking = [factor.name for factor in experiment.factors if factor.name not in factors]
        if lacking:
            raise StoreError(
                f"{ledger.path}: a trial has no level of the factors in {EXPERIMENT}: {', '.join(lacking)}",
                hint=f"put the {EXPERIMENT} back that the trials ran with",
            )


def sources(source: Path, path: Path | None) -> tuple[str, Experiment, ExperimentDirectory]:
    """Return text, experiment and directory of an experiment file, or of a directory that has begun."""
    if source.is_dir():
        directory = ExperimentDirectory(latest(source))
        ledger = directory.ledger()
        experiment = _frozen(directory, ledger)  # the caller checks it against the trials
        ledger.close()
        return frozen_text(directory), experiment, directory
    text = read_text(source)
    experiment = parse_experiment(text, source)
    return text, experiment, ExperimentDirectory(path or default_directory(experiment))
