"""Seasonal components of measured conditions, and the recommended span of a series of rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.numbers import counted
from trialwise.statistics.comparing.holm import holm
from trialwise.statistics.pooled.phase_randomization import normal_scores
from trialwise.statistics.sizing.common_periods import MANY_CYCLES, advise
from trialwise.statistics.tests.correlogram import correlogram
from trialwise.statistics.tests.level_shifts import EVEN, Nonstationary, find_shifts, recurrence, told
from trialwise.statistics.time.harmonics import (
    HUMAN,
    Baseline,
    Candidate,
    assess_candidates,
    name_of,
    strengths,
    visible,
)
from trialwise.statistics.time.seasonality_paper import by_paper
from trialwise.statistics.time.seasonality_results import Findings, Period, Seasonality
from trialwise.statistics.time.spectrum import HARMONICS, MAX_HARMONIC, blind_search
from trialwise.statistics.time.timegrid import TimeGrid, TimeSeries, at_most, lag_grid, lay_out, read_series

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from trialwise.statistics.checks import Array

DEFAULT_SEED = 7
MIN_VALUES = 20
# The blind search gets two fifths of the error probability, the calendar periods the rest.
BLIND_SHARE = 0.4
# Shifts and drift get a fifth of it: wandering noise looks like them more often than its surrogates do.
SHIFT_SHARE = 0.2
# A smaller share of the variance, however significant, changes no result: it would be printed as 0.00.
WEAKEST = 0.005


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
        Seconds, `numpy.datetime64` or `datetime`, in any order, with gaps; values at the same time are averaged.
    values
        One number per time; NaN means missing.
    method
        "default": level shifts, blocks and drift are found first, against red plus white noise at the same times, at a fifth of the
        error probability. Adjusted for them, a day (six harmonics) and a week (three) are tested against such noise, with Holm's
        correction; then a whitened Lomb-Scargle spectrum is searched for any other period, and each one found is removed before the
        next. "paper": TriScale, section 4.6, peaks of the autocorrelation (gaps filled with the median) above 1.95/√N that stand out
        among the other peaks.
    confidence
        In percent. In red noise, white noise or their sum, with or without level shifts and drift, the probability of reporting any
        period is at most 100 - confidence percent.
    surrogates
        Number of red-noise series; by default 999 for the calendar periods, and 199 for the search (59 on more than 32,768 cells).
    seed
        Of PCG64DXSM; the result depends on nothing else.

    Raises
    ------
    StatisticsError
        If the lengths differ, a time is not finite, a value is infinite, fewer than two different times have
        a value, or a parameter is out of range.

    Notes ----- The calendar periods are tested on at most 8,192 time cells. A period needs 1.9 cycles with more than two values in
    each.
    """
    _check(method, confidence, surrogates)
    series = read_series(times, values)
    grid = lay_out(series)
    if method == "paper":
        findings = by_paper(series, grid)
    elif grid.values.size < MIN_VALUES or grid.values.min() == grid.values.max():
        findings = _without_test(series, grid)
    else:
        findings = _by_test(series, grid, 1 - confidence / 100, surrogates, np.random.SeedSequence(seed))
    return Seasonality(
        shifts=findings.shifts,
        drift=findings.drift,
        periods=findings.periods,
        autocorrelation=findings.autocorrelation,
        span=findings.span,
        n=series.values.size,
        missing=series.missing,
        tested=findings.tested,
        confidence=confidence,
        method=method,
        level_tested=findings.level_tested,
        note=" ".join([*_remarks(series, grid), *findings.remarks]),
    )


def _check(method: str, confidence: float, surrogates: int | None) -> None:
    if method not in {"default", "paper"}:
        raise StatisticsError(f'method must be "default" or "paper", not {method!r}')
    if not 50 <= confidence < 100:
        raise StatisticsError(f"confidence must be at least 50 and below 100 percent, not {confidence}")
    needed = int(np.ceil(1 / (BLIND_SHARE * (1 - confidence / 100)) - 1e-6))
    if surrogates is not None and surrogates < needed:
        raise StatisticsError(
            f"{surrogates} surrogates cannot reach {confidence} % confidence; at least {needed} can"
        )


