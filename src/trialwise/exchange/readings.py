"""Trials from what readers found in files of other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from trialwise.analysis.boots import joined_names, with_joined_boots
from trialwise.analysis.comparison.sides import treatment_name
from trialwise.analysis.environments import facts_of
from trialwise.analysis.trial_set import Boot, MetricFacts, TrialSet
from trialwise.exchange.trial_cells import Cells, Floats, Names, Place, Trials
from trialwise.readers.blocks import Block, Ragged, first_of, kinds, parts, treatments
from trialwise.readers.records import Reading, Row
from trialwise.readers.units import short_unit


def trial_set(readings: Sequence[Reading], name: str) -> TrialSet:
    """Return the trials of files that belong together; a file that is there twice counts once.

    Values that a process measured again and again become trials in that process.

    Raises
    ------
    AnalysisError
        There is no value.
    """
    cells, notes = _cells(readings, name)
    return with_joined_boots(_with_facts(cells.trial_set(notes), readings))[0]


def numbered_trial_set(readings: Sequence[Reading], name: str) -> TrialSet:
    """Return the same trials with numbers for the names of their units (`trial_cells.NUMBERED`), for which no other set is compared.

    Raises
    ------
    AnalysisError
        There is no value.
    """
    cells, notes = _cells(readings, name)
    return _with_facts(cells.numbered_set(notes, joined_names(cells.booted)), readings)


def _with_facts(found: TrialSet, readings: Sequence[Reading]) -> TrialSet:
    return replace(
        found,
        environments=tuple(facts_of(reading.facts) for reading in readings if reading.facts),
        subjects=tuple(dict.fromkeys(name for reading in readings for name in reading.subjects)),
    )


def _cells(readings: Sequence[Reading], name: str) -> tuple[Cells, tuple[str, ...]]:
    """Return the trials of files, and what is to be known about them."""
    cells, notes = Cells(name), list[str]()
    names = metric_names(readings)
    seen: dict[str, str] = {}
    files = Counter(name for reading in readings for name in _treatments(reading))
    for reading in readings:
        if (first := seen.setdefault(reading.digest, reading.path)) != reading.path:
            notes.append(f"{reading.path} is a copy of {first}, and counts once")
            continue
        is_repeated = all(files[name] > 1 for name in _treatments(reading))
        notes += _add(cells, reading, names, _UNTOLD | _LONE if is_repeated else _UNTOLD)
    return cells, tuple(dict.fromkeys(notes))


def metric_names(readings: Sequence[Reading]) -> dict[tuple[str, str, str | None], str]:
    """Return the names of metrics among the trials, by name, unit and direction in the files: what differs in these is another one."""
    found = dict.fromkeys(kind for reading in readings for kind in kinds(reading.rows))
    several = Counter(metric for metric, _, _ in found)
    return {
        (metric, unit, better): f"{metric} ({unit or better or 'unknown'})" if several[metric] > 1 else metric
        for metric, unit, better in found
    }


_UNTOLD = frozenset({"order_unknown", "direction_unknown"})
_LONE = frozenset({"one_unit", "within_process"})
"""Notes of a file that are lifted where other files repeat what it has."""


def _treatments(reading: Reading) -> set[str]:
    once = {id(own): own for own in treatments(reading.rows)}
    return {treatment_name(reading.levels_of(own)) for own in once.values()}


def _add(
    cells: Cells, reading: Reading, names: Mapping[tuple[str, str, str | None], str], untold: frozenset[str]
) -> Iterator[str]:
    yield from (note.text for note in reading.notes if note.code not in untold)
    single, blocks = parts(reading.rows)
    for block in blocks:
        _add_block(cells, block, names[block.metric, block.unit, block.better], reading)
    for number, row in enumerate(single):
        levels = reading.levels_of(row.treatment)
        treatment = treatment_name(levels)
        if row.status == "aggregated":
            yield f"{treatment}: only a summary, without the values of its trials"
            continue
        if row.value is None:
            continue
        cells.treatments[treatment] = levels
        metric = names[row.metric, row.unit, row.better]
        cells.metrics.setdefault(metric, _facts(metric, row))
        _add_trials(cells, row, metric, treatment, _place(cells, reading, row.levels, number))


def _facts(metric: str, of: Row | Block) -> MetricFacts:
    return MetricFacts(metric, short_unit(of.unit), of.better)


Chosen = slice | npt.NDArray[np.intp]
"""Rows of a block."""


def _add_block(cells: Cells, block: Block, metric: str, reading: Reading) -> None:
    """Add the rows of a block that have a value, as columns."""
    measured = block.measured
    if not measured.any():
        return
    # Of all rows there are views; of some, copies.
    chosen = slice(None) if measured.all() else np.flatnonzero(measured)
    cells.metrics.setdefault(metric, _facts(metric, block))
    treatment = block.treatment[chosen]
    levels = [reading.levels_of(each) for each in block.treatments]
    for first in first_of(treatment):
        own = levels[int(treatment[first])]
        cells.treatments[treatment_name(own)] = own
    if block.samples is not None and not np.isfinite(block.samples.values).all():
        for place in np.flatnonzero(measured).tolist():
            own = treatment_name(levels[int(block.treatment[place])])
            row = block[place]
            _add_trials(cells, row, metric, own, _place(cells, reading, row.levels))
        return
    names = [treatment_name(own) for own in levels]
    several = treatment if len(levels) > 1 else None
    made = _trials(cells, reading, block, chosen, metric, Names(names, several))
    cells.add_many(made if block.samples is None else _repeated(made, block.samples, chosen))


def _trials(
    cells: Cells, reading: Reading, block: Block, chosen: Chosen, metric: str, treatment: Names
) -> Trials:
    """Return the chosen rows of a block as trials."""
    places = [_place(cells, reading, each) for each in block.units]
    within = None if block.within is None or len(places) == 1 else block.within[chosen]
    process = trial = process_names(reading, block).taken(chosen)
    if block.repetitions is not None:
        begun = [f"{places[0].process}/{each}" for each in block.repetitions]
        trial = Names(begun, block.treatment[chosen], block.numbers[chosen])
    values = block.values[chosen]
    return Trials(
        metric=Names((metric,)),
        treatment=treatment,
        values=values,
        units={
            "host": Names([place.host for place in places], within),
            "boot": Names([place.boot for place in places], within),
            "build": Names([place.build for place in places], within),
            "process": process,
            "trial": trial,
        },
        started=None if block.starts is None else block.starts[chosen],
        seconds=values if block.seconds is block.values else _seconds(block, chosen),
    )


def _seconds(block: Block, chosen: Chosen) -> Floats | None:
    """Return how long each row took."""
    if block.starts is None or block.ends is None:
        return None if block.seconds is None else block.seconds[chosen]
    spans = block.ends[chosen] - block.starts[chosen]
    return spans if block.seconds is None else np.where(np.isnan(spans), block.seconds[chosen], spans)


def _repeated(trials: Trials, samples: Ragged, chosen: Chosen) -> Trials:
    """Return a trial for each sample of each row; one of several is named after its row and its number among them."""
    begins, ends = samples.bounds[:-1][chosen], samples.bounds[1:][chosen]
    counts = ends - begins
    row = np.repeat(np.arange(len(begins), dtype=np.int32), counts)
    number = np.arange(len(row), dtype=np.int32)
    number -= np.repeat((np.cumsum(counts) - counts).astype(np.int32), counts)
    values = samples.values
    if len(row) < len(values):
        values = values[np.repeat(begins, counts) + number]
    if (counts == 1).any():
        number[counts[row] == 1] = -1
    every = {level: names.taken(row) for level, names in trials.units.items()}
    return replace(
        trials,
        treatment=trials.treatment.taken(row),
        values=values,
        units={**every, "trial": Names(trials.units["trial"], row, number, ("/", ""))},
        started=None if trials.started is None else trials.started[row],
        seconds=None if trials.seconds is None else (trials.seconds / counts)[row],
    )


def _add_trials(cells: Cells, row: Row, metric: str, treatment: str, place: Place) -> None:
    values = row.repetitions
    took = row.seconds if row.start is None or row.end is None else row.end - row.start
    seconds = None if took is None else took / len(values)
    cells.add(metric, treatment, values, place, seconds, row.start)


def _place(cells: Cells, reading: Reading, levels: Mapping[str, str], number: int | None = None) -> Place:
    host = levels.get("host", "")
    boot = f"{host}/{levels.get('boot', '')}"
    if (moment := _moment(levels.get("boot"))) is not None:
        cells.booted[boot] = Boot(host, moment)
    process = process_of(reading, levels, number)
    trial = f"{process}/{levels['repetition']}" if "repetition" in levels else process
    return Place(trial, process, host, boot, f"{boot}/{levels['build']}" if "build" in levels else boot)


def process_of(reading: Reading, levels: Mapping[str, str], number: int | None = None) -> str:
    """Return the name of the process with these levels, the same in every set; `number` is that of its row in the reading."""
    file = f"{reading.digest[:16]}/{levels.get('file', '')}"
    if number is not None and reading.replicated != "file" and not levels:
        return f"{file}/{number}"
    return f"{file}/{levels['process']}" if "process" in levels else file


def process_names(reading: Reading, block: Block) -> Names:
    """Return the names of the processes of a block's rows, as `process_of` has them."""
    if block.repetitions is not None:
        return Names([process_of(reading, block.units[0])])
    before, after = block.process
    files = [process_of(reading, each) for each in block.units]
    within = None if len(files) == 1 else block.within
    return Names([f"{file}/{before}" for file in files], within, block.numbers, ("", after))


def _moment(told: str | None) -> float | None:
    try:
        return None if told is None else float(told)
    except ValueError:
        return None
