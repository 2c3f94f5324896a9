"""Convergence tests: TriScale's, on slopes of scaled values, and the default, on the drift of batch means."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.numbers import about
from trialwise.statistics.checks import (
    Array,
    Indices,
    Limits,
    Method,
    as_limits,
    as_method,
    as_percent,
    as_times,
    as_tolerance,
    as_values,
    known_keys,
    times_at,
)
from trialwise.statistics.scaling import extremes, is_constant, to_unit_range
from trialwise.statistics.sizing.steady_state import (
    Convergence,
    Requirement,
    steadiness,
    unjudged,
    without_drift,
)
from trialwise.statistics.tests.slopes import slope_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike


_PAPER = "TriScale 4.5: Theil-Sen slope and Sen interval, times and values scaled to [-1, 1]"
_WINDOWS = 100


def convergence(
    values: ArrayLike,
    *,
    times: ArrayLike | None = None,
    confidence: float = 95,
    tolerance: float = 5,
    limits: Limits = None,
    method: Method = "default",
) -> Convergence:
    """Test whether values have stopped changing.

    Default: two one-sided tests (`steadiness`) must show that the mean drifts by less than the tolerance, a share of the median
    batch (or of half the distance between the limits, if given). Harmless drifts of quiet data pass; noise alone does not.

    Paper (TriScale section 4.5): `values` are the metric values of successive windows, as `trial_metric` computes them. Times and
    values are mapped linearly to [-1, 1], the values from the limits or else from their own extremes; the test passes if the
    interval of the Theil-Sen slope lies within the tolerance. The paper calls that interval "the middle C% of slopes", which
    almost no data would pass; here it is Sen's confidence interval of the slope, as in `scipy.stats.theilslopes`. Windows
    overlap, so its level is not calibrated.

    Parameters
    ----------
    values
        Numbers in time order.
    times
        One per value, non-decreasing, in any unit; 0, 1, 2 … by default.
    confidence
        In percent; above 50 for the default.
    tolerance
        In percent.
    limits
        Expected extremes of the values, in their unit.
    method
        "default" or "paper".

    Returns
    -------
    Convergence
        Slope and interval: as shares (default), or per unit of scaled time (paper).

    Raises
    ------
    StatisticsError
        Values or times are empty, not finite, masked or not one-dimensional, or an option is out of range.
    """
    paper = as_method(method)
    array = as_values(values)
    moments = as_times(times, array.size)
    requirement = as_requirement(confidence, tolerance, limits, paper=paper)
    if paper:
        places = np.arange(array.size, dtype=np.int64)
        return slope_test(array, times_at(moments, places), array.size, requirement)
    return steadiness(array, moments, "mean", requirement)


def as_requirement(confidence: float, tolerance: float, limits: Limits, *, paper: bool) -> Requirement:
    """Check the options of a convergence test.

    Raises
    ------
    StatisticsError
        An option is out of range.
    """
    level = as_percent(confidence, "confidence")
    if not paper and level <= Fraction(1, 2):
        raise StatisticsError(f"the confidence of an equivalence test is {confidence!r}; it must be above 50")
    return Requirement(level, as_tolerance(tolerance), as_limits(limits))


def requirement_from(mapping: Mapping[str, object], *, paper: bool) -> Requirement | None:
    """Read the table `convergence` of an experiment file; return None if convergence is not expected.

    Raises
    ------
    StatisticsError
        A key is unknown or an option out of range.
    """
    known_keys(mapping, "convergence", ("expected", "confidence", "tolerance", "limits"))
    if not mapping.get("expected", True):
        return None
    confidence, tolerance = (cast("float", mapping.get(key, value)) for key, value in _DEFAULTS.items())
    return as_requirement(confidence, tolerance, cast("Limits", mapping.get("limits")), paper=paper)


_DEFAULTS = {"confidence": 95, "tolerance": 5}


def slope_test(metrics: Array, times: Array, count: int, requirement: Requirement) -> Convergence:
    """Apply the paper's test to metric values at `times`; `count` is the number of samples behind them."""
    limits = requirement.limits
    if is_constant(metrics):
        result = without_drift(count, requirement, _PAPER)
    elif is_constant(times):
        result = unjudged(
            count, requirement, _PAPER, "all times are the same; a slope needs two different ones"
        )
    else:
        scaled = to_unit_range(metrics, limits)
        slope, low, high = slope_interval(to_unit_range(times, None), scaled, requirement.level)
        result = _judged(unjudged(count, requirement, _PAPER, ""), slope, low, high)
    return replace(result, batches=tuple(metrics.tolist()), batch_starts=tuple(times.tolist()))


def _judged(base: Convergence, slope: float, low: float, high: float) -> Convergence:
    tolerance = base.tolerance / 100
    if -tolerance <= low and high <= tolerance:
        return replace(base, converged=True, slope=slope, low=low, high=high, verdict="steady")
    beyond = high < -tolerance or low > tolerance
    interval = f"the slope's interval [{about(low, 'down')}, {about(high, 'up')}]"
    reason = f"{interval} is not within {tolerance:g} of 0; run longer or cut the start"
    return replace(
        base, slope=slope, low=low, high=high, verdict="drifting" if beyond else "inconclusive", reason=reason
    )


def paper_windows(count: int) -> tuple[Indices, Indices]:
    """Return start and end of each window of TriScale section 4.1: half the samples each, sliding by a hundredth.

    Their number is capped at 100 (appendix C); they start at int(i L / K) for L = n // 2 and K = min(L, 100).
    """
    length = count // 2
    windows = min(length, _WINDOWS)
    starts = np.arange(windows, dtype=np.int64) * length // max(windows, 1)
    return starts, starts + length


def scaled_by(requirement: Requirement, samples: Array) -> Requirement:
    """Use the extremes of the raw samples as limits if none are given.

    The paper does not say what is mapped to [-1, 1]; scaled by the extremes of its own window metrics, even
    white noise never passes.
    """
    if requirement.limits is not None or is_constant(samples):
        return requirement
    return replace(requirement, limits=extremes(samples))
