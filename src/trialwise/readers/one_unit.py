"""One unit for a metric that files of one group have in several: Mbit/s here and kbit/s there are the same rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trialwise.readers.blocks import Block, Rows, kinds, parts
from trialwise.readers.records import Inside, Note, Reading, Row, Summary
from trialwise.readers.units import NORMAL

if TYPE_CHECKING:
    from trialwise.readers.gathering import Group


def in_one_unit(group: Group) -> Group:
    """Bring a metric that has a unit in each file, but not the same in all, to the normal one; units of other kinds stay apart."""
    units: dict[str, list[set[str]]] = {}
    for reading in group.readings:
        own: dict[str, set[str]] = {}
        for metric, unit, _ in kinds(reading.rows):
            own.setdefault(metric, set()).add(unit)
        for metric, found in own.items():
            units.setdefault(metric, []).append(found)
    mixed = {metric: _several(found) for metric, found in units.items()}
    mixed = {metric: found for metric, found in mixed.items() if found}
    if not mixed:
        return group
    return replace(group, readings=tuple(_converted(reading, mixed) for reading in group.readings))


def _several(found: Sequence[set[str]]) -> list[str]:
    """Return the units of a metric if they are several of one kind, and each file has one of them; else nothing."""
    together = sorted(set[str]().union(*found))
    are_one = (
        all(len(each) == 1 for each in found)
        and len({NORMAL.get(each, ("", each))[1] for each in together}) == 1
    )
    return together if are_one and len(together) > 1 else []


def _converted(reading: Reading, mixed: Mapping[str, Sequence[str]]) -> Reading:
    single, blocks = parts(reading.rows)
    if not any(metric in mixed for metric, _, _ in kinds(reading.rows)):
        return reading
    notes = [
        Note("", f"{metric} is in {' and '.join(units)}, by file: all were brought to {NORMAL[units[0]][1]}")
        for metric, units in mixed.items()
    ]
    rows = Rows(
        [_row(row) if row.metric in mixed else row for row in single],
        [_block(block) if block.metric in mixed else block for block in blocks],
    )
    return replace(reading, rows=rows, notes=(*reading.notes, *notes))


def _block(block: Block) -> Block:
    factor, unit = NORMAL[block.unit]
    samples = block.samples and replace(block.samples, values=block.samples.values * factor)
    return replace(block, values=block.values * factor, unit=unit, samples=samples)


def _row(row: Row) -> Row:
    factor, unit = NORMAL[row.unit]
    return replace(
        row,
        value=_times(row.value, factor),
        unit=unit,
        samples=None if row.samples is None else _inside(row.samples, factor),
        summary=None if row.summary is None else _summary(row.summary, factor),
    )


def _inside(samples: Inside, factor: float) -> Inside:
    return replace(samples, values=[value * factor for value in samples.values])


def _summary(summary: Summary, factor: float) -> Summary:
    interval, percentiles = summary.interval, summary.percentiles
    return replace(
        summary,
        deviation=_times(summary.deviation, factor),
        error=_times(summary.error, factor),
        interval=None if interval is None else (interval[0] * factor, interval[1] * factor),
        percentiles=None
        if percentiles is None
        else {each: value * factor for each, value in percentiles.items()},
    )


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
