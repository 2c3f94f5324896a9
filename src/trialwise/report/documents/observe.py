"""What `trialwise observe` says: whether measuring changes what is measured."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.observing.results import Observation, ObservedRow
from trialwise.analysis.observing.results import Outcome as Finding
from trialwise.analysis.unit_words import units_text
from trialwise.experiment.placeholders import level_text
from trialwise.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Items,
    Name,
    Note,
    Outcome,
    Piece,
    Table,
    Text,
    Verdict,
)
from trialwise.report.numbers import Number, counted, estimate, given

_MEANINGS: dict[Finding, Outcome] = {"different": "bad", "equivalent": "good", "undecided": "open"}
_ROWS: dict[str, Outcome] = {
    "different": "bad",
    "equivalent": "good",
    "undecided": "open",
    "no inference": "open",
}
_Placed = tuple[int, ObservedRow]


def document(found: Observation) -> Document:
    """Return the answer, a table for each metric, what there is no inference about, what else is to be known."""
    method = (
        f": each {found.factor} against {found.base}; verdicts hold together at ",
        given(found.confidence),
        f" ({found.correction}), intervals by themselves",
    )
    return Document(
        "observe",
        Verdict(_MEANINGS[found.verdict], (_answer(found),)),
        tuple(_evidence(found)),
        (Note((Name(found.source), *method)),),
    )


def _answer(found: Observation) -> str:
    counts, total = found.counts, len(found.rows)
    asked = counted(total, "comparison")
    if found.verdict == "different":
        others = [
            f"{counts[word]} {word}" for word in ("equivalent", "undecided", "no inference") if counts[word]
        ]
        margin = " beyond the margin" if any(row.margin is not None for row in found.rows) else ""
        rest = f" ({', '.join(others)})" if others else ""
        return (
            f"Measuring changes what is measured: {counts['different']} of {asked} different{margin}{rest}."
        )
    if found.verdict == "equivalent":
        return f"No effect: {'all ' if total > 1 else ''}{asked} equivalent within the margin."
    bill = max((row.more or 0 for row in found.rows if row.verdict == "undecided"), default=0)
    trials = f"; {counted(bill, 'more trial')} of each treatment would probably decide what can be decided"
    return f"Undecided: {counts['undecided'] + counts['no inference']} of {asked}{trials if bill else ''}."


def _evidence(found: Observation) -> Iterator[Block]:
    yield from (Note((note,), is_aside=True) for note in found.notes)
    groups: dict[tuple[str, str], list[_Placed]] = {}
    for at, row in enumerate(found.rows):
        groups.setdefault((row.question, row.metric), []).append((at, row))
    for rows in groups.values():
        yield _table(rows, found)
    reasons = dict.fromkeys(row.reason for row in found.rows if row.verdict == "no inference")
    if reasons:
        yield Items(tuple((f"no inference: {reason}",) for reason in reasons))


def _table(rows: list[_Placed], found: Observation) -> Table:
    first = rows[0][1]
    is_error = first.question == "error"
    interval = f"{given(found.confidence).with_unit} interval"
    where = [Column(name) for name in (found.factor, *first.load)]
    numbers = ("mean", interval) if is_error else (found.base, "mean", f"effect ({interval})")
    return Table(
        f"{first.question}-{first.metric}",
        _caption(first, found.base),
        (*where, Column("n"), *(Column(name, is_numeric=True) for name in numbers), Column("verdict")),
        tuple((_error if is_error else _effect)(row, f"/rows/{at}") for at, row in rows),
    )


def _caption(row: ObservedRow, base: str) -> Text:
    """Return the metric, unit, margin and question of a table."""
    unit = f" [{row.unit}]" if row.unit else ""
    margin: tuple[Piece, ...] = ("no margin",) if row.margin is None else ("margin ", *_margin(row))
    of_base = (" of ", Name(base)) if row.margin_relative else ()
    against = "0" if row.question == "error" else Name(base)
    return (Name(row.metric), f"{unit} against ", against, ", ", *margin, *of_base)


def _margin(row: ObservedRow) -> Text:
    return ("none",) if row.margin is None else (given(row.margin, "%" if row.margin_relative else row.unit),)


def _where(row: ObservedRow) -> tuple[Cell, ...]:
    return (Name(row.flavour), *(Name(level_text(level)) for level in row.load.values()))


def _error(row: ObservedRow, at: str) -> tuple[Cell, ...]:
    interval = estimate(
        row.mean, row.low, row.high, sign=True, pointers=("", f"{at}/low", f"{at}/high")
    ).inside
    return (*_where(row), str(row.n), Number(row.mean, f"{at}/mean"), interval, _verdict(row))


def _effect(row: ObservedRow, at: str) -> tuple[Cell, ...]:
    """Return the effect in percent where the margin is or there is none, else in the metric's unit."""
    means = Number(row.mean_base, f"{at}/mean_base"), Number(row.mean, f"{at}/mean")
    relative = row.margin_relative or row.margin is None
    if row.estimate is None or row.low is None or row.high is None:
        effect = estimate(None, None, None)
    elif (
        relative and row.percent is not None and row.percent_low is not None and row.percent_high is not None
    ):
        places = (f"{at}/percent", f"{at}/percent_low", f"{at}/percent_high")
        effect = estimate(row.percent, row.percent_low, row.percent_high, "%", sign=True, pointers=places)
    else:
        places = (f"{at}/estimate", f"{at}/low", f"{at}/high")
        effect = estimate(row.estimate, row.low, row.high, sign=True, pointers=places)
    return (*_where(row), f"{row.n_base}, {row.n}", *means, effect, _verdict(row))


def _verdict(row: ObservedRow) -> Verdict:
    """Return the word of a row with what belongs to it: the direction, the margin, or the bill."""
    return Verdict(_ROWS[row.verdict], tuple(_judgement(row)))


def _judgement(row: ObservedRow) -> Iterator[Piece]:
    if row.verdict == "different":
        yield f"different, {row.direction}" if row.direction else "different"
    elif row.verdict == "equivalent":
        yield from ("equivalent within ", *_margin(row))
    elif row.verdict == "no inference":
        yield "no inference"
    else:
        is_there = row.low is not None and row.high is not None and not row.low <= 0 <= row.high
        yield "undecided whether it matters, " if is_there and row.margin is not None else "undecided, "
        yield from _bill(row)


def _bill(row: ObservedRow) -> Iterator[Piece]:
    if row.more is None:
        yield "and no number of trials up to 10,000 is likely to decide"
        return
    unit = row.unit_of_inference
    yield f"{units_text(row.more, unit, 'more ')} each"
    if row.more_seconds is not None:
        yield from (", ", Number(row.more_seconds, kind="duration"))
