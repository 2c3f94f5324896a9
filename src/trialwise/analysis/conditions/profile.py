"""The seasonal profile of condition data: its periods, and the span that a series should cover."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import numpy as np

from trialwise import statistics as st
from trialwise.errors import AnalysisError, StatisticsError
from trialwise.experiment.model import Method
from trialwise.experiment.quantity import duration_text
from trialwise.numbers import about, as_given, write
from trialwise.statistics.time.harmonics import HUMAN, NAMED
from trialwise.statistics.time.noise_spectra import MIN_CYCLES
from trialwise.statistics.time.seasonality import SHIFT_SHARE

if TYPE_CHECKING:
    from trialwise.analysis.conditions.table import ConditionTable

_UNITS = (("week", 604_800.0), ("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0))
_CORRECTIONS = {
    "holm": "Holm's correction over the periods named beforehand",
    "maximum": "the maximum over all frequencies that were searched",
    "none": "no test: a peak of the autocorrelation",
}


@dataclass(frozen=True, slots=True)
class Component:
    """A seasonal component.

    `strength` is the share of the variance of the rank-normal scores that the period and its harmonics explain, adjusted for the
    others (paper: the autocorrelation at the peak); `p_value` is corrected by `correction`, None in the paper's method, which has no
    test.
    """

    seconds: float
    words: str
    name: str | None
    strength: float
    p_value: float | None
    correction: str


@dataclass(frozen=True, slots=True)
class Shift:
    """A time at which the level changes and stays changed.

    `seconds` after the first value; `moment` in ISO 8601, None if times are not dates; `before` and `after` are medians between the
    neighbouring shifts, in the unit of the values; `p_value` is the probability of such a shift or block in noise.
    """

    seconds: float
    moment: str | None
    words: str
    before: float
    after: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Drift:
    """A slow change of level over the whole record, adjusted for its shifts: from first to last, and whether it bends."""

    change: float
    bent: bool
    p_value: float


@dataclass(frozen=True, slots=True)
class Untested:
    """A period of human routines that the data can neither show nor exclude, and what would."""

    name: str
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class Lags:
    """The autocorrelation: coefficients at lags in seconds, the number of pairs behind each, the threshold 1.95/√n."""

    lags: tuple[float, ...]
    coefficients: tuple[float, ...]
    pairs: tuple[int, ...]
    threshold: float
    n: int


@dataclass(frozen=True, slots=True)
class Profile:
    """The seasonal profile of a table, as `trialwise profile --json` prints it.

    All times are in seconds. `n` counts the distinct times with a value, `missing` the missing values, `repeated` the values that
    share their time with another; `spacing` is the median distance of neighbouring values, `longest_gap` the longest. `start` and
    `end` are ISO 8601, None if times are not dates. `span_line` is the line for the section `[design]` of an experiment file; None,
    like `span`, if nothing requires one. `confidence` is in percent. `level` says how shifts and drift were searched for, empty in
    the paper's method, which does not.
    """

    format: Literal["trialwise.profile/1"]
    file: str
    time: str
    value: str
    n: int
    missing: int
    repeated: int
    start: str | None
    end: str | None
    duration: float
    spacing: float
    longest_gap: float
    periods: tuple[Component, ...]
    tested: tuple[str, ...]
    untested: tuple[Untested, ...]
    span: float | None
    span_words: str | None
    span_line: str | None
    confidence: float
    method: Method
    how: str
    notes: tuple[str, ...]
    autocorrelation: Lags
    shifts: tuple[Shift, ...]
    drift: Drift | None
    level: str


def profile_of(table: ConditionTable, *, method: Method = "default", confidence: float = 95) -> Profile:
    """Find the seasonal components of a table and recommend a span.

    Raises
    ------
    AnalysisError
        Fewer than two distinct times have a value.
    """
    times = np.empty(0) if table.times is None else table.times
    try:
        found = st.seasonality(times, table.values, method=method, confidence=confidence)
    except StatisticsError as error:
        raise AnalysisError(
            f"{table.path}: {error}", hint="measure for longer, or name other columns"
        ) from error
    kept = times[~np.isnan(table.values)]
    unique = np.unique(kept)
    gaps = np.diff(unique)
    return Profile(
        format="trialwise.profile/1",
        file=str(table.path),
        time=str(table.time),
        value=table.value,
        n=found.n,
        missing=found.missing,
        repeated=kept.size - unique.size,
        start=_moment(float(unique[0])) if table.dated else None,
        end=_moment(float(unique[-1])) if table.dated else None,
        duration=float(unique[-1] - unique[0]),
        spacing=float(np.median(gaps)),
        longest_gap=float(gaps.max()),
        periods=tuple(_component(period) for period in found.periods),
        tested=found.tested,
        untested=_untested(found, float(unique[-1] - unique[0])),
        span=found.span,
        span_words=None if found.span is None else length_words(found.span),
        span_line=None if found.span is None else span_line(found.span),
        confidence=confidence,
        method=method,
        how=_how(method),
        notes=(*table.notes, *_sentences(found.note)),
        autocorrelation=_lags(found.autocorrelation),
        shifts=tuple(_shift(shift, float(unique[0]), dated=table.dated) for shift in found.shifts),
        drift=found.drift and Drift(found.drift.change, found.drift.bent, found.drift.p_value),
        level=_level(found),
    )


def _shift(shift: st.LevelShift, start: float, *, dated: bool) -> Shift:
    moment = _moment(start + shift.seconds) if dated else None
    words = moment or f"{length_words(shift.seconds)} after the first value"
    return Shift(shift.seconds, moment, words, shift.before, shift.after, shift.p_value)


def _level(found: st.Seasonality) -> str:
    if found.method == "paper" or not found.level_tested:
        return ""
    strictness = 100 - SHIFT_SHARE * (100 - found.confidence)
    return f"shifts, blocks and drift against red and white noise at the same times, {write(strictness, digits=6)} %"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(sep=" ", timespec="seconds")


def _component(period: st.Period) -> Component:
    words = f"a {period.name}" if period.name else length_words(period.seconds)
    if period.name and abs(period.seconds / NAMED[period.name] - 1) > 0.001:
        words += f" (nearly: {length_words(period.seconds)})"
    return Component(
        seconds=period.seconds,
        words=words,
        name=period.name,
        strength=period.strength,
        p_value=period.p_value,
        correction=_CORRECTIONS[period.correction],
    )


def length_words(seconds: float) -> str:
    """Write a duration in the largest unit that fits at least once: "7 days", "1 day", "2.5 hours"."""
    for unit, size in _UNITS[1:]:
        if seconds >= size * 0.9995:
            return _counted(about(seconds / size), unit)
    return _counted(about(seconds), "second")


def _counted(number: str, unit: str) -> str:
    return f"{number} {unit}" if number == "1" else f"{number} {unit}s"


def span_line(seconds: float) -> str:
    """Return the line of a span for the section `[design]`."""
    days = seconds / 86_400
    whole = days >= 1 and abs(days - round(days)) < 1e-3
    return f'span = "{f"{round(days)}d" if whole else duration_text(seconds)}"'


def _untested(found: st.Seasonality, duration: float) -> tuple[Untested, ...]:
    """Return the calendar periods without a verdict; constant data and the paper's method test none."""
    if found.method == "paper" or not found.autocorrelation.lags.size:
        return ()
    return tuple(
        Untested(name, human.seconds, _why_untested(name, human.seconds, duration, found.n))
        for name, human in zip(("day", "week"), HUMAN, strict=True)
        if name not in found.tested
    )


def _why_untested(name: str, seconds: float, duration: float, n: int) -> str:
    needed = MIN_CYCLES * seconds
    if duration < needed:
        return (
            f"a {name} shows from {as_given(MIN_CYCLES)} of its cycles on: measure for {length_words(needed)} or longer "
            f"instead of {length_words(duration)}"
        )
    return f"the {n} values are too few or too far apart: measure 20 times or more, and more than twice in each {name}"


def _how(method: Method) -> str:
    if method == "paper":
        return "TriScale 4.6: peaks of the autocorrelation above 1.95/√n, gaps filled with the median"
    return (
        "day and week against 999 series of red and white noise at the same times; other periods by a whitened "
        "Lomb-Scargle search against such noise"
    )


def _sentences(note: str) -> tuple[str, ...]:
    """Split the note of the statistic into remarks."""
    return tuple(part if part.endswith(".") else f"{part}." for part in note.split(". ") if part)


def _lags(found: st.Correlogram) -> Lags:
    return Lags(
        lags=tuple(found.lags.tolist()),
        coefficients=tuple(found.values.tolist()),
        pairs=tuple(found.pairs.tolist()),
        threshold=found.threshold,
        n=found.n,
    )
