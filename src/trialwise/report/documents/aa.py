"""What `trialwise aa` says: a bench against itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise import statistics as st
from trialwise.analysis.calibration.results import Calibration, CalibrationRow, Finding, LevelSpread, Spread
from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.analysis.unit_words import plural, units_text
from trialwise.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Name,
    Note,
    Outcome,
    Table,
    Text,
    Verdict,
)
from trialwise.report.numbers import ABSENT, Estimate, Number, Rounding, estimate, estimate_of, given

_TITLES: dict[Finding, tuple[Outcome, str]] = {
    "fine": ("good", "The ruler is fine"),
    "alarms": ("bad", "The ruler is bent"),
    "too few": ("open", "Too few trials to calibrate from"),
}
_SHOWN = {
    "interleaved": "Sides that run together, in turns",
    "separate": "Sides that run in units of their own (as two directories do)",
}
_ROW = (Column("metric"), Column("treatment"))


def document(found: Calibration) -> Document:
    """Return the finding, the sides that ran, floors and false alarms, what can be seen, where the noise comes from."""
    outcome, title = _TITLES[found.finding]
    answer = Verdict(outcome, (f"{title}: {found.reason}.",))
    splits = (Number(found.splits, "/splits", kind="count"), f" re-splits, seed {found.seed}; ")
    method = Note((f"How: {found.method}; ", *splits, given(found.confidence), "."))
    return Document("aa", answer, tuple(_evidence(found)), (method,))


def _evidence(found: Calibration) -> Iterator[Block]:
    yield from (Note((note,), is_aside=True) for note in found.notes)
    if found.comparison is not None:
        yield _real(found.comparison)
    for arrangement, title in _SHOWN.items():
        rows = [(at, row) for at, row in enumerate(found.rows) if row.arrangement == arrangement]
        if rows:
            yield from _floors(title, rows, found)
    yield _spreads(found.spreads)
    if found.family is not None:
        yield Note(
            ("All rows together, corrected as `trialwise compare` does: false alarms in ", _rate(found.family, "/family"), ".")
        )  # fmt: skip


def _real(found: Comparison) -> Table:
    return Table(
        "aa-sides",
        (f"A against A' as they ran ({found.correction}, ", given(found.confidence), ")"),
        (
            *_ROW,
            Column("A' − A", is_numeric=True),
            Column("p", is_numeric=True),
            Column("n"),
            Column("verdict"),
        ),
        tuple(_side(row, f"/comparison/rows/{at}") for at, row in enumerate(found.rows)),
    )


def _side(row: ComparisonRow, at: str) -> tuple[Cell, ...]:
    change = row.difference.percent if row.difference else None
    n = f"{row.units.a.size} + {units_text(row.units.b.size, row.units.level)}"
    return (
        Name(row.metric.name),
        Name(row.treatment),
        estimate_of(change, f"{at}/difference/percent", "%", sign=True),
        Number(row.p_adjusted if change else None, f"{at}/p_adjusted", kind="p_value"),
        n,
        row.verdict,
    )


def _floors(title: str, rows: Sequence[tuple[int, CalibrationRow]], found: Calibration) -> Iterator[Block]:
    known = [(at, row) for at, row in rows if row.floor is not None]
    quantile = next((row.floor.quantile for _, row in known if row.floor), None)
    facts: list[Text] = []
    if quantile is not None:
        shown = given(quantile)
        words = " of differences without a change are smaller; false alarms: of re-splits judged at "
        facts = [("noise floor: ", shown, words, given(found.confidence))]
    yield Table(
        f"aa-{rows[0][1].arrangement}",
        (title,),
        (
            *_ROW,
            Column("mean", is_numeric=True),
            Column("n a side"),
            Column("noise floor", is_numeric=True),
            Column("false alarms", is_numeric=True),
        ),
        tuple(_floor(row, f"/rows/{at}") for at, row in known),
        tuple(facts),
    )
    if known:
        yield _seen(known)
    yield from (Note(text, is_aside=True) for _, row in rows for text in _remarks(row))


def _remarks(row: CalibrationRow) -> Iterator[Text]:
    subject = (Name(row.metric.name), " of ", Name(row.treatment), ": ")
    if row.reason:
        yield (*subject, row.reason)
    if row.elsewhere:
        low, high = (
            Number(end, unit="", rounding=way, digits=3)
            for end, way in zip(row.elsewhere, _WAYS, strict=True)
        )
        words = " % (95 % range over 200 draws of the rounds)"
        yield (*subject, "with other rounds of this bench, false alarms in ", low, " to ", high, words)


_WAYS: tuple[Rounding, Rounding] = ("down", "up")


def _floor(row: CalibrationRow, at: str) -> tuple[Cell, ...]:
    unit, floor = row.metric.unit, row.floor
    share = None if floor is None else floor.percent
    value = None if floor is None else floor.value
    return (
        Name(row.metric.name),
        Name(row.treatment),
        Number(row.mean, f"{at}/mean", unit),
        units_text(min(row.n), row.level),
        _share_or_value(share, value, unit, f"{at}/floor", "value"),
        ABSENT if row.false_alarms is None else _rate(row.false_alarms, f"{at}/false_alarms"),
    )


def _seen(known: Sequence[tuple[int, CalibrationRow]]) -> Table:
    """Return what so many units on each side show."""
    first = known[0][1].detectable
    times = [f"n = {one.found.n}" for one in first]
    same = all([f"n = {one.found.n}" for one in row.detectable] == times for _, row in known)
    heads = times if same else ["now", "at 2n", "at 4n", "at 8n"]
    rows = tuple(
        (
            Name(row.metric.name),
            Name(row.treatment),
            *(
                _share_or_value(
                    one.percent,
                    one.found.difference,
                    row.metric.unit,
                    f"/rows/{at}/detectable/{place}",
                    "found/difference",
                )
                for place, one in enumerate(row.detectable)
            ),
        )
        for at, row in known
    )
    return Table(
        "aa-seen",
        ("The smallest difference that is seen with a chance of 90 %, by n on each side",),
        (*_ROW, *(Column(head, is_numeric=True) for head in heads)),
        rows,
    )


def _spreads(spreads: Sequence[Spread]) -> Block:
    rows = tuple(
        _spread(spread, one, f"/spreads/{at}/levels/{place}")
        for at, spread in enumerate(spreads)
        for place, one in enumerate(spread.levels)
        if not one.reason
    )
    facts: dict[Text, None] = {}
    if rows:
        spread = next(spread for spread in spreads if spread.levels)
        facts[(f"{spread.method}, ", given(spread.confidence))] = None
    for spread in spreads:
        if not spread.levels:
            facts[(Name(spread.metric), " of ", Name(spread.treatment), f": {spread.note}")] = None
        facts |= dict.fromkeys((one.reason,) for one in spread.levels if one.reason and not one.includes)
    return Table(
        "aa-spreads",
        ("Where the noise comes from (standard deviation by level, share of the variance)",),
        (
            *_ROW,
            Column("between"),
            Column("units", is_numeric=True),
            Column("deviation", is_numeric=True),
            Column("share", is_numeric=True),
        ),
        rows,
        tuple(facts),
    )


def _spread(spread: Spread, one: LevelSpread, at: str) -> tuple[Cell, ...]:
    name = plural(one.level) + (f" (with {', '.join(one.includes)})" if one.includes else "")
    value, low, high = (None if end is None else end**0.5 for end in (one.variance, one.low, one.high))
    return (
        Name(spread.metric),
        Name(spread.treatment),
        name,
        Number(one.units, f"{at}/units"),
        estimate(value, low, high),
        Number(one.share, f"{at}/share", "%", digits=2),
    )


def _rate(rate: st.Proportion, at: str) -> Estimate:
    """Return a share with its exact interval."""
    return estimate(
        rate.percent, rate.low, rate.high, "%", pointers=(f"{at}/percent", f"{at}/low", f"{at}/high")
    )


def _share_or_value(share: float | None, value: float | None, unit: str, at: str, key: str) -> Number:
    """Return it in percent, or in the unit of the metric where there is no percentage; it stands at `key` of the object at `at`."""
    if share is not None:
        return Number(share, f"{at}/percent", "%", digits=3)
    return Number(value, f"{at}/{key}", unit, digits=3)
