"""Text columns as numbers: decimal points and commas, thousands separators, missing words, units in cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from trialwise.late import pl
from trialwise.readers.tables.dialect import Decimal
from trialwise.readers.tables.words import MISSING

_MANY = 8
"""How often cells of a column are repeated at least, for each different one to be read once."""
_GAPS = "[ \u00a0\u202f'’]"
_NUMBER = r"[+-]?[0-9][0-9.,'’ \u00a0\u202f]*(?:[eE][+-]?[0-9]+)?|[+-]?[.,][0-9]+(?:[eE][+-]?[0-9]+)?"
_UNIT = rf"^({_NUMBER})\s*([A-Za-z%°µμΩ$€£][A-Za-z0-9%°µμΩ$€£/·*²³^()\s-]{{0,19}})$"
_NO_UNIT = r"[0-9][A-Za-z0-9]"
"""As in a hash (12ab3f4): digits in a unit are allowed only as an exponent at its end."""
_FILE = r"[.,][A-Za-z]"
"""As in the name of a file (1.csv)."""
_CODED = r"^[+-]?0(?:[xX][0-9A-Fa-f]+|[oO][0-7]+|[bB][01]+)$"
"""Numbers in bases other than ten."""
_POINT = r"^[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?$"
_COMMA_GROUPED = r"^[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]*)?$"
_COMMA = r"^[+-]?([0-9]+,[0-9]*|,[0-9]+)([eE][+-]?[0-9]+)?$"
_OPEN = r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$"
_OPEN_POINT = r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$"
_WHOLE = r"^[+-]?[0-9]+$"
_GAPPED = rf"^[+-]?[0-9]{{1,3}}({_GAPS}[0-9]{{3}})+([.,][0-9]*)?$"


@dataclass(frozen=True, slots=True)
class Parsed:
    """Numbers of a column, null if a value is missing or not a number; `missing` marks the missing ones.

    `unit` occurred in every cell. `example` is a cell that showed the decimal mark. `open` is an ambiguous cell, `units` are several
    different units; in both cases nothing was parsed.
    """

    values: pl.Series
    missing: pl.Series
    unit: str = ""
    decimal: Decimal | None = None
    example: str | None = None
    open: str | None = None
    units: tuple[str, ...] = ()
    bare: bool = False

    @property
    def wrong(self) -> pl.Series:
        """Return which cells are neither missing nor a finite number."""
        return ~self.missing & (self.values.is_null() | self.values.is_infinite().fill_null(value=False))


def parsed(
    column: pl.Series,
    missing_words: tuple[str, ...] = (),
    decimal: Decimal | None = None,
    custom: Callable[[], Decimal | None] = lambda: None,
) -> Parsed:
    """Read a column; `custom` returns the decimal mark that the other columns of the table show."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        values = column.cast(pl.Float64).fill_nan(None)
        return Parsed(values, column.is_null() | values.is_null())
    text = column.cast(pl.String).str.strip_chars()
    different = text.unique(maintain_order=True)
    if len(different) * _MANY < len(text):
        found = parsed(different, missing_words, decimal, custom)
        places = text.replace_strict(
            different, pl.int_range(len(different), eager=True), return_dtype=pl.UInt32
        )
        return replace(found, values=found.values.gather(places), missing=found.missing.gather(places))
    missing = is_missing(text, missing_words)
    known = text.filter(~missing)
    plain = _floats(known)
    if decimal is None and not plain.null_count() and not _fits(known, _OPEN_POINT, _WHOLE, some=_OPEN_POINT):
        return Parsed(_spread(plain, missing), missing)
    return _spelled(known, plain, missing, decimal, custom)


def is_missing(text: pl.Series, more: tuple[str, ...] = ()) -> pl.Series:
    """Return which cells are empty or hold a word for a missing value."""
    return text.is_null() | text.str.to_lowercase().is_in(
        [*MISSING, *(word.strip().lower() for word in more)]
    )


def clear_comma(column: pl.Series) -> bool:
    """Return True if a column has numbers with decimal commas without ambiguity."""
    text = column.str.strip_chars()
    known = text.filter(~is_missing(text))
    return bool(known.len()) and _comma(known) and not _fits(known, _OPEN, _WHOLE)


def _spread(known: pl.Series, missing: pl.Series) -> pl.Series:
    """Put values back in their rows."""
    if known.len() == missing.len():
        return known
    whole = np.full(missing.len(), np.nan)
    whole[(~missing).to_numpy()] = known.fill_null(float("nan")).to_numpy()
    return pl.Series(whole).fill_nan(None)


