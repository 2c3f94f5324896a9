"""What `trialwise path` says: what an emulated path carried, and the paths that come with Trialwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialwise.report.document import Document, Name, Note, Text, Verdict, table_of
from trialwise.report.numbers import counted, decimals

if TYPE_CHECKING:
    from trialwise.experiment.trials import Groups
    from trialwise.trials.path_documents import LinkDocument, PathDocument, PathsDocument


def document(found: PathDocument) -> Document:
    """Return how faithful the emulator was, then what each direction carried."""
    ways = (("uplink", found.uplink), ("downlink", found.downlink))
    notes = tuple(Note(_way(name, way, found.duration), is_aside=True) for name, way in ways)
    return Document("path", _verdict(found), notes)


def _verdict(found: PathDocument) -> Verdict:
    if found.bottleneck is not None:
        return Verdict("bad", (f"not faithful: {found.bottleneck}",))
    if not found.uplink.delivered and not found.downlink.delivered:
        return Verdict("plain", ("no packet crossed the path",))
    late = max(found.uplink.lateness_p99, found.downlink.lateness_p99)
    return Verdict("plain", (f"the path was late by {decimals(late * 1e3, 2, 'up')} ms at most (p99)",))


def _way(name: str, way: LinkDocument, duration: float) -> Text:
    mean = decimals(way.delivered_bytes * 8 / duration / 1e6, 2)
    delivered = f"{way.delivered} packets delivered ({mean} Mbit/s over {decimals(duration, 1)} s)"
    late = f"; late by {decimals(way.lateness_p99 * 1e3, 2)} ms (p99)" if way.delivered else ""
    copied = f", {way.copied} copied" if way.copied else ""
    changed = f", {way.changed} changed" if way.changed else ""
    return (f"{name}: {delivered}, {way.dropped} dropped, {way.held} held{copied}{changed}{late}{_ecn(way)}",)


def _ecn(way: LinkDocument) -> str:
    """Return how many packets came and went with each ECN field that occurs."""
    came, went = way.arrived_ecn, way.delivered_ecn
    fields = (("ECT(1)", came.ect1, went.ect1), ("ECT(0)", came.ect0, went.ect0), ("CE", came.ce, went.ce))
    told = [f"{one} of {other} {field}" for field, other, one in fields if one or other]
    return f"; with their ECN field, {', '.join(told)} delivered" if told else ""


def list_document(found: PathsDocument) -> Document:
    """Return a row for each path."""
    rows = tuple(
        (Name(name), _words(each.uplink), _words(each.downlink)) for name, each in found.paths.items()
    )
    verdict = Verdict("plain", (f"{counted(len(rows), 'path')} come with Trialwise",))
    return Document("paths", verdict, (table_of("paths", "", ("name", "uplink", "downlink"), rows),))


def _words(groups: Groups) -> str:
    return ", ".join(f"{key} {text}" for group in groups for key, text in group)
