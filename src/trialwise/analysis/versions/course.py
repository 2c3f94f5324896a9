"""How the trials of versions went: drift over the rounds, and what the position in the round did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from trialwise.analysis.trial_set import TrialSet
from trialwise.late import pl
from trialwise.statistics.order.predecessors import read_trials
from trialwise.statistics.tests.trends import Trend, trends


@dataclass(frozen=True, slots=True)
class Course:
    """Trends of one metric in percent of its mean: over all rounds, and from the first position of a round to the last.

    Intervals hold at 95 % each. A trend is None where fewer than four rounds have values, or positions did not vary.
    """

    metric: str
    rounds: int
    drift: Trend | None
    position: Trend | None


def courses(trials: TrialSet) -> Iterator[Course]:
    """Yield the course of each metric; the position is the rank of the trial's start in its round."""
    for metric in trials.metrics:
        table = trials.of(metric).filter(pl.col("started").is_not_null())
        if table.is_empty():
            continue
        table = table.with_columns(
            pl.col("round").rank("dense").cast(pl.Int64).alias("turn"),
            pl.col("started").rank("ordinal").over("round").cast(pl.Int64).alias("place"),
        )
        turns, places = table["turn"].to_numpy(), table["place"].to_numpy()
        read = read_trials(table["value"].to_numpy(), table["treatment"].to_list(), turns, places)
        found = trends(read, 0.95)
        mean = abs(float(table["value"].to_numpy().mean()))
        rounds = int(turns.max())
        yield Course(
            metric,
            rounds,
            _percent(found["drift"], (rounds - 1) / mean if mean else 0.0),
            _percent(found["position"], (int(places.max()) - 1) / mean if mean else 0.0),
        )


def _percent(trend: Trend, steps: float) -> Trend | None:
    """Return a slope as its change over so many steps of the mean, in percent; None where it is unknown."""
    ends = (trend.estimate, trend.low, trend.high)
    if not steps or not all(map(isfinite, ends)):
        return None
    estimate, low, high = (100 * steps * end for end in ends)
    return Trend(estimate, low, high, trend.p_value, trend.n)
