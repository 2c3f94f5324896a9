"""What `trialwise exclude` says: what is left out now, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialwise.report.document import Code, Document, Items, Name, Note, Verdict
from trialwise.report.numbers import counted
from trialwise.wording.chain import head_text

if TYPE_CHECKING:
    from trialwise.study.documents import ExclusionDocument


def document(done: ExclusionDocument) -> Document:
    """Return what was done, all trials that are left out, and the new head of the chain."""
    number = counted(len(done.trials), "trial")
    verb = "taken back" if done.kind == "include" else "left out"
    verdict = Verdict("plain", (f"{number} {verb}; {counted(len(done.excluded), 'trial')} left out in all",))
    out = tuple(
        (f"trial {each.number}.{each.attempt} ", Name(each.treatment), f" left out {each.reason}")
        for each in done.excluded
    )
    listed = (Items(out, most=None),) if out else ()
    see = Note(("with and without: ", Code(f"trialwise analyze {done.directory}")), is_aside=True)
    return Document("exclude", verdict, (*listed, see), (Note((head_text(done.chain),), is_aside=True),))
