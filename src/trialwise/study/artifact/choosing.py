"""Which claims of an artifact are measured again here, and what has to run for them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

from trialwise.analysis.claims.looks import KICK_ROUNDS, rounds_for
from trialwise.analysis.claims.reproduction import NOT_RUNNABLE, RECOMPUTED
from trialwise.analysis.claims.treatments import claimed_treatments
from trialwise.analysis.reruns import NotRun, PlannedRerun
from trialwise.analysis.trial_set import TrialSet
from trialwise.errors import PlanError
from trialwise.exchange.artifact.reading import Artifact
from trialwise.experiment.claims import ClaimData, StatedClaim, StatedNeeds
from trialwise.experiment.model import Level
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.problems import either
from trialwise.late import pl
from trialwise.study.claims import JudgedClaims

_OF_TRIAL = re.compile(r"/\d{6,}-\d+[^/]*$")
_FEWEST = 3
"""Rounds below which a re-run says nothing."""
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A claim that may be measured again: the folder of its experiment, and the trials of its authors."""

    claim: StatedClaim
    folder: str
    original: TrialSet
    size: int

    @property
    def place(self) -> str:
        """The name of the re-run's directory: claims on the same seeds have one of their own, with the authors' seed."""
        return f"{self.folder}.same-seeds" if self.claim.identical is not None else self.folder

    @property
    def names(self) -> list[str]:
        """The treatments that it is about."""
        return claimed_treatments(self.original, self.claim)

    def only(self, *, small: bool = False) -> Only:
        """Return its treatments as parts of the plan; with `small`, those of the smallest run."""
        found = [self.original.treatments[name] for name in self.names]
        where = self.claim.small.where if small and self.claim.small is not None else {}
        for factor, levels in where.items():
            wanted = {level_text(level) for level in levels}
            kept = [each for each in found if factor in each and level_text(each[factor]) in wanted]
            found = kept or found
        return joined([[{name: (level,) for name, level in each.items()} for each in found]])

    @property
    def fewest(self) -> int:
        """Rounds of its smallest re-run: those that are stated, or as many as fit into the minutes that are."""
        small = self.claim.small
        if self.claim.identical is not None:
            return min((small and small.rounds) or _FEWEST, self.rounds_there)
        if small is None or (small.rounds is None and small.minutes is None):
            return KICK_ROUNDS
        a_round = seconds_of(self.original, self.only(small=True))
        if small.rounds is not None or small.minutes is None or not a_round:
            return small.rounds or KICK_ROUNDS
        return max(_FEWEST, min(int(60 * small.minutes / a_round), _MOST))

    @property
    def rounds_there(self) -> int:
        """Rounds of the first series of the authors: others have no counterpart in a re-run with their seed."""
        parts = self.original.table["round"].str.split(".")
        first = parts.list.first() == parts.list.first().min()
        places = parts.list.last().filter(first).cast(pl.Int64)
        return 1 if places.is_empty() else int(places.to_numpy().max())

    @property
    def kick_seconds(self) -> float:
        """Seconds of its smallest re-run by the authors' trials, or the minutes that they state if these are more."""
        small = self.claim.small
        stated = 0.0 if small is None or small.minutes is None else 60 * small.minutes
        return max(stated, seconds_of(self.original, self.only(small=True)) * self.fewest)


Part = Mapping[str, tuple[Level, ...]]
Only = Sequence[Part]
"""Parts of a plan, each with levels of factors: what has these of one part belongs to it."""


def joined(several: Iterable[Only]) -> list[Part]:
    """Return all parts, as few as hold the same: those that differ in the levels of one factor become one."""
    parts = [part for only in several for part in only]
    for factor in dict.fromkeys(name for part in parts for name in part):
        groups: dict[object, list[Part]] = {}
        for part in parts:
            rest = tuple((name, _texts(levels)) for name, levels in sorted(part.items()) if name != factor)
            groups.setdefault((factor in part, rest), []).append(part)
        parts = [
            {**group[0], factor: _each_once(part[factor] for part in group)}
            if factor in group[0]
            else group[0]
            for group in groups.values()
        ]
    return parts


