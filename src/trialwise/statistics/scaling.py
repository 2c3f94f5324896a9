"""Shifting and scaling numbers without overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trialwise.statistics.estimates.measures import mean_of, overflow_scale

if TYPE_CHECKING:
    from trialwise.statistics.checks import Array, Limits


def is_constant(values: Array) -> bool:
    """Return True if all values are equal."""
    return bool(values.min() == values.max())


def extremes(values: Array) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    return float(values.min()), float(values.max())


def to_unit_range(values: Array, limits: Limits) -> Array:
    """Map the values linearly so that the limits, their own extremes by default, become -1 and 1."""
    low, high = limits if limits is not None else extremes(values)
    if low == high:
        return np.zeros_like(values)
    width = high - low
    if width == float("inf"):
        return (values / 2 - (low / 4 + high / 4)) / (high / 4 - low / 4)
    with np.errstate(over="ignore"):
        return 2 * ((values - low) / width) - 1


def centred(values: Array) -> Array:
    """Return deviations from the mean, in units of the largest of them; zeros for constant values."""
    if is_constant(values):
        return np.zeros_like(values)
    scale = overflow_scale(values)
    kept = values * scale if scale != 1 else values
    deviations = kept - mean_of(kept)
    return deviations / np.abs(deviations).max()
