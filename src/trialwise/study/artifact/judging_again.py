"""The verdict on each claim of a re-run that `verify` made: at planned looks, each on the complete rounds that it was taken at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trialwise.analysis.artifacts import Rerun
from trialwise.analysis.claims.looks import Look, at_look, at_looks
from trialwise.analysis.claims.reproduction import NOT_RUNNABLE, Reproduced, Word, confirmed
from trialwise.analysis.environments import EnvironmentDifference
from trialwise.analysis.progress import Progress
from trialwise.analysis.reruns import NotRun, Remeasured
from trialwise.analysis.trial_set import TrialSet, seconds_of_rows
from trialwise.errors import AnalysisError, StoreError
from trialwise.experiment.claims import StatedClaim
from trialwise.store.records import TrialRow
from trialwise.store.verifying import verify as follow
from trialwise.study.artifact.choosing import Candidate, Only, inside, seconds_of
from trialwise.study.artifact.rerun_folder import RerunFolder
from trialwise.study.artifact.rerunning import differences_of
from trialwise.study.claimed_contents import with_contents
from trialwise.study.claims import JudgedClaims
from trialwise.study.locating import opened
from trialwise.study.reading import comparison_set

_WAITING = ("planned", "running")
_FEWEST_FOR_PACE = 2


@dataclass(frozen=True, slots=True)
class Measured:
    """What the directory of a re-run holds: all attempts at its trials, those of warm-ups left out."""

    rows: tuple[TrialRow, ...] = ()

    def complete(self, only: Only) -> int:
        """Return the rounds of some treatments that are complete, counted from the first."""
        own = [row for row in self.rows if inside(row.factors, only)]
        waiting = [row.round for row in own if row.status in _WAITING]
        return min(waiting) - 1 if waiting else max((row.round for row in own), default=0)

    @property
    def ended(self) -> list[TrialRow]:
        """The attempts that came to an end."""
        return [row for row in self.rows if row.status in ("finished", "failed", "invalid")]

    def pace(self, original: TrialSet) -> float | None:
        """Return the time of a trial here over that of the authors, treatment by treatment; None before the second trial."""
        here: dict[str, list[float]] = {}
        simulated = bool(original.table["started"].is_null().all())
        known = seconds_of_rows(self.ended, simulated=simulated)  # as those of the authors are counted
        for row in self.ended:
            if (row.number, row.attempt) in known:
                here.setdefault(row.treatment, []).append(known[row.number, row.attempt])
        number = sum(map(len, here.values()))
        there = sum(
            len(times)
            * seconds_of(
                original, [{name: (level,) for name, level in original.treatments[treatment].items()}]
            )
            for treatment, times in here.items()
            if treatment in original.treatments
        )
        return sum(map(sum, here.values())) / there if number >= _FEWEST_FOR_PACE and there > 0 else None


def measured_in(folder: RerunFolder, name: str) -> Measured:
    """Return what the re-run of a packed experiment holds so far; nothing if it has not begun.

    Raises
    ------
    StoreError
        A trial began before the re-run did, or the directory is not as it was recorded: these are no measurements of this re-run.
    """
    path = folder.directory(name)
    if not (path / "ledger.sqlite").exists():
        return Measured()
    with opened(path) as (_, directory, ledger):
        rows = tuple(row for row in ledger.trials() if not row.warmup)
        check = follow(directory, ledger)
    early = next((row for row in rows if row.claimed is not None and row.claimed < folder.record.began), None)
    said = "" if check.broken is None else check.broken.text
    if early is not None:
        said = f"trial {early.number} began before this re-run did"
    if said:
        raise StoreError(f"{path}: {said}", hint="measure again, in a new folder: -o DIR")
    return Measured(rows)


def judge_again(
    folder: RerunFolder,
    judged: JudgedClaims,
    runs: Sequence[Candidate],
    rest: Sequence[NotRun],
    packed: str,
    ended: str,
    told: Progress | None = None,
) -> Rerun:
    """Judge the claims that were looked at, on what the re-run measured.

    Parameters
    ----------
    packed
        The folder of the artifact.
    ended
        Why the last part of the re-run ended.
    """
    verdicts: dict[str, _Verdict] = {}
    not_run = list(rest)
    differing: dict[str, EnvironmentDifference] = {}
    rounds: dict[str, int] = {}
    times: dict[str, float] = {}
    trials = failed = 0
    for name in dict.fromkeys(each.place for each in runs):
        own = [each for each in runs if each.place == name]
        measured = measured_in(folder, name)
        trials += len(measured.ended)
        failed += sum(row.status != "finished" for row in measured.ended)
        again = _trials(folder, name, measured, [each.claim for each in own], told)
        found, same_kind = (), True
        if again is not None:
            found, same_kind = differences_of(f"{packed}/{own[0].folder}", str(folder.directory(name)), told)
        differing |= {one.name: one for one in found}
        for each in own:
            only = each.only()
            rounds[each.claim.id] = measured.complete(each.only(small=True))
            times[each.claim.id] = seconds_of(each.original, only) * (measured.pace(each.original) or 1.0)
            looks = [look for look in folder.record.looks if look.claim == each.claim.id]
            result = _judged(judged, each, again, looks, measured, same_kind=same_kind)
            if isinstance(result, NotRun) or again is None:
                not_run += [result] if isinstance(result, NotRun) else []
            else:
                verdicts[each.claim.id] = _Verdict(*result, each, again, _level(judged, each.claim))
    number = len({look.claim for look in folder.record.looks})
    claims = confirmed(
        [each.found for each in verdicts.values()],
        number,
        lambda one, share: verdicts[one.id].contradicts(share),
    )
    return Rerun(
        str(folder.path),
        claims,
        tuple(differing.values()),
        tuple(not_run),
        Remeasured(trials, failed, folder.record.spent, ended, rounds, times),
    )


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A verdict with what it rests on."""

    found: Reproduced
    look: Look
    candidate: Candidate
    again: TrialSet
    level: float

    def contradicts(self, share: float) -> bool:
        """Return True if the claim is contradicted at this share of the error of the look."""
        look = replace(self.look, share=self.look.share * share)
        each = self.candidate
        again = at_look(each.claim, each.original, self.again, look, self.level, same_kind=True)
        return again.here.verdict == "contradicted"


