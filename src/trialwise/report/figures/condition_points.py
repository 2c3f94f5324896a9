"""Data of the figures of condition data and pilots: thinned samples, lags in readable units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trialwise.arrays import Array

if TYPE_CHECKING:
    from trialwise.analysis.conditions.profile import Lags, Profile
    from trialwise.report.plot_rows import Row


MOST = 2000
"""Maximum points of a figure; beyond, stretches of neighbours are drawn by their extremes."""
_LABEL_SHARE = 0.22
_UNITS = ((2 * 86_400.0, 86_400.0, "days"), (2 * 3600.0, 3600.0, "hours"), (120.0, 60.0, "minutes"))


@dataclass(frozen=True, slots=True)
class Stretches:
    """Neighbouring samples: the start of each stretch and its extremes, which are equal for a single sample."""

    times: Array
    lows: Array
    highs: Array


def stretches(times: Array, values: Array, most: int = MOST) -> Stretches:
    """Thin samples to at most `most`, in order of time; those without a value are left out."""
    order = np.argsort(times, kind="stable")
    order = order[~np.isnan(values[order])]
    times, values = times[order], values[order]
    edges = np.unique(np.linspace(0, times.size, min(times.size, most) + 1).astype(np.int64))[:-1]
    return Stretches(times[edges], np.minimum.reduceat(values, edges), np.maximum.reduceat(values, edges))


def unit_of(seconds: float) -> tuple[float, str]:
    """Return the unit in which a duration reads well: its seconds and its name."""
    for least, size, name in _UNITS:
        if seconds >= least:
            return size, name
    return 1.0, "seconds"


def thinned_lags(found: Lags, most: int = MOST) -> tuple[Array, Array]:
    """Thin lags and coefficients to at most `most`: of each stretch, keep the coefficient farthest from 0."""
    lags, coefficients = np.asarray(found.lags), np.asarray(found.coefficients)
    if lags.size <= most:
        return lags, coefficients
    parts = np.array_split(np.arange(lags.size), most)
    places = np.array([part[np.argmax(np.abs(coefficients[part]))] for part in parts])
    return lags[places], coefficients[places]


def coefficient_at(found: Lags, seconds: float) -> float:
    """Return the coefficient at the lag nearest to a period."""
    place = int(np.argmin(np.abs(np.asarray(found.lags) - seconds)))
    return found.coefficients[place]


def period_labels(profile: Profile) -> dict[float, str]:
    """Return the label of each period's mark, by its seconds; empty if a stronger one is too close."""
    longest = profile.autocorrelation.lags[-1]
    labels: dict[float, str] = {}
    for period in sorted(profile.periods, key=lambda one: -one.strength):
        near = any(
            abs(period.seconds - other) < _LABEL_SHARE * longest for other, text in labels.items() if text
        )
        labels[period.seconds] = "" if near else period.words
    return labels


def stretch_rows(found: Stretches, *, dated: bool = False, unit: float = 1.0) -> list[Row]:
    """Return stretches as rows; times in whole milliseconds since 1970 if `dated`, else in `unit` seconds since the first."""
    start = float(found.times[0])
    times: list[float | int] = [
        round(time * 1000) if dated else (time - start) / unit for time in found.times.tolist()
    ]
    return [
        {"time": time, "low": low, "high": high}
        for time, low, high in zip(times, found.lows.tolist(), found.highs.tolist(), strict=True)
    ]


def moments(times: Array) -> npt.NDArray[np.datetime64]:
    """Convert seconds since 1970 to UTC times."""
    return (times * 1000).round().astype("datetime64[ms]")
