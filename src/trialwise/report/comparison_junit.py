"""Write a comparison as test cases: JUnit XML for continuous integration."""

from __future__ import annotations

from datetime import datetime

from trialwise.analysis.comparison.gate import fails
from trialwise.analysis.comparison.results import Comparison, ComparisonRow
from trialwise.report import comparison_words as words
from trialwise.report.numbers import write
from trialwise.report.render.junit import Case, junit_xml


def comparison_junit(found: Comparison, moment: datetime) -> str:
    """Write each row as a test case: one that is different for the worse fails, one without a verdict is skipped."""
    known = {"a": found.a, "b": found.b, "method": words.method_of(found)}
    return junit_xml("trialwise compare", [*map(_case, found.rows)], known, words.counts_of(found), moment)


def _case(row: ComparisonRow) -> Case:
    metric = row.metric.name
    name = f"{metric} of {row.treatment}" if row.treatment != "-" else metric
    if fails(row):
        said = f"{words.verdict_of(row)}: {words.change_of(row)}, {words.margin_of(row)}"
        return Case(name, f"trialwise.{metric}", "bad", said, row.verdict, _numbers(row))
    why = words.open_words(row)
    return Case(name, f"trialwise.{metric}", "good" if why is None else "open", why or "")


def _numbers(row: ComparisonRow) -> str:
    a, b = row.summary.means
    return (
        f"means {write(a)} and {write(b)} {row.metric.unit}; {words.n_of(row)}; B − A {words.difference_of(row)}; "
        f"B / A {words.ratio_of(row)}; p for {words.claim_p_of(row)}"
    )
