"""What readers found in files of other tools, as trials with their order, their failures and the samples inside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.order.trials import FIXED, RANDOM
from trialwise.analysis.recorded import Lost, Recorded, Samples, Turn
from trialwise.exchange.readings import metric_names, process_names, process_of, trial_set
from trialwise.exchange.trial_cells import known_numbers
from trialwise.late import pl
from trialwise.readers.blocks import Block, Indices
from trialwise.readers.blocks import parts as parts_of
from trialwise.readers.records import Reading, Row

_EPOCH = 1e9
"""Seconds from which on a time is one since 1970."""
_MEASURE = "let `trialwise new` write an experiment that runs them in random order"
_NOT_TOLD = (
    "the files do not say in which order the trials ran",
    f"`trialwise order` reads tables with a round and a position; or {_MEASURE}",
)
_BLOCKED = ("all trials of one treatment ran before those of the next", _MEASURE)
_MIXED = (
    "its rounds are in fixed or in random order, and which is which is read from its columns alone",
    "name the columns of the file: trialwise order FILE --treatment … --order … --round … --position … --value …",
)
_NO_ROUNDS = ("the trials did not run in rounds that have every treatment once", _MEASURE)


_UNIT = {
    "process": pl.String(),
    "treatment": pl.Int32(),
    "start": pl.Float64(),
    "order": pl.Int64(),
    "has_value": pl.Boolean(),
    "status": pl.String(),
    "reason": pl.String(),
}
"""A process or a row of one: the number of its treatment, when it ran as far as that is known, and whether it gave a value.

