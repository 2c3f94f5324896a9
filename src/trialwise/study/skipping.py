"""Skip treatments of a begun experiment, while it runs or not, and take that back; nothing is deleted."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from trialwise.design.stopping import comparisons
from trialwise.design.subset import matches, subset
from trialwise.errors import PlanError
from trialwise.experiment.model import Experiment
from trialwise.experiment.stopping import compared_metrics, goals, stops_by_itself
from trialwise.store.directory import ExperimentDirectory, latest
from trialwise.store.ledger import Ledger
from trialwise.store.records import SKIP, TREATMENT, UNSKIP, Amendment
from trialwise.study.amending import amended, author, checked_reason, head_of
from trialwise.study.documents import SkipDocument, SkippedDocument
from trialwise.study.locating import frozen_experiment

_MOST = 1000
"""Treatments that are skipped at once."""
_WITHOUT = "a treatment is skipped for a reason that others can judge"
_EXAMPLE = "bbr hangs on this kernel"


def skip(
    path: Path, wanted: Sequence[str], because: str, *, undo: bool = False, who: str | None = None
) -> SkipDocument:
    """Skip treatments, or no longer skip them: their planned trials do not run, those that have run stay.

    Parameters
    ----------
    wanted
        The treatments, by levels of factors such as "scheme=bbr"; several factors narrow them down.
    because
        The reason, which is kept; needed to skip.
    undo
        Have the planned trials of skipped treatments run after all.
    who
        Who says so; default the user of this process.

    Raises
    ------
    PlanError
        There is no reason, nothing is named, a level is unknown, nothing would be left to run, or a treatment is skipped already, or
        is not; or a treatment that is left is compared with a skipped one, to know when to stop.
    StoreError
        There is no ledger, or it cannot be written.
    """
    reason = checked_reason(because) if undo else checked_reason(because, without=_WITHOUT, example=_EXAMPLE)
    directory = ExperimentDirectory(latest(path))
    name = author(who)
    with amended(directory) as ledger:
        chosen = _chosen(frozen_experiment(directory, ledger), ledger, wanted, undo=undo)
        kind, now = UNSKIP if undo else SKIP, time.time()
        ledger.amend([Amendment(now, kind, name, reason, detail={TREATMENT: each}) for each in chosen])
        skipped = list(_skipped(ledger))
        head = head_of(ledger)
    return SkipDocument(str(directory.path), kind, reason, name, chosen, skipped, head)


def _chosen(experiment: Experiment, ledger: Ledger, wanted: Sequence[str], *, undo: bool) -> list[str]:
    """Return the names of the treatments; raise PlanError if one of them cannot be skipped, or taken back."""
    if not wanted:
        raise PlanError("no treatment is named", hint="name its levels, as in scheme=bbr")
    known = {row.treatment: row.factors for row in ledger.trials() if experiment.includes(row.factors)}
    levels = subset(wanted, known.values(), "skip")
    named = [name for name, factors in known.items() if matches(factors, levels)]
    already = ledger.skips()
    chosen = [name for name in named if (name in already) == undo]
    if not chosen:
        raise PlanError(
            f"{', '.join(named)}: {'is not skipped' if undo else 'is skipped already'}",
            hint=None if undo else "--undo takes it back",
        )
    if len(chosen) > _MOST:
        raise PlanError(f"these are {len(chosen)} treatments; at most {_MOST} are skipped at once")
    if not undo and not set(known) - set(already) - set(chosen):
        raise PlanError("no treatment would be left to run", hint="`trialwise pause` stops a run for now")
    if not undo and stops_by_itself(experiment):
        _refuse_undecidable(experiment, set(already) | set(chosen))
    return chosen


def _refuse_undecidable(experiment: Experiment, skipped: Collection[str]) -> None:
    """Raise PlanError if the experiment ends by a rule that could then decide nothing about a treatment that is left."""
    pairs = comparisons(experiment) if compared_metrics(experiment) else ()
    left = [pair for pair in pairs if not set(pair).intersection(skipped)]
    for base, name in pairs if experiment.design.base is not None else ():
        if base in skipped and name not in skipped:
            raise PlanError(
                f"{base}: {name} is compared with it, and the run would never know enough to stop",
                hint=f"skip {name} too, or take another design.base, or leave `stop` out of the file first",
            )
    if not left and not goals(experiment):
        raise PlanError(
            f"{experiment.name}: no comparison would be left to decide when to stop",
            hint="leave `stop` out of the file first",
        )


def _skipped(ledger: Ledger) -> Iterator[SkippedDocument]:
    counts = ledger.counts_by_treatment()
    for name, why in ledger.skips().items():
        yield SkippedDocument(name, counts.get(name, {}).get("skipped", 0), why)
