"""What an artifact says by itself: its files against the manifest, and its claims against its data. Nothing is run."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Any, cast

from trialwise.analysis.artifacts import Verified, VerifiedClaim
from trialwise.analysis.claims.results import ClaimResult
from trialwise.analysis.progress import Progress
from trialwise.errors import StoreError, TrialwiseError
from trialwise.exchange.artifact.integrity import integrity_of
from trialwise.exchange.artifact.reading import Artifact, opened_artifact
from trialwise.experiment.claims import NAME as CLAIMS
from trialwise.foreign_files import read_foreign
from trialwise.study.artifact.chains import ledgers_of
from trialwise.study.artifact.prospects import with_prospects
from trialwise.study.artifact.rerun_folder import RerunFolder, latest_rerun
from trialwise.study.artifact.rerunning import rerun_of
from trialwise.study.artifact.signing import signed_by
from trialwise.study.claims import JudgedClaims, judged_claims

RESULTS = "claims.json"
"""The claims as the authors' data gave them when they were packed (`trialwise.claims/1`)."""
_MAX_RESULTS = 64 << 20
_CLOSE = 1e-9
"""Relative difference up to which numbers of another processor or library are the same."""


def verify(
    path: Path,
    rerun: Path | None = None,
    told: Progress | None = None,
    *,
    allowed: Path | None = None,
    here: bool = False,
) -> Verified:
    """Verify an artifact by itself: an archive or a folder.

    Parameters
    ----------
    rerun
        An experiment directory in which its experiment was measured again: then each claim on that data is judged, too.
    allowed
        A file of allowed signers, one of whom must have signed it.
    here
        Say what it takes to measure its claims again on this machine, too.

    Raises
    ------
    StoreError
        It is no artifact, or holds what none may hold.
    AnalysisError
        It is absent or too large, its data cannot be read, or the re-run is none.
    """
    with examined(path, told, allowed) as (artifact, found, judged):
        if judged is None:
            return found
        costed = found
        if here:
            costed = with_prospects(artifact, found, judged, _earlier(path, found.integrity.identity))
        return (
            costed if rerun is None else replace(costed, rerun=rerun_of(artifact.folder, judged, rerun, told))
        )


def _earlier(path: Path, identity: str) -> RerunFolder | None:
    """Return the latest re-run beside the artifact, if there is one that can be read."""
    with suppress(StoreError):
        return latest_rerun(path, identity)
    return None


@contextmanager
def examined(
    path: Path, told: Progress | None = None, allowed: Path | None = None
) -> Generator[tuple[Artifact, Verified, JudgedClaims | None]]:
    """Open an artifact, and verify it by itself; its claims are read only if it is whole and states some. Raises as `verify`."""
    with opened_artifact(path) as artifact:
        with _named_as_packed(artifact):
            found, judged = _examined(artifact, told, allowed)
        yield artifact, found, judged


@contextmanager
def _named_as_packed(artifact: Artifact) -> Generator[None]:
    """Name files in errors as they are in an archive, and not where it was unpacked, which nobody can look at."""
    try:
        yield
    except TrialwiseError as error:
        if not artifact.path.is_dir():
            error.message = error.message.replace(f"{artifact.folder}/", f"{artifact.path}: ")
        raise


def _examined(
    artifact: Artifact, told: Progress | None, allowed: Path | None
) -> tuple[Verified, JudgedClaims | None]:
    integrity = replace(integrity_of(artifact), signed=signed_by(artifact, allowed))
    ledgers = ledgers_of(artifact) if integrity.is_whole else ()
    found = Verified(str(artifact.path), integrity, ledgers, claims=(), notes=())
    if not found.is_whole or CLAIMS not in artifact.names:
        return found, None
    judged = judged_claims(artifact.folder, told)
    return _with_claims(artifact, found, judged), judged


def _with_claims(artifact: Artifact, found: Verified, judged: JudgedClaims) -> Verified:
    packed = _packed(artifact)
    expected = {claim.id for claim in judged.stated.claims if claim.may_be_undecided}
    claims = tuple(
        VerifiedClaim(
            result=result,
            same=_same(result, packed[result.id]) if result.id in packed else None,
            authors=packed.get(result.id, {}).get("verdict"),
            expected=result.id in expected,
        )
        for result in judged.check.claims
    )
    where = f"{artifact.folder}/"
    return replace(found, claims=claims, notes=tuple(note.replace(where, "") for note in judged.check.notes))


def _packed(artifact: Artifact) -> dict[str, Mapping[str, Any]]:
    """Return the results that the authors packed, by claim."""
    if RESULTS not in artifact.names:
        return {}
    content = read_foreign(artifact.folder / RESULTS, _MAX_RESULTS, within=artifact.folder, error=StoreError)
    try:
        document = cast("dict[str, Any]", json.loads(content))
        return {str(claim["id"]): cast("Mapping[str, Any]", claim) for claim in document["claims"]}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(f"{artifact.path}: {RESULTS} holds no checked claims") from error


def _same(found: ClaimResult, packed: Mapping[str, Any]) -> bool:
    numbers = all(
        _equal(getattr(found, name), packed.get(name))
        for name in ("estimate", "low", "high", "at_least", "at_most")
    )
    return numbers and found.verdict == packed.get("verdict") and found.text == packed.get("text")


def _equal(one: float | None, other: object) -> bool:
    if one is None or not isinstance(other, int | float):
        return one is other
    return isclose(one, other, rel_tol=_CLOSE)
