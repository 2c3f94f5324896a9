"""What `trialwise skip`, `pause` and `workers` say: what a run in progress takes up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialwise.report.document import Code, Document, Items, Name, Note, Verdict, joined
from trialwise.report.numbers import counted
from trialwise.store.ledger_facts import excluded_text
from trialwise.wording.chain import head_text

if TYPE_CHECKING:
    from trialwise.store.records import Head
    from trialwise.study.documents import PauseDocument, SkipDocument, WorkersDocument


def document(done: SkipDocument) -> Document:
    """Return what was done, all treatments that are skipped, and the new head of the chain."""
    verb = "no longer skipped" if done.kind == "unskip" else "skipped"
    named = joined([Name(name) for name in done.treatments], ", ")
    verdict = Verdict("plain", (*named, f" {verb}; {counted(len(done.skipped), 'treatment')} skipped in all"))
    items = tuple(
        (Name(each.treatment), f" skipped {excluded_text(each.why)}; {counted(each.trials, 'trial')} planned")
        for each in done.skipped
    )
    listed = (Items(items, most=None),) if items else ()
    see = Note(("a run in progress takes it up before its next trial",), is_aside=True)
    return Document("skip", verdict, (*listed, see), _chain(done.chain))


def paused(done: PauseDocument) -> Document:
    """Return that a run was asked to pause, and how it goes on."""
    verdict = Verdict("plain", ("asked: the run stops after its running trials",))
    goes_on = Note(("to go on: ", Code(f"trialwise run {done.directory}")), is_aside=True)
    return Document("pause", verdict, (goes_on,), _chain(done.chain))


def staffed(done: WorkersDocument) -> Document:
    """Return which workers joined or left, and those that take part now."""
    verb = "join" if done.kind == "worker joins" else "leave"
    verdict = Verdict("plain", (*joined([Name(name) for name in done.workers], ", "), f" {verb}"))
    now = Note(
        (
            f"{counted(len(done.employed), 'worker')} from now on: ",
            *joined([Name(name) for name in done.employed], ", "),
        )
    )
    when = "joins at once" if done.kind == "worker joins" else "leaves after its round"
    see = Note((f"in a run in progress a worker {when}",), is_aside=True)
    return Document("workers", verdict, (now, see), _chain(done.chain))


def _chain(head: Head) -> tuple[Note, ...]:
    return (Note((head_text(head),), is_aside=True),)
