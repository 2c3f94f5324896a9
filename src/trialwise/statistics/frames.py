"""Columns of a table: a mapping of sequences, a pandas or a polars frame."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, Indices, as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Frame(Protocol):
    """The part of the interface of pandas and polars frames that is needed."""

    @property
    def columns(self) -> Any:  # noqa: ANN401
        """Column names."""
        ...

    def __getitem__(self, name: str, /) -> Any: ...  # noqa: ANN401


Table: TypeAlias = Mapping[str, Any] | Frame
"""One row per trial."""


def column(table: Table, name: str) -> object:
    """Return a column of the table, unconverted.

    Raises
    ------
    StatisticsError
        The table has no such column, or is not a table.
    """
    names = _names(table)
    if name not in names:
        raise StatisticsError(f"the table has no column {name!r}; it has: {', '.join(map(repr, names))}")
    return table[name]


def _names(table: Table) -> list[str]:
    if isinstance(table, Mapping):
        return [str(name) for name in table]
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):
        return [str(name) for name in cast("Iterable[object]", table.columns)]
    raise StatisticsError(
        f"the table is of type {type(table).__name__}; expected a mapping of columns, a pandas or a polars frame"
    )


def numbers(table: Table, name: str) -> Array:
    """Return a column of finite numbers.

    Raises
    ------
    StatisticsError
        There is no such column, or an entry is missing, infinite or not a number.
    """
    return as_values(cast("ArrayLike", _array(column(table, name))), name)


def labels(table: Table, name: str, count: int) -> tuple[Indices, tuple[Hashable, ...]]:
    """Return the level index of each row of a factor, and the levels in the order of their first row.

    Raises
    ------
    StatisticsError
        There is no such column, its length is not `count`, or a level is missing or not comparable.
    """
    entries = _array(column(table, name))
    if entries.ndim != 1 or entries.size != count:
        raise StatisticsError(
            f"{name} has the shape {entries.shape}; expected {count} rows, one for each response"
        )
    places: dict[Hashable, int] = {}
    codes = np.empty(count, dtype=np.int64)
    for row, entry in enumerate(cast("list[Any]", entries.tolist())):
        if entry is None or not _is_itself(entry, name, row):
            raise StatisticsError(f"{name}[{row}] is missing; every trial needs its level of each factor")
        codes[row] = places.setdefault(entry, len(places))
    return codes, tuple(places)


def _is_itself(entry: Any, name: str, row: int) -> bool:  # noqa: ANN401
    """Return False for NaN, NaT and pandas' NA, which is neither equal nor unequal to itself."""
    if not isinstance(entry, Hashable):
        raise StatisticsError(
            f"{name}[{row}] is {entry!r}; a level is a number, a string or another plain value"
        )
    try:
        return bool(entry == entry)  # noqa: PLR0124
    except TypeError:
        return False


def _array(entries: object) -> NDArray[Any]:
    if hasattr(entries, "to_numpy"):
        return np.asarray(cast("Any", entries).to_numpy())
    if isinstance(entries, np.ndarray):
        return cast("NDArray[Any]", entries)
    if isinstance(entries, str) or not isinstance(entries, Iterable):
        raise StatisticsError(f"a column is {entries!r}; expected one entry for each trial")
    given = list(cast("Iterable[Any]", entries))
    if all(isinstance(entry, int | float | np.number | None) for entry in given):
        return np.array(given, dtype=object) if any(entry is None for entry in given) else np.asarray(given)
    # One by one: NumPy would treat 1 and "1" as the same level, and a tuple as a row.
    array = np.empty(len(given), dtype=object)
    for place, entry in enumerate(given):
        array[place] = entry
    return array


def factor_names(factors: Sequence[str] | str, most: int) -> tuple[str, ...]:
    """Check the names of factors.

    Raises
    ------
    StatisticsError
        There are none, more than `most`, or duplicates.
    """
    names = (factors,) if isinstance(factors, str) else tuple(factors)
    if not 1 <= len(names) <= most:
        raise StatisticsError(f"there are {len(names)} factors; expected 1 to {most}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise StatisticsError(f"the factor {twice!r} is named twice")
    return names
