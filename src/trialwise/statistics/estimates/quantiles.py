"""Quantiles of one trial's samples: their convention, and whether there are enough samples."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from trialwise import _core
from trialwise.numbers import write
from trialwise.statistics.checks import Array, as_percent, as_values, one_of
from trialwise.statistics.estimates.measures import percentile_of
from trialwise.statistics.pooled.trial_samples import TrialSamples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

Convention: TypeAlias = Literal["nearest_rank", "linear"]
MIN_BEYOND = 5
"""Expected number of samples beyond a quantile of one trial, at least."""


def trial_quantile(values: ArrayLike, percentile: float, convention: Convention = "nearest_rank") -> float:
    """Compute one quantile of a trial's samples by a stated convention.

    On some forty flows the convention alone moves a p99 by a sixth, so it belongs to the result.

    Parameters
    ----------
    values
        Samples, in any order.
    percentile
        In percent, between 0 and 100, exclusive.
    convention
        "nearest_rank": the smallest sample x with at least the share p at or below x, rank ⌈pN⌉ (type 1 of Hyndman and Fan 1996;
        CCEval Eq. 7, which is one rank higher where pN is an integer). CCEval's Eq. 8 as printed asks for rank ⌈pN⌉ + 1, which
        does not exist up to 1/(1-p) samples. "linear": type 7, NumPy's default.

    Raises
    ------
    StatisticsError
        No samples, samples that are not finite, or an option out of range.
    """
    array, p = as_values(values), as_percent(percentile, "percentile")
    as_convention(convention)
    if convention == "linear":
        return percentile_of(array, float(p))
    place = nearest_rank(array.size, p) - 1
    return float(np.partition(array, place)[place])


def trial_quantiles(
    trials: Sequence[ArrayLike], percentile: float, convention: Convention = "nearest_rank"
) -> Array:
    """Compute `trial_quantile` of many trials at once. Raises the same errors."""
    samples, p = TrialSamples.of(trials).checked(minimum=1), as_percent(percentile, "percentile")
    as_convention(convention)
    if convention == "linear":
        ends = np.cumsum(samples.sizes)
        return _core.window_percentiles(samples.values, ends - samples.sizes, ends, float(p))
    found = np.empty(len(samples))
    for places, rows in samples.by_size():
        rank = nearest_rank(rows.shape[1], p) - 1
        found[places] = np.partition(rows, rank, axis=1)[:, rank]
    return found


def nearest_rank(count: int, p: Fraction) -> int:
    """Return the rank ⌈pN⌉, from 1, in exact fractions."""
    return ceil(p * count)


def quantile_of_ordered(ordered: Array, p: Fraction, convention: Convention) -> float:
    """Compute `trial_quantile` of samples in ascending order, for checked arguments."""
    if convention == "linear":
        return percentile_of(ordered, float(p))
    return float(ordered[nearest_rank(ordered.size, p) - 1])


def as_convention(convention: str) -> str:
    """Check the name of a convention.

    Raises
    ------
    StatisticsError
        The name is unknown.
    """
    return one_of(convention, "convention", ("nearest_rank", "linear"))


def quantile_refusal(samples: float, percentile: float, *, forced: bool = False) -> str:
    """Say why trials with this many samples are too short for a mean of their quantiles; empty if they are not.

    With fewer than five samples beyond it (above it, or below it for percentiles under 50), a trial's quantile is close to its
    extreme sample: the mean over trials and the quantile of all samples then differ by 20 to 60 % (p99 and p99.9 of 44 flows).

    Parameters
    ----------
    samples
        Mean number of samples in a trial.
    percentile
        In percent.
    forced
        True if it was requested nevertheless.

    Raises
    ------
    StatisticsError
        The percentile is out of range.
    """
    p = as_percent(percentile, "percentile")
    share = min(p, 1 - p)
    beyond = float(share) * samples
    if forced or beyond >= MIN_BEYOND:
        return ""
    nearest = 100 * MIN_BEYOND / samples if samples else 100.0
    reachable = f"p{write(100 - nearest)} or lower" if p >= Fraction(1, 2) else f"p{write(nearest)} or higher"
    instead = f", {reachable}" if nearest < 50 else ""
    return (
        f"p{float(percentile):g} of a trial with {write(samples)} samples has {write(beyond, digits=2)} samples beyond it and "
        f"{MIN_BEYOND} are needed; take trials with {ceil(MIN_BEYOND / share)} samples{instead}, the pooled quantile of "
        "all samples, or force it"
    )
