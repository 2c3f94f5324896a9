"""Count the values that a Parquet file claims to hold, including elements of lists, before a library allocates memory for them.

A column of one repeated number takes no room in a file, however long it is, and neither does a list of a thousand million of them.
The footer is read here, in Thrift's compact protocol (https://github.com/apache/parquet-format, `FileMetaData`;
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md), because Polars reports only rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

MAGIC = b"PAR1"
_MAX_OF_A_FOOTER = 64 << 20
"""Maximum bytes of a footer; that of ten thousand row groups of ten columns has some ten million."""
_DEEPEST = 16
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
_SIZES = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}
"""Bytes of fixed-size values; a boolean field has its value in its kind."""
_ROW_GROUPS, _COLUMNS, _META_DATA, _NUMBER_OF_VALUES = 4, 1, 3, 5


def values_of(file: BinaryIO) -> int:
    """Return the number of values of the largest column, including nulls and elements of lists.

    Raises
    ------
    ValueError
        It is not a Parquet file, or its footer is damaged.
    OSError
        It cannot be read.
    """
    footer = _Compact(_footer(file))
    totals: dict[int, int] = {}
    for _ in footer.only(_ROW_GROUPS):
        for _ in footer.elements():
            for _ in footer.only(_COLUMNS):
                for place in footer.elements():
                    for _ in footer.only(_META_DATA):
                        for _ in footer.only(_NUMBER_OF_VALUES):
                            totals[place] = totals.get(place, 0) + footer.integer()
    return max(totals.values(), default=0)


def _footer(file: BinaryIO) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - 8:
        raise ValueError("it is not a complete Parquet file")
    if length > _MAX_OF_A_FOOTER:
        raise ValueError(f"its footer has {length} bytes, more than are read")
    file.seek(size - 8 - length)
    return file.read(length)


class _Compact:
    """Walks through a structure of Thrift's compact protocol, skipping what is not asked for."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def only(self, wanted: int) -> Iterator[None]:
        """Stop at field `wanted` of the structure that begins here; the caller reads its value."""
        number = 0
        while (kind := self._byte()) != _STOP:
            number = number + (kind >> 4) if kind >> 4 else self.integer()
            if number == wanted:
                yield
            else:
                self._skip(kind & 15, 0)

    def elements(self) -> Iterator[int]:
        """Stop at each structure of the list that begins here."""
        count, kind = self._list()
        if kind != _STRUCT and count:
            raise ValueError("its footer is damaged")
        yield from range(count)

    def integer(self) -> int:
        """Read an integer of variable length in zigzag encoding."""
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _byte(self) -> int:
        if self._at >= len(self._content):
            raise ValueError("its footer is damaged")
        self._at += 1
        return self._content[self._at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("its footer is damaged")
        return value | byte << shift

    def _list(self) -> tuple[int, int]:
        head = self._byte()
        return (self._unsigned() if head >> 4 == 15 else head >> 4), head & 15

    def _skip(self, kind: int, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("its footer is damaged")
        if kind in _SIZES:
            self._at += _SIZES[kind]
        elif kind == _STRUCT:
            self._skip_fields(depth)
        elif kind in (_LIST, _SET):
            count, inner = self._list()
            self._skip_many(count, (inner,), depth)
        elif kind == _MAP:
            count = self._unsigned()
            kinds = self._byte() if count else 0
            self._skip_many(count, (kinds >> 4, kinds & 15), depth)
        else:
            length = self._unsigned()
            self._at += length if kind == _BINARY else 0

    def _skip_fields(self, depth: int) -> None:
        while (head := self._byte()) != _STOP:
            if not head >> 4:
                self.integer()
            self._skip(head & 15, depth + 1)

    def _skip_many(self, count: int, kinds: tuple[int, ...], depth: int) -> None:
        for _ in range(count):
            for kind in kinds:
                self._skip(_BYTE if kind in (_TRUE, _FALSE) else kind, depth + 1)
            if self._at > len(self._content):
                raise ValueError("its footer is damaged")
