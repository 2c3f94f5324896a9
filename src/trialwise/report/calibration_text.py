"""What `trialwise aa` says in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise import statistics as st
from trialwise.analysis.calibration.results import Calibration, CalibrationRow, LevelSpread, Spread
from trialwise.analysis.nesting import plural
from trialwise.report.numbers import ABSENT, Rounding, about, p_value, percent, write
from trialwise.report.terminal_table import Line, aligned

_TITLES = {
    "fine": "The ruler is fine",
    "alarms": "The ruler is bent",
    "too few": "Too few trials to calibrate from",
}
_SHOWN = {
    "interleaved": "Sides that run together, in turns",
    "separate": "Sides that run in units of their own (as two directories do)",
}


def calibration_lines(found: Calibration) -> Iterator[Line]:
    """The finding, the sides that ran, floors and false alarms, what can be seen, where the noise comes from, what to know."""
    yield f"{_TITLES[found.finding]}: {found.reason}."
    yield from (f"  {note}" for note in found.notes)
    yield from _real(found)
    for arrangement, title in _SHOWN.items():
        rows = [row for row in found.rows if row.arrangement == arrangement]
        if rows:
            yield from _floors(title, rows, found)
    yield from _spreads(found.spreads)
    if found.family is not None:
        yield ""
        yield f"All rows together, corrected as `trialwise compare` does: false alarms in {rate_text(found.family)}."
    yield ""
    yield f"How: {found.method}; {found.splits:,} re-splits, seed {found.seed}; {percent(found.confidence)}."


def _real(found: Calibration) -> Iterator[Line]:
    if found.comparison is None:
        return
    yield ""
    yield f"A against A' as they ran ({found.comparison.correction}, {percent(found.confidence)})"
    heads = ("metric", "treatment", "A' − A", "from", "to", "p", "n", "verdict")
    table: list[tuple[str, ...]] = [heads]
    for row in found.comparison.rows:
        one = row.difference
        cells = (ABSENT,) * 4
        if one is not None:
            relative = one.percent
            cells = (
                f"{about(relative.estimate)} %",
                f"{about(relative.low, 'down')} %",
                f"{about(relative.high, 'up')} %",
                p_value(row.p_adjusted),
            )
        n = f"{row.units.a.size} + {row.units.b.size} {plural(row.units.level)}"
        table.append((row.metric.name, row.treatment, *cells, n, row.verdict))
    yield aligned(table, right=range(2, 6))


def _floors(title: str, rows: Sequence[CalibrationRow], found: Calibration) -> Iterator[Line]:
    known = [row for row in rows if row.floor is not None]
    yield ""
    yield title
    if known:
        heads = ("metric", "treatment", "mean", "n a side", "noise floor", "false alarms")
        table: list[tuple[str, ...]] = [heads, *map(_floor, known)]
        yield aligned(table, right=(2, 4, 5))
        quantile = percent(known[0].floor.quantile) if known[0].floor else ABSENT
        yield (
            f"  noise floor: {quantile} of differences without a change are smaller; false alarms: of re-splits judged "
            f"at {percent(found.confidence)}"
        )
        yield from _seen(known)
    for row in rows:
        if row.reason:
            yield f"  {row.metric.name} of {row.treatment}: {row.reason}"
        if row.elsewhere:
            low, high = about(row.elsewhere[0], "down"), about(row.elsewhere[1], "up")
            yield (
                f"  {row.metric.name} of {row.treatment}: with other rounds of this bench, false alarms in {low} to {high} % "
                "(95 % range over 200 draws of the rounds)"
            )


def _floor(row: CalibrationRow) -> tuple[str, ...]:
    floor = row.floor
    cells = [ABSENT, ABSENT]
    if floor is not None and row.false_alarms is not None:
        cells = [share_or_value(floor.percent, floor.value, row.metric.unit), rate_text(row.false_alarms)]
    mean = f"{write(row.mean)} {row.metric.unit}".strip()
    return (row.metric.name, row.treatment, mean, f"{min(row.n)} {plural(row.level)}", *cells)


def _seen(known: Sequence[CalibrationRow]) -> Iterator[Line]:
    """What so many units on each side show."""
    times = [f"n = {one.found.n}" for one in known[0].detectable]
    same = all([f"n = {one.found.n}" for one in row.detectable] == times for row in known)
    heads = times if same else ["now", "at 2n", "at 4n", "at 8n"]
    table: list[tuple[str, ...]] = [("metric", "treatment", *heads)]
    for row in known:
        seen = [share_or_value(one.percent, one.found.difference, row.metric.unit) for one in row.detectable]
        table.append((row.metric.name, row.treatment, *seen))
    yield ""
    yield "The smallest difference that is seen with a chance of 90 %, by n on each side"
    yield aligned(table, right=range(2, 2 + len(heads)))


def _spreads(spreads: Sequence[Spread]) -> Iterator[Line]:
    yield ""
    yield "Where the noise comes from (standard deviation by level, share of the variance)"
    heads = ("metric", "treatment", "between", "units", "deviation", "from", "to", "share")
    table: list[tuple[str, ...]] = [heads]
    notes: dict[str, None] = {}
    for spread in spreads:
        table += [_level(spread, one) for one in spread.levels if not one.reason]
        if not spread.levels:
            notes[f"{spread.metric} of {spread.treatment}: {spread.note}"] = None
        notes |= dict.fromkeys(one.reason for one in spread.levels if one.reason and not one.includes)
    if len(table) > 1:
        yield aligned(table, right=range(3, 8))
        one = next(spread for spread in spreads if spread.levels)
        yield f"  {one.method}, {percent(one.confidence)}"
    yield from (f"  {note}" for note in notes)


def _level(spread: Spread, one: LevelSpread) -> tuple[str, ...]:
    name = plural(one.level) + (f" (with {', '.join(one.includes)})" if one.includes else "")
    sides: tuple[tuple[float | None, Rounding], ...] = (
        (one.variance, "nearest"),
        (one.low, "down"),
        (one.high, "up"),
    )
    cells = (about(None if value is None else value**0.5, rounding) for value, rounding in sides)
    share = ABSENT if one.share is None else f"{one.share:.0f} %"
    return (spread.metric, spread.treatment, name, str(one.units), *cells, share)


def rate_text(rate: st.Proportion) -> str:
    """A share with its exact interval."""
    return f"{about(rate.percent)} % ({about(rate.low, 'down')} to {about(rate.high, 'up')})"


def share_or_value(share: float | None, value: float, unit: str) -> str:
    """In percent, or in the unit of the metric where there is no percentage."""
    return f"{about(value)} {unit}".strip() if share is None else f"{about(share)} %"
