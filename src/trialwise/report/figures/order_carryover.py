"""The figures of carry-over: a matrix of predecessors, or the pairs that stand out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trialwise.analysis.order.results import GroupCarryOver, PairEffect
from trialwise.analysis.order.summary import OrderSummary
from trialwise.report.figures.order_picture import WRITTEN, Picture, group_text, names_of
from trialwise.report.numbers import counted, percent
from trialwise.report.points import Row

_MOST_PAIRS = 20
MOST_GROUPS = 6


def carry_over_groups(view: OrderSummary) -> Sequence[GroupCarryOver]:
    """The groups whose carry-over was looked for, as the report has them."""
    return view.found.carry_over if view.found else ()


def carryover_pictures(view: OrderSummary, labels: Mapping[str, str]) -> Iterator[Picture]:
    """A matrix for each group that is small enough for one, the pairs that stand out for each other."""
    for place, group in enumerate(carry_over_groups(view)[:MOST_GROUPS]):
        if group.tested and group.matrix is not None:
            yield _matrix(place, group, labels, several=len(carry_over_groups(view)) > 1)
        elif group.pairs:
            yield _pairs(place, group, labels, several=len(carry_over_groups(view)) > 1)


def _matrix(place: int, group: GroupCarryOver, labels: Mapping[str, str], *, several: bool) -> Picture:
    rows = list(_cells(group, labels))
    tested = [abs(float(row["percent"] or 0.0)) for row in rows if row["p"] is not None]
    # Also those that have no percentages, because their mean is 0: they are predecessors of others.
    there = [labels.get(name, name) for name in (group.matrix.treatments if group.matrix else ())]
    names = tuple(dict.fromkeys(name for name in (*labels.values(), *there) if name in there))
    found = (
        f"{counted(len(group.pairs), 'pair stands', 'pairs stand')} out"
        if group.pairs
        else "no pair stands out"
    )
    return Picture(
        "carry-over",
        f"carry-over-{place}",
        "Carry-over" + (f": {group_text(group)}" if several else ""),
        "What each treatment (row) does right after each predecessor (column): the difference in percent of its mean after the "
        f"others. Framed{' and bold' if len(names) <= WRITTEN else ' and dotted'}: pairs that stand out at "
        f"{percent(group.confidence)} for all {group.tested} together; {found}. Empty: never, or too seldom.",
        f"Matrix of the effect of each predecessor on each treatment of {group_text(group)}, in percent; {found}.",
        tuple(rows),
        names,
        "% of the mean after the others",
        most=max(tested, default=0.0) or 1.0,
    )


def _cells(group: GroupCarryOver, labels: Mapping[str, str]) -> Iterator[Row]:
    matrix = group.matrix
    if matrix is None:
        return
    standing = {(pair.treatment, pair.predecessor) for pair in group.pairs}
    for row, treatment in enumerate(matrix.treatments):
        for column, predecessor in enumerate(matrix.treatments):
            size = matrix.percent[row][column]
            if size is not None:
                yield {
                    "treatment": labels.get(treatment, treatment),
                    "predecessor": labels.get(predecessor, predecessor),
                    "percent": size,
                    "text": f"{size:+.1f}",
                    "p": matrix.p_values[row][column],
                    "n": matrix.counts[row][column],
                    "named": (treatment, predecessor) in standing,
                }


def _pairs(place: int, group: GroupCarryOver, labels: Mapping[str, str], *, several: bool) -> Picture:
    rows = tuple(_pair_row(pair, labels) for pair in group.pairs[:_MOST_PAIRS] if pair.percent is not None)
    more = f" The {len(rows)} largest of {len(group.pairs)}." if len(group.pairs) > len(rows) else ""
    return Picture(
        "pairs",
        f"carry-over-{place}",
        "Pairs that stand out" + (f": {group_text(group)}" if several else ""),
        "What the predecessor does to the treatment right after it, with intervals that hold at "
        f"{percent(group.confidence)} for all {group.tested} pairs together.{more}",
        f"Effects of predecessors on treatments of {group_text(group)} with intervals.",
        rows,
        names_of(rows),
        "% of the mean after the others",
        0.0,
    )


def _pair_row(pair: PairEffect, labels: Mapping[str, str]) -> Row:
    names = (labels.get(name, name) for name in (pair.treatment, pair.predecessor))
    return {
        "treatment": " after ".join(names),
        "percent": pair.percent,
        "low": pair.percent_low,
        "high": pair.percent_high,
        "p": pair.p_value,
        "n": pair.n,
    }
