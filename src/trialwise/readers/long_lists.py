"""Long lists in large JSON documents: their entries stay text until they are asked for, one after another or as columns.

A million entries take ten times the memory of their text as objects, and a third of it as columns.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, TypeGuard, cast, overload

import numpy as np
import numpy.typing as npt
from pydantic_core import from_json, to_json

from trialwise import _core
from trialwise.foreign_files import MEBIBYTE

LEAST = MEBIBYTE
"""Bytes of a list that is long, and of a document that is looked into for them."""
_LONGEST_ENTRY = 1 << 16
_EMPTY = b"[]"
Floats = npt.NDArray[np.float64]


class Kind(IntEnum):
    """What an entry has in a column."""

    ABSENT = 0
    NULL = 1
    FALSE = 2
    TRUE = 3
    WHOLE = 4
    DOUBLE = 5
    TEXT = 6
    NUMBERS = 7
    """A list of numbers, or an empty one."""
    LIST = 8
    OBJECT = 9


@dataclass(frozen=True, slots=True)
class Column:
    """What the entries of a list have under one key, or under a key of an object in them.

    Attributes
    ----------
    kinds
        `Kind` of each entry.
    values
        The number of each, NaN where it has none; empty if none has one.
    codes, texts
        Which of the different texts each has (0 where it has none), and these in their order; empty if none has one.
    inner, bounds
        The numbers of all lists of numbers, one after another; those of an entry lie between two of the bounds. Both are empty if
        none has such a list.
    """

    kinds: npt.NDArray[np.uint8]
    values: Floats
    codes: npt.NDArray[np.uint32]
    texts: list[str]
    inner: Floats
    bounds: npt.NDArray[np.int64]

    def has_only(self, *kinds: Kind) -> bool:
        """Return True if all entries are of these kinds."""
        return set(np.flatnonzero(np.bincount(self.kinds))) <= set(kinds)

    @property
    def is_number(self) -> npt.NDArray[np.bool_]:
        """Which entries have a number."""
        return (self.kinds == Kind.WHOLE) | (self.kinds == Kind.DOUBLE)

    def text(self, entry: int) -> str | None:
        """Return the text of an entry; None if it has none."""
        return self.texts[int(self.codes[entry])] if self.kinds[entry] == Kind.TEXT else None


Columns = Mapping[tuple[str, ...], Column]
"""By the keys that lead to each, in the order in which they occur."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a list of finite numbers and nulls: NaN where null stands."""

    values: Floats
    nulls: int
    are_whole: bool


class LongList(Sequence[Any]):
    """A list of a JSON document, whose entries are parsed in each iteration, a block at a time."""

    def __init__(
        self, data: bytes, begin: int, end: int, length: int, blocks: Sequence[tuple[int, int]]
    ) -> None:
        """`blocks` has the first entry of each block after the first one, and where it begins in the data."""
        self._data = data
        self._begin, self._end, self._length = begin, end, length
        self._firsts = [0, *(first for first, _ in blocks)]
        self._starts = [begin + 1, *(start for _, start in blocks), end - 1]
        self._kept: tuple[int, list[Any]] = (-1, [])

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return repr(list(self))

    def __iter__(self) -> Iterator[Any]:
        for block in range(len(self._firsts)):
            yield from self._entries(block)

    @overload
    def __getitem__(self, place: int) -> Any: ...  # noqa: ANN401  any JSON
    @overload
    def __getitem__(self, place: slice) -> Sequence[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return list(self)[place]
        place = range(self._length)[place]
        block = bisect_right(self._firsts, place) - 1
        if block != self._kept[0]:
            self._kept = block, self._entries(block)
        return self._kept[1][place - self._firsts[block]]

    def _entries(self, block: int) -> list[Any]:
        text = self._data[self._starts[block] : self._starts[block + 1]].rstrip(b" \t\r\n,")
        return from_json(b"[" + text + b"]", cache_strings="keys")

    @cached_property
    def columns(self) -> Columns | None:
        """The entries as columns; None if they are no objects, or too different."""
        return _columns(self._data, self._begin, self._end)

    @cached_property
    def numbers(self) -> Numbers | None:
        """The entries as numbers; None if some are neither that nor null."""
        found = _core.list_numbers(self._data, self._begin, self._end)
        return None if found is None else Numbers(*found)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Return True for a list of a JSON document."""
    return isinstance(value, list | LongList)


def columns_of(entries: Sequence[Any]) -> Columns | None:
    """Return the entries of a list as columns; None if they are no objects, or too different."""
    if isinstance(entries, LongList):
        return entries.columns
    try:
        text = to_json(entries, inf_nan_mode="constants")
    except ValueError:
        return None
    return _columns(text, 0, len(text))


def _columns(text: bytes, begin: int, end: int) -> Columns | None:
    found = _core.list_columns(text, begin, end)
    return None if found is None else {path: Column(*cells) for path, cells in found}


def with_long_lists(data: bytes) -> Any:  # noqa: ANN401  any JSON
    """Parse data that is one object or list, but for its long lists; None if it is not that, or may have a key twice."""
    found = _core.long_lists(data, LEAST, _LONGEST_ENTRY, LEAST)
    if found is None:
        return None
    parts, begin = list[bytes](), 0
    for _, opening, end, *_ in found:
        parts += (data[begin:opening], _EMPTY)
        begin = end
    try:
        document = from_json(b"".join([*parts, data[begin:]]) if found else data, cache_strings="keys")
    except ValueError:
        return None
    for path, begin, end, length, blocks in found:
        document = _put(document, path, LongList(data, begin, end, length, blocks))
    return document


def _put(document: object, path: Sequence[str | int], value: LongList) -> object:
    """Return the document with a value in place of what stands there."""
    if not path:
        return value
    parent = cast("Any", document)
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    return document
