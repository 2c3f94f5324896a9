"""Seasonal components of measured conditions, and the span that a series of rounds should cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from trialwise.statistics.correlogram import Correlogram, correlogram
from trialwise.statistics.harmonics import (
    DAY,
    HUMAN,
    Candidate,
    assess_candidates,
    name_of,
    strengths,
    visible,
)
from trialwise.statistics.holm import holm
from trialwise.statistics.measures import percentile_of
from trialwise.statistics.spectrum import blind_search
from trialwise.statistics.surrogates import normal_scores
from trialwise.statistics.timegrid import TimeGrid, TimeSeries, lay_out, read_series, with_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from trialwise.statistics.checks import Array

DEFAULT_SEED = 7
FEWEST_VALUES = 20
CANDIDATE_CELLS = 8192
MOST_MULTIPLES = 1000
# From so many cycles on, it no longer matters where in its last cycle a span ends.
MANY_CYCLES = 10
MOST_HARMONIC = 20
# The search looks at periods that nobody asked for: it gets two fifths of the error of the calendar test.
BLIND_SHARE = 0.4
# Data shorter than this are about something faster than people's habits.
HUMAN_SCALE = DAY / 10


@dataclass(frozen=True, slots=True)
class Period:
    """A seasonal component.

    Attributes
    ----------
    seconds
        Its length.
    strength
        Default: partial R² of the period with its harmonics in the rank-normal scores, beside trend and
        the other periods. Paper: the autocorrelation at the peak.
    p_value
        Corrected as `correction` says. None for the paper's method, which has no test.
    name
        "minute", "hour", "day", "week", "year", or None.
    correction
        "holm" over the candidates named beforehand, "maximum" over all frequencies of the blind search,
        "none" for the paper's method.
    """

    seconds: float
    strength: float
    p_value: float | None
    name: str | None
    correction: Literal["holm", "maximum", "none"]


@dataclass(frozen=True, slots=True)
class Seasonality:
    """Seasonal components of a time series.

    Attributes
    ----------
    periods
        Those found, shortest first.
    autocorrelation
        Coefficients against the lag, with the pairs behind each and the threshold 1.95/√N.
    span
        Seconds that a series should cover, or None where nothing asks for a span.
    n
        Different times with a value.
    missing
        Values that were NaN.
    tested
        Names of the calendar periods that the data could show or exclude.
    confidence
        Level in percent, for the calendar periods together and for the blind search.
    method
        "default" or "paper".
    note
        What the reader must know: what could not be tested, what was averaged, how the span came about.
    """

    periods: tuple[Period, ...]
    autocorrelation: Correlogram
    span: float | None
    n: int
    missing: int
    tested: tuple[str, ...]
    confidence: float
    method: Literal["default", "paper"]
    note: str


def seasonality(
    times: npt.ArrayLike,
    values: npt.ArrayLike,
    *,
    method: Literal["default", "paper"] = "default",
    confidence: float = 95,
    surrogates: int | None = None,
    seed: int = DEFAULT_SEED,
) -> Seasonality:
    """Find the periods in measured conditions and recommend the span of a series.

    Parameters
    ----------
    times
        Seconds, `numpy.datetime64` or `datetime`, in any order, with gaps; values of the same time are
        averaged.
    values
        As many numbers; NaN is missing.
    method
        "default": a day (six harmonics) and a week (three) are tested against red noise at the same times,
        with Holm's correction; then a whitened Lomb-Scargle spectrum is searched for any other period,
        and each one found is removed before the next. "paper": TriScale, section 4.6, peaks of the
        autocorrelation (gaps filled with the median) above 1.95/√N, of which those count that stand out
        among the other peaks.
    confidence
        In percent. In red noise (AR(1)), a day or a week is reported with a probability of at most
        100 - confidence percent, and any other period with two fifths of that.
    surrogates
        Series of red noise; by default 999 for the calendar periods, and 199 for the search (59 on more than
        32,768 cells).
    seed
        Of PCG64DXSM; the result depends on nothing else.

    Raises
    ------
    ValueError
        If the lengths differ, a time is not finite, a value is infinite, fewer than two different times have
        a value, or a parameter is out of range.

    Notes
    -----
    The calendar periods are tested on at most 8,192 cells of time. A period needs 1.9 cycles and more
    than two values in each.
    """
    _check(method, confidence, surrogates)
    series = read_series(times, values)
    grid = lay_out(series)
    if method == "paper":
        findings = _by_paper(series, grid)
    elif grid.values.size < FEWEST_VALUES or grid.values.min() == grid.values.max():
        findings = _without_test(series, grid)
    else:
        findings = _by_test(series, grid, 1 - confidence / 100, surrogates, np.random.SeedSequence(seed))
    return Seasonality(
        periods=findings.periods,
        autocorrelation=findings.autocorrelation,
        span=findings.span,
        n=series.values.size,
        missing=series.missing,
        tested=findings.tested,
        confidence=confidence,
        method=method,
        note=" ".join([*_remarks(series, grid), *findings.remarks]),
    )


@dataclass(frozen=True, slots=True)
class _Findings:
    periods: tuple[Period, ...]
    autocorrelation: Correlogram
    span: float | None
    tested: tuple[str, ...]
    remarks: tuple[str, ...]


def _check(method: str, confidence: float, surrogates: int | None) -> None:
    if method not in {"default", "paper"}:
        raise ValueError(f'method must be "default" or "paper", not {method!r}')
    if not 50 <= confidence < 100:
        raise ValueError(f"confidence must be at least 50 and below 100 percent, not {confidence}")
    needed = int(np.ceil(1 / (BLIND_SHARE * (1 - confidence / 100)) - 1e-6))
    if surrogates is not None and surrogates < needed:
        raise ValueError(
            f"{surrogates} surrogates cannot reach {confidence} % confidence; at least {needed} can"
        )


def _remarks(series: TimeSeries, grid: TimeGrid) -> list[str]:
    remarks: list[str] = []
    if series.missing:
        remarks.append(f"{series.missing} values are missing and were left out.")
    if series.repeated:
        remarks.append(
            f"{series.repeated} values share their time with another one and were averaged with it."
        )
    if grid.index.size < series.values.size:
        remarks.append(
            f"The values were averaged over {grid.index.size} cells of {grid.cell:.6g} s: "
            "shorter periods do not show."
        )
    return remarks


# the default


def _without_test(series: TimeSeries, grid: TimeGrid) -> _Findings:
    if grid.values.size < FEWEST_VALUES:
        remark = (
            f"{grid.values.size} values are too few to test for periods: at least {FEWEST_VALUES} needed."
        )
        open_periods: Sequence[Candidate] = HUMAN
    else:
        remark = "All values are equal: nothing varies with time."
        open_periods = [human for human in HUMAN if not visible(human, grid)]
    span, why = _advise(series, (), open_periods)
    return _Findings((), correlogram(_lag_grid(series, grid)), span, (), (remark, *why))


def _by_test(
    series: TimeSeries, grid: TimeGrid, alpha: float, surrogates: int | None, seed: np.random.SeedSequence
) -> _Findings:
    first, second = seed.spawn(2)
    scores = normal_scores(grid.values)
    tested = _test_calendar(_at_most(series, grid, CANDIDATE_CELLS), alpha, surrogates, first)
    calendar = {candidate: p_value for candidate, p_value in tested.items() if p_value <= alpha}
    stricter = alpha * BLIND_SHARE
    number = surrogates or max(199 if grid.size <= 32_768 else 59, int(np.ceil(1 / stricter)))
    others = blind_search(grid, scores, list(calendar), alpha=stricter, surrogates=number, seed=second)
    periods = _periods(grid, scores, calendar, {other.candidate: other.p_value for other in others})
    lengths = sorted(candidate.seconds for candidate in tested)
    span, why = _advise(series, periods, [human for human in HUMAN if human.seconds not in lengths])
    names = tuple(str(name_of(length, 0.0)) for length in lengths)
    return _Findings(periods, correlogram(_lag_grid(series, grid)), span, names, why)


def _test_calendar(
    grid: TimeGrid, alpha: float, surrogates: int | None, seed: np.random.SeedSequence
) -> dict[Candidate, float]:
    """Holm's p-value of each calendar period that the data can show."""
    candidates = [shown for human in HUMAN if (shown := visible(human, grid))]
    number = surrogates or max(999, int(np.ceil(len(HUMAN) / alpha)))
    tests = assess_candidates(grid, normal_scores(grid.values), candidates, surrogates=number, seed=seed)
    corrected = holm([test.p_value for test in tests])
    return {test.candidate: p_value for test, p_value in zip(tests, corrected, strict=True)}


