"""Find what fits into a given time, and what to change if the experiment does not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from trialwise import statistics as st
from trialwise.design.advice import MIN_CONFIDENCE
from trialwise.design.sizing import Need, Sizing, rounds_needed
from trialwise.design.timing import TrialTimes, total_seconds
from trialwise.experiment.model import Experiment, Kpi, Variability
from trialwise.experiment.quantity import duration_text


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether one objective can be met within the budget, and if not, what comes closest.

    `amount` is what it needs, rounds for a KPI and series for a variability score. `largest_confidence` is the largest
    confidence in percent that fits, at the given percentile; `most_extreme_percentile` the other way round; None
    if nothing fits.
    """

    metric: str
    objective: Kpi | Variability
    text: str
    amount: int
    unit: Literal["rounds", "series"]
    fits: bool
    largest_confidence: float | None = None
    most_extreme_percentile: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A way to stay within the budget: what to change, and the resulting size and time."""

    what: str
    rounds: int
    series: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Budget:
    """The answer to "what fits into this time?".

    `rounds` is the number of rounds that fit into each of `series` series, within `span` seconds each if there is a
    span, which is shortened if the spans alone exceed the budget. While it is unknown how results vary
    from round to round and from series to series, there are as many series as the objectives need, and the rest of the
    time goes to rounds.
    """

    seconds: float
    needed_seconds: float
    fits: bool
    rounds: int
    series: int
    span: float | None
    kpis: tuple[Fit, ...]
    scores: tuple[Fit, ...]
    changes: tuple[Change, ...]


def plan_budget(experiment: Experiment, sizing: Sizing, times: TrialTimes, seconds: float) -> Budget:
    """Say what fits into `seconds`."""
    needed = total_seconds(experiment, sizing, times)
    fits = needed <= seconds
    rounds = rounds_that_fit(experiment, sizing.series, times, seconds)
    return Budget(
        seconds=seconds,
        needed_seconds=needed,
        fits=fits,
        rounds=rounds,
        series=sizing.series,
        span=_span(experiment, sizing.series, seconds),
        kpis=tuple(_kpi_fit(need, rounds, experiment) for need in sizing.rounds_needed),
        scores=tuple(
            _score_fit(need, sizing.series if rounds else 0, experiment) for need in sizing.series_needed
        ),
        changes=() if fits else tuple(_changes(experiment, sizing, times, seconds)),
    )


def rounds_that_fit(experiment: Experiment, series: int, times: TrialTimes, seconds: float) -> int:
    """Return the largest number of rounds for each of `series` series within `seconds`; 0 if not even one fits."""
    for_series = _span(experiment, series, seconds) or seconds / series
    return max(0, _whole_times(for_series, times.round_seconds) - experiment.design.warmup_trials)


def _span(experiment: Experiment, series: int, seconds: float) -> float | None:
    """Return the span of each series, shortened if that many spans exceed `seconds`."""
    span = experiment.design.span
    return None if span is None else min(span, seconds / series)


def _whole_times(amount: float, part: float) -> int:
    """Return how often `part` fits into `amount`; three times 0.1 makes 0.3."""
    return math.floor(amount / part * (1 + 1e-12)) if part > 0 else 10**9


# Objectives


def _kpi_fit(need: Need, rounds: int, experiment: Experiment) -> Fit:
    kpi, robustness = need.objective, experiment.design.robustness
    if need.amount <= rounds or not isinstance(kpi, Kpi):
        return _fit(need, fits=True)

    def fits(percentile: float, confidence: float) -> bool:
        return rounds_needed(Kpi(percentile, confidence, kpi.bound), robustness) <= rounds

    return _nearest_fit(need, fits, upwards=kpi.bound == "upper")


def _score_fit(need: Need, series: int, experiment: Experiment) -> Fit:
    score, robustness = need.objective, experiment.design.robustness
    if need.amount <= series:
        return _fit(need, fits=True)

    def fits(percentile: float, confidence: float) -> bool:
        return st.series_needed(percentile, confidence, robustness=robustness) <= series

    return _nearest_fit(need, fits, upwards=score.percentile > 50)


def _nearest_fit(need: Need, fits: Callable[[float, float], bool], *, upwards: bool) -> Fit:
    wanted = need.objective
    confidence = _largest(lambda level: fits(wanted.percentile, level), MIN_CONFIDENCE, wanted.confidence)
    extreme = wanted.percentile if upwards else 100 - wanted.percentile
    percentile = _largest(
        lambda value: fits(value if upwards else 100 - value, wanted.confidence), 50.0, extreme
    )
    if percentile is not None and not upwards:
        percentile = round(100 - percentile, 1)
    return _fit(need, fits=False, confidence=confidence, percentile=percentile)


def _fit(need: Need, *, fits: bool, confidence: float | None = None, percentile: float | None = None) -> Fit:
    unit = "rounds" if isinstance(need.objective, Kpi) else "series"
    return Fit(need.metric, need.objective, need.text, need.amount, unit, fits, confidence, percentile)


def _largest(fits: Callable[[float], bool], low: float, high: float) -> float | None:
    """Return the largest value between `low` and `high`, in steps of a tenth, that fits; None if `low` does not."""
    least, most = math.ceil(low * 10), math.ceil(high * 10) - 1
    if most < least or not fits(least / 10):
        return None
    while most > least:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(middle / 10) else (least, middle - 1)
    return least / 10


# Changes


def _changes(experiment: Experiment, sizing: Sizing, times: TrialTimes, seconds: float) -> Iterator[Change]:
    """Yield each change by itself; the span is also shortened if that is needed."""
    yield from _fewer_series(experiment, sizing, times, seconds)
    span = _span(experiment, sizing.series, seconds)
    is_shorter = span is not None and span != experiment.design.span
    shorter = replace(experiment, design=replace(experiment.design, span=span))
    also = f"a span of {duration_text(span)}" if span is not None and is_shorter else None
    if also and total_seconds(shorter, sizing, times) <= seconds * (1 + 1e-12):
        yield Change(f"have {also}", sizing.rounds, sizing.series, seconds)
        return
    also = f" and {also}" if also else ""
    yield from _fewer_rounds(shorter, sizing, times, seconds, also)
    yield from _fewer_treatments(shorter, sizing, times, seconds, also)
    yield from _shorter_trials(shorter, sizing, times, seconds, also)


def _fewer_series(
    experiment: Experiment, sizing: Sizing, times: TrialTimes, seconds: float
) -> Iterator[Change]:
    one = total_seconds(experiment, replace(sizing, series=1), times)
    series = _whole_times(seconds, one)
    if not 0 < series < sizing.series:
        return
    dropped = [need for need in sizing.series_needed if need.amount > series]
    yield Change(f"have fewer series{_without(dropped)}", sizing.rounds, series, series * one)


def _fewer_rounds(
    experiment: Experiment, sizing: Sizing, times: TrialTimes, seconds: float, also: str
) -> Iterator[Change]:
    rounds = rounds_that_fit(experiment, sizing.series, times, seconds)
    if not 0 < rounds < sizing.rounds:
        return
    dropped = [need for need in sizing.rounds_needed if need.amount > rounds]
    taken = total_seconds(experiment, replace(sizing, rounds=rounds), times)
    yield Change(f"have fewer rounds{also}{_without(dropped)}", rounds, sizing.series, min(taken, seconds))


def _fewer_treatments(
    experiment: Experiment, sizing: Sizing, times: TrialTimes, seconds: float, also: str
) -> Iterator[Change]:
    """Yield the option of as many treatments as fit, the shortest ones first."""
    shortest = sorted(times.seconds.items(), key=lambda item: item[1])
    for number in range(len(shortest) - 1, 0, -1):
        share = number / len(shortest)
        fewer = replace(times, seconds=dict(shortest[:number]), beside=times.beside * share)
        taken = total_seconds(experiment, sizing, fewer)
        if taken <= seconds * (1 + 1e-12):
            what = f"have {number} of the {len(shortest)} treatments{also}"
            yield Change(what, sizing.rounds, sizing.series, min(taken, seconds))
            return


def _shorter_trials(
    experiment: Experiment, sizing: Sizing, times: TrialTimes, seconds: float, also: str
) -> Iterator[Change]:
    rounds = sizing.rounds + experiment.design.warmup_trials
    for_series = experiment.design.span or seconds / sizing.series
    trial = (for_series / rounds - times.beside) / len(times.seconds)
    if trial > 0:
        yield Change(f"have trials of {duration_text(trial)}{also}", sizing.rounds, sizing.series, seconds)


def _without(needs: list[Need]) -> str:
    named = ", ".join(f"the {need.text} of {need.metric}" for need in needs)
    return f", without {named}" if named else ""
