"""Whether a measure is steady over a run: an equivalence test of its drift, and where the warm-up ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import ndtri, stdtrit

from trialwise.statistics.checks import Array, Indices, Limits, percent, times_at
from trialwise.statistics.measures import Measure, percentile_of, window_measures
from trialwise.statistics.scaling import centred, is_constant

if TYPE_CHECKING:
    from fractions import Fraction

Verdict: TypeAlias = Literal["steady", "drifting", "inconclusive"]

BATCHES = 20
FEWEST = 10
"""Batches, and so samples, without which nothing is said."""
_GROUP = 5
_LARGEST_CORRELATION = 0.95
_MEANINGFUL_BATCH = 50
"""Samples in a batch from which percentiles of batches are near enough to normal (simulated)."""
_LARGEST = 1e150
METHOD = "drift equivalence of 20 batches, MSER-5 warm-up; slope: total drift as a share of the reference"


@dataclass(frozen=True, slots=True)
class Convergence:
    """Whether a measure has stopped changing within a run."""

    converged: bool
    """Whether [low, high] lies within plus and minus the tolerance."""
    slope: float | None
    """Drift over the whole (see `method` for its unit); None when it cannot be judged."""
    low: float | None
    """Lower end of the drift's interval."""
    high: float | None
    """Upper end of the drift's interval."""
    verdict: Verdict
    """Interval within the tolerance, wholly beyond it, or neither."""
    warmup: int
    """Samples at the start that were cut before the drift was judged."""
    batches: tuple[float, ...]
    """What the slope was fitted to: the measure of each batch (default) or window (paper)."""
    batch_starts: tuple[float, ...]
    """Time of the first sample of each batch or window."""
    tolerance: float
    """In percent."""
    length_needed: int | None
    """Samples with which a steady run like this is recognised four times in five; None when unknown."""
    n: int
    """Number of samples."""
    confidence: float
    """In percent."""
    method: str
    """Test and unit of the slope."""
    reason: str
    """Why it did not converge and what would lift that; empty when it did."""
    note: str
    """What weakens the verdict; empty when nothing does."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a convergence test is asked: confidence and tolerance as shares, and limits of the measure."""

    level: Fraction
    tolerance: float
    limits: Limits


@dataclass(frozen=True, slots=True)
class _Drift:
    """Change over all batches as a share of the reference, its interval, and the noise around it."""

    total: float
    low: float
    high: float
    batches: Array
    starts: Indices
    noise: float
    """Standard deviation that one sample would have were it independent of the others, as a share."""

    def within(self, tolerance: float) -> bool:
        return -tolerance <= self.low and self.high <= tolerance

    def beyond(self, tolerance: float) -> bool:
        return self.high < -tolerance or self.low > tolerance


def steadiness(values: Array, times: Array | None, measure: Measure, requirement: Requirement) -> Convergence:
    """Test by equivalence that the drift of a measure over a run is small.

    Twenty batches, a least-squares line through their measures, and the interval of the total drift at 2C-1
    confidence, its degrees of freedom reduced for the correlation of neighbouring residuals (Santer et al.
    2000): steady when it lies within the tolerance (two one-sided tests, each at C). If it does not, the
    warm-up that MSER-5 finds (White 1997) is cut and the rest is tested likewise.
    """
    if is_constant(values):
        return without_drift(values.size, requirement, METHOD)
    if values.size < FEWEST:
        few = f"drift needs {FEWEST} samples to be judged; there are {values.size}"
        return unjudged(values.size, requirement, METHOD, few)
    whole = _drift(values, 0, measure, requirement)
    if whole is None:
        near = "the median is 0, or too near it for the drift to be a share of it; give limits"
        return unjudged(values.size, requirement, METHOD, near)
    if whole.within(requirement.tolerance):
        return _judged(values, times, whole, 0, requirement, measure)
    cut = warmup_end(values)
    if cut is not None and values.size - cut >= FEWEST:
        rest = _drift(values[cut:], cut, measure, requirement)
        if rest is not None and rest.within(requirement.tolerance):
            return _judged(values, times, rest, cut, requirement, measure)
    return _judged(values, times, whole, 0, requirement, measure)


def _drift(values: Array, offset: int, measure: Measure, requirement: Requirement) -> _Drift | None:
    count = min(BATCHES, values.size)
    edges = np.arange(count + 1, dtype=np.int64) * values.size // count
    batches = window_measures(values, edges[:-1], edges[1:], measure)
    limits = requirement.limits
    reference = abs(percentile_of(batches, 0.5)) if limits is None else limits[1] / 2 - limits[0] / 2
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        shares = np.zeros(count) if is_constant(batches) else batches / reference
    if not (np.abs(shares) < _LARGEST).all():
        return None
    total, low, high, correlation, variance = _line(shares, float(requirement.level))
    long_run = variance * values.size / count * (1 + correlation) / (1 - correlation)
    return _Drift(total, low, high, batches, edges[:-1] + offset, sqrt(long_run))


