"""Rows of readings from the tables of an import; many that differ in numbers alone become a block, column by column.

The tables may be of anybody: what `check_tables` lets pass makes rows of the types that readers make.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any, NamedTuple, cast, get_args

import numpy as np
from pydantic import TypeAdapter

from trialwise.late import pl
from trialwise.readers.blocks import Block, Floats, Indices, Ragged, Rows, distinct, first_of
from trialwise.readers.records import Better, Inside, Row, Status, Summary

_MANY = 1 << 10
"""Rows from which on a block is made of them."""
_MOST_BEGINNINGS = 1 << 12
_SAMPLED = 64
"""Texts by which the end that all have is looked for."""
_WHOLE = 1 << 53
"""Up to here, each whole number is a float."""
_SAME = ("metric", "unit", "better", "samples")
"""What all rows of a block have in common."""
_ALWAYS = ("file", "row", "metric", "unit", "status", "reason", "where", "levels", "factors")
_KEPT = (
    "metric", "value", "unit", "better", "status", "reason", "order", "start", "end", "seconds", "where",
)  # fmt: skip
_SUMMARY = TypeAdapter[Summary](Summary)


def rows_in(trials: pl.DataFrame, samples: pl.DataFrame, files: int) -> list[Sequence[Row]]:
    """Return the rows of each file.

    Raises
    ------
    ValueError
        An entry is not of its form.
    """
    _check(trials, samples, files)
    # Treatments are few, and rows share them; the units of rows are not.
    known = {text: _texts(text) for text in trials["factors"].unique().to_list()}
    rows, inside = (np.searchsorted(each["file"].to_numpy(), range(files + 1)) for each in (trials, samples))
    return [
        _File(trials[begin:end], samples[first:last], known).rows()
        for (begin, end), (first, last) in zip(
            pairwise(rows.tolist()), pairwise(inside.tolist()), strict=True
        )
    ]


def _check(trials: pl.DataFrame, samples: pl.DataFrame, files: int) -> None:
    """Check what the types of columns do not say."""
    of_file = pl.col("file").is_between(0, files - 1)
    place = pl.int_range(pl.len()).over("file")
    wanted: list[tuple[pl.DataFrame, list[pl.Expr]]] = [
        (
            trials,
            [
                *(pl.col(name).is_not_null() for name in _ALWAYS),
                of_file,
                pl.col("file") >= pl.col("file").shift(1, fill_value=0),
                pl.col("row") == place,
                pl.col("status").is_in(get_args(Status)),
                pl.col("better").is_null() | pl.col("better").is_in(get_args(Better)),
                pl.col("samples").is_null() | pl.col("repeated").is_not_null(),
            ],
        ),
        (
            samples,
            [
                *(pl.col(name).is_not_null() for name in ("file", "row", "value")),
                of_file,
                pl.col("file") >= pl.col("file").shift(1, fill_value=0),
                (pl.col("row") >= pl.col("row").shift(1, fill_value=0))
                | (pl.col("file") > pl.col("file").shift(1)),
                pl.col("row") >= 0,
            ],
        ),
    ]
    for table, conditions in wanted:
        if not _hold(table, conditions):
            raise ValueError("an entry is not of its form")


def _hold(table: pl.DataFrame, conditions: Iterable[pl.Expr]) -> bool:
    """Return True if each row meets the conditions."""
    return bool(table.select(pl.all_horizontal(conditions).fill_null(value=False).all()).item())


class _Numbered(NamedTuple):
    """Texts of which each is a beginning, a number and an end; `which` beginning each has."""

    beginnings: list[str]
    which: Indices
    numbers: np.ndarray[Any, np.dtype[np.int64]]
    end: str

    def part(self, begin: int, end: int) -> _Numbered:
        """Return some of the texts, whose beginning is the same."""
        own = self.beginnings[int(self.which[begin])]
        return _Numbered([own], np.zeros(end - begin, np.int32), self.numbers[begin:end], self.end)


class _File:
    """The rows of a file."""

    def __init__(
        self, trials: pl.DataFrame, samples: pl.DataFrame, known: Mapping[str, dict[str, str]]
    ) -> None:
        self._trials, self._samples, self._known = trials, samples, known
        self._sampled = samples["row"].to_numpy()

    def rows(self) -> Sequence[Row]:
        """Return blocks, and before them the rows of which none can be made."""
        blocks, end = list[Block](), self._trials.height
        for begin in reversed(_begins(self._trials)):
            made = self._blocks(begin, end) if end - begin >= _MANY else None
            if made is None:
                break
            blocks += reversed(made)
            end = begin
        single = tuple(self._single(self._trials[:end]))
        return Rows(single, blocks[::-1]) if blocks else single

    def _single(self, trials: pl.DataFrame) -> Iterator[Row]:
        for known in trials.select(
            *_KEPT, "levels", "factors", "summary", "samples", "repeated", "row"
        ).iter_rows(named=True):
            name, place, told = known["samples"], known["row"], known["summary"]
            yield Row(
                treatment=self._known[known["factors"]],
                levels=_texts(known["levels"]),
                summary=None if told is None else _SUMMARY.validate_json(told),
                samples=None if name is None else self._inside(name, place, repeated=known["repeated"]),
                **{key: known[key] for key in _KEPT},
            )

    def _inside(self, name: str, place: int, *, repeated: bool) -> Inside:
        begin, end = np.searchsorted(self._sampled, (place, place + 1)).tolist()
        part = self._samples[begin:end]
        times = None if part.is_empty() or part["time"].null_count() else tuple(part["time"].to_list())
        return Inside(name, tuple(part["value"].to_list()), times, repeated)

    def _blocks(self, begin: int, end: int) -> list[Block] | None:
        """Return some rows as blocks, one for each part of the file; None if they differ in more than numbers."""
        trials = self._trials[begin:end]
        places = numbered(trials["where"])
        if places is None or not _are_plain(trials):
            return None
        cuts = [0, *(np.flatnonzero(np.diff(places.which)) + 1).tolist(), end - begin]
        if len(cuts) - 2 > (end - begin) // _MANY:
            return None
        found = [
            self._block(begin + one, begin + next_one, places.part(one, next_one))
            for one, next_one in pairwise(cuts)
        ]
        made = [block for block in found if block is not None]
        return made if len(made) == len(found) else None

    def _block(self, begin: int, end: int, places: _Numbered) -> Block | None:
        """Return rows as a block, whose places have the same beginning."""
        trials = self._trials[begin:end]
        first = trials.row(0, named=True)
        levels = numbered(trials["levels"])
        if levels is None:
            return None
        samples = None
        if first["samples"] is not None:
            samples = self._ragged(first["samples"], begin, end, repeated=trials["repeated"])
            if samples is None:
                return None
        treatment = distinct([trials["factors"]], trials.height)
        texts = [trials["factors"][place] for place in first_of(treatment)]
        units = _units(levels, treatment, len(texts))
        if units is None:
            return None
        orders = trials["order"].cast(pl.Float64)
        failed = trials["reason"] != ""
        return Block(
            metric=first["metric"],
            unit=first["unit"],
            better=first["better"],
            treatments=tuple(self._known[text] for text in texts),
            treatment=treatment,
            values=_column(trials["value"]),
            numbers=levels.numbers,
            where=(places.beginnings[0], places.end),
            places=None if (places.numbers == levels.numbers).all() else places.numbers,
            reasons=dict(
                zip(failed.arg_true().to_list(), trials["reason"].filter(failed).to_list(), strict=True)
            ),
            orders=_some(orders),
            starts=_some(trials["start"]),
            ends=_some(trials["end"]),
            seconds=_some(trials["seconds"]),
            samples=samples,
            **units,
        )

    def _ragged(self, name: str, begin: int, end: int, *, repeated: pl.Series) -> Ragged | None:
        bounds = np.searchsorted(self._sampled, np.arange(begin, end + 1))
        own = self._samples[int(bounds[0]) : int(bounds[-1])]
        if not repeated.all() or own["time"].null_count() < own.height:
            return None
        return Ragged(name, _column(own["value"]), bounds - bounds[0])


def _begins(trials: pl.DataFrame) -> list[int]:
    """Return the first row of each run of rows with the same metric and kind of samples."""
    if trials.is_empty():
        return []
    ids = trials.select(pl.struct(_SAME).rle_id()).to_series()
    return [0, *((ids.slice(1) != ids.head(-1)).arg_true() + 1).to_list()]


def _are_plain(trials: pl.DataFrame) -> bool:
    """Return True if rows have what those of a block can have."""
    failed = pl.col("status") == "failed"
    conditions = (
        pl.col("summary").is_null(),
        (failed & (pl.col("reason") != "")) | ((pl.col("status") == "finished") & (pl.col("reason") == "")),
        pl.col("order").is_null() | pl.col("order").is_between(-_WHOLE, _WHOLE),
        *(~pl.col(name).is_nan().fill_null(value=False) for name in ("value", "start", "end", "seconds")),
    )
    return _hold(trials, conditions)


def numbered(texts: pl.Series) -> _Numbered | None:
    """Take texts apart; None if they are not of this form, or have too many beginnings."""
    some = texts.gather_every(max(1, len(texts) // _SAMPLED)).to_list()
    end = _common_end(some).lstrip("0123456789")
    begun = texts.str.strip_suffix(end)
    parts = begun.str.extract_groups(r"^((?s:.*?))([0-9]+)$").struct.unnest()
    numbers = parts["2"].cast(pl.Int64, strict=False)
    if numbers.null_count() or not (texts == parts["1"] + numbers.cast(pl.String) + end).all():
        return None
    which = distinct([parts["1"]], len(texts))
    firsts = first_of(which)
    if len(firsts) > _MOST_BEGINNINGS:
        return None
    return _Numbered([parts["1"][place] for place in firsts], which, numbers.to_numpy(), end)


def _common_end(texts: Sequence[str]) -> str:
    backwards = [text[::-1] for text in texts]
    low, high = min(backwards), max(backwards)
    return "".join(
        one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False))
    )[::-1]


def _units(levels: _Numbered, treatment: Indices, treatments: int) -> dict[str, Any] | None:
    """Return the fields of a block for the units of its rows; None if a block cannot say them."""
    try:
        told = [_texts(f'{begun}"}}') for begun in levels.beginnings]
        after = json.loads(f'"{levels.end.removesuffix("}")}')
    except ValueError:
        return None
    lowest = {list(each)[-1] for each in told}
    if lowest == {"process"} and len({each["process"] for each in told}) == 1:
        found: dict[str, Any] = {"process": (told[0]["process"], after)}
    elif (
        lowest == {"repetition"}
        and not after
        and len({json.dumps({**each, "repetition": ""}) for each in told}) == 1
    ):
        begun = _of_treatments([each["repetition"] for each in told], levels.which, treatment, treatments)
        if begun is None:
            return None
        found = {"repetitions": begun}
    else:
        return None
    outer = [{name: unit for name, unit in each.items() if name not in lowest} for each in told]
    texts = [json.dumps(each) for each in outer]
    different = list(dict.fromkeys(texts))
    of = np.array([different.index(text) for text in texts], np.int32)
    return {
        **found,
        "units": tuple(json.loads(text) for text in different),
        "within": of[levels.which] if len(different) > 1 else None,
    }


def _of_treatments(
    begun: list[str], which: Indices, treatment: Indices, treatments: int
) -> tuple[str, ...] | None:
    """Return the text that each treatment has; None if one has several."""
    texts = list(dict.fromkeys(begun))
    own = np.array([texts.index(text) for text in begun], np.int32)[which]
    of = np.zeros(treatments, np.int32)
    of[treatment] = own
    return tuple(texts[each] for each in of) if (of[treatment] == own).all() else None


def _column(numbers: pl.Series) -> Floats:
    """Return a column whose missing numbers are NaN."""
    return numbers.fill_null(np.nan).to_numpy()


def _some(numbers: pl.Series) -> Floats | None:
    return None if numbers.null_count() == len(numbers) else _column(numbers)


def _texts(text: str) -> dict[str, str]:
    """Return names with texts.

    Raises
    ------
    ValueError
        It is not JSON, or JSON of something else.
    """
    told: object = json.loads(text)
    if not isinstance(told, dict) or not all(
        isinstance(each, str) for each in cast("dict[str, object]", told).values()
    ):
        raise ValueError("names with texts")
    return cast("dict[str, str]", told)
