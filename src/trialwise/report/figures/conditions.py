"""Figures of condition data and of pilots, and their pages, which open from disk without a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import altair as alt
import numpy as np

from trialwise.arrays import Array
from trialwise.numbers import counted
from trialwise.report.document import Document, Figure, Figures
from trialwise.report.documents import profile as profiles
from trialwise.report.documents import runtime as runtimes
from trialwise.report.figures import condition_points as points
from trialwise.report.figures import encodings
from trialwise.report.figures.durations import duration_figures
from trialwise.report.figures.encodings import Chart
from trialwise.report.figures.figure_context import charted
from trialwise.report.figures.paint import write
from trialwise.report.figures.palette import COLOURS, VERDICTS
from trialwise.report.figures.plot_data import ColumnData
from trialwise.report.figures.styles import style_of
from trialwise.report.html import page

if TYPE_CHECKING:
    from trialwise.analysis.conditions.profile import Profile
    from trialwise.analysis.runtime.pilots import Pilot
    from trialwise.analysis.runtime.results import PilotNeed, RuntimeAdvice
    from trialwise.report.plot_rows import Row

_MAX_PILOTS = 6


def profile_page(profile: Profile, times: Array, values: Array) -> str:
    """Return the page of a profile: the terminal's text, the autocorrelation, the data over time."""
    sheets: dict[str, ColumnData] = {}
    figures = _profile_figures(sheets, profile, times, values)
    return _page(f"Profile of {profile.value}", profiles.document(profile, has_sketch=False), figures, sheets)


def write_profile(profile: Profile, times: Array, values: Array, path: Path) -> None:
    """Write the autocorrelation and the data over time for print; the path's ending determines the format."""
    sheets: dict[str, ColumnData] = {}
    write(_profile_figures(sheets, profile, times, values), sheets, path)


def _profile_figures(
    sheets: dict[str, ColumnData], profile: Profile, times: Array, values: Array
) -> list[Figure]:
    data = _data_over_time(sheets, profile, times, values)
    return [_autocorrelation(sheets, profile), data] if profile.autocorrelation.lags else [data]


def write_runtime(advice: RuntimeAdvice, pilots: Sequence[Pilot], path: Path) -> None:
    """Write how the metric of the deciding pilot settles, or of the first if none decides, for print."""
    sheets: dict[str, ColumnData] = {}
    place = advice.decided_by or 0
    write([_growth(sheets, advice, place, _samples_of(advice.pilots[place], pilots))], sheets, path)


def write_durations(advice: RuntimeAdvice, path: Path) -> None:
    """Write the estimates by duration and the phases of the deciding advice, or of the first if none decides, for print."""
    one = advice.durations[advice.decided_by or 0]
    sheets: dict[str, ColumnData] = {}
    write(list(duration_figures([one], {one.treatment: style_of(0)}, {}, sheets)), sheets, path)


def runtime_page(advice: RuntimeAdvice, pilots: Sequence[Pilot]) -> str:
    """Return the page of a runtime: the terminal's text, and how the metric of each pilot settles (at most six)."""
    sheets: dict[str, ColumnData] = {}
    figures = [
        _growth(sheets, advice, place, _samples_of(advice.pilots[place], pilots)) for place in _order(advice)
    ]
    return _page("Runtime of a trial", runtimes.document(advice), figures, sheets)


def simulation_runtime_page(advice: RuntimeAdvice) -> str:
    """Return the page on the duration of simulated trials: the terminal's text, estimates by duration (at most six), the phases."""
    sheets: dict[str, ColumnData] = {}
    deciding = () if advice.decided_by is None else (advice.durations[advice.decided_by],)
    others = [one for one in advice.durations if one not in deciding]
    named = [one.treatment for one in advice.durations]
    styles = {name: style_of(place) for place, name in enumerate(dict.fromkeys(named))}
    figures = list(duration_figures([*deciding, *others][:_MAX_PILOTS], styles, {}, sheets))
    return _page(
        "Duration of a simulated trial",
        runtimes.document(advice, has_tables=False),
        figures,
        sheets,
    )


def _order(advice: RuntimeAdvice) -> list[int]:
    first = [] if advice.decided_by is None else [advice.decided_by]
    return (first + [place for place in range(len(advice.pilots)) if place not in first])[:_MAX_PILOTS]


def _samples_of(need: PilotNeed, pilots: Sequence[Pilot]) -> Pilot:
    wanted = (need.metric, need.treatment, need.trial)
    return next(pilot for pilot in pilots if (pilot.metric, pilot.treatment, pilot.trial) == wanted)


def _page(title: str, document: Document, figures: Sequence[Figure], sheets: dict[str, ColumnData]) -> str:
    told = replace(document, evidence=(Figures("", tuple(figures)), *document.evidence))
    return page(told, sheets, title=title)


# The profile