def _trials(
    folder: RerunFolder, name: str, measured: Measured, claims: Sequence[StatedClaim], told: Progress | None
) -> TrialSet | None:
    if not any(row.status == "finished" for row in measured.rows):
        return None
    place = folder.directory(name)
    found = with_contents(comparison_set(place, told=told), place, claims)
    seen = set(found.table["treatment"].to_list())
    return replace(found, treatments={name: own for name, own in found.treatments.items() if name in seen})


def _judged(
    judged: JudgedClaims,
    each: Candidate,
    again: TrialSet | None,
    looks: Sequence[Look],
    measured: Measured,
    *,
    same_kind: bool,
) -> tuple[Reproduced, Look] | NotRun:
    """Return the verdict with the look that gave it, or why there is none."""
    claim = each.claim
    if again is None or not looks:
        return NotRun(claim.id, *_why_not(measured))
    try:
        found = at_looks(claim, each.original, again, looks, _level(judged, claim), same_kind=same_kind)
    except AnalysisError as error:
        return NotRun(claim.id, "too few trials yet", error.message)
    return NotRun(claim.id, *_why_not(measured)) if found is None else found


def _level(judged: JudgedClaims, claim: StatedClaim) -> float:
    return claim.level or judged.stated.defaults.level


def _why_not(measured: Measured) -> tuple[Word, str]:
    bad = [row for row in measured.ended if row.status != "finished"]
    if bad and len(bad) == len(measured.ended):
        return NOT_RUNNABLE, f"every trial failed: {bad[-1].reason or 'for no stated reason'}"
    return "too few trials yet", "it was not judged yet"
