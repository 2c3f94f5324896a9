"""Rows of one metric as columns, for files with millions of trials: a row takes 500 bytes by itself, and about 40 in a block.

What reads `Reading.rows` may treat them as any sequence of rows; what has to be fast with many asks the functions here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from trialwise.late import pl
from trialwise.readers.records import Better, Inside, Row

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int32]
_Column = TypeVar("_Column", bound=npt.NDArray[Any])
_PART = 1 << 16
"""Rows that are looked at together."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Samples inside the trials of a block, in which the metric was measured again; those of a row lie between two of the `bounds`."""

    name: str
    values: Floats
    bounds: npt.NDArray[np.int64]

    @staticmethod
    def of(name: str, samples: Sequence[Sequence[float]]) -> Ragged:
        """Join the samples of rows."""
        bounds = np.cumsum([0, *map(len, samples)])
        return Ragged(name, np.fromiter(chain.from_iterable(samples), np.float64, bounds[-1]), bounds)

    def part(self, begin: int, end: int) -> Ragged:
        """Return the samples of some rows."""
        return replace(self, bounds=self.bounds[begin : end + 1])

    def __getitem__(self, place: int) -> Inside:
        begin, end = self.bounds[place : place + 2]
        return Inside(self.name, self.values[begin:end].tolist(), repeated=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Sequence[Row]):
    """Rows of one metric, of a process or repetition each; a row is made when it is asked for.

    Attributes
    ----------
    metric, unit, better
        As in each row.
    treatments, treatment
        The different treatments, and which of them each row has.
    values
        NaN where a value is missing.
    numbers
        What the names of the process and of the place of each row have between the two parts of `process` and of `where`.
    repetitions
        If rows are repetitions within a process instead: how the name of each begins, by treatment, before its number.
    places
        The numbers in `where`, if they are others.
    units, within
        The different levels above, and which of them each row has; `within` is None if there is one alone.
    reasons
        Why a row failed, by its index.
    orders, starts, ends, seconds
        As in a row, NaN where unknown; None if unknown for all.
    samples
        As in a row; None if there are none.
    """

    metric: str
    unit: str
    better: Better | None
    treatments: tuple[Mapping[str, str], ...]
    treatment: Indices
    values: Floats
    numbers: npt.NDArray[np.integer[Any]]
    where: tuple[str, str]
    process: tuple[str, str] = ("", "")
    units: tuple[Mapping[str, str], ...] = ({},)
    within: Indices | None = None
    reasons: Mapping[int, str] = field(default_factory=dict[int, str])
    orders: Floats | None = None
    starts: Floats | None = None
    seconds: Floats | None = None
    repetitions: tuple[str, ...] | None = None
    places: npt.NDArray[np.int64] | None = None
    ends: Floats | None = None
    samples: Ragged | None = None

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        if isinstance(place, slice):
            return [self._row(each) for each in range(len(self))[place]]
        return self._row(range(len(self))[place])

    def _row(self, place: int) -> Row:
        where = self.numbers[place] if self.places is None else self.places[place]
        order = _known(self.orders, place)
        outer = self.units[0 if self.within is None else int(self.within[place])]
        reason = self.reasons.get(place, "")
        return Row(
            treatment=self.treatments[int(self.treatment[place])],
            metric=self.metric,
            value=_known(self.values, place),
            unit=self.unit,
            better=self.better,
            levels={**outer, **self._unit(place)},
            status="failed" if reason else "finished",
            reason=reason,
            order=None if order is None else int(order),
            start=_known(self.starts, place),
            end=_known(self.ends, place),
            samples=None if self.samples is None else self.samples[place],
            seconds=_known(self.seconds, place),
            where=f"{self.where[0]}{where}{self.where[1]}",
        )

    def _unit(self, place: int) -> dict[str, str]:
        number = self.numbers[place]
        if self.repetitions is None:
            return {"process": f"{self.process[0]}{number}{self.process[1]}"}
        return {"repetition": f"{self.repetitions[int(self.treatment[place])]}{number}"}

    def parts(self, size: int) -> Iterator[Block]:
        """Yield the same rows as blocks of at most so many."""
        places, told = np.array(list(self.reasons), np.int64), list(self.reasons.values())
        for begin in range(0, len(self), size):
            failed = np.flatnonzero((places >= begin) & (places < begin + size)).tolist()
            reasons = {int(places[each]) - begin: told[each] for each in failed}
            yield self._part(begin, min(begin + size, len(self)), reasons)

    def _part(self, begin: int, end: int, reasons: Mapping[int, str]) -> Block:
        rows = slice(begin, end)
        return replace(
            self,
            treatment=self.treatment[rows],
            values=self.values[rows],
            numbers=self.numbers[rows],
            within=_taken(self.within, rows),
            reasons=reasons,
            orders=_taken(self.orders, rows),
            starts=_taken(self.starts, rows),
            seconds=_taken(self.seconds, rows),
            places=_taken(self.places, rows),
            ends=_taken(self.ends, rows),
            samples=None if self.samples is None else self.samples.part(begin, end),
        )

    @property
    def measured(self) -> npt.NDArray[np.bool_]:
        """Which rows have a value."""
        return ~np.isnan(self.values)

    @property
    def is_repeated(self) -> bool:
        """True if a treatment has values of two processes."""
        counts = np.zeros(len(self.treatments), np.int64)
        for begin in range(0, len(self), _PART):
            part = slice(begin, begin + _PART)
            own = self.treatment[part][~np.isnan(self.values[part])]
            counts += np.bincount(own, minlength=len(counts))
            if (counts > 1).any():
                return True
        return False


