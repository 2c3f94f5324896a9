"""What `profile` and `runtime` say in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.analysis.profile import Component, Profile, length_words
from trialwise.analysis.runtime_results import PilotNeed, RuntimeAdvice
from trialwise.experiment.quantity import duration_text
from trialwise.report.numbers import about, p_equals, percent, write
from trialwise.report.terminal_plot import correlogram_lines

_MOST_PILOTS = 12


def profile_lines(profile: Profile, *, plot: bool = True) -> Iterator[str]:
    """The profile: what was measured, shifts and drift, the periods, what could not be tested, the autocorrelation, the span."""
    yield f"{profile.value} over {profile.time}: {profile.file}"
    when = f"{profile.start} to {profile.end}, " if profile.start else ""
    gap = (
        f", longest gap {length_words(profile.longest_gap)}"
        if profile.longest_gap > 1.5 * profile.spacing
        else ""
    )
    yield (f"  {profile.n} values, {when}{length_words(profile.duration)}, one {_each(profile.spacing)}{gap}")
    for note in profile.notes:
        yield f"  {note}"
    yield ""
    if profile.level:
        yield "Level"
        yield from _level(profile)
        yield ""
    yield "Periods"
    yield from _periods(profile)
    for untested in profile.untested:
        yield f"  not tested: {untested.reason}"
    yield ""
    if plot:
        yield from _autocorrelation(profile)
    yield "Span of a series"
    yield from _span(profile)
    yield f"n = {profile.n}, {percent(profile.confidence)}: {profile.how}"


def _each(seconds: float) -> str:
    """How often, in words: every hour, every 2 hours."""
    return f"every {length_words(seconds).removeprefix('1 ')}"


def _level(profile: Profile) -> Iterator[str]:
    for shift in profile.shifts:
        yield (
            f"  level shift at {shift.words}: median {write(shift.before)} before, {write(shift.after)} after, "
            f"{p_equals(shift.p_value)}"
        )
    if profile.drift is not None:
        shape = ", not along a line" if profile.drift.bent else ""
        yield (
            f"  drift of {write(profile.drift.change)} from the first to the last value{shape}, "
            f"{p_equals(profile.drift.p_value)}"
        )
    if profile.shifts or profile.drift:
        yield "  no span averages out a level that changes: run treatments side by side, in rounds"
    else:
        yield "  no level shift and no drift found"
    yield f"  {profile.level}"


def _periods(profile: Profile) -> Iterator[str]:
    if not profile.periods:
        tested = ", ".join(f"a {name}" for name in profile.tested)
        yield f"  none found{f' (tested: {tested}; any other was searched for)' if tested else ''}"
        return
    width = max(len(period.words) for period in profile.periods)
    for period in profile.periods:
        yield f"  {period.words:<{width}}  strength {period.strength:.2f}  {_p_value(period)}"
    for correction in dict.fromkeys(period.correction for period in profile.periods):
        names = ", ".join(period.words for period in profile.periods if period.correction == correction)
        yield f"  {names}: {correction}"


def _p_value(period: Component) -> str:
    return "" if period.p_value is None else p_equals(period.p_value)


def _autocorrelation(profile: Profile) -> Iterator[str]:
    found = profile.autocorrelation
    lines = list(correlogram_lines(found, [period.seconds for period in profile.periods]))
    if lines:
        marks = "; ▲ periods found" if profile.periods else ""
        yield f"Autocorrelation (█ beyond ±1.95/√n = ±{found.threshold:.2f}, ░ within{marks})"
        yield from lines
        yield ""


def _span(profile: Profile) -> Iterator[str]:
    if profile.span_line is None:
        moved = profile.shifts or profile.drift
        yield "  no period asks for one" if moved else "  nothing asks for one: any span will do"
    else:
        yield f"  {profile.span_words}, so that a series holds whole cycles; in the experiment file:"
        yield ""
        yield "  [design]"
        yield f"  {profile.span_line}"
    yield ""


def runtime_lines(advice: RuntimeAdvice) -> Iterator[str]:
    """The runtime: what to write into the experiment file, what decided, what each pilot asks for."""
    yield f"Runtime of a trial: {advice.file}"
    yield from _answer(advice)
    yield ""
    yield "Pilots"
    order = [advice.decided_by] if advice.decided_by is not None else []
    order += [place for place in range(len(advice.pilots)) if place not in order]
    for place in order[:_MOST_PILOTS]:
        yield from _pilot(advice, advice.pilots[place])
    if len(order) > _MOST_PILOTS:
        yield f"  … and {len(order) - _MOST_PILOTS} more (all with --json)"
    for reason in advice.skipped:
        yield f"  not judged: {reason}"
    for note in advice.notes:
        yield f"  {note}"
    yield ""
    first = advice.pilots[0]
    yield (
        f"tolerance {percent(first.tolerance)}, confidence {percent(first.confidence)}, power {percent(first.power)}: "
        f"{advice.how}"
    )


def _answer(advice: RuntimeAdvice) -> Iterator[str]:
    yield f"  {advice.reason}"
    yield f"  start-up to cut: {_length(advice.startup, advice.unit) if advice.startup else 'none'}"
    if advice.runtime is None:
        yield "  no runtime can be given"
    elif advice.unit == "samples":
        yield f"  a trial needs {_length(advice.runtime, advice.unit)}; name the times with --time to have seconds"
    lines = [line for line in (advice.runtime_line, advice.warmup_line) if line]
    if advice.runtime_line:
        yield "  in the experiment file:"
        yield ""
        yield "  [trial]"
        yield from (f"  {line}" for line in lines)


def _pilot(advice: RuntimeAdvice, pilot: PilotNeed) -> Iterator[str]:
    name = f"{pilot.metric} of {pilot.treatment}" if pilot.treatment != "-" else pilot.metric
    measure = pilot.measure if isinstance(pilot.measure, str) else f"p{pilot.measure:g}"
    wanted = "no runtime" if pilot.runtime is None else f"needs {_length(pilot.runtime, advice.unit)}"
    yield (
        f"  {name}, trial {pilot.trial}: {measure} of {pilot.n} samples over "
        f"{_length(pilot.duration, advice.unit)}; {wanted}"
    )
    after = f"after {_length(pilot.startup, advice.unit)} of start-up " if pilot.startup else ""
    yield f"    {after}{pilot.verdict}: drift {about(100 * pilot.drift)} %, {_interval(pilot)}"


def _interval(pilot: PilotNeed) -> str:
    if pilot.drift_low is None or pilot.drift_high is None:
        return "interval unbounded"
    low, high = about(100 * pilot.drift_low, "down"), about(100 * pilot.drift_high, "up")
    return f"interval {low} to {high} %"


def _length(value: float, unit: str) -> str:
    return duration_text(value) if unit == "s" else f"{write(round(value))} samples"