def _periods(
    grid: TimeGrid, scores: Array, calendar: dict[Candidate, float], others: dict[Candidate, float]
) -> tuple[Period, ...]:
    p_values = calendar | others
    found = _without_fractions(list(p_values), grid)
    shares = strengths(grid.times, scores, found)
    return tuple(
        Period(
            seconds=one.seconds,
            strength=share,
            p_value=p_values[one],
            name=name_of(one.seconds, 0.5 / grid.duration),
            correction="holm" if one in calendar else "maximum",
        )
        for one, share in zip(found, shares, strict=True)
    )


def _at_most(series: TimeSeries, grid: TimeGrid, cells: int) -> TimeGrid:
    return grid if grid.size <= cells else with_cells(series, series.duration / (cells - 1))


def _lag_grid(series: TimeSeries, grid: TimeGrid) -> TimeGrid:
    """One cell for each median spacing: quarter cells of irregular times would leave each lag few pairs."""
    cell = grid.cell if grid.regular else grid.spacing
    return _at_most(series, with_cells(series, cell), CANDIDATE_CELLS)


def _without_fractions(found: Sequence[Candidate], grid: TimeGrid) -> list[Candidate]:
    """Order by length, without the high harmonics of longer periods that made a peak of their own.

    A calendar period stays: the day is the seventh part of a week and a fact of its own.
    """
    calendar = {human.seconds for human in HUMAN}
    kept = [
        one
        for one in found
        if one.seconds in calendar or not any(_is_harmonic(one, other, grid.duration) for other in found)
    ]
    return sorted(kept, key=lambda one: one.seconds)


