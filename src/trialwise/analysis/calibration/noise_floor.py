"""Application of a noise floor to later verdicts on the same bench: a difference below it is undecided."""

from __future__ import annotations

import dataclasses
from math import sqrt

from trialwise.analysis.calibration.results import Arrangement, Calibration, CalibrationRow
from trialwise.analysis.comparison.results import Comparison, ComparisonRow, Floor
from trialwise.numbers import about


def with_floor(comparison: Comparison, calibration: Calibration) -> Comparison:
    """Add the noise floor to each row of a comparison, and adjust the verdicts to it.

    The floor comes from the same metric and treatment under the same arrangement of sides; if that treatment was not calibrated,
    from the largest of the others, in percent. It holds for the number of units of the calibration. With fewer on a side it is
    scaled up by the square root of the ratio; with more it stays, because the calibration does not cover them.
    """
    rows = tuple(_judged(row, _floor(row, calibration)) for row in comparison.rows)
    without = sorted({row.metric.name for row in rows if row.floor is None and row.difference is not None})
    if not without:
        return dataclasses.replace(comparison, rows=rows)
    note = f"{calibration.source} has no floor for {', '.join(without)}"
    notes = {**comparison.notes, calibration.source: (note,)}
    return dataclasses.replace(comparison, rows=rows, notes=notes)


def _floor(row: ComparisonRow, calibration: Calibration) -> Floor | None:
    if row.difference is None:
        return None
    in_turns = row.units.paired or row.units.level in ("process", "trial")
    arrangement: Arrangement = "interleaved" if in_turns else "separate"
    fitting = [
        one
        for one in calibration.rows
        if one.metric.name == row.metric.name and one.arrangement == arrangement and one.floor is not None
    ]
    own = next((one for one in fitting if one.treatment == row.treatment), None)
    if own is not None and own.floor is not None:
        return _scaled(own, own.floor.value, row, calibration.source)
    mean = abs(row.difference.means[0])
    relative = [(one.floor.percent, one) for one in fitting if one.floor and one.floor.percent is not None]
    if not relative or not mean:
        return None
    percent, largest = max(relative, key=lambda pair: pair[0])
    return _scaled(largest, percent / 100 * mean, row, calibration.source)


def _scaled(of: CalibrationRow, value: float, row: ComparisonRow, source: str) -> Floor:
    calibrated, here = min(of.n), min(row.units.n)
    value *= sqrt(max(1.0, calibrated / here))
    mean = abs(row.difference.means[0]) if row.difference else 0.0
    return Floor(
        value=value,
        percent=100 * value / mean if mean else None,
        n=calibrated,
        level=of.level,
        treatment=of.treatment,
        source=source,
    )


def _judged(row: ComparisonRow, floor: Floor | None) -> ComparisonRow:
    difference = row.difference
    if floor is None or difference is None:
        return row
    row = dataclasses.replace(row, floor=floor)
    if row.verdict == "different" and abs(difference.welch.estimate) <= floor.value:
        reason = (
            f"a difference is there, and it is under the noise floor of this bench ({_text(floor, row)} in {floor.source}): "
            "nothing changed gives as much; make the bench quieter, or calibrate it with more trials"
        )
        return dataclasses.replace(row, verdict="undecided", more=None, more_seconds=None, reason=reason)
    if difference.margin is not None and floor.value > difference.margin:
        reason = f"{row.reason}; the margin is under the noise floor of this bench ({_text(floor, row)} in {floor.source})"
        return dataclasses.replace(row, reason=reason)
    return row


def _text(floor: Floor, row: ComparisonRow) -> str:
    if floor.percent is not None:
        return f"{about(floor.percent)} %"
    return f"{about(floor.value)} {row.metric.unit}".strip()