def _remarks(series: TimeSeries, grid: TimeGrid) -> list[str]:
    remarks: list[str] = []
    if series.missing:
        remarks.append(
            f"{counted(series.missing, 'value is missing and was', 'values are missing and were')} left out."
        )
    if series.repeated:
        remarks.append(
            f"{counted(series.repeated, 'value shares its', 'values share their')} time with another one, and they were averaged."
        )
    if grid.index.size < series.values.size:
        remarks.append(
            f"The values were averaged over {grid.index.size} cells of {grid.cell:.6g} s: "
            "shorter periods do not show."
        )
    return remarks


def _without_test(series: TimeSeries, grid: TimeGrid) -> Findings:
    if grid.values.size < MIN_VALUES:
        remark = f"{grid.values.size} values are too few to test for periods: at least {MIN_VALUES} needed."
        open_periods: Sequence[Candidate] = HUMAN
    else:
        remark = "All values are equal: nothing varies with time."
        open_periods = [human for human in HUMAN if not visible(human, grid)]
    span, why = advise(series, (), open_periods)
    return Findings((), correlogram(lag_grid(series, grid)), span, (), (remark, *why))


def _by_test(
    series: TimeSeries, grid: TimeGrid, alpha: float, surrogates: int | None, seed: np.random.SeedSequence
) -> Findings:
    first, second, third = seed.spawn(3)
    coarse = at_most(series, grid)
    candidates = [shown for human in HUMAN if (shown := visible(human, coarse))]
    moved = _levels(coarse, candidates, alpha, surrogates, third)
    tested = _test_calendar(coarse, candidates, moved.baseline, alpha, surrogates, first)
    calendar = {candidate: p_value for candidate, p_value in tested.items() if p_value <= alpha}
    scores = normal_scores(grid.values)
    number = surrogates or max(199 if grid.size <= 32_768 else 59, int(np.ceil(1 / (alpha * BLIND_SHARE))))
    others = blind_search(
        grid,
        scores,
        list(calendar),
        alpha=alpha * BLIND_SHARE,
        surrogates=number,
        seed=second,
        baseline=moved.baseline,
    )
    searched = {other.candidate: min(1.0, other.p_value / BLIND_SHARE) for other in others}
    periods = _periods(grid, scores, calendar, searched, moved.baseline)
    lengths = sorted(candidate.seconds for candidate in tested)
    span, why = advise(series, periods, [human for human in HUMAN if human.seconds not in lengths])
    names = tuple(str(name_of(length, 0.0)) for length in lengths)
    shifts, drift = told(series, moved, alpha * SHIFT_SHARE)
    weak = _too_weak(calendar, periods)
    return Findings(
        periods=periods,
        autocorrelation=correlogram(lag_grid(series, grid)),
        span=span,
        tested=names,
        remarks=(*weak, *why),
        shifts=shifts,
        drift=drift,
        level_tested=True,
    )


def _levels(
    grid: TimeGrid,
    candidates: Sequence[Candidate],
    alpha: float,
    surrogates: int | None,
    seed: np.random.SeedSequence,
) -> Nonstationary:
    """Find shifts and drift, adjusted for the calendar and, if shifts recur with a detectable period, for that period too."""
    scores, number = normal_scores(grid.values), surrogates or 199
    enough = max(number, int(np.ceil(2 / (alpha * SHIFT_SHARE))) - 1)

    def found(beside: Sequence[Candidate]) -> Nonstationary:
        return find_shifts(grid, scores, beside, alpha=alpha * SHIFT_SHARE, surrogates=enough, seed=seed)

    moved = found(candidates)
    length = recurrence(grid, scores, moved.baseline)
    if length is None:
        return moved
    (again,) = seed.spawn(1)
    waves = blind_search(grid, scores, (), alpha=alpha * BLIND_SHARE, surrogates=number, seed=again)
    near = [one.candidate for one in waves if abs(one.candidate.seconds / length - 1) <= 2 * EVEN]
    return found([*candidates, *near]) if near else moved


