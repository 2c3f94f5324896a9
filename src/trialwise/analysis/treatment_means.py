"""The mean and the median of each treatment with their intervals, at the right unit of replication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trialwise import statistics as st
from trialwise.arrays import Array

CONFIDENCE = 95.0
"""Of each interval, in percent."""


@dataclass(frozen=True, slots=True)
class TreatmentMean:
    """The mean and the median of a treatment over `n` units of `level`, such as process or trial; each unit is the mean of its parts.

    Without two units there are no intervals, and `reason` says why; `median` has an interval from 6 units on. `series` is empty
    where all series count together.
    """

    treatment: str
    series: str
    n: int
    level: str
    mean: float
    interval: st.MeanInterval | None
    median: float
    median_interval: st.PercentileInterval
    reason: str


def treatment_mean(
    treatment: str, values: Sequence[float] | Array, level: str = "trial", series: str = ""
) -> TreatmentMean:
    """Return the mean and median of independent values, at least one, of a treatment."""
    n = len(values)
    one = f"no interval from one {level}: it says nothing about the next; measure at least two"
    return TreatmentMean(
        treatment=treatment,
        series=series,
        n=n,
        level=level,
        mean=float(np.mean(values)),
        interval=interval_of(values),
        median=float(np.median(values)),
        median_interval=st.percentile_interval(values, 50, CONFIDENCE),
        reason=one if n < 2 else "",
    )


def interval_of(values: Sequence[float] | Array) -> st.MeanInterval | None:
    """Return the interval of the mean of independent values; None of less than two."""
    return None if len(values) < 2 else st.mean_interval(values, confidence=CONFIDENCE)