def _is_harmonic(one: Candidate, other: Candidate, duration: float) -> bool:
    multiple = other.seconds / one.seconds
    # With few cycles of the longer period, any short one is near some harmonic of it.
    if not 1.5 < multiple < MOST_HARMONIC or duration < MANY_CYCLES * other.seconds:
        return False
    return abs(1 / one.seconds - round(multiple) / other.seconds) <= 0.25 / duration


# the paper


def _by_paper(series: TimeSeries, grid: TimeGrid) -> _Findings:
    regular = _lag_grid(series, grid)
    full = np.full(regular.size, percentile_of(regular.values, 0.5))
    full[regular.index] = regular.values
    lags = correlogram(TimeGrid(regular.cell, np.arange(regular.size), full, regular.regular))
    periods = tuple(
        Period(
            float(lags.lags[at]),
            float(lags.values[at]),
            None,
            name_of(float(lags.lags[at]), 0.5 / grid.duration),
            "none",
        )
        for at in sorted(_prominent_peaks(lags))
    )
    span, why = _advise(series, periods, ())
    filled = regular.size - regular.index.size
    return _Findings(periods, lags, span, (), (f"{filled} empty cells were filled with the median.", *why))


def _prominent_peaks(lags: Correlogram) -> list[int]:
    """Find the first peak that stands out, then the first that stands out among the peaks, and so on.

    The paper names no algorithm. A period makes a peak at each of its multiples, so that not every peak is a
    period; but one that stands out from the peaks beside it (a week among days) is. To stand out is to be
    above the threshold, and above the dips on both sides by as much.
    """
    from scipy.signal import find_peaks

    peaks, _ = find_peaks(lags.values, height=lags.threshold, prominence=lags.threshold)
    prominent: list[int] = []
    while peaks.size:
        prominent.append(int(peaks[0]))
        among, _ = find_peaks(lags.values[peaks], prominence=lags.threshold)
        peaks = peaks[among]
    return prominent


# the span


def recommended_span(periods: Sequence[float]) -> float | None:
    """Smallest multiple of the longest period that holds whole cycles of each.

    "Whole" means up to a tenth of a cycle, |S/P - round(S/P)| <= 0.1; from ten cycles on any remainder will
    do, since what is left of the last cycle weighs less than that anyway.

    Parameters
    ----------
    periods
        Seconds.

    Returns
    -------
    float or None
        Seconds; None without periods, and where the first 1,000 multiples hold none.
    """
    if not periods:
        return None
    spans = np.arange(1, MOST_MULTIPLES + 1) * max(periods)
    cycles = spans[:, None] / np.asarray(periods)
    whole = (np.abs(cycles - np.rint(cycles)) <= 0.1 + 1e-9) | (cycles >= MANY_CYCLES)
    fitting = np.flatnonzero(whole.all(axis=1))
    return float(spans[fitting[0]]) if fitting.size else None


def _advise(
    series: TimeSeries, periods: Sequence[Period], untested: Sequence[Candidate]
) -> tuple[float | None, tuple[str, ...]]:
    """Give the span, and why: what was found, and what people's habits may add that no test can exclude."""
    names = " or ".join(f"a {name_of(human.seconds, 0.0)}" for human in untested)
    found = [period.seconds for period in periods]
    if not untested:
        return recommended_span(found), () if found else ("No period was found: nothing asks for a span.",)
    length = f"{series.values.size} values over {_readable(series.duration)}"
    if found and series.duration < HUMAN_SCALE:
        why = f"{length} can neither show nor exclude {names}: the span covers only the periods found."
        return recommended_span(found), (why,)
    span = recommended_span([*found, *(human.seconds for human in untested)])
    longest = max(human.seconds for human in untested)
    why = (
        f"{length} can neither show nor exclude {names} "
        f"(a period needs 1.9 cycles and more than two values in each): "
        f"the span covers a {name_of(longest, 0.0)} nevertheless."
    )
    return span, (why,)


def _readable(seconds: float) -> str:
    for unit, size in (("days", DAY), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} seconds"
