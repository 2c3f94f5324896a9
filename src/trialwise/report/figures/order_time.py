"""The figures of trials over time: position in the round, drift, and the trials themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trialwise.analysis.order.summary import Bin, Course, OrderSummary
from trialwise.report.figures.order_carryover import MOST_GROUPS
from trialwise.report.figures.order_picture import Picture, group_text
from trialwise.report.numbers import counted
from trialwise.report.points import Row


def _unit(view: OrderSummary, metric: str) -> str:
    return f" [{unit}]" if (unit := view.units.get(metric)) else ""


def time_pictures(view: OrderSummary, labels: Mapping[str, str]) -> Iterator[Picture]:
    """Position, drift and trials for each metric and group, where there is more than one place to compare."""
    several = len(view.courses) > 1
    for place, course in enumerate(view.courses[:MOST_GROUPS]):
        of = f": {group_text(course)}" if several else ""
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
        f"Distance of {group_text(course)} from the median of the treatment by position in the round.",
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
        f"Distance of {group_text(course)} from the median of the treatment by round.",
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
        f"Trials of {group_text(course)} in the order in which they ran, coloured by round.",
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
