"""The JSON form of a look at result files (docs/reference/look-json.md): what was seen of each group, and its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from trialwise.analysis.looking import Seen
from trialwise.exchange.json_pieces import Marks
from trialwise.exchange.look_rows import row_texts
from trialwise.exchange.plain import Json, plain
from trialwise.readers.gathering import Group, Unread

FORMAT = "trialwise.look/1"


def look_texts(
    seen: Sequence[Seen], groups: Sequence[Group], unread: Sequence[Unread], copies: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """Yield the document in pieces: for each group what was seen, its warnings by code, and a row for each trial and metric.

    The rows of a group take a thousand times its other keys, so that they are never there all at once.
    """
    marks = Marks()
    document: dict[str, object] = {
        "format": FORMAT,
        "groups": [
            _group(one, group, marks.add(partial(row_texts, group.readings)))
            for one, group in zip(seen, groups, strict=True)
        ],
        "unread": plain(unread),
        "copies": [{"path": path, "of": first} for path, first in copies],
    }
    return marks.texts(document)


def _group(seen: Seen, group: Group, rows: str) -> dict[str, Json]:
    told = plain(seen)
    if not isinstance(told, dict):
        raise TypeError("a record is an object")
    warnings = [
        {"code": note.code, "text": note.text, "path": reading.path}
        for reading in group.readings
        for note in reading.notes
    ]
    return {**told, "warnings": plain(warnings), "rows": rows}
