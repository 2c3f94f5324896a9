"""The last chapter of a page: what the methods are, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable

from trialwise.report import notes
from trialwise.report.document import Block, Chapter, Heading, Items, Note


def methods(found: Iterable[notes.Note]) -> Chapter:
    """Return a chapter of notes, each with its sources."""
    blocks: list[Block] = []
    for note in found:
        blocks += [Heading((note.title,)), Note((note.text,))]
        blocks += [Items(tuple((source,) for source in note.sources), most=None)] if note.sources else []
    return Chapter("methods", "Methods", tuple(blocks))
