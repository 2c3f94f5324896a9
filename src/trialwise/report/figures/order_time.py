"""Figures of trials over time: position in the round, drift, and the trials themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import altair as alt

from trialwise.analysis.order.summary import Bin, Course, OrderSummary
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.encodings import HEIGHT
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.order_parts import MAX_GROUPS, across, group_text, order_figure
from trialwise.report.figures.palette import COLOURS
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.numbers import counted
from trialwise.report.plot_rows import Row

_ROUNDS = "round, in the order in which they ran"


def time_figures(
    view: OrderSummary, labels: Mapping[str, str], sheets: dict[str, ColumnData]
) -> Iterator[Figure]:
    """Yield position, drift and trials for each metric and group with more than one position to compare."""
    several = len(view.courses) > 1
    for place, course in enumerate(view.courses[:MAX_GROUPS]):
        of = f": {group_text(course)}" if several else ""
        if len(course.positions) > 1:
            yield _position(place, course, of, sheets)
        if len(course.rounds) > 1:
            yield _drift(place, course, of, sheets)
        if course.trials:
            unit = view.units.get(course.metric)
            yield _trials(place, course, of, labels, f" [{unit}]" if unit else "", sheets)


# Bins


def _position(place: int, course: Course, of: str, sheets: dict[str, ColumnData]) -> Figure:
    words = (
        f"Position in the round{of}",
        (
            "Median distance of trials from the median of their treatment at each position, with its interval; rounds in random "
            f"order alone.{_shared(course.positions, 'positions')}"
        ),
        f"Distance of {group_text(course)} from the median of the treatment by position in the round.",
    )
    rows = [_bin_row(bin_) for bin_ in course.positions]
    return _bins(f"position-{place}", words, rows, "position in the round", course, sheets)


def _drift(place: int, course: Course, of: str, sheets: dict[str, ColumnData]) -> Figure:
    words = (
        f"Drift from round to round{of}",
        "Median distance of trials from the median of their treatment in each round, with its interval."
        + _shared(course.rounds, "rounds"),
        f"Distance of {group_text(course)} from the median of the treatment by round.",
    )
    rows = [_bin_row(bin_, 1) for bin_ in course.rounds]
    return _bins(f"drift-{place}", words, rows, _ROUNDS, course, sheets)


def _shared(bins: Sequence[Bin], what: str) -> str:
    return f" Neighbouring {what} share a mark." if any(bin_.last > bin_.first for bin_ in bins) else ""


def _bin_row(bin_: Bin, shift: int = 0) -> Row:
    """Return a bin as a row; its index counts from 0 or, with a shift, from 1."""
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


def _bins(
    name: str,
    words: tuple[str, str, str],
    rows: list[Row],
    along: str,
    course: Course,
    sheets: dict[str, ColumnData],
) -> Figure:
    tips = [
        alt.Tooltip("where:N", title=along),
        *map(encodings.tip, ("median", "low", "high")),
        *encodings.name_tips("n"),
    ]
    scale = alt.Scale(nice=False, padding=14, zero=False)
    x = alt.X("at:Q", title=along, axis=encodings.count_axis(encodings.numbers(rows, "at")), scale=scale)
    heights = encodings.span([0.0, *encodings.numbers(rows, "low", "median", "high")])
    y = alt.Y("low:Q", title=f"{course.metric}, % from the median", scale=heights)
    chart = charted(rows, sheets)
    base = chart.encode(x=x, tooltip=tips)
    bars = base.mark_rule(strokeWidth=3, opacity=0.5, color=COLOURS[0]).encode(y=y, y2="high:Q")
    middles = base.mark_point(filled=True, size=50, opacity=1, color=COLOURS[0]).encode(y="median:Q")
    zero = across(chart, 0.0, upright=False)
    layers = alt.layer(zero, bars.add_params(encodings.zoom("x", "y")), middles)
    return order_figure(name, words, layers, HEIGHT)


# Trials


def _trials(
    place: int, course: Course, of: str, labels: Mapping[str, str], unit: str, sheets: dict[str, ColumnData]
) -> Figure:
    rows = list(_trial_rows(course, labels))
    orders = {trial.order for trial in course.trials}
    tips = [
        encodings.tip("value", course.metric + unit),
        encodings.tip("percent", "% from the median"),
        *encodings.name_tips("treatment", "order", "round", "position"),
        *(encodings.name_tips("worker") if any(row["worker"] for row in rows) else []),
    ]
    domain, ink = ["fixed", "random"], "currentColor"
    known = alt.Legend(orient="top", title=None, symbolFillColor=ink, symbolStrokeColor=ink)
    shapes = alt.Scale(domain=domain, range=["circle", "diamond"])
    turns = alt.Scale(domain=[str(number) for number in range(len(COLOURS))], range=list(COLOURS))
    axis = encodings.count_axis(encodings.numbers(rows, "at"))
    scale = alt.Scale(nice=False, padding=8, zero=False)
    heights = encodings.span([0.0, *encodings.numbers(rows, "percent")])
    marked = charted(rows, sheets).mark_point(filled=True, size=34, opacity=0.8)
    marked = marked.encode(
        x=alt.X("at:Q", title=_ROUNDS, axis=axis, scale=scale),
        y=alt.Y("percent:Q", title=f"{course.metric}, % from the median", scale=heights),
        shape=alt.Shape("order:N", scale=shapes, legend=known if len(orders) > 1 else None),
        color=alt.Color("colour:N", scale=turns, legend=None),
        tooltip=tips,
    )
    line = charted(list(_round_rows(course)), sheets).mark_line(color=ink, strokeWidth=1.5, opacity=0.8)
    layers = alt.layer(marked.add_params(encodings.zoom("x", "y")), line.encode(x="at:Q", y="median:Q"))
    words = (
        f"Trials over time{of}",
        _trials_caption(course),
        f"Trials of {group_text(course)} in the order in which they ran, coloured by round.",
    )
    return order_figure(f"trials-{place}", words, layers, HEIGHT, whole=True)


def _trials_caption(course: Course) -> str:
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
    return (
        f"Distance of each trial from the median of its treatment; colours change from round to round.{shapes} The line is the "
        f"median of each {span}: drift.{thinned}{without}"
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
