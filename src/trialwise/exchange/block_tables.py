"""Blocks of rows as parts of the tables of readings, column by column: a million rows one by one take a minute and two gigabytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.exchange.trial_cells import known_numbers
from trialwise.late import pl
from trialwise.readers.blocks import Block, Ragged, first_of
from trialwise.readers.records import Reading


def as_json(value: object) -> str:
    """Return a cell for names and texts."""
    return json.dumps(value, ensure_ascii=False)


def trials_of(block: Block, reading: Reading, begin: int) -> dict[str, pl.Expr]:
    """Return the columns of a block whose first row is this one of the reading, without those of single factors."""
    samples = block.samples
    number = pl.lit(pl.Series(block.numbers)).cast(pl.String)
    place = number if block.places is None else pl.lit(pl.Series(block.places)).cast(pl.String)
    failed = _failed(block)
    return {
        "path": pl.lit(reading.path),
        "row": pl.int_range(begin, begin + len(block), dtype=pl.Int64),
        "treatment": _by_treatment(block, lambda own: treatment_name(reading.levels_of(own))),
        "metric": pl.lit(block.metric),
        "value": known_numbers(block.values),
        "unit": pl.lit(block.unit),
        "better": pl.lit(block.better, pl.String),
        "status": pl.lit("finished") if failed is None else _status(failed),
        "reason": pl.lit("") if failed is None else pl.lit(failed),
        "order": known_numbers(block.orders).cast(pl.Int64),
        "start": known_numbers(block.starts),
        "end": known_numbers(block.ends),
        "seconds": known_numbers(block.seconds),
        "where": pl.concat_str(pl.lit(block.where[0]), place, pl.lit(block.where[1])),
        "levels": _levels(block, number),
        "factors": _by_treatment(block, as_json),
        "summary": pl.lit(None, pl.String),
        "samples": pl.lit(None if samples is None else samples.name, pl.String),
        "n_samples": pl.lit(None if samples is None else pl.Series(np.diff(samples.bounds)), pl.Int64),
        "repeated": pl.lit(None if samples is None else True, pl.Boolean),
    }


def factor_of(block: Block, name: str) -> pl.Expr:
    """Return the level that each row has of a factor."""
    return _by_treatment(block, lambda own: own.get(name))


def factors_in(block: Block) -> Iterator[str]:
    """Yield the names of factors in the order of the rows, each at least once."""
    for place in first_of(block.treatment):
        yield from block.treatments[int(block.treatment[place])]


def samples_of(block: Block, samples: Ragged, reading: Reading, begin: int) -> dict[str, pl.Expr]:
    """Return the columns of the samples of a block whose first row is this one of the reading."""
    counts = np.diff(samples.bounds)
    row = np.repeat(np.arange(len(block)), counts)
    of = _names(block, lambda own: treatment_name(reading.levels_of(own)))
    return {
        "row": pl.lit(pl.Series(row + begin)),
        "metric": pl.lit(block.metric),
        "treatment": pl.lit(of.gather(block.treatment[row])),
        "sample": pl.lit(
            pl.Series(np.arange(len(row)) - np.repeat(samples.bounds[:-1] - samples.bounds[0], counts))
        ),
        "time": pl.lit(None, pl.Float64),
        "value": pl.lit(pl.Series(samples.values[samples.bounds[0] : samples.bounds[-1]])),
    }


def _names(block: Block, name: Callable[[Mapping[str, str]], str | None]) -> pl.Series:
    return pl.Series([name(own) for own in block.treatments], dtype=pl.String)


def _by_treatment(block: Block, name: Callable[[Mapping[str, str]], str | None]) -> pl.Expr:
    """Return what is made of the treatment of each row."""
    names = _names(block, name)
    return pl.lit(names[0], pl.String) if len(names) == 1 else pl.lit(names.gather(block.treatment))


def _failed(block: Block) -> pl.Series | None:
    """Return why each row failed, nothing where it did not; None if none did."""
    if not any(block.reasons.values()):
        return None
    reasons = pl.Series([""]).new_from_index(0, len(block))
    return reasons.scatter(list(block.reasons), list(block.reasons.values()))


def _status(failed: pl.Series) -> pl.Expr:
    return pl.when(pl.lit(failed) == "").then(pl.lit("finished")).otherwise(pl.lit("failed"))


def _levels(block: Block, number: pl.Expr) -> pl.Expr:
    """Return the levels of each row as JSON; of those of one unit, what stands before a number and behind it is the same."""
    if block.repetitions is None:
        heads, after = [_head(outer, "process", block.process[0]) for outer in block.units], block.process[1]
        which = block.within
    else:
        heads = [_head(outer, "repetition", before) for outer in block.units for before in block.repetitions]
        within = 0 if block.within is None else block.within * np.int32(len(block.repetitions))
        which, after = block.treatment + within, ""
    texts = pl.Series(heads)
    head = pl.lit(heads[0]) if which is None else pl.lit(texts.gather(which))
    return pl.concat_str(head, number, pl.lit(f"{as_json(after)[1:]}}}"))


def _head(outer: Mapping[str, str], level: str, before: str) -> str:
    """Return the JSON of levels up to the number in the name of the last one."""
    others = {name: unit for name, unit in outer.items() if name != level}
    return as_json({**others, level: before}).removesuffix('"}')


def table_of(columns: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Return the columns as a table."""
    return pl.select(column.alias(name) for name, column in columns.items())