`status` is missing where all went well, and `reason` where none is told.
"""


def recorded(readings: Sequence[Reading], name: str) -> Recorded:
    """Return what files that belong together say of trials; a file that is there twice counts once.

    Raises
    ------
    AnalysisError
        There is no value.
    """
    trials = trial_set(readings, name)
    once: dict[str, Reading] = {}
    for reading in readings:
        once.setdefault(reading.digest, reading)
    own = list(once.values())
    names = list[str]()
    units = _units(own, names)
    turns = _in_order(units, several=len(own) > 1)
    blocked = any(note.code == "order_blocked" for reading in own for note in reading.notes)
    mixed = any(note.code == "time_unusable" for reading in own for note in reading.notes)
    rounds = None if turns is None or mixed else _rounds(turns, names)
    return Recorded(
        trials=trials,
        turns=rounds or (),
        is_ordered=turns is not None or blocked,
        no_order=("", "") if rounds else _MIXED if mixed else _BLOCKED if blocked else _why(turns),
        lost=tuple(
            Lost(names[int(treatment)], status, reason or "")
            for treatment, status, reason in units.filter(
                ~pl.col("has_value") & pl.col("status").is_not_null()
            )
            .select("treatment", "status", "reason")
            .iter_rows()
        ),
        samples=tuple(_samples(own)),
    )


def _units(readings: Sequence[Reading], names: list[str]) -> pl.DataFrame:
    """Return the processes in the order of their first rows; names of their treatments are added to `names`."""
    known: dict[str, int] = {}
    parts = [part for reading in readings for part in _rows(reading, known)]
    names += known
    rows = pl.concat(parts) if parts else pl.DataFrame(schema=_UNIT)
    if not rows["process"].is_duplicated().any():
        return rows
    return rows.group_by("process", maintain_order=True).agg(
        pl.col("treatment", "start", "order").first(),
        pl.col("has_value").any(),
        pl.col("status").drop_nulls().last(),
        pl.col("reason").drop_nulls().first(),
    )


def _rows(reading: Reading, known: dict[str, int]) -> Iterator[pl.DataFrame]:
    """Yield rows with the columns of `_UNIT`; `known` has the numbers of treatments so far."""

    def number(treatment: Mapping[str, str]) -> int:
        return known.setdefault(treatment_name(reading.levels_of(treatment)), len(known))

    single, blocks = parts_of(reading.rows)
    cells = [
        (
            process_of(reading, row.levels, place),
            number(row.treatment),
            row.start,
            row.order,
            row.value is not None,
            None if row.status == "finished" else row.status,
            None if row.status == "finished" else row.reason or None,
        )
        for place, row in enumerate(single)
        if row.status != "aggregated"
    ]
    if cells:
        yield pl.DataFrame(cells, schema=_UNIT, orient="row")
    for block in blocks:
        yield _of_block(reading, block, np.array([number(each) for each in block.treatments], np.int32))


def _of_block(reading: Reading, block: Block, numbers: Indices) -> pl.DataFrame:
    failed = np.zeros(len(block), np.bool_)
    failed[list(block.reasons)] = True
    reasons = pl.Series([None], dtype=pl.String).new_from_index(0, len(block))
    found = {
        "process": process_names(reading, block).written(),
        "treatment": pl.lit(pl.Series(numbers[block.treatment])),
        "start": known_numbers(block.starts),
        "order": known_numbers(block.orders).cast(pl.Int64),
        "has_value": pl.lit(pl.Series(block.measured)),
        "status": pl.when(pl.lit(pl.Series(failed))).then(pl.lit("failed")),
        "reason": pl.lit(reasons.scatter(list(block.reasons), list(block.reasons.values()))),
    }
    return pl.select(found[name].cast(kind).alias(name) for name, kind in _UNIT.items())


def _in_order(units: pl.DataFrame, *, several: bool) -> pl.DataFrame | None:
    """Return the units in the order in which they ran; None if that is not known. Positions hold within one file alone."""
    by_order = pl.col("order").fill_null(0)
    if not units["start"].null_count():
        return units.sort("start", by_order, maintain_order=True)
    if several or units["order"].null_count():
        return None
    return units.sort(by_order, maintain_order=True)


def _rounds(units: pl.DataFrame, names: Sequence[str]) -> list[Turn] | None:
    """Divide the order into rounds that have every treatment once; None if it does not consist of them.

    The last one may lack some. Whether the order was drawn is not known: it is fixed if all rounds have the same.
    """
    treatments = units["treatment"].to_numpy()
    size = max(units["treatment"].n_unique(), 1)
    whole = treatments[: len(treatments) // size * size].reshape(-1, size)
    last = treatments[whole.size :]
    if (np.diff(np.sort(whole, axis=1)) == 0).any() or len(np.unique(last)) < len(last):
        return None
    order = FIXED if len(whole) and (whole == whole[0]).all() else RANDOM
    return [
        Turn(names[int(treatment)], process, order, str(place // size + 1), place % size + 1)
        for place, (treatment, process) in enumerate(units.select("treatment", "process").iter_rows())
    ]


def _why(units: pl.DataFrame | None) -> tuple[str, str]:
    if units is None:
        return _NOT_TOLD
    treatments = units["treatment"]
    changes = int((treatments.slice(1) != treatments.head(-1)).sum())
    return _BLOCKED if changes + 1 == treatments.n_unique() else _NO_ROUNDS


def _samples(readings: Sequence[Reading]) -> Iterator[Samples]:
    names = metric_names(readings)
    for reading in readings:
        single, blocks = parts_of(reading.rows)
        sampled = (block for block in blocks if block.samples is not None)
        for number, row in enumerate(chain(single, *sampled)):
            if row.samples is not None and row.value is not None and len(row.samples.values):
                metric = names[row.metric, row.unit, row.better]
                yield _sampled(
                    row,
                    metric,
                    treatment_name(reading.levels_of(row.treatment)),
                    process_of(reading, row.levels, number),
                )


def _sampled(row: Row, metric: str, treatment: str, process: str) -> Samples:
    inside = row.samples
    if inside is None:
        raise TypeError("a row with samples")
    values = np.asarray(inside.values, np.float64)
    if inside.times is None or len(inside.times) != values.size:
        return Samples(metric, treatment, process, values)
    times = np.asarray(inside.times, np.float64)
    dated = bool((times >= _EPOCH).all())
    if not dated and row.start is not None:
        times, dated = times + row.start, True
    return Samples(metric, treatment, process, values, times, dated)
