"""The JSON form of a look at result files (docs/reference/look-json.md): what was seen of each group, and its rows."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Sequence

from trialwise.analysis.looking import Seen
from trialwise.exchange.look_rows import row_texts
from trialwise.exchange.plain import Json, plain
from trialwise.readers.gathering import Group, Unread
from trialwise.visible import visible_json

FORMAT = "trialwise.look/1"


def look_texts(
    seen: Sequence[Seen], groups: Sequence[Group], unread: Sequence[Unread], copies: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """Yield the document in pieces: for each group what was seen, its warnings by code, and a row for each trial and metric.

    The rows of a group take a thousand times its other keys, so that they are never there all at once.
    """
    rows = secrets.token_hex(16)
    document = {
        "format": FORMAT,
        "groups": [_group(one, group, rows) for one, group in zip(seen, groups, strict=True)],
        "unread": plain(unread),
        "copies": [{"path": path, "of": first} for path, first in copies],
    }
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    before, *others = re.split(rf'\n( *"rows": )"{rows}"', visible_json(text))
    yield before
    for key, after, group in zip(others[::2], others[1::2], groups, strict=True):
        yield f"\n{key}"
        yield from row_texts(group.readings, len(key) - len(key.lstrip()))
        yield after
    yield "\n"


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