def _each_once(several: Iterable[tuple[Level, ...]]) -> tuple[Level, ...]:
    return tuple({level_text(level): level for levels in several for level in levels}.values())


def _texts(levels: tuple[Level, ...]) -> frozenset[str]:
    return frozenset(map(level_text, levels))


def inside(levels: Mapping[str, Level], only: Only) -> bool:
    """Return True if a treatment with these levels belongs to one of the parts."""
    return any(
        all(
            factor not in levels or level_text(levels[factor]) in _texts(wanted)
            for factor, wanted in part.items()
        )
        for part in only
    )


# Which claims


def candidates(
    artifact: Artifact, judged: JudgedClaims, wanted: Sequence[str], have: Sequence[str], at: Path
) -> tuple[list[Candidate], list[NotRun]]:
    """Return the claims that can be measured again here, and the others with the reason.

    Parameters
    ----------
    wanted
        Ids of claims; empty for all.
    have
        What this machine has of that which nobody can look up (`other` in the needs of the claims).
    at
        Folder in which the re-run goes, whose disk has to suffice.

    Raises
    ------
    PlanError
        A claim is not stated.
    """
    known = [claim.id for claim in judged.stated.claims]
    for name in wanted:
        if name not in known:
            raise PlanError(f"no claim is called {name}", hint=f"there are: {either(known)}")
    lacking = list(_lacking(judged.stated.needs, have, at))
    runs: list[Candidate] = []
    rest: list[NotRun] = []
    for claim in judged.stated.claims:
        if wanted and claim.id not in wanted:
            continue
        data = _data_of(judged, claim)
        if not claim.rerun:
            rest.append(NotRun(claim.id, RECOMPUTED, "its authors say that it cannot be measured elsewhere"))
        elif data.directory is None:
            rest.append(NotRun(claim.id, RECOMPUTED, "its data are files of another tool"))
        elif lacking:
            rest.append(NotRun(claim.id, NOT_RUNNABLE, f"needs {', '.join(lacking)}"))
        else:
            folder = Path(data.directory).as_posix()
            runs.append(Candidate(claim, folder, judged.trials_of(claim), _trial_size(artifact, folder)))
    return runs, rest


def _data_of(judged: JudgedClaims, claim: StatedClaim) -> ClaimData:
    stated = judged.stated.data or (ClaimData(directory="."),)
    return next((data for data in stated if data.name == claim.data), stated[0])


def _lacking(needs: StatedNeeds, have: Sequence[str], at: Path) -> Iterator[str]:
    """Yield what the claims need and this machine does not have."""
    if needs.cores is not None and needs.cores > (os.cpu_count() or 1):
        yield f"{needs.cores} cores, and {os.cpu_count() or 1} are here"
    if needs.memory is not None and (size := size_of(needs.memory)) is not None:
        here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if here < 0.9 * size:  # the kernel keeps some of what is built in
            yield f"{needs.memory} of memory, and {here / 2**30:.1f} GiB are here"
    if needs.disk is not None and (size := size_of(needs.disk)) is not None:
        free = shutil.disk_usage(at).free
        if free < size:
            yield f"{needs.disk} of free disk space, and {free / 2**30:.1f} GiB are here"
    if needs.root and os.geteuid() != 0:
        yield "the rights of root"
    yield from (
        f"{each} (say --have {each!r} if this machine does)" for each in needs.other if each not in have
    )


_SIZES = {"": 1, "B": 1, **{f"{u}B": 1000**at for at, u in enumerate("kMGT", 1)}} | {
    f"{u}iB": 1024**at for at, u in enumerate("KMGT", 1)
}


