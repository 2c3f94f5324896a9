"""The figures of order, free of any way to draw them: what each shows, its rows and its words. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log10
from typing import Literal

from trialwise.analysis.order_results import GroupCarryOver, PairEffect, TreatmentOrder
from trialwise.analysis.order_view import Bin, Course, OrderView
from trialwise.report.numbers import counted, percent
from trialwise.report.points import Row

Kind = Literal[
    "p-values",
    "effect-sizes",
    "differences",
    "cases",
    "intervals",
    "carry-over",
    "pairs",
    "position",
    "drift",
    "trials",
]
NAMED = 12
"""Up to so many treatments each have a row with their name; more are a curve over their rank."""
WRITTEN = 8
"""Up to so many treatments the cells of a matrix hold their number."""
_MOST_INTERVALS = 12
_MOST_PAIRS = 20
_MOST_METRICS = 6
_MOST_GROUPS = 6
_SMALLEST = 1e-30
"""Smaller p-values are drawn here, as in the paper."""
CASES = (
    "1: the intervals do not overlap",
    "2: a median lies in the other's interval",
    "3: they overlap, no median inside",
)


def powers(picture: Picture) -> list[float]:
    """At most seven powers of ten down to the smallest p-value or level, for an axis."""
    smallest = min([picture.level or 1.0, *(float(row["p"] or 1.0) for row in picture.rows)])
    decades = max(1, ceil(-log10(smallest)))
    return [10.0**-power for power in range(0, decades + 1, ceil(decades / 6))]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure of order.

    `names` are the treatments in the order in which they are drawn, `axis` says what is measured, `level` is a line across;
    `most` is the end of a scale of colours, in both directions; `line` are rows of a line over the marks, `measure` what a
    trial's value is, or what runs along the other axis.
    """

    kind: Kind
    name: str
    title: str
    caption: str
    alternative: str
    rows: tuple[Row, ...]
    names: tuple[str, ...] = ()
    axis: str = ""
    level: float | None = None
    most: float = 0.0
    measure: str = ""
    line: tuple[Row, ...] = ()


def pictures(view: OrderView, labels: Mapping[str, str]) -> list[Picture]:
    """Every figure there is something for; `labels` are what figures call treatments, else their names."""
    return [*_compared(view, labels), *_carried(view, labels), *_over_time(view, labels)]


def left_out(view: OrderView) -> Iterator[str]:
    """What is not drawn, and where it stands instead."""
    metrics = _metrics(view)
    if len(metrics) > _MOST_METRICS:
        yield (
            f"figures of fixed against random order show {_MOST_METRICS} of {len(metrics)} metrics; "
            "the table has all"
        )
    if len(view.courses) > _MOST_GROUPS:
        yield f"carry-over and trials over time are drawn for {_MOST_GROUPS} of {len(view.courses)} groups"
    for group in _groups(view)[:_MOST_GROUPS]:
        if group.tested and group.matrix is None:
            drawn = (
                "the pairs that stand out are drawn" if group.pairs else "there is no pair that stands out"
            )
            yield f"{_where(group)}: a matrix of so many treatments cannot be read; {drawn}"


def _groups(view: OrderView) -> Sequence[GroupCarryOver]:
    return view.found.carry_over if view.found else ()


def _where(part: GroupCarryOver | Course) -> str:
    return f"{part.metric} ({part.group})" if part.group else part.metric


def _unit(view: OrderView, metric: str) -> str:
    return f" [{unit}]" if (unit := view.units.get(metric)) else ""


# Fixed against random order (the paper's Figures 2 to 6)


def _metrics(view: OrderView) -> dict[str, list[TreatmentOrder]]:
    """The treatments that were compared, by metric."""
    found: dict[str, list[TreatmentOrder]] = {}
    for one in view.found.treatments if view.found else ():
        if one.p_value is not None:
            found.setdefault(one.metric, []).append(one)
    return found


def _compared(view: OrderView, labels: Mapping[str, str]) -> Iterator[Picture]:
    metrics = _metrics(view)
    for place, (metric, tested) in enumerate(list(metrics.items())[:_MOST_METRICS]):
        several = len(metrics) > 1
        of, end = (f": {metric}", f"-{place}") if several else ("", "")
        by_effect = sorted(tested, key=lambda one: one.eta_squared or 0.0)
        rows = tuple(_treatment_row(rank, one, labels) for rank, one in enumerate(by_effect, 1))
        yield _p_values(f"p-values{end}", of, by_effect, rows)
        yield _effect_sizes(f"effect-sizes{end}", of, rows)
        yield _differences(f"differences{end}", of, tested, labels)
        yield _cases(f"cases{end}", of, tested)
        yield _intervals(f"intervals{end}", of, tested, labels)


def _treatment_row(rank: int, one: TreatmentOrder, labels: Mapping[str, str]) -> Row:
    return {
        "rank": rank,
        "treatment": _label(one, labels),
        "p": None if one.p_value is None else max(one.p_value, _SMALLEST),
        "p_corrected": one.p_corrected,
        "effect": one.eta_squared,
        "difference": one.percent_difference,
        "standing": "differs" if one.significant else "does not differ",
        "case": one.case,
    }


