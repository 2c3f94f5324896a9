"""Columns of a file with a JSON document on each line, ten times as fast as its documents.

Polars reads blocks of lines, but it takes the first of equal keys, and numbers from texts. So a block counts only if each key that is
asked for stands in it as often as it gave a value, and as one of its type; any other is read by its documents.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trialwise.errors import AnalysisError
from trialwise.foreign_files import MEBIBYTE
from trialwise.foreign_frames import library_errors
from trialwise.late import pl
from trialwise.readers.json_documents import Lines
from trialwise.readers.parts import moment

Schema = Mapping[str, pl.DataType]
_HIDDEN = {b"\\": b"\\u", b" ": b'" :', b"\t": b'"\t:', b"\r": b'"\r:'}
"""In a block without these, a key is written in one way; each by a byte in it, which is looked for ten times as fast."""
_BLOCK = 16 * MEBIBYTE
_PART = 1 << 19
"""Bytes that are looked at together."""
_WORD = 8
_DATED = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T"
"""How times begin: polars takes the year 026, too."""


def frames(
    documents: Sequence[Any], schema: Schema, row: Callable[[Any], Mapping[str, object]]
) -> Iterator[pl.DataFrame]:
    """Yield the documents as rows, in their order.

    Parameters
    ----------
    documents
        All of a file.
    schema
        Keys with texts, doubles, or structures of these.
    row
        Returns those members of a document that have the type of the schema, where the file is not read by columns.
    """
    if isinstance(documents, Lines):
        for part in documents.parts(lambda block: _frame(block, schema), _BLOCK):
            yield part if isinstance(part, pl.DataFrame) else _of_documents(part, schema, row)
    else:
        yield _of_documents(documents, schema, row)


def moments(told: pl.Series) -> list[float | None]:
    """Return the Unix seconds of times with their zones (RFC 3339); None where there is none."""
    dated = told.filter(told.str.contains(_DATED))
    found = dated.str.to_datetime("%+", time_unit="us", time_zone="UTC", strict=False)
    if found.null_count() or len(found) < len(told):
        return [moment(text or "") for text in told]
    return (found.to_physical().to_numpy() / 1e6).tolist()


def _of_documents(
    documents: Sequence[Any], schema: Schema, row: Callable[[Any], Mapping[str, object]]
) -> pl.DataFrame:
    return pl.DataFrame(list(map(row, documents)), schema=dict(schema))


def _frame(block: bytes, schema: Schema) -> pl.DataFrame | None:
    """Parse lines without blanks between keys and values; None if a key may stand twice, or may have a value of another type."""
    if any(byte in block and hidden in block for byte, hidden in _HIDDEN.items()):
        return None
    try:
        with library_errors(Path()):
            found = pl.read_ndjson(io.BytesIO(block), schema=dict(schema))
    except AnalysisError:
        return None
    expected: dict[tuple[str, bytes], int] = {}
    for name, opening, given in _given(found.to_struct("")):
        expected[name, opening] = expected.get((name, opening), 0) + given
    return found if _stand(block, expected) == expected else None


def _given(structure: pl.Series) -> Iterator[tuple[str, bytes, int]]:
    """Yield each key below a structure, with how its values begin (empty for numbers), and how many have one."""
    for column in structure.struct.unnest().get_columns():
        given = len(column) - column.null_count()
        if isinstance(column.dtype, pl.Struct):
            yield column.name, b"{", given
            yield from _given(column)
        else:
            yield column.name, b'"' if column.dtype == pl.String else b"", given


def _stand(block: bytes, asked: Collection[tuple[str, bytes]]) -> dict[tuple[str, bytes], int]:
    """Count keys whose values begin so, numbers if with nothing; -1 where some begin otherwise.

    All keys are found in one pass, since a search for each takes as long as polars takes to read the block.
    """
    keys = {each: b'"' + each[0].encode() for each in asked}
    back = max(_WORD, *map(len, keys.values())) + 1
    found = dict.fromkeys(asked, 0)
    for begin in range(0, len(block), _PART):
        before = block[begin - back : begin] if begin else bytes(back)
        part = np.frombuffer(before + block[begin : begin + _PART + 1] + b"\0", np.uint8)
        ends = np.flatnonzero(part[back : back + _PART] == ord(":")) + (back - 1)
        ends = ends[part[ends] == ord('"')]
        # The last bytes of each key, of which the last one counts most.
        words = np.ndarray(len(part) - _WORD + 1, "<u8", part, strides=(1,))[ends - _WORD]
        for (name, opening), key in keys.items():
            own = ends[
                words >> np.uint64(8 * max(0, _WORD - len(key))) == int.from_bytes(key[-_WORD:], "little")
            ]
            for behind in range(_WORD + 1, len(key) + 1):
                own = own[part[own - behind] == key[-behind]]
            begins = part[own + 2]
            fits = (begins == opening[0] if opening else begins != ord('"')).all()
            if found[name, opening] >= 0:
                found[name, opening] = found[name, opening] + len(own) if fits else -1
    return found
