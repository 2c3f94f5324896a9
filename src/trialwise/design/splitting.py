"""Split a budget between series and rounds, from how trials already run varied at either level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialwise.design.sizing import Sizing
from trialwise.design.timing import TrialTimes
from trialwise.errors import StatisticsError
from trialwise.experiment.model import Experiment
from trialwise.statistics import variance_components

LEVELS = ("series", "round")

Column = Sequence[float] | Sequence[str]


@dataclass(frozen=True, slots=True)
class Split:
    """The series, and rounds in each, that make the mean of a treatment's metric most precise for a budget.

    The deviations are between series and between rounds of one series, in the metric's unit, null if the trials cannot separate
    them (`note` says what to repeat). `half_width` is predicted for the 95 % interval of the mean. `trials` is the number it is
    estimated from.
    """

    metric: str
    unit: str
    treatment: str
    trials: int
    between_series: float | None
    between_rounds: float | None
    series: int
    rounds: int
    half_width: float
    note: str


def split_budget(
    experiment: Experiment,
    sizing: Sizing,
    times: TrialTimes,
    seconds: float,
    tables: Mapping[tuple[str, str], Mapping[str, Column]],
) -> tuple[Split, ...]:
    """Split `seconds` for each metric and treatment (METHODS: r = sqrt(c_S / c_R · σ_R² / σ_S²), at most 30 rounds, 5 series or more).

    `tables` has the columns value, series and round of each. A round costs the time of all its treatments, a series its warm-up
    rounds, or the rest of its span. Those without enough trials are left out.
    """
    return tuple(_splits(experiment, sizing, times, seconds, tables))


def series_cost(experiment: Experiment, times: TrialTimes) -> float:
    """Return the seconds that one more series takes besides its rounds."""
    return experiment.design.warmup_trials * times.round_seconds


def _splits(
    experiment: Experiment,
    sizing: Sizing,
    times: TrialTimes,
    seconds: float,
    tables: Mapping[tuple[str, str], Mapping[str, Column]],
) -> Iterator[Split]:
    span = experiment.design.span
    # With a span, each series costs its whole length, and rounds inside are free.
    costs = {
        "series": series_cost(experiment, times) if span is None else span,
        "round": times.round_seconds if span is None else 0.0,
    }
    for (metric, treatment), table in tables.items():
        try:
            found = variance_components(table, "value", LEVELS)
            best = found.allocation(costs, seconds)
        except StatisticsError:
            continue
        known = {one.level: one.variance**0.5 for one in found.estimable}
        yield Split(
            metric=metric,
            unit=experiment.metric(metric).unit,
            treatment=treatment,
            trials=found.n,
            between_series=known.get("series"),
            between_rounds=known.get("round"),
            series=best.counts["series"],
            rounds=best.counts["round"],
            half_width=best.half_width,
            note="; ".join(
                part for part in (found.note, best.note, _short(sizing, metric, best.counts["round"])) if part
            ),
        )


def _short(sizing: Sizing, metric: str, rounds: int) -> str:
    needed = max((need.amount for need in sizing.rounds_needed if need.metric == metric), default=0)
    return f"its KPIs need {needed} rounds in each series" if needed > rounds else ""