def _line(shares: Array, level: float) -> tuple[float, float, float, float, float]:
    """Total change of a least-squares line, its interval, lag-1 correlation and variance of the residuals."""
    count = shares.size
    place = np.arange(count) - (count - 1) / 2
    squares = float(place @ place)
    slope = float(place @ shares) / squares
    residuals = shares - shares.mean() - slope * place
    sum_of_squares = float(residuals @ residuals)
    correlation = _residual_correlation(residuals, sum_of_squares)
    freedom = count * (1 - correlation) / (1 + correlation) - 2
    if freedom > 0:
        half = float(stdtrit(freedom, level)) * sqrt(sum_of_squares / freedom / squares) * count
    else:
        half = inf
    total = slope * count
    return total, total - half, total + half, correlation, sum_of_squares / (count - 2)


def _residual_correlation(residuals: Array, sum_of_squares: float) -> float:
    """Lag-1 correlation, corrected for its bias in short series, between 0 and 0.95."""
    if sum_of_squares == 0:
        return 0.0
    raw = float(residuals[1:] @ residuals[:-1]) / sum_of_squares
    return min(max(raw + (1 + 4 * raw) / residuals.size, 0.0), _LARGEST_CORRELATION)


def warmup_end(values: Array) -> int | None:
    """Count the samples to cut by MSER-5; None when that is not before the middle: the run has to be longer.

    The cut d minimises SS_d / (n-d)^2, the squared standard error of what is left, over means of five
    samples.
    """
    count = values.size // _GROUP
    if count < 4:
        return None
    means = centred(_group_means(values[: count * _GROUP]))
    left = np.arange(count, 0, -1)
    sums = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum((means**2)[::-1])[::-1]
    furthest = count // 2
    best = int(np.argmin(((squares - sums**2 / left) / left**2)[: furthest + 1]))
    return None if best == furthest else best * _GROUP


def _group_means(values: Array) -> Array:
    """Average groups of five, to one half so that no sum overflows."""
    share = values * (0.5 / _GROUP)
    return sum((share[place::_GROUP] for place in range(1, _GROUP)), share[::_GROUP])


def _judged(
    values: Array, times: Array | None, drift: _Drift, cut: int, requirement: Requirement, measure: Measure
) -> Convergence:
    steady, beyond = drift.within(requirement.tolerance), drift.beyond(requirement.tolerance)
    verdict: Verdict = "steady" if steady else "drifting" if beyond else "inconclusive"
    finite = drift.high < inf
    needed = _length(drift.noise, requirement) + cut
    return replace(
        unjudged(values.size, requirement, METHOD, _reason(verdict, drift, requirement, needed)),
        converged=steady,
        slope=drift.total,
        low=drift.low if finite else None,
        high=drift.high if finite else None,
        verdict=verdict,
        warmup=cut,
        batches=tuple(drift.batches.tolist()),
        batch_starts=tuple(times_at(times, drift.starts).tolist()),
        length_needed=needed,
        note=_few_in_batch(measure, values.size - cut),
    )


def _length(noise: float, requirement: Requirement) -> int:
    """Count the samples for 80 % power when there is no drift: 12 (z_C + z_.90)^2 (noise/tolerance)^2."""
    quantiles = float(ndtri(float(requirement.level))) + float(ndtri(0.9))
    return max(FEWEST, ceil(min(12 * (quantiles * noise / requirement.tolerance) ** 2, 1e18)))


def _reason(verdict: Verdict, drift: _Drift, requirement: Requirement, needed: int) -> str:
    if verdict == "steady":
        return ""
    tolerance = percent(requirement.tolerance)
    if verdict == "drifting":
        return f"the measure drifts by {100 * drift.total:.3g} %, beyond {tolerance}; run longer and cut the start"
    return f"too noisy to tell a drift of {tolerance}; about {needed} samples would decide for a steady run"


def _few_in_batch(measure: Measure, count: int) -> str:
    if measure in ("mean", "median") or count >= BATCHES * _MEANINGFUL_BATCH:
        return ""
    return f"this measure wants {_MEANINGFUL_BATCH} samples in each of {BATCHES} batches to be judged well"


def without_drift(count: int, requirement: Requirement, method: str) -> Convergence:
    """Judge constant values."""
    if count < 2:
        return unjudged(count, requirement, method, "one sample says nothing about drift; take more")
    base = unjudged(count, requirement, method, "")
    return replace(base, converged=True, slope=0.0, low=0.0, high=0.0, verdict="steady")


def unjudged(count: int, requirement: Requirement, method: str, reason: str) -> Convergence:
    """Describe values from which no drift can be computed."""
    return Convergence(
        converged=False,
        slope=None,
        low=None,
        high=None,
        verdict="inconclusive",
        warmup=0,
        batches=(),
        batch_starts=(),
        tolerance=requirement.tolerance * 100,
        length_needed=None,
        n=count,
        confidence=float(requirement.level * 100),
        method=method,
        reason=reason,
        note="",
    )