class Rows(Sequence[Row]):
    """Single rows, followed by those of blocks."""

    def __init__(self, single: Sequence[Row], blocks: Sequence[Block]) -> None:
        self.single = tuple(single)
        self.blocks = tuple(blocks)

    def __len__(self) -> int:
        return len(self.single) + sum(map(len, self.blocks))

    def __iter__(self) -> Iterator[Row]:
        return chain(self.single, *self.blocks)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        place = range(len(self))[place]
        for part in (self.single, *self.blocks):
            if place < len(part):
                return part[place]
            place -= len(part)
        raise IndexError(place)


def parts(rows: Sequence[Row]) -> tuple[Sequence[Row], tuple[Block, ...]]:
    """Return the single rows, and the blocks."""
    return (rows.single, rows.blocks) if isinstance(rows, Rows) else (rows, ())


def kinds(rows: Sequence[Row]) -> dict[tuple[str, str, Better | None], None]:
    """Return the different metrics with their units and directions."""
    single, blocks = parts(rows)
    return dict.fromkeys((each.metric, each.unit, each.better) for each in chain[Row | Block](single, blocks))


def treatments(rows: Sequence[Row]) -> Iterator[Mapping[str, str]]:
    """Yield the treatments, each at least once."""
    single, blocks = parts(rows)
    yield from (row.treatment for row in single)
    yield from chain.from_iterable(block.treatments for block in blocks)


def failed(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows that failed."""
    single, blocks = parts(rows)
    yield from (row for row in single if row.status == "failed")
    yield from (block[place] for block in blocks for place in block.reasons)


def count_units(blocks: Sequence[Block]) -> int:
    """Count the processes or repetitions of blocks; those of several metrics once, also where some have no row in one of them."""
    alike: dict[object, dict[object, Block]] = {}
    for block in blocks:
        named = (block.process, block.repetitions, tuple(map(id, block.treatments)), len(block.units))
        own = alike.setdefault(named, {})
        own.setdefault((id(block.treatment), len(block)), block)
    return sum(_count_different(tuple(own.values())) for own in alike.values())


def _count_different(blocks: Sequence[Block]) -> int:
    """Count the different units of blocks with the same treatments and names."""
    if len(blocks) == 1:
        return len(blocks[0])
    columns = [
        [block.treatment for block in blocks],
        [block.numbers for block in blocks],
        [np.zeros(len(block)) if block.within is None else block.within for block in blocks],
    ]
    cells = [pl.Series(np.concatenate(column)) for column in columns]
    return int(distinct(cells, len(cells[0])).max(initial=-1)) + 1


def with_factors(rows: Sequence[Row], factors: Mapping[str, str]) -> Rows:
    """Return the same rows with further factors."""
    single, blocks = parts(rows)
    return Rows(
        [replace(row, treatment={**row.treatment, **factors}) for row in single],
        [
            replace(block, treatments=tuple({**treatment, **factors} for treatment in block.treatments))
            for block in blocks
        ],
    )


def distinct(columns: Sequence[pl.Series], length: int) -> Indices:
    """Number the different combinations of cells of columns in the order of their first row; return the number of each row."""
    if not columns:
        return np.zeros(length, np.int32)
    found = _in_order(_numbered(columns[0]))
    for cells in columns[1:]:
        own = _numbered(cells)
        wide = (
            np.int64
            if (int(found.max(initial=0)) + 1) * (int(own.max(initial=0)) + 1) > _MOST_SHORT
            else np.int32
        )
        found = _in_order(found.astype(wide) * wide(own.max(initial=0) + 1) + own)
    return found


_MOST_SHORT = np.iinfo(np.int32).max


def _in_order(codes: npt.NDArray[np.integer[Any]]) -> Indices:
    """Number the different codes, which are not negative, in the order in which they occur first."""
    if int(codes.max(initial=0)) > len(codes):
        codes = np.unique(codes, return_inverse=True)[1]
    return np.argsort(np.argsort(_firsts(codes))).astype(np.int32)[codes]


def _firsts(codes: npt.NDArray[np.integer[Any]]) -> Indices:
    """Return the first place of each of the codes from 0 on, which are not many more than places; their number where there is none."""
    first = np.full(int(codes.max(initial=0)) + 1, len(codes), np.int32)
    for end in range(len(codes), 0, -_PART):
        begin = max(0, end - _PART)
        # The last one that is written stays.
        first[codes[begin:end][::-1]] = np.arange(end - 1, begin - 1, -1, dtype=np.int32)
    return first


def _numbered(cells: pl.Series) -> npt.NDArray[np.uint32]:
    """Number the different cells; missing ones are 0."""
    named = isinstance(cells.dtype, pl.String | pl.Categorical)
    codes = cells.cast(pl.Categorical).to_physical() if named else cells.rank("dense")
    return (codes.cast(pl.UInt32) + 1).fill_null(0).to_numpy()


def first_of(numbers: Indices) -> list[int]:
    """Return the first row of each number that `distinct` gave, or of some of these rows; in the order of the rows."""
    found = _firsts(numbers)
    return np.sort(found[found < len(numbers)]).tolist()


def _taken(column: _Column | None, rows: slice) -> _Column | None:
    return None if column is None else cast("_Column", column[rows])


def _known(column: Floats | None, place: int) -> float | None:
    value = np.nan if column is None else column[place]
    return None if np.isnan(value) else float(value)
