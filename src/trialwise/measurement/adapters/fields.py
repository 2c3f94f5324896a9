"""Fields of rows without declared types: inferred from the first rows, fixed from then on."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Cells: TypeAlias = Mapping[str, object]
"""The cells of a row by name: texts, or JSON values."""

TYPES = ("int64", "double", "string", "bool")
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf(?:inity)?)", re.ASCII | re.IGNORECASE
)
_INT64 = range(-(1 << 63), 1 << 63)


class MisfitError(ValueError):
    """A line or value that does not fit the rows before it."""


def field_names(names: Sequence[str]) -> tuple[str, ...]:
    """Turn arbitrary names into field names: replace other characters by ``_`` and number repeated names."""
    taken: dict[str, None] = {}
    seen: set[str] = set()
    counts: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        plain = re.sub(r"\W", "_", name.strip(), flags=re.ASCII)[:60] or f"field{number}"
        base = plain if not plain[0].isdigit() else f"_{plain}"
        # The database ignores case.
        lower, candidate = base.lower(), base
        while candidate.lower() in seen:
            counts[lower] = counts.get(lower, 1) + 1
            candidate = f"{base}_{counts[lower]}"
        seen.add(candidate.lower())
        taken[candidate] = None
    return tuple(taken)


def infer(rows: Sequence[Cells], given: Mapping[str, str]) -> dict[str, str]:
    """Infer a type for every name in the rows: the `given` one, else the narrowest that holds all values seen."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: given.get(name) or _narrowest([row.get(name) for row in rows]) for name in names}


def _narrowest(values: Sequence[object]) -> str:
    """Return int64, double, bool or string. Integers with gaps become double, which has NaN for them."""
    present = [value for value in values if not _is_missing(value)]
    if not present:
        return "string"
    if all(isinstance(value, bool) for value in present):
        return "bool" if len(present) == len(values) else "string"
    for kind in ("int64", "double"):
        if all(_fits(value, kind) for value in present):
            return kind if len(present) == len(values) else "double"
    return "string"


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _fits(value: object, kind: str) -> bool:
    try:
        convert(value, kind)
    except MisfitError:
        return False
    return True


def convert(value: object, kind: str) -> int | float | str | bool:
    """Convert a cell to one of `TYPES`.

    Raises
    ------
    MisfitError
        The cell is not of that type.
    """
    if kind == "string":
        return _text(value)
    if kind == "double":
        return _double(value)
    if kind == "int64" and (whole := _whole(value)) is not None:
        return whole
    if kind == "bool" and isinstance(value, bool):
        return value
    shown = "nothing" if _is_missing(value) else f"{value!r:.40}"
    raise MisfitError(f"{shown} is not a valid {kind}")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _double(value: object) -> float:
    if _is_missing(value):
        return math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return float(value)
    raise MisfitError(f"{value!r:.40} is not a number")


def _whole(value: object) -> int | None:
    if isinstance(value, str) and len(value) < 30 and _INTEGER.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value in _INT64:
        return value
    return None
