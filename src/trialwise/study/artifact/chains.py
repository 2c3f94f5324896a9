"""What the ledgers of an artifact say of themselves: their hash chains, their heads in the claims, and the programs that ran."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from trialwise.analysis.artifacts import PackedLedger
from trialwise.analysis.context import session_facts
from trialwise.exchange.artifact.reading import Artifact
from trialwise.experiment.claims import NAME as CLAIMS
from trialwise.experiment.claims import read_claims
from trialwise.measurement.file_identity import digest_of
from trialwise.measurement.identity import Identity
from trialwise.store.directory import LEDGER, ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.verifying import verify
from trialwise.study.artifact.kept_outputs import kept_outputs

PROGRAMS = "programs"


def ledgers_of(artifact: Artifact) -> tuple[PackedLedger, ...]:
    """Follow the chain of each ledger in an artifact, and compare head, programs and numbers with what else the artifact says.

    Raises
    ------
    StoreError
        A ledger cannot be read.
    PlanError
        The claims are wrong.
    """
    stated = _heads(artifact)
    folders = [name.removesuffix(f"/{LEDGER}") for name in artifact.names if name.endswith(f"/{LEDGER}")]
    return tuple(_ledger(artifact, folder, stated.get(folder)) for folder in folders)


def _heads(artifact: Artifact) -> dict[str, str]:
    """Return the heads that the claims name, by folder."""
    if CLAIMS not in artifact.names:
        return {}
    data = read_claims(artifact.folder / CLAIMS).data
    return {
        each.directory: each.head for each in data if each.directory is not None and each.head is not None
    }


def _ledger(artifact: Artifact, folder: str, stated: str | None) -> PackedLedger:
    directory = ExperimentDirectory(artifact.folder / folder)
    with contextlib.closing(directory.ledger()) as ledger:
        check = verify(directory, ledger)
        head = check.head
        broken = [] if check.broken is None else [check.broken.text]
        if stated is not None and (head is None or head.hash != stated):
            broken.append(f"{CLAIMS} names another head of the ledger: rows were taken off its end, or added")
        broken += _programs(artifact, folder, directory, ledger)
    return PackedLedger(
        folder=folder,
        head=None if head is None else head.hash,
        rows=0 if head is None else head.rows,
        later=check.later,
        broken=tuple(broken),
        outputs=None if broken else kept_outputs(directory.path),
    )


def _programs(
    artifact: Artifact, folder: str, directory: ExperimentDirectory, ledger: Ledger
) -> Iterator[str]:
    """Yield the packed programs that are not what a session recorded that it ran."""
    ran: dict[str, set[str]] = {}
    for facts in session_facts(directory, ledger):
        with contextlib.suppress(ValueError):
            for file in Identity.from_json(facts.environment).files:
                ran.setdefault(f"{PROGRAMS}/{folder}/{file.name}", set()).add(file.sha256)
    for name in artifact.names:
        if name in ran and digest_of(artifact.folder / name) not in ran[name]:
            yield f"{name} is another program than the one that ran"
