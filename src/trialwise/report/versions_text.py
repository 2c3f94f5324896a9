"""What `trialwise ab` says in the terminal and in a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise import statistics as st
from trialwise.analysis.comparison.results import ComparisonRow
from trialwise.analysis.versions.looks import LooksPlan
from trialwise.analysis.versions.results import Outcome, VersionsResult
from trialwise.experiment.quantity import duration_text
from trialwise.report.render.markdown import markdown_text
from trialwise.report.numbers import ABSENT, about, counted, percent, signed, write
from trialwise.report.terminal_table import Line, aligned

_STAGES = {"all": "all trials", "pilot": "the pilot", "fresh": "the fresh trials after the pilot"}
_HEADS = ("metric", "base", "head", "change", "from", "to", "margin", "verdict")


def versions_lines(found: VersionsResult) -> Iterator[Line]:
    """The outcome, a row for each metric, what it rests on, and the bill where it is open."""
    yield headline(found)
    if found.comparison is not None:
        floors = any(row.floor for row in found.comparison.rows)
        table: list[tuple[str, ...]] = [(*_HEADS, *(["noise floor"] if floors else []))]
        table += [_row(row, one, floors=floors) for row, one in _judged(found)]
        yield ""
        yield aligned(table, right=range(1, 7))
        yield ""
        yield from (f"  {line}" for line in _reasons(found))
    yield f"  {_basis(found)}"
    yield f"  {found.method}; {percent(found.confidence)}; {found.directory}"
    if found.failed:
        yield f"  {found.failed} trials failed and have no value: trialwise status {found.directory}"


def versions_markdown(found: VersionsResult) -> Iterator[str]:
    """The same for a pull request."""
    yield f"**{markdown_text(headline(found))}**"
    yield ""
    if found.comparison is not None:
        yield f"| {' | '.join(_HEADS)} |"
        yield "|---|--:|--:|--:|--:|--:|--:|---|"
        for row, one in _judged(found):
            cells = _row(row, one, floors=False)
            yield f"| {' | '.join(map(markdown_text, cells))} |"
        yield ""
        yield from (f"- {markdown_text(line)}" for line in _reasons(found))
    yield f"- {markdown_text(_basis(found))}; {found.method}; {percent(found.confidence)}"
    if found.failed:
        yield f"- {found.failed} trials failed and have no value"


def announcement(plan: LooksPlan, budget: float | None) -> str:
    """Say before the first trial how many will run, and what bounds them (`budget` in seconds)."""
    limit = "no budget" if budget is None else f"the budget is {duration_text(budget)}"
    if plan.fixed is not None:
        return f"{counted(plan.fixed, 'trial')} of each version, judged once at the end; {limit}"
    rest = max(plan.most - plan.pilot, 0)
    return f"a pilot of {plan.pilot} trials of each version, then at most {rest} fresh ones of each; {limit}"


def bill_words(plan: LooksPlan, fresh: int | None) -> str:
    """Say how many fresh trials of each version the pilot asks for (`fresh`, None for no number), and how many run."""
    rest = max(plan.most - plan.pilot, 0)
    if fresh is None:
        return f"no number of fresh trials is known to decide, so {rest} of each version may run"
    if fresh > rest:
        return f"{fresh} fresh trials of each version would give a 90 % chance to decide, and {rest} of each may run"
    return f"{counted(fresh, 'fresh trial')} of each version give a 90 % chance to decide"


def headline(found: VersionsResult) -> str:
    """The outcome in a sentence; where trials failed, that comes first, since nothing passes then."""
    if not found.failed or found.comparison is None or found.outcome == "worse":
        return _verdict_sentence(found)
    verdict = _verdict_sentence(found)
    return f"Not passed: {counted(found.failed, 'trial')} failed. By the others: {verdict[0].lower()}{verdict[1:]}"


def _verdict_sentence(found: VersionsResult) -> str:
    if found.comparison is None:
        return f"No verdict: too few trials have a value ({found.ending})."
    if found.outcome == "worse":
        return f"Head is worse: {', '.join(_change(row) for row, one in _judged(found) if one == 'worse')}."
    if found.outcome == "fine":
        words = sorted({f"{row.metric.name} {_judgement(row, one)}" for row, one in _judged(found)})
        return f"Head may pass: {', '.join(words)}."
    return f"Undecided after {_counts(found.comparison.rows[0])}."


def _judged(found: VersionsResult) -> list[tuple[ComparisonRow, Outcome]]:
    """The rows, each with what it means for the gate."""
    return list(zip(found.comparison.rows, found.outcomes, strict=True)) if found.comparison else []


def _change(row: ComparisonRow) -> str:
    if row.difference is None:
        return row.metric.name
    return f"{row.metric.name} {signed(row.difference.percent.estimate)} %"


def _judgement(row: ComparisonRow, outcome: Outcome) -> str:
    """The one judgement of a row, which the headline, the table and its reasons share."""
    if row.verdict == "equivalent":
        return f"equivalent within {_margin(row)}"
    if row.verdict == "different":
        return f"{row.direction or 'different'} by more than {_margin(row)}"
    return f"not worse by {_margin(row)}" if outcome == "fine" else row.verdict


def _row(row: ComparisonRow, outcome: Outcome, *, floors: bool) -> tuple[str, ...]:
    cells: tuple[str, ...] = (ABSENT,) * 5
    one = row.difference
    if one is not None:
        unit = row.metric.unit
        means = (f"{write(mean)} {unit}".strip() for mean in one.means)
        change: st.Ratio = one.percent
        bounds = signed(change.low, "down"), signed(change.high, "up")
        cells = (*means, *(f"{text} %" for text in (signed(change.estimate), *bounds)))
    floor = ABSENT if row.floor is None else f"{about(row.floor.percent)} %"
    return (row.metric.name, *cells, _margin(row), _verdict_cell(row, outcome), *([floor] if floors else []))


def _verdict_cell(row: ComparisonRow, outcome: Outcome) -> str:
    """The judgement without the margin, which has a column of its own."""
    if row.verdict == "undecided" and outcome == "fine":
        return "not worse"
    return f"{row.verdict}: {row.direction}" if row.direction else row.verdict


def _margin(row: ComparisonRow) -> str:
    one = row.difference
    if one is None or one.margin is None:
        return ABSENT
    if one.margin_percent is not None:
        return f"{about(one.margin_percent)} %"
    return f"{about(one.margin)} {row.metric.unit}".strip()


def _reasons(found: VersionsResult) -> Iterator[str]:
    for row, outcome in _judged(found):
        if outcome == "fine" and row.verdict == "undecided":
            yield f"{row.metric.name}: the interval leaves out that head is worse by {_margin(row)}"
        elif row.reason and row.verdict in ("undecided", "no inference"):
            yield f"{row.metric.name}: {row.reason}{_bill(row)}"


def _bill(row: ComparisonRow) -> str:
    if not row.more:
        return ""
    time = "" if row.more_seconds is None else f", about {duration_text(row.more_seconds)}"
    return f"; with {counted(row.more, 'more trial')} of each version there is a 90 % chance to decide{time}"


def _basis(found: VersionsResult) -> str:
    if found.comparison is None:
        return f"ended because {found.ending}"
    row = found.comparison.rows[0]
    level = percent(found.comparison.confidence)
    method = row.difference.method if row.difference else ABSENT
    going_on = "; the same command goes on" if not found.complete else ""
    return (
        f"judged: {_STAGES[found.stage]}, {_counts(row)} ({method}, {level}, {found.comparison.correction}); "
        f"ended: {found.ending}{going_on}"
    )


def _counts(row: ComparisonRow) -> str:
    return f"{row.units.a.size} + {row.units.b.size} trials"
