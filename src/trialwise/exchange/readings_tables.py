"""What readers found as two tables, and back: a row for each metric of a trial, and a row for each sample inside trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.errors import AnalysisError
from trialwise.exchange.block_tables import (
    as_json,
    factor_of,
    factors_in,
    samples_of,
    table_of,
    trials_of,
)
from trialwise.exchange.stored_rows import rows_in
from trialwise.exchange.table_parts import PART, TableParts
from trialwise.late import pl
from trialwise.readers.blocks import parts
from trialwise.readers.records import Inside, Reading, Row

_TRIALS = {
    "file": pl.Int64(),
    "path": pl.String(),
    "row": pl.Int64(),
    "treatment": pl.String(),
    "metric": pl.String(),
    "value": pl.Float64(),
    "unit": pl.String(),
    "better": pl.String(),
    "status": pl.String(),
    "reason": pl.String(),
    "order": pl.Int64(),
    "start": pl.Float64(),
    "end": pl.Float64(),
    "seconds": pl.Float64(),
    "where": pl.String(),
    "levels": pl.String(),
    "factors": pl.String(),
    "summary": pl.String(),
    "samples": pl.String(),
    "n_samples": pl.Int64(),
    "repeated": pl.Boolean(),
}
_SAMPLES = {
    "file": pl.Int64(),
    "row": pl.Int64(),
    "metric": pl.String(),
    "treatment": pl.String(),
    "sample": pl.Int64(),
    "time": pl.Float64(),
    "value": pl.Float64(),
}


def trials_table(readings: Sequence[Reading]) -> pl.DataFrame:
    """Return a row for each metric of each trial; a factor has a column of its own, after the others.

    `file` and `row` count from 0, and are the key of samples. `levels`, `factors` and `summary` are JSON. `start` and `end` are Unix
    seconds; what is not known is null.
    """
    return trials_parts(readings).joined()


def trials_parts(readings: Sequence[Reading]) -> TableParts:
    """Return the same as parts."""
    factors = dict.fromkeys(name for reading in readings for name in _factors_in(reading.rows))
    columns = {f"factor {name}" if name in _TRIALS else name: name for name in factors}

    def made() -> Iterator[pl.DataFrame]:
        for number, reading in enumerate(readings):
            yield from _trials_in(number, reading, columns)

    return TableParts({**_TRIALS, **dict.fromkeys(columns, pl.String())}, made)


def _trials_in(number: int, reading: Reading, columns: Mapping[str, str]) -> Iterator[pl.DataFrame]:
    """Yield rows; `columns` has the name of each factor by that of its column."""
    single, blocks = parts(reading.rows)
    for begin in range(0, len(single), PART):
        yield _single(number, reading, begin, single[begin : begin + PART], columns)
    begin = len(single)
    for part in chain.from_iterable(block.parts(PART) for block in blocks):
        cells = {"file": pl.lit(number, pl.Int64), **trials_of(part, reading, begin)}
        cells |= {column: factor_of(part, name) for column, name in columns.items()}
        yield table_of(cells)
        begin += len(part)


def _factors_in(rows: Sequence[Row]) -> Iterator[str]:
    single, blocks = parts(rows)
    yield from chain.from_iterable(row.treatment for row in single)
    yield from chain.from_iterable(map(factors_in, blocks))


def _single(
    number: int, reading: Reading, begin: int, rows: Sequence[Row], columns: Mapping[str, str]
) -> pl.DataFrame:
    cells = [(number, reading.path, place, *_cells(reading, row)) for place, row in enumerate(rows, begin)]
    return pl.DataFrame(cells, schema=_TRIALS, orient="row").with_columns(
        pl.Series(column, [row.treatment.get(name) for row in rows], dtype=pl.String)
        for column, name in columns.items()
    )


def _cells(reading: Reading, row: Row) -> tuple[object, ...]:
    inside = row.samples
    return (
        treatment_name(reading.levels_of(row.treatment)), row.metric, row.value, row.unit, row.better, row.status,
        row.reason, row.order, row.start, row.end, row.seconds, row.where, as_json(row.levels), as_json(row.treatment),
        None if row.summary is None else as_json(asdict(row.summary)),
        None if inside is None else inside.name,
        None if inside is None else len(inside.values),
        None if inside is None else inside.repeated,
    )  # fmt: skip


def samples_table(readings: Sequence[Reading]) -> pl.DataFrame:
    """Return a row for each sample inside trials, in the unit of its metric; `time` as the file has it, in seconds."""
    return samples_parts(readings).joined()


def samples_parts(readings: Sequence[Reading]) -> TableParts:
    """Return the same as parts."""

    def made() -> Iterator[pl.DataFrame]:
        for number, reading in enumerate(readings):
            yield from _sampled_in(number, reading)

    return TableParts(_SAMPLES, made)


def _sampled_in(number: int, reading: Reading) -> Iterator[pl.DataFrame]:
    single, blocks = parts(reading.rows)
    for place, row in enumerate(single):
        if row.samples is not None and len(row.samples.values):
            yield _sampled(number, place, reading, row, row.samples)
    begin = len(single)
    for part in chain.from_iterable(block.parts(PART) for block in blocks):
        if part.samples is not None and part.samples.bounds[0] < part.samples.bounds[-1]:
            cells = samples_of(part, part.samples, reading, begin)
            yield table_of({"file": pl.lit(number, pl.Int64), **cells})
        begin += len(part)


def _sampled(number: int, place: int, reading: Reading, row: Row, inside: Inside) -> pl.DataFrame:
    size = len(inside.values)
    return pl.DataFrame(
        {
            "file": [number] * size,
            "row": [place] * size,
            "metric": [row.metric] * size,
            "treatment": [treatment_name(reading.levels_of(row.treatment))] * size,
            "sample": range(size),
            "time": [None] * size if inside.times is None else list(inside.times),
            "value": list(inside.values),
        },
        schema=_SAMPLES,
        strict=False,
    )


def rows_of(path: Path, trials: pl.DataFrame, samples: pl.DataFrame, files: int) -> list[Sequence[Row]]:
    """Return the rows of each file.

    Raises
    ------
    AnalysisError
        A table lacks a column, or has an entry that is not of its form.
    """
    whole = all(
        table.schema.get(name) == kind
        for table, schema in ((trials, _TRIALS), (samples, _SAMPLES))
        for name, kind in schema.items()
    )
    try:
        if whole:
            return rows_in(trials, samples, files)
    except (ValueError, RecursionError) as error:
        raise not_whole(path) from error
    raise not_whole(path)


def not_whole(path: Path) -> AnalysisError:
    """Return the refusal of tables that no import wrote."""
    return AnalysisError(f"{path}: the tables of the import are not whole", hint="import it again")
