"""TriScale's method for periods, by the autocorrelation."""

from __future__ import annotations

import numpy as np

from trialwise.statistics.estimates.measures import percentile_of
from trialwise.statistics.sizing.common_periods import advise
from trialwise.statistics.tests.correlogram import Correlogram, correlogram
from trialwise.statistics.time.harmonics import name_of
from trialwise.statistics.time.seasonality_results import Findings, Period
from trialwise.statistics.time.timegrid import TimeGrid, TimeSeries, lag_grid


def by_paper(series: TimeSeries, grid: TimeGrid) -> Findings:
    """Return the prominent peaks of the autocorrelation of a series (TriScale, section 4.6), without a test."""
    regular = lag_grid(series, grid)
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
    span, why = advise(series, periods, ())
    filled = regular.size - regular.index.size
    return Findings(periods, lags, span, (), (f"{filled} empty cells were filled with the median.", *why))


def _prominent_peaks(lags: Correlogram) -> list[int]:
    """Find the first peak that stands out, then the first that stands out among the peaks, and so on.

    The paper specifies no algorithm. A period causes a peak at each of its multiples, so not every peak is a period, but one that
    stands out from neighbouring peaks (a week among days) is. A peak stands out if it is above the threshold, and above the dips on
    both sides by as much.
    """
    from scipy.signal import find_peaks

    peaks, _ = find_peaks(lags.values, height=lags.threshold, prominence=lags.threshold)
    prominent: list[int] = []
    while peaks.size:
        prominent.append(int(peaks[0]))
        among, _ = find_peaks(lags.values[peaks], prominence=lags.threshold)
        peaks = peaks[among]
    return prominent