def _floats(text: pl.Series) -> pl.Series:
    return text.cast(pl.Float64, strict=False).fill_nan(None)


def _fits(text: pl.Series, *patterns: str, some: str | None = None) -> bool:
    fitting = pl.Series([False]).new_from_index(0, text.len())
    for pattern in patterns:
        fitting |= text.str.contains(pattern)
    return bool(fitting.all()) and (some is None or bool(text.str.contains(some).any()))


def _comma(text: pl.Series) -> bool:
    return _fits(text, _COMMA, _COMMA_GROUPED, _WHOLE, _GAPPED) and bool(
        text.str.contains(",", literal=True).any()
    )


def _spelled(
    known: pl.Series,
    plain: pl.Series,
    missing: pl.Series,
    decimal: Decimal | None,
    custom: Callable[[], Decimal | None],
) -> Parsed:
    comma = _fits(known, _COMMA, _COMMA_GROUPED, _WHOLE, _GAPPED)
    if decimal is None:
        point = not plain.null_count() or _fits(known, _POINT, _WHOLE, r"^[+-]?[0-9]*\.[0-9]+$", _GAPPED)
        decimal = ("," if comma else ".") if comma != point else None
        if decimal is None and comma:
            decimal = custom()
            if decimal is None and not plain.null_count():
                return Parsed(_spread(plain, missing), missing)
            if decimal is None and not _fits(known, _WHOLE, _GAPPED):
                return Parsed(_none(missing), missing, open=known.filter(known.str.contains(_OPEN))[0])
            if decimal == "," and not plain.null_count() and _fits(known, _OPEN_POINT, _WHOLE):
                return Parsed(_none(missing), missing, open=known.filter(known.str.contains(_OPEN_POINT))[0])
    if decimal == "," and not comma and not plain.null_count():
        # Per column: epochs and the like keep their point next to columns with commas.
        return Parsed(_spread(plain, missing), missing)
    values = _with_mark(known, decimal or ".")
    if not values.null_count():
        found = values.len() and plain.null_count()
        example = str(known.filter(plain.is_null())[0]) if found else None
        return Parsed(_spread(values, missing), missing, decimal=decimal, example=example)
    return _with_units(known, values, missing, decimal, custom)


def _none(missing: pl.Series) -> pl.Series:
    return pl.Series([None], dtype=pl.Float64).new_from_index(0, missing.len())


def _with_mark(text: pl.Series, decimal: Decimal) -> pl.Series:
    """Parse numbers with this decimal mark, and with thousands separators between groups of three."""
    gapless = text.str.replace_all(_GAPS, "")
    frame = pl.DataFrame({"text": text, "gapless": gapless})
    joined = pl.when(pl.col("text").str.contains(_GAPPED)).then("gapless").otherwise("text")
    other, grouped = (".", _COMMA_GROUPED) if decimal == "," else (",", _POINT)
    whole = (
        pl.when(joined.str.contains(grouped))
        .then(joined.str.replace_all(other, "", literal=True))
        .otherwise(joined)
    )
    if decimal == ",":
        whole = (
            pl.when(whole.str.contains(".", literal=True))
            .then(None)
            .otherwise(whole.str.replace(",", ".", literal=True))
        )
    return _floats(frame.select(whole.alias("number"))["number"])


def _with_units(
    known: pl.Series,
    values: pl.Series,
    missing: pl.Series,
    decimal: Decimal | None,
    custom: Callable[[], Decimal | None],
) -> Parsed:
    parts = known.str.extract_groups(_UNIT)
    number, unit = parts.struct.field("1").str.strip_chars(), parts.struct.field("2").str.strip_chars()
    is_none = unit.str.contains(_NO_UNIT) | known.str.contains(_CODED) | known.str.contains(_FILE)
    is_unit = ~is_none.fill_null(value=False)
    unit = unit.zip_with(is_unit, pl.Series([None], dtype=pl.String).new_from_index(0, unit.len()))
    united = unit.is_not_null()
    if not united.any() or not (united | values.is_not_null()).all():
        return Parsed(_spread(values, missing), missing, decimal=decimal)
    units = tuple(str(one) for one in unit.drop_nulls().unique(maintain_order=True).head(5))
    if len(units) > 1 or not united.all():
        return Parsed(_none(missing), missing, units=units, bare=not united.all())
    inner = parsed(number, (), decimal, custom)
    return Parsed(
        _spread(inner.values, missing),
        missing,
        str(unit.drop_nulls()[0]),
        inner.decimal,
        inner.example,
        inner.open,
    )
