"""What measuring the claims of an artifact again takes on this machine, before anybody asks for it. Nothing of the artifact runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from trialwise.analysis.artifacts import Here, PackedClaim, Prospect, Verified
from trialwise.analysis.environments import EnvironmentDifference
from trialwise.analysis.reruns import NotRun
from trialwise.errors import PlanError, StoreError
from trialwise.exchange.artifact.reading import Artifact
from trialwise.exchange.artifact.readme import stated_needs
from trialwise.study.artifact.choosing import Candidate, candidates, planned, rounds_of
from trialwise.study.artifact.costs import costs, spent_in
from trialwise.study.artifact.judging_again import measured_in
from trialwise.study.artifact.rerun_folder import RerunFolder, begin
from trialwise.study.artifact.rerunning import OF_ANY_RERUN
from trialwise.study.claims import JudgedClaims
from trialwise.study.diff import HERE, diff_places
from trialwise.temporary import vanishing_folder
from trialwise.trials.base import ComputedKind
from trialwise.trials.command import CommandKind
from trialwise.trials.kinds import kind_of

_MOST_DIFFERENCES = 3
_MOST_COMPARED = 8
"""Experiments that are compared with this machine: claims on more of them say nothing else of it."""


def with_prospects(
    artifact: Artifact, found: Verified, judged: JudgedClaims, rerun: RerunFolder | None
) -> Verified:
    """Add what it takes to measure each claim again here, at the pace that an earlier re-run showed, if there was one.

    Raises
    ------
    StoreError
        A ledger cannot be read.
    """
    runs, rest = candidates(artifact, judged, (), (), artifact.path.resolve().parent)
    folders = list(dict.fromkeys(each.folder for each in runs))
    problems = _problems(artifact, found.integrity.identity, runs)
    paces = {each.claim.id: _pace(rerun, each) for each in runs}
    spent = [spent_in(artifact, folder) for folder in _folders(judged)]
    not_run = {each.id: each for each in rest}
    by_id = {each.claim.id: each for each in runs}
    prospects = tuple(
        _prospect(cost, by_id.get(cost.result.id), not_run, problems, paces, judged)
        for cost in costs(judged, spent)
    )
    differences = _differences(artifact, folders)
    return replace(
        found,
        here=Here(
            needs=tuple(stated_needs(judged.stated.needs)),
            claims=prospects,
            differences=tuple(differences[:_MOST_DIFFERENCES]),
            more=max(len(differences) - _MOST_DIFFERENCES, 0),
            uncompared=max(len(folders) - _MOST_COMPARED, 0),
        ),
    )


def _folders(judged: JudgedClaims) -> Iterator[str]:
    """Yield the folders of the packed experiments that claims are about."""
    yield from dict.fromkeys(each.directory for each in judged.stated.data if each.directory is not None)


def _prospect(
    cost: PackedClaim,
    each: Candidate | None,
    not_run: Mapping[str, NotRun],
    problems: Mapping[str, str | None],
    paces: Mapping[str, float | None],
    judged: JudgedClaims,
) -> Prospect:
    found = Prospect(
        id=cost.result.id,
        runs=False,
        why="",
        trials=cost.trials,
        processor=cost.processor,
        memory=cost.memory,
        size=cost.size,
        root=cost.root,
    )
    if each is None:
        why = not_run[cost.result.id]
        return replace(found, why=f"{why.word}: {why.why}")
    pace = paces[each.claim.id]
    whole = planned([each], each.only(), rounds_of(each, judged), 0, pace)
    problem = problems[each.place]
    return replace(
        found,
        runs=None if problem is None else not problem,
        why=problem or "",
        smallest=each.kick_seconds * (pace or 1.0),
        decided=whole.seconds,
        pace=pace,
    )


def _pace(rerun: RerunFolder | None, each: Candidate) -> float | None:
    """Return the time of a trial here over that of the authors; None before trials ran here, or if they are not to be trusted."""
    with suppress(StoreError):
        return None if rerun is None else measured_in(rerun, each.place).pace(each.original)
    return None


def _problems(artifact: Artifact, identity: str, runs: Sequence[Candidate]) -> dict[str, str | None]:
    """Return why an experiment cannot run here, empty if nothing is in its way, by place.

    None: that is seen only by running something of it.
    """
    with vanishing_folder("trialwise-") as workshop:
        folder = begin(workshop / "verify", identity)
        return {each.place: _problem(artifact, folder, each) for each in reversed(runs)}


def _problem(artifact: Artifact, folder: RerunFolder, each: Candidate) -> str | None:
    try:
        found = problem_here(artifact, folder, each, asked=False)
    except StoreError as error:
        found = error.message
    return found and found.replace(f"{folder.path}/", "")


def problem_here(
    artifact: Artifact, folder: RerunFolder, each: Candidate, *, asked: bool = True
) -> str | None:
    """Return why the experiment of a claim cannot run here, empty if nothing is in its way.

    None: only its own code shows that, which does not run before somebody `asked` for it.

    Raises
    ------
    StoreError
        The folder of the re-run cannot be written.
    """
    try:
        _, experiment = folder.prepared(artifact, each.folder, each.place, each.fewest)
        kind = kind_of(experiment)
        if not (asked or isinstance(kind, CommandKind) or type(kind).check is ComputedKind.check):
            return None
        kind.check(experiment, [dict(own) for own in each.original.treatments.values()])
    except PlanError as error:
        return error.message.replace("\n", "; ")
    return ""


def _differences(artifact: Artifact, folders: Iterable[str]) -> list[EnvironmentDifference]:
    """Return what differs between the authors' machines and this one, those that matter most first."""
    found: dict[str, EnvironmentDifference] = {}
    for folder in list(folders)[:_MOST_COMPARED]:
        for one in diff_places(str(artifact.folder / folder), HERE).differences:
            if one.name != "machine.hostname" and not OF_ANY_RERUN.fullmatch(one.name):
                found.setdefault(one.name, one)
    return sorted(found.values(), key=lambda one: one.rank)