def _autocorrelation(sheets: dict[str, ColumnData], profile: Profile) -> Figure:
    found = profile.autocorrelation
    size, unit = points.unit_of(found.lags[-1])
    lags, coefficients = points.thinned_lags(found)
    x = alt.X(
        "lag:Q", title=f"lag [{unit}]", scale=alt.Scale(nice=False, domain=[0, 1.02 * found.lags[-1] / size])
    )
    heights = [0.0, found.threshold, -found.threshold, *coefficients.tolist()]
    y = alt.Y("coefficient:Q", title="autocorrelation", scale=encodings.span(heights))
    rows = [
        {"lag": lag / size, "coefficient": coefficient}
        for lag, coefficient in zip(lags.tolist(), coefficients.tolist(), strict=True)
    ]
    tips = [encodings.tip("lag", f"lag [{unit}]"), encodings.tip("coefficient")]
    base = charted(rows, sheets).encode(x=x, y=y, tooltip=tips)
    line = base.mark_line(color=COLOURS[0], strokeWidth=1.6).add_params(encodings.zoom("x"))
    hidden = base.mark_point(opacity=0, size=60)
    limits = charted([{"coefficient": sign * found.threshold} for sign in (1, -1)], sheets)
    rules = limits.mark_rule(strokeDash=[5, 4], color="currentColor", opacity=0.7).encode(y=y)
    zero = charted([{"coefficient": 0.0}], sheets).mark_rule(color="currentColor", opacity=0.5).encode(y=y)
    layers = [zero, rules, line, hidden, *_period_marks(sheets, profile, size)]
    return Figure(
        "autocorrelation",
        "Autocorrelation",
        f"How alike values are that lie so far apart. Dashed: ±1.95/√n = ±{found.threshold:.3f}. "
        + ("Marked: the periods that were found." if profile.periods else "No period was found."),
        f"Autocorrelation of {profile.value} against the lag in {unit} with the periods found.",
        encodings.finished(alt.layer(*layers)),
    )


def _period_marks(sheets: dict[str, ColumnData], profile: Profile, size: float) -> list[Chart]:
    found, labels = profile.autocorrelation, points.period_labels(profile)
    rows: list[Row] = [
        {
            "lag": period.seconds / size,
            "coefficient": points.coefficient_at(found, period.seconds),
            "period": period.words,
            "label": labels[period.seconds],
            "strength": period.strength,
            "p": period.p_value,
        }
        for period in profile.periods
        if period.seconds <= found.lags[-1]
    ]
    if not rows:
        return []
    tips = [*encodings.name_tips("period"), encodings.tip("strength"), encodings.tip("p", "p-value")]
    base = charted(rows, sheets).encode(x="lag:Q", tooltip=tips)
    rule = base.mark_rule(color=COLOURS[1], strokeDash=[2, 3], strokeWidth=1.5)
    head = base.mark_point(
        filled=True, shape="triangle-down", size=110, color=COLOURS[1], opacity=1, yOffset=-8
    )
    return [rule, head.encode(y="coefficient:Q"), *_beside(base, "lag", found.lags[-1] / size)]


def _beside(base: Chart, field: str, end: float) -> list[Chart]:
    """Label vertical lines at their top, on the right of those in the left half, so that all labels lie inside."""
    return [
        base.transform_filter(f"datum.{field} {which} {end / 2}")
        .mark_text(align=align, baseline="top", dx=away, fontSize=12)
        .encode(text="label:N", y=alt.value(2))
        for which, align, away in (("<=", "left", 5), (">", "right", -5))
    ]


def _data_over_time(sheets: dict[str, ColumnData], profile: Profile, times: Array, values: Array) -> Figure:
    dated = profile.start is not None
    thin = points.stretches(times, values)
    size, unit = points.unit_of(profile.duration)
    rows = points.stretch_rows(thin, dated=dated, unit=size)
    y = alt.Y("low:Q", title=profile.value, scale=encodings.span(encodings.numbers(rows, "low", "high")))
    if dated:
        x = alt.X("time:T", title="time (UTC)", scale=alt.Scale(type="utc", padding=4, nice=False))
        when = alt.Tooltip("utcyearmonthdatehoursminutesseconds(time):T", title="time")
    else:
        x, when = (
            alt.X("time:Q", title=f"time [{unit}]", scale=alt.Scale(nice=False, padding=4)),
            encodings.tip("time"),
        )
    base = charted(rows, sheets).encode(x=x, y=y, tooltip=[when, encodings.tip("low", profile.value)])
    layers = [base.mark_circle(size=14, color=COLOURS[0], opacity=0.8).add_params(encodings.zoom("x", "y"))]
    thinned = thin.times.size < profile.n
    if thinned:
        layers.append(base.mark_rule(color=COLOURS[0], opacity=0.5).encode(y2="high:Q"))
    return Figure(
        "data",
        "The data over time",
        f"{counted(profile.n, 'value')}."
        + (" Each bar spans neighbouring values from the smallest to the largest." if thinned else ""),
        f"{profile.value} over time.",
        encodings.finished(alt.layer(*layers), 240),
    )


