"""Figures of how the duration of a simulated trial affects estimates (CCEval, figure 13), for reports and by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import altair as alt

from trialwise.analysis.estimation.results import DurationAdvice
from trialwise.report.document import Figure
from trialwise.report.figures import encodings
from trialwise.report.figures.encodings import Chart
from trialwise.report.figures.estimation_points import (
    BOUNDS,
    active_rows,
    duration_rows,
    estimand_looks,
    phase_rows,
    stable_value,
)
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import Style
from trialwise.report.numbers import percent
from trialwise.report.plot_rows import in_unit
from trialwise.report.units import Scale, scale

_HEIGHT = 260


def duration_figures(
    all_advice: Sequence[DurationAdvice],
    styles: Mapping[str, Style],
    names: Mapping[str, str],
    sheets: dict[str, ColumnData],
) -> Iterator[Figure]:
    """Yield a figure for each advice that has estimates, and one of the active flows of all treatments."""
    for place, advice in enumerate(all_advice):
        if any(step.pooled for step in advice.steps):
            yield _durations(place, advice, names.get(advice.treatment, advice.treatment), sheets)
    by_treatment = {advice.treatment: advice for advice in all_advice}
    if by_treatment:
        shown = {names.get(name, name): style for name, style in styles.items() if name in by_treatment}
        yield _phases(list(by_treatment.values()), names, shown, sheets)


def _durations(place: int, advice: DurationAdvice, name: str, sheets: dict[str, ColumnData]) -> Figure:
    found = duration_rows(advice)
    shown, lengths = (
        scale(encodings.numbers(found, *BOUNDS), advice.unit),
        scale(encodings.numbers(found, "duration"), "s"),
    )
    rows = in_unit(in_unit(found, shown), lengths, ("duration",))
    kinds = list(dict.fromkeys(str(row["estimand"]) for row in rows))
    colour, shape = estimand_looks(kinds)
    tips = [
        *encodings.name_tips("estimand", "trials", "made"),
        *map(encodings.tip, ("duration", "estimate", "low", "high", "flows")),
    ]
    across = encodings.logarithmic(encodings.numbers(rows, "duration") + _uprights(advice, lengths))
    up = encodings.wide_scale([*encodings.numbers(rows, *BOUNDS), *_tolerance(advice, shown)])
    x = alt.X(
        "duration:Q",
        title=f"duration of a trial{lengths.heading}",
        scale=across,
        axis=encodings.plain_axis(across),
    )
    y = alt.Y("estimate:Q", title=advice.metric + shown.heading, scale=up, axis=encodings.plain_axis(up))
    base = charted(rows, sheets).encode(x=x, color=colour, tooltip=tips)
    bounded = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    layers: list[Chart] = [
        *_tolerated(advice, shown, sheets),
        bounded.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(opacity=0.6).encode(y=y),
        base.mark_point(filled=True, size=55, opacity=1).encode(y=y, shape=shape),
        *_lengths(advice, lengths, sheets),
    ]
    return Figure(
        f"duration-{place}",
        f"Duration of a trial: {advice.metric}, {name}",
        "Left of the dotted line, flows that begin in the first part of each trial; right of it, trials put together, where only the "
        "number of flows differs. Where both estimands part, few flows are to blame; where the pooled one moves, the transient."
        f" Bars are {percent(advice.confidence)} intervals of each by itself.{_tolerance_words(advice)}",
        f"The per-trial and the pooled {advice.metric} against the duration of a trial, for {name}.",
        encodings.finished(alt.layer(*layers), _HEIGHT),
    )


def _tolerance_words(advice: DurationAdvice) -> str:
    if stable_value(advice) is None:
        return ""
    band = f" Grey: within {percent(advice.tolerance)} of the flows of the stable phase."
    return band + ("" if advice.needed is None else " Dashed: the duration needed.")


def _tolerance(advice: DurationAdvice, shown: Scale) -> list[float]:
    """Return the range around the stable phase's estimate in which the estimate may lie."""
    centre = stable_value(advice)
    if centre is None:
        return []
    return [shown.factor * centre * (1 + way * advice.tolerance / 100) for way in (-1, 1)]


def _uprights(advice: DurationAdvice, lengths: Scale) -> list[float]:
    return [length * lengths.factor for length in (advice.duration, advice.needed) if length is not None]


def _tolerated(advice: DurationAdvice, shown: Scale, sheets: dict[str, ColumnData]) -> Iterator[Chart]:
    """Draw the band around the estimate of the stable phase."""
    if ends := _tolerance(advice, shown):
        band = charted([{"low": ends[0], "high": ends[1]}], sheets)
        yield band.mark_rect(color="#808080", opacity=0.22).encode(y="low:Q", y2="high:Q")


def _lengths(advice: DurationAdvice, lengths: Scale, sheets: dict[str, ColumnData]) -> Iterator[Chart]:
    """Draw vertical lines: the present duration, dotted, and the duration needed, dashed."""
    for length, dash in ((advice.duration, [2, 3]), (advice.needed, [6, 3])):
        if length is not None:
            row = charted([{"duration": length * lengths.factor}], sheets)
            yield row.mark_rule(strokeDash=dash, color="currentColor").encode(x="duration:Q")


def _phases(
    all_advice: Sequence[DurationAdvice],
    names: Mapping[str, str],
    styles: Mapping[str, Style],
    sheets: dict[str, ColumnData],
) -> Figure:
    found = active_rows(all_advice, names)
    shown = scale(encodings.numbers(found, "time"), "s")
    rows, ends = (in_unit(each, shown, ("time",)) for each in (found, phase_rows(all_advice, names)))
    times = encodings.numbers([*rows, *ends], "time")
    x = alt.X("time:Q", title=f"time in a trial{shown.heading}", scale=encodings.from_zero(times))
    lines = charted(rows, sheets).encode(
        x=x,
        color=encodings.colour(styles, lines=True),
        tooltip=[*encodings.name_tips("treatment"), *map(encodings.tip, ("time", "active"))],
    )
    lines = lines.mark_line().encode(
        y=alt.Y("active:Q", title="active flows, mean of trials"), strokeDash=encodings.dash(styles)
    )
    upright = charted(ends, sheets).mark_rule(strokeDash=[2, 3], opacity=0.8)
    upright = upright.encode(
        x=x,
        color=encodings.colour(styles, lines=True),
        tooltip=[*encodings.name_tips("treatment", "phase"), encodings.tip("time")],
    )
    return Figure(
        "phases",
        "Phases of a trial",
        "How many flows are under way: rising in the warm-up, falling in the cool-down, after the last flow has begun. Dotted: where "
        "the stable phase begins, if there is one, and where no more flows begin.",
        "The mean number of active flows over the time of a trial, for each treatment.",
        encodings.finished(alt.layer(lines, upright), _HEIGHT),
    )
