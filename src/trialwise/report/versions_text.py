"""What `trialwise ab` says in the terminal and in a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise import statistics as st
from trialwise.analysis.comparison.results import ComparisonRow
from trialwise.analysis.versions.results import Outcome, VersionsResult
from trialwise.experiment.quantity import duration_text
from trialwise.report.numbers import ABSENT, percent, write
from trialwise.report.terminal_table import about, aligned

_STAGES = {"all": "all trials", "pilot": "the pilot", "fresh": "the fresh trials after the pilot"}
_HEADS = ("metric", "base", "head", "change", "from", "to", "margin", "verdict")


def versions_lines(found: VersionsResult) -> Iterator[str]:
    """The outcome, a row for each metric, what it rests on, and the bill where it is open."""
    yield headline(found)
    if found.comparison is not None:
        floors = any(row.floor for row in found.comparison.rows)
        table: list[tuple[str, ...]] = [(*_HEADS, *(["noise floor"] if floors else []))]
        table += [_row(row, floors=floors) for row in found.comparison.rows]
        yield ""
        yield from aligned(table, right=range(1, 7))
        yield ""
        yield from (f"  {line}" for line in _reasons(found))
    yield f"  {_basis(found)}"
    yield f"  {found.method}; {percent(found.confidence)}; {found.directory}"
    if found.failed:
        yield f"  {found.failed} trials failed and have no value: trialwise status {found.directory}"


def versions_markdown(found: VersionsResult) -> Iterator[str]:
    """The same for a pull request."""
    yield f"**{headline(found)}**"
    yield ""
    if found.comparison is not None:
        yield f"| {' | '.join(_HEADS)} |"
        yield "|---|--:|--:|--:|--:|--:|--:|---|"
        for row in found.comparison.rows:
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in _row(row, floors=False))} |"
        yield ""
        yield from (f"- {line}" for line in _reasons(found))
    yield f"- {_basis(found)}; {found.method}; {percent(found.confidence)}"
    if found.failed:
        yield f"- {found.failed} trials failed and have no value"


def headline(found: VersionsResult) -> str:
    """The outcome in a sentence."""
    if found.comparison is None:
        return f"No verdict: too few trials have a value ({found.ending})."
    rows = found.comparison.rows
    if found.outcome == "worse":
        worse = [row for row, one in zip(rows, found.outcomes, strict=True) if one == "worse"]
        return f"Head is worse: {', '.join(map(_change, worse))}."
    if found.outcome == "fine":
        words = sorted({_word(row, "fine") for row in rows})
        return f"Head may pass: {', '.join(words)}."
    return f"Undecided after {_counts(rows[0])}."


def _change(row: ComparisonRow) -> str:
    if row.difference is None:
        return row.metric.name
    return f"{row.metric.name} {_signed(row.difference.percent.estimate)} %"


def _word(row: ComparisonRow, outcome: Outcome) -> str:
    if row.verdict == "equivalent":
        return f"{row.metric.name} equivalent within {_margin(row)}"
    if row.verdict == "different":
        return f"{row.metric.name} {row.direction or 'different'} by more than {_margin(row)}"
    return f"{row.metric.name} not worse by {_margin(row)}" if outcome == "fine" else row.metric.name


def _row(row: ComparisonRow, *, floors: bool) -> tuple[str, ...]:
    cells: tuple[str, ...] = (ABSENT,) * 5
    one = row.difference
    if one is not None:
        unit = row.metric.unit
        means = (f"{write(mean)} {unit}".strip() for mean in one.means)
        change: st.Ratio = one.percent
        cells = (*means, *(f"{_signed(value)} %" for value in (change.estimate, change.low, change.high)))
    floor = ABSENT if row.floor is None else f"{about(row.floor.percent)} %"
    verdict = row.verdict if row.direction is None else f"{row.verdict}: {row.direction}"
    return (row.metric.name, *cells, _margin(row), verdict, *([floor] if floors else []))


def _margin(row: ComparisonRow) -> str:
    one = row.difference
    if one is None or one.margin is None:
        return ABSENT
    if one.margin_percent is not None:
        return f"{about(one.margin_percent)} %"
    return f"{about(one.margin)} {row.metric.unit}".strip()


def _signed(value: float) -> str:
    text = about(value)
    return f"+{text}" if value > 0 and text != ABSENT else text


def _reasons(found: VersionsResult) -> Iterator[str]:
    if found.comparison is None:
        return
    for row, outcome in zip(found.comparison.rows, found.outcomes, strict=True):
        if outcome == "fine" and row.verdict == "undecided":
            yield f"{row.metric.name}: the interval leaves out that head is worse by {_margin(row)}"
        elif row.reason and row.verdict in ("undecided", "no inference"):
            yield f"{row.metric.name}: {row.reason}{_bill(row)}"


def _bill(row: ComparisonRow) -> str:
    if not row.more:
        return ""
    time = "" if row.more_seconds is None else f", about {duration_text(row.more_seconds)}"
    return f"; {row.more} more trials of each version give a 90 % chance to decide{time}"


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