def _label(one: TreatmentOrder, labels: Mapping[str, str]) -> str:
    name = labels.get(one.treatment, one.treatment)
    return f"{name} ({one.group})" if one.group else name


def _named(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(str(row["treatment"]) for row in rows)


def _each(rows: Sequence[Row], by: str) -> str:
    if len(rows) <= NAMED:
        return f"{counted(len(rows), 'treatment')} by {by}."
    return f"Each mark is one of {len(rows)} treatments, by {by}; the ends are named."


def _p_values(name: str, of: str, tested: Sequence[TreatmentOrder], rows: tuple[Row, ...]) -> Picture:
    level = min(one.alpha_corrected for one in tested)
    smallest = (
        f" Values below {_SMALLEST:g} are drawn there." if any(row["p"] == _SMALLEST for row in rows) else ""
    )
    return Picture(
        "p-values",
        name,
        f"Kruskal-Wallis p-values{of}",
        f"{_each(rows, 'effect size')} Dashed: {level:.2g}, the level over the number of comparisons (Bonferroni). Filled: differs "
        f"after correction.{smallest}",
        f"p-values of Kruskal and Wallis' test of fixed against random order{of}, sorted by effect size.",
        rows,
        _named(rows),
        "p, not corrected",
        level,
    )


def _effect_sizes(name: str, of: str, rows: tuple[Row, ...]) -> Picture:
    return Picture(
        "effect-sizes",
        name,
        f"Effect sizes{of}",
        f"{_each(rows, 'effect size')} η² is the share of the variance of ranks that the order explains; below 0 it is none.",
        f"Effect sizes of fixed against random order{of}, sorted.",
        rows,
        _named(rows),
        "effect size η²",
        0.0,
    )


def _differences(name: str, of: str, tested: Sequence[TreatmentOrder], labels: Mapping[str, str]) -> Picture:
    by_difference = sorted(tested, key=lambda one: one.percent_difference or 0.0)
    rows = tuple(_treatment_row(rank, one, labels) for rank, one in enumerate(by_difference, 1))
    return Picture(
        "differences",
        name,
        f"Difference of the means{of}",
        f"{_each(rows, 'difference')} Δ% is the mean in fixed order minus that in random order, in percent of the fixed one: above 0 "
        "values are larger in fixed order.",
        f"Differences of means under fixed and random order in percent{of}, sorted.",
        rows,
        _named(rows),
        "Δ%, fixed minus random",
        0.0,
    )


def _cases(name: str, of: str, tested: Sequence[TreatmentOrder]) -> Picture:
    counts = [sum(one.case == case for one in tested) for case in (1, 2, 3)]
    rows: list[Row] = [
        {"case": text, "treatments": count, "share": f"{100 * count / len(tested):.0f} %"}
        for text, count in zip(CASES, counts, strict=True)
    ]
    return Picture(
        "cases",
        name,
        f"Cases of the intervals of medians{of}",
        "Case 1: conclusions change with the order. 2: they likely do not. 3: open.",
        f"How many of {len(tested)} treatments fall into each case of overlap of two intervals{of}.",
        tuple(rows),
        CASES,
        "treatments",
    )


def _intervals(name: str, of: str, tested: Sequence[TreatmentOrder], labels: Mapping[str, str]) -> Picture:
    ordered = sorted(tested, key=lambda one: -abs(one.shift_percent or 0.0))[:_MOST_INTERVALS]
    rows = tuple(row for one in ordered for row in _interval_rows(one, labels))
    more = (
        f" The {len(ordered)} of {len(tested)} treatments that move most."
        if len(tested) > len(ordered)
        else ""
    )
    return Picture(
        "intervals",
        name,
        f"Medians under both orders{of}",
        f"Each median with its interval, in percent of the median in fixed order; in brackets the case.{more}",
        f"Medians under fixed and random order with their intervals, by treatment{of}.",
        rows,
        tuple(dict.fromkeys(_named(rows))),
        "% from the median in fixed order",
    )


def _interval_rows(one: TreatmentOrder, labels: Mapping[str, str]) -> Iterator[Row]:
    if one.fixed is None or one.random is None or not one.fixed.median:
        return
    for order, known in (("fixed", one.fixed), ("random", one.random)):
        low, median, high = (
            100 * (end - one.fixed.median) / abs(one.fixed.median)
            for end in (known.low, known.median, known.high)
        )
        yield {
            "treatment": f"{_label(one, labels)} (case {one.case})",
            "order": order,
            "low": low,
            "median": median,
            "high": high,
            "n": known.n,
        }


# Carry-over


def _carried(view: OrderView, labels: Mapping[str, str]) -> Iterator[Picture]:
    for place, group in enumerate(_groups(view)[:_MOST_GROUPS]):
        if group.tested and group.matrix is not None:
            yield _matrix(place, group, labels, several=len(_groups(view)) > 1)
        elif group.pairs:
            yield _pairs(place, group, labels, several=len(_groups(view)) > 1)


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
        "Carry-over" + (f": {_where(group)}" if several else ""),
        "What each treatment (row) does right after each predecessor (column): the difference in percent of its mean after the "
        f"others. Framed{' and bold' if len(names) <= WRITTEN else ' and dotted'}: pairs that stand out at "
        f"{percent(group.confidence)} for all {group.tested} together; {found}. Empty: never, or too seldom.",
        f"Matrix of the effect of each predecessor on each treatment of {_where(group)}, in percent; {found}.",
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
        "Pairs that stand out" + (f": {_where(group)}" if several else ""),
        "What the predecessor does to the treatment right after it, with intervals that hold at "
        f"{percent(group.confidence)} for all {group.tested} pairs together.{more}",
        f"Effects of predecessors on treatments of {_where(group)} with intervals.",
        rows,
        _named(rows),
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


# Over time


def _over_time(view: OrderView, labels: Mapping[str, str]) -> Iterator[Picture]:
    several = len(view.courses) > 1
    for place, course in enumerate(view.courses[:_MOST_GROUPS]):
        of = f": {_where(course)}" if several else ""
        if len(course.positions) > 1:
            yield _position(place, course, of)
        if len(course.rounds) > 1:
            yield _drift(place, course, of)
        if course.trials:
            yield _trials(place, course, of, labels, _unit(view, course.metric))


def _position(place: int, course: Course, of: str) -> Picture:
    return Picture(
        "position",
        f"position-{place}",
        f"Position in the round{of}",
        "Median distance of trials from the median of their treatment at each position, with its interval; rounds in random "
        f"order alone.{_shared(course.positions, 'positions')}",
        f"Distance of {_where(course)} from the median of the treatment by position in the round.",
        tuple(_bin_row(bin_) for bin_ in course.positions),
        axis=f"{course.metric}, % from the median",
        level=0.0,
        measure="position in the round",
    )


def _drift(place: int, course: Course, of: str) -> Picture:
    return Picture(
        "drift",
        f"drift-{place}",
        f"Drift from round to round{of}",
        "Median distance of trials from the median of their treatment in each round, with its interval."
        + _shared(course.rounds, "rounds"),
        f"Distance of {_where(course)} from the median of the treatment by round.",
        tuple(_bin_row(bin_, 1) for bin_ in course.rounds),
        axis=f"{course.metric}, % from the median",
        level=0.0,
        measure="round, in the order in which they ran",
    )


def _shared(bins: Sequence[Bin], what: str) -> str:
    return f" Neighbouring {what} share a mark." if any(bin_.last > bin_.first for bin_ in bins) else ""


def _bin_row(bin_: Bin, shift: int = 0) -> Row:
    """A bin as a row; its place is counted from 0 or, with a shift, from 1."""
    first, last = bin_.first + shift, bin_.last + shift
    ends = f"{first:g}" if first == last else f"{first:g} to {last:g}"
    middle = (first + last) / 2
    return {
        "at": middle,
        "where": ends,
        "median": bin_.median,
        "low": bin_.low,
        "high": bin_.high,
        "n": bin_.n,
    }


def _trials(place: int, course: Course, of: str, labels: Mapping[str, str], unit: str) -> Picture:
    orders = {trial.order for trial in course.trials}
    shapes = " Circles: fixed order; diamonds: random order." if len(orders) > 1 else ""
    drawn = len(course.trials)
    thinned = f" {drawn} of {course.n} trials are drawn." if drawn + course.without < course.n else ""
    without = (
        f" {counted(course.without, 'trial')} of treatments whose median is 0 are left out."
        if course.without
        else ""
    )
    span = "round" if all(bin_.first == bin_.last for bin_ in course.rounds) else "few rounds"
    return Picture(
        "trials",
        f"trials-{place}",
        f"Trials over time{of}",
        f"Distance of each trial from the median of its treatment; colours change from round to round.{shapes} The line is the "
        f"median of each {span}: drift.{thinned}{without}",
        f"Trials of {_where(course)} in the order in which they ran, coloured by round.",
        tuple(_trial_rows(course, labels)),
        axis=f"{course.metric}, % from the median",
        measure=course.metric + unit,
        line=tuple(_round_rows(course)),
    )


def _trial_rows(course: Course, labels: Mapping[str, str]) -> Iterator[Row]:
    places = [trial.position for trial in course.trials]
    first, span = min(places), max(places) - min(places) + 1
    for trial in course.trials:
        yield {
            "at": trial.turn + 1 + (trial.position - first) / span,
            "percent": trial.percent,
            "value": trial.value,
            "treatment": labels.get(trial.treatment, trial.treatment),
            "order": trial.order,
            "round": trial.turn + 1,
            "colour": str(trial.turn % 6),
            "position": trial.position,
            "worker": trial.worker,
        }


def _round_rows(course: Course) -> Iterator[Row]:
    for bin_ in course.rounds:
        yield {"at": (bin_.first + bin_.last + 3) / 2, "median": bin_.median, "n": bin_.n}
