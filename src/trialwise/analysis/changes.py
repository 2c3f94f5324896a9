"""What was changed in an experiment after it had begun, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from trialwise.experiment.model import Metric
from trialwise.numbers import counted, ranges_text
from trialwise.store.records import REREAD, TREATMENT, WORKER, Amendment, TrialRow

_YEAR_10000 = 253_402_300_800.0
RETRY = "retry"
"""Kind of change: a trial was tried again."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something that was changed: when (Unix seconds), what kind of change, by whom, and why; `about` names the trials.

    `who` is empty where nobody asked for it. `because` is empty where no reason was given.
    """

    time: float
    kind: str
    about: str
    who: str
    because: str


def changes_of(amendments: Iterable[Amendment], rows: Iterable[TrialRow] = ()) -> tuple[Change, ...]:
    """Return the amendments, those that were made together as one, and the further attempts at trials among `rows`, oldest first."""
    together: dict[tuple[float, str, str, str], list[Amendment]] = {}
    for each in amendments:
        together.setdefault((each.time, each.kind, each.who, each.because), []).append(each)
    found = [
        Change(time, kind, _about(of), who, because) for (time, kind, who, because), of in together.items()
    ]
    return tuple(sorted([*found, *_retries(rows)], key=lambda each: each.time))


def reread_notes(metrics: Iterable[Metric], amendments: Sequence[Amendment]) -> Iterator[str]:
    """Say of each metric that was read again when that was, of how many finished trials, and why others lack it."""
    rereads = [each for each in amendments if each.kind == REREAD]
    for metric in metrics:
        found = [(each.time, record) for each in rereads if (record := _record(each, metric.source.key))]
        for moment, record in found:
            yield f"{metric.name}: read again on {_day(moment)} from kept output, {_counts(record)}"


def _about(together: Sequence[Amendment]) -> str:
    trials = {each.trial for each in together if each.trial is not None}
    if not trials:
        named = (str(each.detail.get(TREATMENT, each.detail.get(WORKER, ""))) for each in together)
        return ", ".join(dict.fromkeys(name for name in named if name))
    return f"trial{'' if len(trials) == 1 else 's'} {ranges_text(trials)}"


def _retries(rows: Iterable[TrialRow]) -> Iterator[Change]:
    before: dict[tuple[int, int], TrialRow] = {}
    for row in rows:
        before[row.number, row.attempt] = row
        earlier = before.get((row.number, row.attempt - 1))
        began = row.claimed or row.started
        if earlier is not None and began is not None and earlier.status != "abandoned":
            why = f"attempt {earlier.attempt} {earlier.status}" + (
                f": {earlier.reason}" if earlier.reason else ""
            )
            yield Change(began, RETRY, f"trial {row.number}, attempt {row.attempt}", "", why)


def _record(amendment: Amendment, source: str) -> Mapping[str, object] | None:
    """Return what an amendment says of the metric of a source; None if it says nothing of it."""
    metrics = amendment.detail.get("metrics")
    if not isinstance(metrics, Mapping):
        return None
    for record in cast("Mapping[str, object]", metrics).values():
        if (
            isinstance(record, Mapping)
            and (found := cast("Mapping[str, object]", record)).get("source") == source
        ):
            return found
    return None


def _counts(record: Mapping[str, object]) -> str:
    """Write the number of trials, as read from a ledger that may hold anything."""
    read, of = record.get("read"), record.get("of")
    told = f"{read if isinstance(read, int) else 0} of {counted(of if isinstance(of, int) else 0, 'finished trial')}"
    missing = record.get("missing")
    if not isinstance(missing, Mapping):
        return told
    return told + "".join(
        f"; {'trial' if str(trials).isdecimal() else 'trials'} {trials} without it: {reason}"
        for reason, trials in cast("Mapping[str, object]", missing).items()
    )


def _day(moment: float) -> str:
    if not 0 <= moment < _YEAR_10000:
        return "a day that no calendar has"
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
