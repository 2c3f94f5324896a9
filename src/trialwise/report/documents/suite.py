"""What `trialwise ab` says of two versions by a whole suite."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.analysis.versions.reach import reach_words
from trialwise.analysis.versions.results import Outcome, SuiteResult
from trialwise.experiment.model import Extent
from trialwise.report import comparison_words as words
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
from trialwise.report.documents.ab import MEANINGS
from trialwise.report.documents.compare import geometric_means
from trialwise.report.numbers import Estimate, Number, counted, estimate_of, given

_NAMED = 3
"""Benchmarks that are named in a sentence."""
_ROWS = 16
"""The most important rows, so that a comment on a pull request stays short; --json has all."""
_REMARKS = 4
_COLUMNS = (
    Column("benchmark"),
    Column("change", is_numeric=True),
    Column("verdict"),
    Column("base", is_numeric=True),
    Column("head", is_numeric=True),
    Column("trials", is_remark=True),
)
_Judged = tuple[int, ComparisonRow, Outcome, str]


def document(found: SuiteResult) -> Document:
    """Return the outcome, the rows that need a look first, the geometric means, what has no row, and what it rests on."""
    comparison = found.comparison
    if comparison is None:
        text = f"No verdict: too few trials have values ({found.ending})."
        return Document(
            "ab", Verdict("open", (text,)), tuple(_failed(found)), (Note((Name(found.directory),)),)
        )
    judged = sorted(_judged(found, comparison), key=_importance)
    evidence = (
        Table("suite", (), _COLUMNS, tuple(map(_row, judged)), most=_ROWS),
        *geometric_means(comparison, "/comparison"),
        *_remarks(found, comparison, judged),
        *_failed(found),
    )
    return Document("ab", _answer(found, judged), evidence, tuple(_method(found, comparison)))


def _judged(found: SuiteResult, comparison: Comparison) -> Iterator[_Judged]:
    for at, row in enumerate(comparison.rows):
        yield at, row, found.outcomes[at], found.stages[at]


def _importance(judged: _Judged) -> tuple[int, float]:
    """Order what is worse first, then what is open, better, and fine; in each the largest change first."""
    _, row, outcome, _ = judged
    rank = {"worse": 0, "undecided": 1, "fine": 2 if row.direction == "better" else 3}[outcome]
    change = row.difference.percent.estimate if row.difference else 0.0
    return rank, -abs(change) if change == change else 0.0  # noqa: PLR0124 NaN has no size


def _answer(found: SuiteResult, judged: list[_Judged]) -> Verdict:
    worse = [each for each in judged if each[2] == "worse"]
    still_open = sum(outcome == "undecided" for _, _, outcome, _ in judged)
    number = counted(len(judged), "metric")
    if worse:
        named: list[Text] = [(Name(each[1].metric.name), " ", _change(each)) for each in worse[:_NAMED]]
        more = f" and {len(worse) - _NAMED} more" if len(worse) > _NAMED else ""
        return Verdict("bad", (f"Head is worse in {len(worse)} of {number}: ", *joined(named), f"{more}."))
    if found.failed:
        return Verdict(
            "bad", (f"Not passed: {counted(found.failed, 'trial')} failed; nothing else is worse.",)
        )
    if not judged:
        return Verdict("open", ("No verdict: base and head have no metric in common.",))
    if found.outcome == "fine":
        return Verdict("good", (f"Head may pass: none of {number} is worse by ", _margin(found.margin), "."))
    fine = len(judged) - still_open
    return Verdict(
        "open",
        (f"Undecided: {still_open} of {number} open, {fine} not worse by ", _margin(found.margin), "."),
    )


def _margin(margin: Extent) -> Number:
    return given(margin.value) if margin.relative else given(margin.value, "")


def _row(judged: _Judged) -> tuple[Cell, ...]:
    at, row, outcome, stage = judged
    shown = words.scales_of([row])[row.metric.name]
    means = (
        Number(mean, f"/comparison/rows/{at}/summary/means/{side}", shown.unit, power=shown.power)
        for side, mean in enumerate(row.summary.means)
    )
    return (
        Name(row.metric.name),
        _change(judged),
        Verdict(MEANINGS[outcome], (_verdict(row, outcome),)),
        *means,
        f"{row.units.n[0]} fresh" if stage == "fresh" else str(row.units.n[0]),
    )


def _change(judged: _Judged) -> Estimate:
    at, row, _, _ = judged
    change = row.difference.percent if row.difference else None
    return estimate_of(change, f"/comparison/rows/{at}/difference/percent", "%", sign=True)


def _verdict(row: ComparisonRow, outcome: Outcome) -> str:
    if outcome == "worse":
        return "worse" if row.direction == "worse" else "different"
    if outcome == "undecided" and row.is_under_floor:
        return "under the noise floor"
    if outcome == "undecided":
        return "unconfirmed" if row.verdict == "different" else "undecided"
    return {"different": "better", "equivalent": "equivalent"}.get(row.verdict, "not worse")


def _remarks(found: SuiteResult, comparison: Comparison, judged: list[_Judged]) -> Iterator[Block]:
    apart = found.not_comparable
    lines: list[Text] = [(Name(name), f": {said}") for name, said in apart.items()]
    lines += [
        (Name(one.name), f": only in {one.side}") for one in comparison.one_sided if one.name not in apart
    ]
    lines += [(Name(row.metric.name), f": {row.reason}") for _, row, _, _ in judged if row.difference is None]
    left = len(lines) - _REMARKS
    if left > 0:
        lines = [*lines[:_REMARKS], (f"and {left} more (--json has them all)",)]
    if lines:
        yield Items(tuple(lines), most=None)


def _failed(found: SuiteResult) -> Iterator[Block]:
    if found.failed:
        text = f"{counted(found.failed, 'trial')} failed and gave no value: "
        yield Note((text, Code(f"trialwise status {found.directory}")), is_aside=True)


def _method(found: SuiteResult, comparison: Comparison) -> Iterator[Block]:
    pilot, fresh = found.rounds
    looks = (
        counted(pilot, "round")
        if not fresh
        else f"a pilot of {counted(pilot, 'round')}, {counted(fresh, 'fresh round')}"
    )
    methods = dict.fromkeys(row.difference.method for row in comparison.rows if row.difference)
    going_on = "" if found.complete else "; the same command goes on"
    level = given(comparison.confidence)
    judged = f"judged: {looks}; {'; '.join(methods) or 'no test'}, pairs of a round, "
    yield Note((judged, level, f", {comparison.correction}; ended: {found.ending}{going_on}"), is_aside=True)
    if found.crossed:
        crossed = f"{counted(len(found.crossed), 'metric')} crossed in the pilot and had to be confirmed"
        yield Note((crossed,), is_aside=True)
    if found.reach is not None:
        yield Note((f"forecast: {reach_words(found.reach)}",), is_aside=True)
    means = words.geometric_method_of(comparison.geometric_means).strip()
    yield Note((f"{found.method}; ", given(found.confidence), "; ", Name(found.directory)), is_aside=True)
    if means:
        yield Note((means,), is_aside=True)
