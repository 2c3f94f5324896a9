"""What each claim of an artifact cost, measured: trials, time, processor, memory and disk of the trials that it rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polars as pl

from trialwise.analysis.artifacts import PackedClaim
from trialwise.analysis.claims.results import ClaimResult
from trialwise.analysis.claims.treatments import claimed_metrics, claimed_treatments
from trialwise.analysis.estimation.flow_lists import is_paired
from trialwise.analysis.trial_set import TrialSet
from trialwise.experiment.claims import ClaimData, StatedClaim
from trialwise.study.artifact.contents import Contents, Used
from trialwise.study.claims import JudgedClaims
from trialwise.study.reading import comparison_set

_OF_TRIAL = re.compile(r"/(\d{6,})-\d+[^/]*$")
"""The names of files that a trial left: its number, and its attempt."""
_NOTHING = Used(None, None)


def costs(judged: JudgedClaims, contents: Sequence[Contents]) -> Iterator[PackedClaim]:
    """Yield each claim with its result, and what its trials cost."""
    for claim, result in zip(judged.stated.claims, judged.check.claims, strict=True):
        yield _cost(judged, claim, result, contents)


def _cost(
    judged: JudgedClaims, claim: StatedClaim, result: ClaimResult, contents: Sequence[Contents]
) -> PackedClaim:
    """Return what the trials that a claim rests on cost: of trials of our own, from the ledger."""
    data = next((each for each in judged.stated.data if each.name == claim.data), None)
    trials = _one_by_one(judged, claim, data)
    wanted = claimed_treatments(trials, claim)
    metrics = claimed_metrics(trials, claim) or list(trials.metrics)  # what is written has none
    is_own = pl.col("metric").is_in(metrics) & pl.col("treatment").is_in(wanted)
    own = trials.table.filter(is_own).unique("trial")
    place = _place_of(data, contents)
    numbers = {name.rpartition("/")[2] for name in own["trial"].to_list()}
    used = [_NOTHING if place is None else place.used.get(number, _NOTHING) for number in numbers]
    return PackedClaim(
        result=result,
        figure=claim.figure or "",
        folder="" if place is None else place.experiment.folder,
        trials=own.height,
        seconds=float(own["seconds"].fill_null(0.0).sum()),
        processor=_of_all(sum, [each.processor for each in used]),
        memory=_of_all(max, [each.memory for each in used]),
        root=None if place is None else place.root,
        size=0 if place is None else _size(numbers, place),
        expected=claim.may_be_undecided,
        rerun=claim.rerun and place is not None,
    )


def _one_by_one(judged: JudgedClaims, claim: StatedClaim, data: ClaimData | None) -> TrialSet:
    """Return the trials that a claim is about, each by its number, also those that have one name because they met the same flows."""
    found = judged.trials_of(claim)
    folder = None if data is None and judged.stated.data else (data or ClaimData(directory=".")).directory
    if folder is None or not is_paired(found):
        return found
    return comparison_set(Path(judged.check.file).parent / folder, paired=False)


def _of_all(over: Callable[[Sequence[float]], float], parts: Sequence[float | None]) -> float | None:
    """Return a number over what all trials recorded; None if one did not."""
    known = [part for part in parts if part is not None]
    return over(known) if known and len(known) == len(parts) else None


def _place_of(data: ClaimData | None, contents: Sequence[Contents]) -> Contents | None:
    """Return the experiment of a claim's data; None for files of other tools."""
    if data is not None and data.directory is None:
        return None
    named = "" if data is None or data.directory is None else Path(data.directory).name
    return next((each for each in contents if each.experiment.folder == named), contents[0])


def _size(numbers: set[str], place: Contents) -> int:
    """Return the bytes that trials left: files that begin with their number."""
    return sum(
        entry.measured[1]
        for entry in place.entries
        if (found := _OF_TRIAL.search(entry.name)) and str(int(found[1])) in numbers
    )
