"""What fits into a given time, and what to change where the experiment does not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from trialwise.design.advice import LEAST_CONFIDENCE
from trialwise.design.sizing import Need, Sizing, rounds_needed
from trialwise.design.timing import TrialTimes, total_seconds
from trialwise.experiment.model import Experiment, Kpi, Variability
from trialwise.experiment.quantity import duration_text
from trialwise.statistics import series_needed


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether one objective can be had within the budget, and if not, what comes nearest to it.

    `amount` is what it needs, rounds for a KPI and series for a variability score. `largest_confidence` is the largest
    confidence in percent that fits, with the percentile as it is; `most_extreme_percentile` the other way round; None
    where nothing fits.
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
    """A way to stay within the budget: what to change, and the size and time that then result."""

    what: str
    rounds: int
    series: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Budget:
    """The answer to "what fits into this time?".

    `rounds` is the number of rounds that fit into each of `series` series. While nothing is known about how results vary
    from round to round and from series to series, there are as many series as the objectives need, and the rest of the
    time goes to rounds.
    """

    seconds: float
    needed_seconds: float
    fits: bool
    rounds: int
    series: int
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
        kpis=tuple(_kpi_fit(need, rounds, experiment) for need in sizing.rounds_needed),
        scores=tuple(
            _score_fit(need, sizing.series if rounds else 0, experiment) for need in sizing.series_needed
        ),
        changes=() if fits else tuple(_changes(experiment, sizing, times, seconds)),
    )


def rounds_that_fit(experiment: Experiment, series: int, times: TrialTimes, seconds: float) -> int:
    """The largest number of rounds for each of `series` series within `seconds`; 0 if not even one fits."""
    span = experiment.design.span
    if span is not None and series * span > seconds:
        return 0
    for_series = seconds / series if span is None else span
    return max(0, _whole_times(for_series, times.round_seconds) - experiment.design.warmup_trials)


def _whole_times(amount: float, part: float) -> int:
    """How often `part` goes into `amount`; three times 0.1 makes 0.3."""
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
        return series_needed(percentile, confidence, robustness=robustness) <= series

    return _nearest_fit(need, fits, upwards=score.percentile > 50)


def _nearest_fit(need: Need, fits: Callable[[float, float], bool], *, upwards: bool) -> Fit:
    wanted = need.objective
    confidence = _largest(lambda level: fits(wanted.percentile, level), LEAST_CONFIDENCE, wanted.confidence)
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
    """The largest value between `low` and `high`, in steps of a tenth, that fits; None if `low` does not."""
    least, most = math.ceil(low * 10), math.ceil(high * 10) - 1
    if most < least or not fits(least / 10):
        return None
    while most > least:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if fits(middle / 10) else (least, middle - 1)
    return least / 10


# Changes


def _changes(experiment: Experiment, sizing: Sizing, times: TrialTimes, seconds: float) -> Iterator[Change]:
    yield from _fewer_rounds(experiment, sizing, times, seconds)
    yield from _fewer_series(experiment, sizing, times, seconds)
    yield from _fewer_treatments(experiment, sizing, times, seconds)
    yield from _shorter(experiment, sizing, times, seconds)


def _fewer_rounds(
    experiment: Experiment, sizing: Sizing, times: TrialTimes, seconds: float
) -> Iterator[Change]:
    """The rounds that the objectives need which fit, and all rounds that fit."""
    rounds = rounds_that_fit(experiment, sizing.series, times, seconds)
    if not 0 < rounds < sizing.rounds:
        return
    dropped = [need for need in sizing.rounds_needed if need.amount > rounds]
    what = "have fewer rounds" + (f", without {_named(dropped)}" if dropped else "")
    taken = total_seconds(experiment, replace(sizing, rounds=rounds), times)
    yield Change(what, rounds, sizing.series, taken)


def _fewer_series(
    experiment: Experiment, sizing: Sizing, times: TrialTimes, seconds: float
) -> Iterator[Change]:
    one = total_seconds(experiment, replace(sizing, series=1), times)
    series = _whole_times(seconds, one)
    if not 0 < series < sizing.series:
        return
    dropped = [need for need in sizing.series_needed if need.amount > series]
    what = "have fewer series" + (f", without {_named(dropped)}" if dropped else "")
    yield Change(what, sizing.rounds, series, series * one)


def _fewer_treatments(
    experiment: Experiment, sizing: Sizing, times: TrialTimes, seconds: float
) -> Iterator[Change]:
    """How many treatments fit: the shortest first, so that as many as possible stay."""
    for number in range(len(times.seconds) - 1, 0, -1):
        kept = dict(sorted(times.seconds.items(), key=lambda item: item[1])[:number])
        fewer = replace(times, seconds=kept, beside=times.beside * number / len(times.seconds))
        taken = total_seconds(experiment, sizing, fewer)
        if taken <= seconds:
            what = f"have {number} of the {len(times.seconds)} treatments"
            yield Change(what, sizing.rounds, sizing.series, taken)
            return


def _shorter(experiment: Experiment, sizing: Sizing, times: TrialTimes, seconds: float) -> Iterator[Change]:
    """How much shorter trials, and the span, would have to be."""
    span = experiment.design.span
    if span is not None and sizing.series * span > seconds:
        yield Change(
            f"have a span of {duration_text(seconds / sizing.series)}", sizing.rounds, sizing.series, seconds
        )
        return
    rounds = sizing.series * (sizing.rounds + experiment.design.warmup_trials)
    trial = (seconds / rounds - times.beside) / len(times.seconds)
    if trial > 0:
        yield Change(f"have trials of {duration_text(trial)}", sizing.rounds, sizing.series, seconds)


def _named(needs: list[Need]) -> str:
    return ", ".join(f"the {need.text} of {need.metric}" for need in needs)
