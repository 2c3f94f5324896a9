"""What `trialwise status` and the end of `trialwise run` say: how far an experiment is, and what is known of its claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trialwise.analysis.changes import Change, changes_of
from trialwise.experiment.quantity import duration_text
from trialwise.report.document import (
    Block,
    Code,
    Document,
    Items,
    Name,
    Note,
    Outcome,
    Text,
    Verdict,
    joined,
    table_of,
)
from trialwise.report.documents.stopping import claim_blocks, claim_methods, outlook
from trialwise.report.numbers import counted
from trialwise.store.records import EXCLUDE, JOIN, LEAVE, NOT_BEGUN
from trialwise.wording.chain import head_text

if TYPE_CHECKING:
    from trialwise.study.documents import RunDocument, StatusDocument, WorkerDocument
_RARE = ("invalid", "excluded", "running", "skipped")
"""Statuses that have a column only where an attempt has them."""


def document(status: StatusDocument, failed: int) -> Document:
    """Return how far it is, attempts by treatment, claims, then what happened beside; `failed` trials have no value for good."""
    stops = status.stopping
    activity = f"{status.done} of {status.planned} trials have come to an end; {status.activity}"
    evidence = (
        *_outlook(status),
        *_attempts(status),
        *worker_notes(status.workers, is_active=status.active),
        *_beside(status),
        *(claim_blocks(stops, stops.lifts) if stops else ()),
    )
    verdict = Verdict(_outcome(status, failed), (Name(status.name), ": ", activity))
    return Document("status", verdict, evidence, (*(claim_methods(stops) if stops else ()), *_chain(status)))


def _chain(status: StatusDocument) -> Iterator[Note]:
    if status.chain is not None:
        yield Note((head_text(status.chain),), is_aside=True)


def _outcome(status: StatusDocument, failed: int) -> Outcome:
    if failed:
        return "bad"
    if status.stopping is not None and status.stopping.reason is not None:
        return "good" if status.stopping.decided else "open"
    return "good" if status.done == status.planned else "plain"


def _outlook(status: StatusDocument) -> Iterator[Note]:
    stops = status.stopping
    if stops is not None:
        yield Note((outlook(stops),), is_aside=True)
    elif status.seconds_left is not None and status.done < status.planned:
        left = duration_text(status.seconds_left)
        yield Note((f"at the pace so far the rest takes {left}",), is_aside=True)
    if sum(status.counts.values()) - status.counts.get("skipped", 0) > status.planned:
        attempts = counted(_made(status.counts), "attempt")
        yield Note((f"these trials took {attempts}, which are counted below",), is_aside=True)


def _made(counts: Mapping[str, int]) -> int:
    """Return the attempts that have begun: a trial that is to be run has a row too."""
    return sum(number for status, number in counts.items() if status not in NOT_BEGUN)


def _attempts(status: StatusDocument) -> Iterator[Block]:
    """Yield how many attempts of each treatment have which status."""
    rare = [key for key in _RARE if status.counts.get(key)]
    keys = ("finished", "failed", *rare, "abandoned", "planned")
    rows = [
        (Name(name), *(str(counts.get(key, 0)) for key in keys)) for name, counts in status.treatments.items()
    ]
    yield table_of("attempts", "", ("treatment", *keys), rows, range(1, len(keys) + 1))


def worker_notes(workers: Sequence[WorkerDocument], *, is_active: bool) -> Iterator[Block]:
    """Yield how far each worker is, what is missing of it, and what brings that back."""
    if workers:
        yield Items(tuple(_worker(each, is_active=is_active) for each in workers), most=None)
    waiting = [Name(each.name) for each in workers if each.left]
    if waiting and not is_active:
        others = [each.name for each in workers if not each.left]
        yield Note(
            (
                "to finish the rest of ", *joined(waiting, " and "), ", bring the worker back and run ", Code("trialwise run"),
                " again, or name another machine in its place, as in ",
                Code(f"--workers {','.join([*others, 'ssh://OTHER'])}"),
                ": its rounds form a series of their own",
            )
        )  # fmt: skip


def _worker(worker: WorkerDocument, *, is_active: bool) -> Text:
    hand = f", trial {worker.running[0]} in hand" if worker.running else ""
    missing = f" ({worker.missing})" if worker.left and not is_active else ""
    done = f": {counted(worker.done, 'trial')} done, {worker.left} left{missing}{hand}"
    return ("worker ", Name(worker.name), done)


def _beside(status: StatusDocument) -> Iterator[Block]:
    """Yield nodes, attempts without a result, and events; of routine ones their number."""
    cores = [counted(node.cores, "core") if node.cores else "gone" for node in status.nodes]
    nodes = tuple(
        ("node ", Name(node.name), f": {said}, {node.done} trials computed in the last run")
        for node, said in zip(status.nodes, cores, strict=True)
    )
    failures = tuple(
        (f"trial {each.number}.{each.attempt} ", Name(each.treatment), f" {each.status}: {each.reason}")
        for each in status.failures
    )
    routine = Counter(event.routine for event in status.events if event.routine)
    events = tuple(
        (f"{_local(event.time)} {event.kind}: {event.text}",) for event in status.events if not event.routine
    )
    beside = (
        *nodes,
        *failures,
        *((f"{what}: {number}",) for what, number in routine.items()),
        *_amendments(status),
        *events,
    )
    if beside:
        yield Items(beside, most=None)


def _amendments(status: StatusDocument) -> Iterator[Text]:
    """Yield what was amended; trials that are left out stand among those without a value."""
    out = {(each.number, each.attempt) for each in status.failures if each.status == "excluded"}
    shown = [
        each
        for each in status.amendments
        if each.kind != EXCLUDE or (each.trial or 0, each.attempt or 0) not in out
    ]
    for each in changes_of(shown):
        yield (f"{_local(each.time)} {_what(each)} by {each.who}: {each.because or 'no reason given'}",)


def _what(change: Change) -> str:
    if change.kind in (JOIN, LEAVE):
        return f"worker {change.about} {change.kind.removeprefix('worker ')},"
    return f"{change.kind} of {change.about}" if change.about else change.kind


def _local(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def ended_document(
    run: RunDocument,
    *,
    trials: int,
    failed: int,
    tails: Sequence[str],
    workers: Sequence[WorkerDocument],
    retried: int = 0,
) -> Document:
    """Return how a run ended and what is known then.

    `retried` of the `failed` trials failed several times; `tails` are remarks on its values, `workers` those that were lost.
    """
    stops = run.stopping
    what, *advice = run.text.split("\n")
    evidence = (
        *(Note((line,), is_aside=True) for line in advice),
        *(claim_blocks(stops, stops.lifts) if stops else ()),
        *(Note((text,), "warning") for text in tails),
        *worker_notes(workers, is_active=False),
        *_next(run, failed, retried),
    )
    answer = f"{run.ending}: {what} ({_counts(run, trials)})"
    verdict = Verdict(_ended_outcome(run, failed), (answer,))
    return Document("run", verdict, evidence, tuple(claim_methods(stops)) if stops else ())


def _counts(run: RunDocument, trials: int) -> str:
    counts = ", ".join(f"{number} {status}" for status, number in sorted(run.counts.items()))
    if sum(run.counts.values()) - run.counts.get("skipped", 0) <= trials:
        return counts
    return f"{_made(run.counts)} attempts at {counted(trials, 'trial')}: {counts}"


def _ended_outcome(run: RunDocument, failed: int) -> Outcome:
    if failed or run.ending in ("reset failed", "service failed", "worker lost"):
        return "bad"
    if run.ending in ("interrupted", "paused", "cap reached") or (
        run.stopping is not None and not run.stopping.decided
    ):
        return "open"
    return "good"


def _next(run: RunDocument, failed: int, retried: int) -> Iterator[Note]:
    directory = run.directory
    if failed:
        see = Code(f"trialwise status {directory}")
        advice = "all were tried again" if retried == failed else "--again tries them again"
        yield Note(("failed trials: see ", see, f" and {directory}/logs; {advice}"))
    if run.counts.get("finished"):
        yield Note((f"next: trialwise analyze {directory}  ·  trialwise report {directory}",))
