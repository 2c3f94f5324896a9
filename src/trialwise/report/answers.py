"""The answer to what people ask first: which treatment is best, by how many per cent, and if that cannot be told, what would tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trialwise.analysis.comparison.answering import USUAL_MARGIN, Deciding, deciding, further_units
from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.unit_words import sides_text, units_text
from trialwise.report import comparison_words as words
from trialwise.report.document import Outcome
from trialwise.report.numbers import counted, percent


def answer(view: VerdictSummary, labels: Mapping[str, str]) -> tuple[Outcome, str] | None:
    """Return the answer in the first metric that has one, and what it means; None without a comparison.

    Parameters
    ----------
    view
        The verdicts between treatments, which hold for all of its pairs and metrics together.
    labels
        What treatments are called.
    """
    found, comparison = deciding(view), view.comparison
    if found is None or comparison is None:
        return None
    said = "; ".join(_said(found, labels, comparison.confidence))
    if others := len(comparison.rows) - 1:
        elsewhere = _elsewhere(found, view)
        said += f" ({elsewhere}{counted(others, 'further comparison')} below; verdicts hold for all together)"
    return "plain" if found.row.verdict in ("different", "equivalent") else "open", said


def _elsewhere(found: Deciding, view: VerdictSummary) -> str:
    """Return in how many other metrics the verdict on the pair is the same, with the same treatment as the better one."""
    comparison, row = view.comparison, found.row
    others = len({each.metric.name for each in comparison.rows}) - 1 if comparison else 0
    if comparison is None or others < 1:
        return ""
    same = 0
    for each in comparison.rows:
        pair = view.pairs[each.treatment]
        if each.metric.name == row.metric.name or set(pair) != {found.best, found.other}:
            continue
        if row.verdict == "different":
            first, second = each.summary.means
            lower, higher = pair if first < second else pair[::-1]
            better = {"lower": lower, "higher": higher, None: None}[each.metric.better]
            same += each.verdict == "different" and better == found.best
        else:
            same += (
                each.verdict == row.verdict if row.verdict == "equivalent" else each.verdict == "different"
            )
    what = "the same" if row.verdict in ("different", "equivalent") else "decided"
    return f"{what} in {same or 'none'} of {counted(others, 'other metric')}; "


def _said(found: Deciding, labels: Mapping[str, str], confidence: float) -> Iterator[str]:
    """Yield the sentence of a pair, then its facts: change and interval, n and level, the method, what would decide."""
    row, name = found.row, found.row.metric.name
    best, other = (labels.get(each, each) for each in (found.best, found.other))
    if row.difference is None:
        yield f"Whether {name} differs between {best} and {other} cannot be told: {row.reason}{words.lifted(row)}"
        return
    change = f"{words.change_of(row)} against {other}"
    if row.verdict == "different":
        yield f"{best} has the {'lower' if row.metric.better == 'lower' else 'higher'} {name}: {change}"
    elif row.verdict == "equivalent":
        yield f"{best} and {other} have the same {name} within {words.margin_of(row)}: {best} has {change}"
    else:
        yield f"Whether {name} differs between {best} and {other} cannot be told: {best} has {change}"
    a, b = row.units.n
    n = units_text(a, row.units.level, "shared ") if row.units.paired else sides_text(b, a, row.units.level)
    together = (
        ""
        if found.among == 1
        else " by itself"
        if found.by_itself
        else f" for all {found.among} pairs together"
    )
    yield f"{percent(confidence)} interval{together}, n = {n}, {row.difference.method.partition(';')[0]}, ratio by Fieller"
    if row.verdict == "undecided" and (more := further_units(row)):
        yield f"{units_text(more, row.units.level, 'more ')} of each would decide {percent(USUAL_MARGIN)}"
