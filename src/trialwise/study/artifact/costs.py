"""What each claim of an artifact cost, measured: trials, time, processor, memory and disk of the trials that it rests on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.analysis.artifacts import PackedClaim
from trialwise.analysis.claims.results import ClaimResult
from trialwise.analysis.claims.treatments import claimed_metrics, claimed_treatments
from trialwise.analysis.estimation.flow_lists import is_paired
from trialwise.analysis.trial_set import TrialSet
from trialwise.exchange.artifact.reading import Artifact
from trialwise.experiment.claims import ClaimData, StatedClaim
from trialwise.late import pl
from trialwise.study.artifact.contents import Contents, Used, as_root, environments_of, used_by
from trialwise.study.claims import JudgedClaims
from trialwise.study.locating import opened
from trialwise.study.reading import comparison_set

_OF_TRIAL = re.compile(r"/(\d{6,})-\d+[^/]*$")
"""The names of files that a trial left: its number, and its attempt."""
_NOTHING = Used(None, None)


@dataclass(frozen=True, slots=True)
class Spent:
    """What the trials of an experiment took, by their numbers: what they used, and the bytes that they left.

    `root`: whether they ran with the rights of root; None if no session recorded it.
    """

    folder: str
    used: Mapping[str, Used]
    sizes: Mapping[str, int]
    root: bool | None


def spent_of(contents: Contents) -> Spent:
    """Return what the trials of a directory took that is to be packed."""
    sizes = _sizes((entry.name, entry.measured[1]) for entry in contents.entries)
    return Spent(contents.experiment.folder, contents.used, sizes, contents.root)


def spent_in(artifact: Artifact, folder: str) -> Spent:
    """Return what the trials of a packed experiment took.

    Raises
    ------
    StoreError
        Its ledger cannot be read.
    """
    own = (name for name in artifact.names if name.startswith(f"{folder}/"))
    sizes = _sizes((name, (artifact.folder / name).stat().st_size) for name in own)
    with opened(artifact.folder / folder) as (experiment, directory, ledger):
        used = used_by(ledger, experiment.service_names)
        return Spent(folder, used, sizes, as_root(environments_of(directory, ledger)))


def costs(judged: JudgedClaims, contents: Sequence[Spent]) -> Iterator[PackedClaim]:
    """Yield each claim with its result, and what its trials cost."""
    for claim, result in zip(judged.stated.claims, judged.check.claims, strict=True):
        yield _cost(judged, claim, result, contents)


def _cost(
    judged: JudgedClaims, claim: StatedClaim, result: ClaimResult, contents: Sequence[Spent]
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
        folder="" if place is None else place.folder,
        trials=own.height,
        seconds=float(own["seconds"].fill_null(0.0).sum()),
        processor=_of_all(sum, [each.processor for each in used]),
        memory=_of_all(max, [each.memory for each in used]),
        root=None if place is None else place.root,
        size=0 if place is None else sum(place.sizes.get(number, 0) for number in numbers),
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


def _place_of(data: ClaimData | None, contents: Sequence[Spent]) -> Spent | None:
    """Return the experiment of a claim's data; None for files of other tools."""
    if data is not None and data.directory is None:
        return None
    named = Path("" if data is None or data.directory is None else data.directory)
    found = (each for each in contents if each.folder in (named.as_posix(), named.name))
    return next(found, contents[0] if contents else None)


def _sizes(files: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Add up the bytes of files by the number of the trial that left them: they begin with it."""
    found = Counter[str]()
    for name, size in files:
        if (trial := _OF_TRIAL.search(name)) is not None:
            found[str(int(trial[1]))] += size
    return found
