"""A comparison for a pull request: a line that sums it up, one table, and the rest folded away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialwise.analysis.comparison.gate import gate_of
from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.report import comparison_words as words
from trialwise.report.render.markdown import markdown_code, markdown_text
from trialwise.report.units import Scale

_MARKS = {"passed": "✅", "failed": "❌", "undecided": "❔"}
_MOST_ROWS = 100


def comparison_markdown(found: Comparison) -> str:
    """The text, which GitHub and GitLab show alike."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Comparison) -> Iterator[str]:
    gate = gate_of(found)
    yield f"### {_MARKS[gate.outcome]} {words.counts_of(found)}"
    yield ""
    yield f"{markdown_code(found.b)} against {markdown_code(found.a)}. Gate {markdown_text(gate.sentence)}."
    yield ""
    yield from _table(found)
    yield ""
    yield from _folded(
        "Intervals, and what would decide", [*_details(found), "", markdown_text(words.method_of(found))]
    )


def _table(found: Comparison) -> Iterator[str]:
    """What needs a look comes first; equal verdicts stay in the order of the experiment."""
    title, names = words.row_names(found)
    rows = sorted(found.rows, key=_urgency)
    kept = rows[:_MOST_ROWS]
    yield f"| {markdown_text(title)} | metric | A | B | change | δ | verdict |"
    yield "|---|---|---:|---:|---:|---:|---|"
    scales = words.scales_of(found.rows)
    for row in kept:
        shown = scales[row.metric.name]
        a, b = map(shown.write, row.summary.means)
        verdict = f"**{words.verdict_of(row)}**" if row.verdict == "different" else words.verdict_of(row)
        yield (
            f"| {markdown_text(names[row.treatment])} | {markdown_text(words.metric_of(row, shown))} "
            f"| {a} | {b} | {words.change_of(row)} "
            f"| {markdown_text(_margin(row, shown))} | {verdict} |"
        )
    if len(rows) > len(kept):
        yield ""
        yield f"… and {len(rows) - len(kept)} more rows"


def _urgency(row: ComparisonRow) -> int:
    if row.verdict == "different":
        return 1 if row.direction == "better" else 0
    return {"undecided": 2, "no inference": 3, "equivalent": 4}[row.verdict]


def _margin(row: ComparisonRow, shown: Scale) -> str:
    return words.margin_of(row, shown).removeprefix("δ = ") if row.difference else "–"


def _details(found: Comparison) -> Iterator[str]:
    _, names = words.row_names(found)
    yield f"| | n | B − A | Hodges–Lehmann | B / A | {words.P_FOR} | more |"
    yield "|---|---|---:|---:|---:|---:|---|"
    scales = words.scales_of(found.rows)
    for row in found.rows[:_MOST_ROWS]:
        shown = scales[row.metric.name]
        yield (
            f"| {markdown_text(words.metric_of(row, shown))} of {markdown_text(names[row.treatment])} | {words.n_of(row)} "
            f"| {words.difference_of(row, shown)} | {words.shift_of(row, shown)} "
            f"| {words.ratio_of(row)} | {markdown_text(words.claim_p_of(row))} | {words.short_bill(row)} |"
        )
    said = [f"{name}: {why}" for name, why in words.open_rows(found)]
    said += [f"environments differ in {line}" for line in words.environment_lines(found)]
    said += [*words.lacking(found), *words.remarks(found)]
    if said:
        yield ""
        yield from (f"- {markdown_text(line)}" for line in said)


def _folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>"
    yield ""
    yield from lines
    yield ""
    yield "</details>"