def size_of(text: str) -> float | None:
    """Return the bytes of a size as "64GiB"; None if it is none."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKMGT]?i?B?)\s*", text)
    return float(match[1]) * _SIZES[match[2]] if match and match[2] in _SIZES else None


def _trial_size(artifact: Artifact, folder: str) -> int:
    """Return the bytes that a trial of the authors left, on average."""
    files = [name for name in artifact.names if name.startswith(f"{folder}/") and _OF_TRIAL.search(name)]
    total = sum((artifact.folder / name).stat().st_size for name in files)
    trials = {name.rpartition("/")[2].partition("-")[0] for name in files}
    return ceil(total / len(trials)) if trials else 0


# What runs for them


def seconds_of(trials: TrialSet, only: Only) -> float:
    """Return the seconds that a round of treatments took: the mean of each, and of all where one has none."""
    own = trials.table.unique("trial")
    rows: list[dict[str, Any]] = own.group_by("treatment").agg(pl.col("seconds").mean()).to_dicts()
    known = {row["treatment"]: row["seconds"] for row in rows if row["seconds"] is not None}
    mean = sum(known.values()) / len(known) if known else 0.0
    return sum(known.get(name, mean) for name in inside_of(trials, only))


def inside_of(trials: TrialSet, only: Only) -> list[str]:
    """Return the treatments in the parts `only`."""
    return [name for name, levels in trials.treatments.items() if inside(levels, only)]


def planned(
    group: Sequence[Candidate], only: Only, rounds: int, done: int, pace: float | None = None
) -> PlannedRerun:
    """Return what runs for claims on one experiment from `done` rounds to `rounds`."""
    first = group[0]
    names = inside_of(first.original, only)
    trials = len(names) * max(rounds - done, 0)
    return PlannedRerun(
        folder=first.place,
        packed=first.folder,
        claims=tuple(each.claim.id for each in group),
        treatments=tuple(names),
        only=only,
        rounds=rounds,
        done=min(done, rounds),
        trials=trials,
        seconds=seconds_of(first.original, only) * max(rounds - done, 0) * (pace or 1.0),
        size=first.size * trials,
        pace=pace,
    )


def smallest(runs: Sequence[Candidate], budget: float) -> list[PlannedRerun]:
    """Return the smallest re-run that says anything: the cheapest claims first, as many as fit into the budget (seconds).

    Raises
    ------
    PlanError
        Not even three rounds of the cheapest one fit.
    """
    costs = sorted(runs, key=lambda each: each.kick_seconds)
    found: list[PlannedRerun] = []
    for each in costs:
        more = _with(found, each)
        if sum(part.seconds for part in more) <= budget:
            found = more
    if found or not costs:
        return found
    first = costs[0]
    only = first.only(small=True)
    a_round = first.kick_seconds / first.fewest
    rounds = int(budget // a_round)
    if rounds < _FEWEST:
        raise PlanError(
            f"the budget is too small: {_FEWEST} rounds of the cheapest claim, {first.claim.id}, "
            f"took its authors {_FEWEST * a_round / 60:.1f} min",
            hint=f"--budget {ceil(_FEWEST * a_round / 60)}min",
        )
    return [planned([first], only, min(rounds, first.fewest), 0)]


def _with(found: Sequence[PlannedRerun], each: Candidate) -> list[PlannedRerun]:
    """Return the plans with one more claim."""
    only, rounds, claims = each.only(small=True), each.fewest, [each.claim.id]
    rest: list[PlannedRerun] = []
    for part in found:
        if part.folder == each.place:
            only, rounds = joined([part.only, only]), max(rounds, part.rounds)
            claims = [*part.claims, *claims]
        else:
            rest.append(part)
    part = planned([each], only, rounds, 0)
    longest = max([part.seconds, each.kick_seconds, *(one.seconds for one in found if one not in rest)])
    return [*rest, replace(part, claims=tuple(claims), seconds=longest)]


def rounds_of(each: Candidate, judged: JudgedClaims) -> int:
    """Return the rounds that a re-run is planned for: what decides if it measures what its authors did, else as many as theirs."""
    if each.claim.identical is not None:
        return each.rounds_there
    theirs = next(result for result in judged.check.claims if result.id == each.claim.id)
    found = rounds_for(each.claim, each.original, theirs)
    return max(each.fewest, min(theirs.n, default=0) if found is None else found)
