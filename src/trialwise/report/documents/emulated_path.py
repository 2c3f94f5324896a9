"""What `trialwise path` says: what an emulated path carried, and the paths that come with Trialwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialwise.report.document import Document, Name, Note, Text, Verdict, table_of
from trialwise.report.numbers import counted, decimals

if TYPE_CHECKING:
    from trialwise.experiment.trials import Groups
    from trialwise.trials.path_documents import LinkDocument, PathDocument, PathsDocument


def document(found: PathDocument) -> Document:
    """How faithful the emulator was, then what each direction carried."""
    late = max(found.uplink.lateness_p99, found.downlink.lateness_p99)
    verdict = (
        Verdict("plain", (f"the path was late by {decimals(late * 1e3, 2, 'up')} ms at most (p99)",))
        if found.bottleneck is None
        else Verdict("bad", (f"not faithful: {found.bottleneck}",))
    )
    ways = (("uplink", found.uplink), ("downlink", found.downlink))
    notes = tuple(Note(_way(name, way, found.duration), is_aside=True) for name, way in ways)
    return Document("path", verdict, notes)


def _way(name: str, way: LinkDocument, duration: float) -> Text:
    mean = decimals(way.delivered_bytes * 8 / duration / 1e6, 2)
    late = decimals(way.lateness_p99 * 1e3, 2)
    delivered = f"{way.delivered} packets delivered ({mean} Mbit/s over {decimals(duration, 1)} s)"
    return (f"{name}: {delivered}, {way.dropped} dropped, {way.held} held; late by {late} ms (p99)",)


def list_document(found: PathsDocument) -> Document:
    """A row for each path."""
    rows = tuple(
        (Name(name), _words(each.uplink), _words(each.downlink)) for name, each in found.paths.items()
    )
    verdict = Verdict("plain", (f"{counted(len(rows), 'path')} come with Trialwise",))
    return Document("paths", verdict, (table_of("paths", "", ("name", "uplink", "downlink"), rows),))


def _words(groups: Groups) -> str:
    return ", ".join(f"{key} {text}" for group in groups for key, text in group)
