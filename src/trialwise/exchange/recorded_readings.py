"""What readers found in files of other tools, as trials with their order, their failures and the samples inside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.order.trials import FIXED, RANDOM
from trialwise.analysis.recorded import Lost, Recorded, Samples, Turn
from trialwise.exchange.readings import metric_names, process_of, trial_set
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


@dataclass(slots=True)
class _Unit:
    """A process: its treatment, when it ran as far as that is known, and whether it gave a value."""

    treatment: str
    process: str
    start: float | None
    order: int | None
    has_value: bool = False
    status: str = ""
    reason: str = ""


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
    units = _units(own)
    turns = _in_order(units, several=len(own) > 1)
    blocked = any(note.code == "order_blocked" for reading in own for note in reading.notes)
    mixed = any(note.code == "time_unusable" for reading in own for note in reading.notes)
    rounds = None if turns is None or mixed else _rounds(turns)
    return Recorded(
        trials=trials,
        turns=rounds or (),
        is_ordered=turns is not None or blocked,
        no_order=("", "") if rounds else _MIXED if mixed else _BLOCKED if blocked else _why(turns),
        lost=tuple(
            Lost(unit.treatment, unit.status, unit.reason)
            for unit in units
            if not unit.has_value and unit.status
        ),
        samples=tuple(_samples(own)),
    )


def _units(readings: Sequence[Reading]) -> list[_Unit]:
    found: dict[str, _Unit] = {}
    for reading in readings:
        for number, row in enumerate(reading.rows):
            if row.status == "aggregated":
                continue
            process = process_of(reading, row.levels, number)
            unit = found.setdefault(
                process,
                _Unit(treatment_name(reading.levels_of(row.treatment)), process, row.start, row.order),
            )
            unit.has_value |= row.value is not None
            if row.status != "finished":
                unit.status, unit.reason = row.status, unit.reason or row.reason
    return list(found.values())


def _in_order(units: list[_Unit], *, several: bool) -> list[_Unit] | None:
    """Return the units in the order in which they ran; None if that is not known. Positions hold within one file alone."""
    if all(unit.start is not None for unit in units):
        return sorted(units, key=lambda unit: (unit.start or 0.0, unit.order or 0))
    if several or any(unit.order is None for unit in units):
        return None
    return sorted(units, key=lambda unit: unit.order or 0)


def _rounds(units: list[_Unit]) -> list[Turn] | None:
    """Divide the order into rounds that have every treatment once; None if it does not consist of them.

    The last one may lack some. Whether the order was drawn is not known: it is fixed if all rounds have the same.
    """
    size = len({unit.treatment for unit in units})
    rounds = [units[first : first + size] for first in range(0, len(units), max(size, 1))]
    if any(len({unit.treatment for unit in each}) < len(each) for each in rounds):
        return None
    orders = {tuple(unit.treatment for unit in each) for each in rounds if len(each) == size}
    order = FIXED if len(orders) == 1 else RANDOM
    return [
        Turn(unit.treatment, unit.process, order, str(number), position)
        for number, each in enumerate(rounds, 1)
        for position, unit in enumerate(each, 1)
    ]


def _why(units: list[_Unit] | None) -> tuple[str, str]:
    if units is None:
        return _NOT_TOLD
    changes = sum(one.treatment != other.treatment for one, other in pairwise(units))
    return _BLOCKED if changes + 1 == len({unit.treatment for unit in units}) else _NO_ROUNDS


def _samples(readings: Sequence[Reading]) -> Iterator[Samples]:
    names = metric_names(readings)
    for reading in readings:
        for number, row in enumerate(reading.rows):
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
