"""A column of a table as numbers, or an error that names the first wrong cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np

from trialwise.errors import AnalysisError
from trialwise.late import pl
from trialwise.numbers import as_given
from trialwise.range import OTHER_UNIT, beyond_range
from trialwise.readers.tables.numbers import Parsed, parsed
from trialwise.readers.tables.table import Table

_FEW_WORDS = 3


@dataclass(frozen=True, slots=True)
class Numbers:
    """Finite numbers, null if a value is missing; the unit found in the cells; findings as sentences."""

    values: pl.Series
    unit: str
    notes: tuple[str, ...]


def numbers_of(table: Table, name: str) -> Numbers:
    """Read a column as numbers.

    Raises
    ------
    AnalysisError
        A value is text or infinite, is ambiguous between two numbers, or has a unit that others lack; the message names the line. Or
        the values differ only in digits beyond the precision of doubles.
    """
    found = parsed(table.frame[name], table.dialect.missing, table.dialect.decimal, table.custom)
    if found.open is not None:
        raise _open(table, name, found.open)
    if found.units:
        raise _units(table, name, found)
    if found.wrong.any():
        raise _not_a_number(table, name, found)
    if said := beyond_range(found.values.to_numpy()):
        raise AnalysisError(f"{table.path}: column {name!r}: {said}", hint=OTHER_UNIT)
    _refuse_lost_digits(table, name, found.values)
    notes: list[str] = []
    if found.example is not None and table.dialect.decimal is None:
        words = "decimal commas" if found.decimal == "," else "thousands set apart"
        notes.append(f"{name} has {words}, as {found.example}")
    if found.unit:
        notes.append(f"{name} has its unit, {found.unit}, in its cells")
    return Numbers(found.values, found.unit, tuple(notes))


_MIN_STEPS = 256
"""Minimum number of doubles between the smallest and the largest value of a column for its digits to count as kept."""


def _refuse_lost_digits(table: Table, name: str, values: pl.Series) -> None:
    """Refuse values that differ little relative to their size, such as nanoseconds since 1970: a double has 53 bits."""
    known = values.drop_nulls().to_numpy()
    if not known.size:
        return
    apart = float(known.max()) - float(known.min())
    if np.spacing(float(np.abs(known).max())) * _MIN_STEPS <= apart:
        return
    if not apart and _are_one_number(table.frame[name].filter(values.is_not_null()).unique().to_list()):
        return
    raise AnalysisError(
        f"{table.path}: the values of {name!r} differ only in digits that floating-point numbers of 64 bits hardly hold",
        hint=f"subtract the same number, as {as_given(known.min(), digits=15)}, from all of them first",
    )


def _are_one_number(cells: Sequence[object]) -> bool:
    """Return True if cells are one number, however it is written: 0.1, .1 and 0.10."""
    if len(cells) == 1:
        return True
    try:
        return len({Decimal(str(cell).strip().replace(",", ".")) for cell in cells}) == 1
    except InvalidOperation:
        return False


def _open(table: Table, name: str, cell: str) -> AnalysisError:
    comma = "," in cell
    whole, mark = cell.replace(",", "").replace(".", ""), "," if comma else "."
    return AnalysisError(
        f"{table.path}: {cell!r} in column {name!r} may be {whole} or {cell.replace(mark, '.')}",
        hint=f"write --decimal {'.' if comma else ','} for {whole}, or --decimal {mark} for {cell.replace(mark, '.')}",
    )


def _units(table: Table, name: str, found: Parsed) -> AnalysisError:
    if found.bare:
        return AnalysisError(
            f"{table.path}: some cells of column {name!r} have a unit ({', '.join(found.units)}), and others have none",
            hint="write all in one unit, and without it",
        )
    return AnalysisError(
        f"{table.path}: column {name!r} is in several units: {', '.join(found.units)}",
        hint="bring all to one unit",
    )


def _not_a_number(table: Table, name: str, found: Parsed) -> AnalysisError:
    wrong = found.wrong
    count, place = int(wrong.sum()), int(wrong.arg_max() or 0)
    others = f" (and {count - 1} more like it)" if count > 1 else ""
    value = str(table.frame[name][place])
    known = wrong.len() - int(found.missing.sum())
    return AnalysisError(
        f"{table.at(place)}: {value[:40]!r} in column {name!r} is not a finite number{others}",
        hint=_hint(table, name, value, wrong, texts=count * 2 > known),
    )


def _hint(table: Table, name: str, value: str, wrong: pl.Series, *, texts: bool) -> str:
    said = table.dialect.decimal
    if said is not None and ("," in value or "." in value):
        return f"it is read with the decimal mark {said!r}, which --decimal changes"
    words = table.frame[name].cast(pl.String).filter(wrong).unique(maintain_order=True)
    if texts or words.len() > _FEW_WORDS:
        others = [one for one in table.numeric() if one != name]
        return f"columns of numbers: {', '.join(others[:12])}" if others else "no column holds numbers alone"
    options = " ".join(f"--missing {_shell(str(word).strip())}" for word in words)
    return f"where that says that a value is missing, add {options}"


def _shell(word: str) -> str:
    return word if word.isalnum() else f'"{word}"'
