"""Sequences of records that are kept as columns; a record is made when it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Generic, TypeVar, cast, overload

Record = TypeVar("Record")
_PART = 1 << 12
"""Records that are there at the same time where each is looked at."""


class Columns(Sequence[Record], Generic[Record]):
    """A sequence of records of one class, `record`; equal to another one with equal records."""

    __slots__ = ()
    record: ClassVar[type]

    @abstractmethod
    def made(self, begin: int, end: int) -> Iterator[Record]:
        """Make the records from one place up to another."""

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | Sequence[Record]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        place = range(len(self))[place]
        return next(self.made(place, place + 1))

    def __iter__(self) -> Iterator[Record]:
        for begin in range(0, len(self), _PART):
            yield from self.made(begin, min(begin + _PART, len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Columns):
            return NotImplemented
        return [*self] == [*cast("Columns[object]", other)]

    def __hash__(self) -> int:
        return hash(tuple(self))
