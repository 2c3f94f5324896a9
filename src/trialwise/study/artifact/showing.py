"""What would run for claims of an artifact, before anybody asks for it: commands, files, environment, needs. Nothing is run."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import tomlkit

from trialwise.analysis.reruns import Shown, ShownFile
from trialwise.exchange.artifact.reading import Artifact
from trialwise.measurement.file_identity import digest_of
from trialwise.store.directory import ExperimentDirectory
from trialwise.study.artifact.choosing import Candidate, candidates
from trialwise.study.artifact.rerun_folder import files_of
from trialwise.study.artifact.verifying import examined
from trialwise.study.claims import JudgedClaims
from trialwise.study.locating import frozen_text, opened
from trialwise.trials.surroundings import told_of_surroundings

_NOT_RUN = ("experiment", "factors", "metrics", "results", "design", "workers")
"""Sections of an experiment file that a re-run does not execute anything of."""


def show(path: Path, claims: Sequence[str]) -> tuple[Shown, ...]:
    """Return what would run for claims of an artifact.

    Raises
    ------
    PlanError
        A claim is not stated.
    StoreError
        As `verify`.
    """
    with examined(path) as (artifact, _, judged):
        if judged is None:
            return ()
        runs, rest = candidates(artifact, judged, claims, (), Path())
        shown = [_shown(artifact, judged, each) for each in runs]
        return (*shown, *(Shown(id=each.id, why=f"{each.word}: {each.why}") for each in rest))


def _shown(artifact: Artifact, judged: JudgedClaims, each: Candidate) -> Shown:
    text = frozen_text(ExperimentDirectory(artifact.folder / each.folder))
    sections = {name: part for name, part in tomllib.loads(text).items() if name not in _NOT_RUN}
    with opened(artifact.folder / each.folder) as (experiment, _, _):
        told = told_of_surroundings(experiment)
    needs = judged.stated.needs
    return Shown(
        id=each.claim.id,
        folder=each.folder,
        treatments=tuple(name for name in each.original.treatments if name in each.names),
        sections=tuple(tomlkit.dumps(sections).rstrip().splitlines()),
        environment=told
        or "trials get the short list of variables that programs need to find files, and no others",
        files=tuple(_files(artifact, each.folder)),
        needs=("the rights of root",) * needs.root + needs.other,
    )


def _files(artifact: Artifact, folder: str) -> Iterator[ShownFile]:
    for name in files_of(artifact, folder).values():
        yield ShownFile(name, digest_of(artifact.folder / name))
