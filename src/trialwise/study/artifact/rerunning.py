"""The claims of an artifact on an experiment that somebody measured again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from trialwise.analysis.artifacts import Rerun
from trialwise.analysis.claims.identical import same_numbers
from trialwise.analysis.claims.judging import judge_claim
from trialwise.analysis.claims.reproduction import NOT_COMPARABLE, Reproduced, confirmed, reproduce
from trialwise.analysis.environments import EnvironmentDifference
from trialwise.analysis.influences import FIRST
from trialwise.analysis.progress import Progress
from trialwise.analysis.reruns import NotRun
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import AnalysisError
from trialwise.experiment.claims import ClaimData, StatedClaim
from trialwise.study.claimed_contents import with_contents
from trialwise.study.claims import JudgedClaims
from trialwise.study.diff import diff_places
from trialwise.study.locating import opened
from trialwise.study.reading import comparison_set
from trialwise.study.sources import is_ours

OF_ANY_RERUN = re.compile(
    r"machine\.boot_id|plan\.experiment\.seed|plan\.design\..*|plan\.workers\..*|plan\..*\.stop\..*"
)
"""What differs in every re-run, or on any other machine: it says nothing beside that."""
_HARDWARE = 2
"""Rank of differences that make machines of different kinds."""


def rerun_of(folder: Path, judged: JudgedClaims, rerun: Path, told: Progress | None = None) -> Rerun:
    """Judge each claim on the experiment that the re-run measured again; claims on other data are left out.

    Raises
    ------
    AnalysisError
        The re-run is no experiment directory, is the packed one itself, or measured none of the packed experiments.
    """
    if not is_ours(rerun):
        raise AnalysisError(
            f"{rerun}: is no experiment directory",
            hint="measure the packed experiment again with `trialwise run`, and name its directory",
        )
    data = _data_of(folder, judged, rerun)
    if data.directory is None:
        raise AssertionError("only directories are looked for")
    original = judged.trials[data.name]
    again = with_contents(comparison_set(rerun, told=told), rerun, judged.stated.claims)
    differing, same_kind = differences_of(str(folder / data.directory), str(rerun), told)
    about = [claim for claim in judged.stated.claims if judged.trials_of(claim) is original]
    not_run = _with_other_seeds(about, folder / data.directory, rerun)
    own = [claim for claim in about if claim.id not in {each.id for each in not_run}]
    claims = tuple(_reproduced(judged, claim, original, again, same_kind=same_kind) for claim in own)
    stated = {claim.id: claim for claim in own}
    firm = confirmed(
        claims,
        len(own),
        lambda one, share: _contradicts(again, stated[one.id], 1 - share * (1 - one.here.level / 100)),
    )
    return Rerun(str(rerun), firm, differing, not_run)


def _with_other_seeds(claims: Sequence[StatedClaim], packed: Path, rerun: Path) -> tuple[NotRun, ...]:
    """Return the claims on the same seeds, if the re-run has another."""
    theirs, ours = _facts(packed)[2], _facts(rerun)[2]
    why = f"it is about the seed {theirs}, and the re-run has {ours}"
    return tuple(
        NotRun(claim.id, NOT_COMPARABLE, why)
        for claim in claims
        if claim.identical is not None and theirs != ours
    )


def _contradicts(again: TrialSet, claim: StatedClaim, level: float) -> bool:
    """Return True if a claim is contradicted at this level; a number that differs from the same trial's is so at every one."""
    return claim.identical is not None or judge_claim(again, claim, level).verdict == "contradicted"


def differences_of(
    packed: str, rerun: str, told: Progress | None = None
) -> tuple[tuple[EnvironmentDifference, ...], bool]:
    """Return what differs of ranks 1 to 3 between a packed experiment and its re-run, and whether their machines are of one kind.

    The plans of `verify` itself have orders and numbers of rounds of their own, which are no difference.
    """
    found = diff_places(packed, rerun, told).first
    same_kind = not any(one.block == "machine" and one.rank == _HARDWARE for one in found)
    return tuple(
        one for one in found if one.rank <= FIRST and not OF_ANY_RERUN.fullmatch(one.name)
    ), same_kind


def _data_of(folder: Path, judged: JudgedClaims, rerun: Path) -> ClaimData:
    """Return the packed experiment that bears the name of the re-run; refuse a copy of it."""
    name, identity, _ = _facts(rerun)
    for data in judged.stated.data:
        if data.directory is None:
            continue
        packed_name, packed_identity, _ = _facts(folder / data.directory)
        if packed_identity == identity:
            raise AnalysisError(
                f"{rerun}: is the packed experiment itself, and no re-run of it",
                hint="measure it again, in a new directory",
            )
        if packed_name == name:
            return data
    raise AnalysisError(
        f"{rerun}: the artifact holds no experiment that is called {name}",
        hint="measure one of its experiments again",
    )


def _facts(path: Path) -> tuple[str, str, int]:
    """Return name, identity and seed of the experiment in a directory."""
    with opened(path) as (experiment, _, ledger):
        return experiment.name, ledger.fact("identity"), experiment.seed


def _reproduced(
    judged: JudgedClaims, claim: StatedClaim, original: TrialSet, again: TrialSet, *, same_kind: bool
) -> Reproduced:
    try:
        if claim.identical is not None:
            return same_numbers(claim, original, again, claim.level or judged.stated.defaults.level)
        here = judge_claim(again, claim, claim.level or judged.stated.defaults.level)
        return reproduce(claim, original, again, here, same_kind=same_kind)
    except AnalysisError as error:
        raise AnalysisError(f"re-run: claim {claim.id}: {error.message}", hint=error.hint) from error
