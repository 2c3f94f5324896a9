"""The comparison that answers which treatment is best, and what would decide it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite

from trialwise import statistics as st
from trialwise.analysis.comparison.between import VerdictSummary
from trialwise.analysis.comparison.results import ComparisonRow

USUAL_MARGIN = 5.0
"""The difference, in percent, for which a bill is given where nobody named a margin."""


@dataclass(frozen=True, slots=True)
class Deciding:
    """A pair of treatments: `row` has `best` as B and `other` as A; where no direction is known, the higher mean is the best.

    It was chosen among `among` pairs, for all of which the interval holds together (Bonferroni), so that choosing does not spoil it;
    with `by_itself` it is that of the pair alone, since the joint one holds 0 where Holm's correction decides.
    """

    row: ComparisonRow
    best: str
    other: str
    among: int
    by_itself: bool = False


def deciding(view: VerdictSummary) -> Deciding | None:
    """Return the pair of the best two treatments in the first metric whose better direction is known; None if none was compared.

    Where its pairs belong to several subjects, it is the one with the largest change, those decided first; and of all metrics where no
    direction is known.
    """
    found = view.comparison
    if found is None or not found.rows:
        return None
    told = next((row.metric.name for row in found.rows if row.metric.better and row.difference), None)
    rows = [row for row in found.rows if told in (None, row.metric.name)]
    row = (told and _best_two(rows, view)) or max(rows, key=_importance)
    return _for_all(_turned(row, *view.pairs[row.treatment], len(rows)), found.confidence)


def _best_two(rows: Sequence[ComparisonRow], view: VerdictSummary) -> ComparisonRow | None:
    """Return the pair of the best two means of a metric; None where some treatments are not held against each other."""
    means: dict[str, float] = {}
    for row in rows:
        means |= zip(view.pairs[row.treatment], row.summary.means, strict=True)
    if len(rows) < len(means) * (len(means) - 1) // 2:
        return None
    best = sorted(means, key=means.__getitem__, reverse=rows[0].metric.better == "higher")[:2]
    return next((row for row in rows if set(view.pairs[row.treatment]) == set(best)), None)


def _importance(row: ComparisonRow) -> tuple[bool, bool, float]:
    change = abs(row.summary.percent_difference or 0.0)
    return row.verdict == "different", row.difference is not None, change if isfinite(change) else 0.0


def _for_all(found: Deciding, confidence: float) -> Deciding:
    """Have the interval hold for all pairs among which this one was chosen."""
    row, one = found.row, found.row.difference
    if one is None or row.units.printed or row.verdict == "equivalent" or found.among == 1:
        return replace(found, by_itself=found.among > 1)
    joint = _judge(row)(confidence=100 - (100 - confidence) / found.among)
    if row.verdict == "different" and not (joint.welch.low > 0 or joint.welch.high < 0):
        return replace(found, by_itself=True)
    return replace(found, row=replace(row, difference=joint))


def _turned(row: ComparisonRow, a: str, b: str, among: int) -> Deciding:
    """Have the better side as B. One within a margin of A stays as it is, since the margin is another at B; so do printed means."""
    first, second = row.summary.means
    is_better = second < first if row.metric.better == "lower" else second > first
    if is_better or row.verdict == "equivalent" or row.units.printed:
        return Deciding(row, b, a, among)
    units = replace(
        row.units, a=row.units.b, b=row.units.a, counts={k: (n, m) for k, (m, n) in row.units.counts.items()}
    )
    turned = replace(row, units=units)
    if row.difference is not None:
        turned = replace(turned, difference=_judge(turned)(confidence=row.difference.confidence))
    return Deciding(turned, a, b, among)


def further_units(row: ComparisonRow) -> int | None:
    """Return how many more units of each side would decide whether they differ by `USUAL_MARGIN`; None if unknown."""
    if row.difference is None or row.units.printed:
        return None
    found = _judge(row)(confidence=row.difference.confidence, margin=USUAL_MARGIN, relative=True)
    return found.trials_needed


def _judge(row: ComparisonRow) -> partial[st.Difference]:
    return partial(st.paired_difference if row.units.paired else st.difference, row.units.a, row.units.b)
