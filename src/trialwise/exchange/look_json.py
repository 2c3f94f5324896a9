"""The JSON form of a look at result files (docs/reference/look-json.md): what was seen of each group, and its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.analysis.looking import Seen
from trialwise.exchange.plain import Json, plain
from trialwise.readers.gathering import Group, Unread
from trialwise.readers.records import Reading, Row

FORMAT = "trialwise.look/1"


def look_document(
    seen: Sequence[Seen], groups: Sequence[Group], unread: Sequence[Unread], copies: Sequence[tuple[str, str]]
) -> dict[str, Json]:
    """Return the document: for each group what was seen, its warnings by code, and a row for each trial and metric."""
    return {
        "format": FORMAT,
        "groups": [_group(one, group) for one, group in zip(seen, groups, strict=True)],
        "unread": plain(unread),
        "copies": [{"path": path, "of": first} for path, first in copies],
    }


def _group(seen: Seen, group: Group) -> dict[str, Json]:
    told = plain(seen)
    if not isinstance(told, dict):
        raise TypeError("a record is an object")
    warnings = [
        {"code": note.code, "text": note.text, "path": reading.path}
        for reading in group.readings
        for note in reading.notes
    ]
    rows = [one for reading in group.readings for one in _rows(reading)]
    return {**told, "warnings": plain(warnings), "rows": rows}


def _rows(reading: Reading) -> Iterator[Json]:
    for row in reading.rows:
        yield {
            "treatment": dict(row.treatment),
            "metric": row.metric,
            "value": row.value,
            "unit": row.unit,
            "better": row.better or "unknown",
            "levels": {"file": reading.path, **row.levels},
            "samples": _samples(row),
            "summary": plain(row.summary),
            "order": row.order,
            "start": row.start,
            "end": row.end,
            "seconds": row.seconds,
            "status": row.status,
            "reason": row.reason,
            "origin": {
                "path": reading.path,
                "sha256": reading.digest,
                "tool": reading.tool,
                "version": reading.version,
                "format": reading.format,
                "where": row.where,
            },
        }


def _samples(row: Row) -> Json:
    if row.samples is None:
        return None
    return {"name": row.samples.name, "n": len(row.samples.values)}