def _test_calendar(
    grid: TimeGrid,
    candidates: Sequence[Candidate],
    baseline: Baseline,
    alpha: float,
    surrogates: int | None,
    seed: np.random.SeedSequence,
) -> dict[Candidate, float]:
    """Return the p-value of each calendar period that the data can show: Holm, at the error left by the blind search."""
    share = 1 - BLIND_SHARE
    number = surrogates or max(999, int(np.ceil(len(HUMAN) / (share * alpha))))
    scores = normal_scores(grid.values)
    tests = assess_candidates(grid, scores, candidates, surrogates=number, seed=seed, baseline=baseline)
    corrected = holm([test.p_value for test in tests])
    return {test.candidate: min(1.0, p_value / share) for test, p_value in zip(tests, corrected, strict=True)}


def _periods(
    grid: TimeGrid,
    scores: Array,
    calendar: dict[Candidate, float],
    others: dict[Candidate, float],
    baseline: Baseline,
) -> tuple[Period, ...]:
    p_values = calendar | others
    found = list(p_values)
    shares = dict(zip(found, _strengths(grid, scores, found, baseline), strict=True))
    kept = _apart([one for one in found if shares[one] >= WEAKEST], shares, grid)
    return tuple(
        Period(
            seconds=one.seconds,
            strength=share,
            p_value=p_values[one],
            name=name_of(one.seconds, 0.5 / grid.duration),
            correction="holm" if one in calendar else "maximum",
        )
        for one, share in zip(kept, _strengths(grid, scores, kept, baseline), strict=True)
    )


def _strengths(grid: TimeGrid, scores: Array, found: Sequence[Candidate], baseline: Baseline) -> list[float]:
    """Return the strength of each with six harmonics at most; more would explain noise."""
    few = [Candidate(one.seconds, min(one.harmonics, HARMONICS)) for one in found]
    return strengths(grid.times, scores, few, baseline)


def _too_weak(calendar: dict[Candidate, float], periods: Sequence[Period]) -> tuple[str, ...]:
    """Name the calendar periods that are present but explain next to nothing."""
    listed = {period.seconds for period in periods}
    return tuple(
        f"A {name_of(one.seconds, 0.0)} explains less than {100 * WEAKEST:g} % of the variance and is not listed."
        for one in calendar
        if one.seconds not in listed
    )


def _apart(found: Sequence[Candidate], shares: dict[Candidate, float], grid: TimeGrid) -> list[Candidate]:
    """Order by length, dropping harmonics of longer periods and periods that the record cannot tell apart.

    Calendar periods stay: a day is a seventh of a week, but meaningful on its own.
    """
    calendar = {human.seconds for human in HUMAN}
    kept: list[Candidate] = []
    for one in sorted(found, key=lambda one: (one.seconds not in calendar, -shares[one])):
        if one.seconds in calendar or not any(
            abs(1 / one.seconds - 1 / other.seconds) <= 1 / grid.duration for other in kept
        ):
            kept.append(one)
    return sorted(
        (
            one
            for one in kept
            if one.seconds in calendar or not any(_is_harmonic(one, other, grid.duration) for other in kept)
        ),
        key=lambda one: one.seconds,
    )


def _is_harmonic(one: Candidate, other: Candidate, duration: float) -> bool:
    multiple = other.seconds / one.seconds
    # With few cycles of the longer period, any short one is close to some harmonic of it, so it is one only if the longer is sharp.
    sharp = other.harmonics > HARMONICS
    if multiple <= 1.5 or (
        not sharp and (multiple >= MAX_HARMONIC or duration < MANY_CYCLES * other.seconds)
    ):
        return False
    return abs(1 / one.seconds - round(multiple) / other.seconds) <= 0.25 / duration