# The runtime


def _growth(sheets: dict[str, ColumnData], advice: RuntimeAdvice, place: int, pilot: Pilot) -> Figure:
    need = advice.pilots[place]
    unit = "s" if advice.unit == "s" else "samples"
    raw, cuts = _raw_rows(pilot), _cut_rows(need)
    lengths = encodings.numbers([*raw, *growth_rows(need), *cuts], "length")
    x = alt.X("length:Q", title=f"length of the trial [{unit}]", scale=encodings.from_zero(lengths))
    title = f"{need.metric} [{need.unit}]" if need.unit else need.metric
    y = alt.Y(
        "value:Q",
        title=title,
        scale=encodings.span(encodings.numbers([*raw, *growth_rows(need)], "value", "high")),
    )
    spread = charted(raw, sheets).mark_rule(color="#808080", opacity=0.35)
    layers = [
        spread.encode(x=x, y=y, y2="high:Q"),
        *_growth_marks(sheets, need, x, y),
        *(layer for row in cuts for layer in _cut(sheets, row, max(lengths))),
    ]
    measure = need.measure if isinstance(need.measure, str) else f"p{need.measure:g}"
    return Figure(
        f"growth-{place}",
        f"{pilot.label}: the {measure} of the first part against its length",
        "Marks say what the drift test says of that part: with the start-up (dotted) and without it (line). Grey: samples. "
        "Vertical: the start-up to cut (dashed) and the runtime (solid).",
        f"The metric of the first part of {pilot.label} against the length of that part, with verdicts.",
        encodings.finished(alt.layer(*layers), 340),
    )


def _raw_rows(pilot: Pilot) -> list[Row]:
    times = np.arange(pilot.values.size, dtype=np.float64) if pilot.times is None else pilot.times
    thin = points.stretches(times, pilot.values, 600)
    rows = points.stretch_rows(thin)
    return [{"length": row["time"], "value": row["low"], "high": row["high"]} for row in rows]


def _growth_marks(sheets: dict[str, ColumnData], need: PilotNeed, x: alt.X, y: alt.Y) -> list[Chart]:
    rows = growth_rows(need)
    dashes = alt.StrokeDash(
        "part:N", scale=alt.Scale(domain=list(PARTS), range=[[2, 3], [1, 0]]), legend=None
    )
    names, legend = list(VERDICTS), encodings.legend(list(VERDICTS))
    colours, shapes = (
        alt.Scale(domain=names, range=list(each)) for each in zip(*VERDICTS.values(), strict=True)
    )
    colour = alt.Color("verdict:N", scale=colours, legend=legend)
    shape = alt.Shape("verdict:N", scale=shapes, legend=legend)
    tips = [encodings.tip("length"), encodings.tip("value"), *encodings.name_tips("verdict", "part")]
    base = charted(rows, sheets)
    line = base.mark_line(color="currentColor", strokeWidth=1.2).encode(x=x, y=y, strokeDash=dashes)
    heads = base.mark_point(filled=True, size=42, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tips
    )
    return [line, heads.add_params(encodings.zoom("x", "y"))]


PARTS = ("with the start-up", "without the start-up")


def growth_rows(need: PilotNeed) -> list[Row]:
    """Return the metric and the verdict for each length, with the start-up and, if there is one, without it."""
    growth = need.growth
    rows: list[Row] = [
        {"length": length, "value": value, "verdict": verdict, "part": PARTS[0] if need.startup else PARTS[1]}
        for length, value, verdict in zip(growth.lengths, growth.values, growth.verdicts, strict=True)
    ]
    if need.startup:
        after = zip(growth.lengths, growth.values_after_startup, growth.verdicts_after_startup, strict=True)
        rows.extend(
            {"length": length, "value": value, "verdict": verdict, "part": PARTS[1]}
            for length, value, verdict in after
            if value is not None
        )
    return rows


def _cut_rows(need: PilotNeed) -> list[Row]:
    """Return the start-up to cut and the runtime, unless far beyond the pilot."""
    ends = ((need.startup, "cut"), (need.runtime, "runtime"))
    return [{"length": at, "label": label} for at, label in ends if at and at <= 1.5 * need.duration]


def _cut(sheets: dict[str, ColumnData], row: Row, end: float) -> list[Chart]:
    base = charted([row], sheets).encode(x="length:Q")
    dash = [5, 4] if row["label"] == "cut" else [1, 0]
    return [base.mark_rule(color=COLOURS[0], strokeDash=dash, strokeWidth=2), *_beside(base, "length", end)]
