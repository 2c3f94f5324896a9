"""What `trialwise ab` says: head against base."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.comparison.results import ComparisonRow
from trialwise.analysis.versions.results import Outcome, VersionsResult
from trialwise.report.document import (
    Block,
    Cell,
    Code,
    Column,
    Document,
    Items,
    Name,
    Note,
    Table,
    Text,
    Verdict,
    joined,
)
from trialwise.report.document import Outcome as Meaning
from trialwise.report.numbers import ABSENT, Estimate, Number, counted, estimate_of, given

_STAGES = {"all": "all trials", "pilot": "the pilot", "fresh": "the fresh trials after the pilot"}
MEANINGS: dict[Outcome, Meaning] = {"fine": "good", "worse": "bad", "undecided": "open"}
"""How each outcome is shown."""
_COLUMNS = (
    Column("metric"),
    Column("base", is_numeric=True),
    Column("head", is_numeric=True),
    Column("change", is_numeric=True),
    Column("margin", is_numeric=True),
    Column("verdict"),
)
_FLOOR = Column("noise floor", is_numeric=True)
_Judged = tuple[tuple[int, ComparisonRow, Outcome], ...]


def document(found: VersionsResult) -> Document:
    """Return the outcome, a row for each metric, why what is open is open, and what it rests on."""
    rows = found.comparison.rows if found.comparison else ()
    judged = tuple(zip(range(len(rows)), rows, found.outcomes, strict=True)) if rows else ()
    return Document("ab", _answer(found, judged), tuple(_evidence(found, judged)), tuple(_method(found)))


def _answer(found: VersionsResult, judged: _Judged) -> Verdict:
    """Return the outcome in a sentence; where trials failed, that comes first, since nothing passes then."""
    if not judged:
        return Verdict("open", (f"No verdict: too few trials have a value ({found.ending}).",))
    outcome, text = MEANINGS[found.outcome], _verdict(found, judged)
    if not found.failed or found.outcome == "worse":
        return Verdict(outcome, text)
    first, *others = text
    said = str(first)
    return Verdict(
        "bad",
        (
            f"Not passed: {counted(found.failed, 'trial')} failed. By the others: {said[0].lower()}{said[1:]}",
            *others,
        ),
    )


def _verdict(found: VersionsResult, judged: _Judged) -> Text:
    if found.outcome == "undecided":
        return (f"Undecided after {_counts(judged[0][1])}.",)
    if found.outcome == "worse":
        changes = [_change_of(at, row) for at, row, outcome in judged if outcome == "worse"]
        return ("Head is worse: ", *joined(changes), ".")
    texts = {row.metric.name: _judgement(row, outcome) for _, row, outcome in judged}
    return ("Head may pass: ", *joined((Name(name), " ", *texts[name]) for name in sorted(texts)), ".")


def _change_of(at: int, row: ComparisonRow) -> Text:
    return (Name(row.metric.name), " ", _change(at, row)) if row.difference else (Name(row.metric.name),)


def _change(at: int, row: ComparisonRow) -> Estimate:
    """Return the change in percent of base."""
    change = row.difference.percent if row.difference else None
    return estimate_of(change, f"/comparison/rows/{at}/difference/percent", "%", sign=True)


def _judgement(row: ComparisonRow, outcome: Outcome) -> Text:
    """Return the one judgement of a row, which the answer and the reasons share."""
    if row.verdict == "equivalent":
        return ("equivalent within ", margin_of(row))
    if row.verdict == "different":
        return (f"{row.direction or 'different'} by more than ", margin_of(row))
    return ("not worse by ", margin_of(row)) if outcome == "fine" else (row.verdict,)


def margin_of(row: ComparisonRow) -> Number | str:
    """Return the margin that a row was judged by, in percent of base or in the unit of the metric."""
    one = row.difference
    if one is None or one.margin is None:
        return ABSENT
    if one.margin_percent is not None:
        return given(one.margin_percent)
    return given(one.margin, row.metric.unit)


def _evidence(found: VersionsResult, judged: _Judged) -> Iterator[Block]:
    if judged:
        floors = any(row.floor for _, row, _ in judged)
        columns = (*_COLUMNS, _FLOOR) if floors else _COLUMNS
        yield Table("ab", (), columns, tuple(_row(*each)[: len(columns)] for each in judged), most=None)
    reasons = tuple(_reasons(judged))
    if reasons:
        yield Items(reasons)
    if found.failed:
        yield failed_note(found)


def failed_note(found: VersionsResult) -> Note:
    """Return how many trials failed, and where their reasons stand."""
    failed = f"{counted(found.failed, 'trial')} failed and gave no value: "
    return Note((failed, Code(f"trialwise status {found.directory}")), is_aside=True)


def _row(at: int, row: ComparisonRow, outcome: Outcome) -> tuple[Cell, ...]:
    base, head = row.difference.means if row.difference else (None, None)
    place = f"/comparison/rows/{at}/difference/means"
    return (
        Name(row.metric.name),
        Number(base, f"{place}/0", row.metric.unit),
        Number(head, f"{place}/1", row.metric.unit),
        _change(at, row),
        margin_of(row),
        Verdict(MEANINGS[outcome], (_verdict_cell(row, outcome),)),
        Number(
            row.floor.percent if row.floor else None, f"/comparison/rows/{at}/floor/percent", "%", digits=3
        ),
    )


def _verdict_cell(row: ComparisonRow, outcome: Outcome) -> str:
    """Return the judgement without the margin, which has a column of its own."""
    if row.verdict == "undecided" and outcome == "fine":
        return "not worse"
    return f"{row.verdict}: {row.direction}" if row.direction else row.verdict


def _reasons(judged: _Judged) -> Iterator[Text]:
    for _, row, outcome in judged:
        if outcome == "fine" and row.verdict == "undecided":
            yield (Name(row.metric.name), ": the interval leaves out that head is worse by ", margin_of(row))
        elif row.reason and row.verdict in ("undecided", "no inference"):
            yield (Name(row.metric.name), f": {row.reason}", *bill(row))


def bill(row: ComparisonRow) -> Text:
    """Return how many more trials have a good chance to decide, and how long they take."""
    if not row.more:
        return ()
    time = () if row.more_seconds is None else (", about ", Number(row.more_seconds, kind="duration"))
    return (
        f"; with {counted(row.more, 'more trial')} of each version there is a 90 % chance to decide",
        *time,
    )


def _method(found: VersionsResult) -> Iterator[Block]:
    going_on = "" if found.complete else "; the same command goes on"
    ended = f"ended: {found.ending}{going_on}"
    if found.comparison is None:
        yield Note((ended,), is_aside=True)
    else:
        row = found.comparison.rows[0]
        level = given(found.comparison.confidence)
        method = row.difference.method if row.difference else ABSENT
        judged = f"judged: {_STAGES[found.stage]}, {_counts(row)} ({method}, "
        yield Note((judged, level, f", {found.comparison.correction}); {ended}"), is_aside=True)
    yield Note((f"{found.method}; ", given(found.confidence), "; ", Name(found.directory)), is_aside=True)


def _counts(row: ComparisonRow) -> str:
    return f"{row.units.a.size} + {row.units.b.size} trials"
