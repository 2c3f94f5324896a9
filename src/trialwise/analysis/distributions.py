"""Empirical distributions of a metric with their confidence bands, one per treatment and series (TriScale, Fig. 7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.arrays import Array
from trialwise.errors import StatisticsError

_STEPS = 200


@dataclass(frozen=True, slots=True)
class Distribution:
    """The empirical distribution of a treatment's metric in one series.

    `values` are ascending, and `shares` (0 to 1) give the share of trials at or below each; of more than 200 distinct values, 200
    evenly spaced ones are kept. `band` is None, with a `note`, if there are too few trials.
    """

    treatment: str
    series: str
    n: int
    values: Array
    shares: Array
    band: st.CdfBand | None
    note: str | None


def distribution(treatment: str, series: str, values: list[float], confidence: float) -> Distribution:
    """Compute the empirical distribution of one treatment in one series, with the band at `confidence` (percent)."""
    ordered, shares = empirical_steps(np.asarray(values, dtype=np.float64))
    band, note = None, None
    try:
        band = st.cdf_band(values, confidence)
        note = band.note or None
    except StatisticsError as error:
        note = str(error)
    return Distribution(treatment, series, len(values), ordered, shares, band, note)


def empirical_steps(values: Array) -> tuple[Array, Array]:
    """Return the distinct values, ascending, and the share (0 to 1) at or below each; evenly thinned to 200 of them."""
    ordered, counts = np.unique(values, return_counts=True)
    shares = np.cumsum(counts) / max(len(values), 1)
    kept = _spread(len(ordered))
    return ordered[kept], shares[kept]


def _spread(count: int) -> npt.NDArray[np.int64]:
    if count <= _STEPS:
        return np.arange(count, dtype=np.int64)
    return np.unique(np.linspace(0, count - 1, _STEPS).round().astype(np.int64))
