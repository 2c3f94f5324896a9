"""Whether a measure is steady over a run: an equivalence test of its drift, and where the warm-up ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING

from scipy.special import ndtri

from trialwise.errors import StatisticsError
from trialwise.numbers import about
from trialwise.statistics.checks import Array, Indices, Limits, percent, times_at
from trialwise.statistics.estimates.measures import Measure, window_measures
from trialwise.statistics.scaling import is_constant
from trialwise.statistics.tests.drift import BATCHES, DriftTest, Verdict, batch_edges, drift_test, mser5

if TYPE_CHECKING:
    from fractions import Fraction

FEWEST = 10
"""Batches, and so samples, without which nothing is said."""
_MEANINGFUL_BATCH = 50
"""Samples in a batch from which percentiles of batches are near enough to normal (simulated)."""
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
    """The test of all batches, what it rests on, and the noise around it."""

    test: DriftTest
    batches: Array
    starts: Indices
    noise: float
    """Standard deviation that one sample would have were it independent of the others, as a share."""


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
    if whole.test.verdict == "steady":
        return _judged(values, times, whole, 0, requirement, measure)
    cut = mser5(values)
    if cut is not None and values.size - cut >= FEWEST:
        rest = _drift(values[cut:], cut, measure, requirement)
        if rest is not None and rest.test.verdict == "steady":
            return _judged(values, times, rest, cut, requirement, measure)
    return _judged(values, times, whole, 0, requirement, measure)


def _drift(values: Array, offset: int, measure: Measure, requirement: Requirement) -> _Drift | None:
    count = min(BATCHES, values.size)
    edges = batch_edges(values.size, count)
    batches = window_measures(values, edges[:-1], edges[1:], measure)
    try:
        test = drift_test(
            batches,
            tolerance=requirement.tolerance * 100,
            confidence=float(requirement.level * 100),
            limits=requirement.limits,
        )
    except StatisticsError:
        return None
    inflation = (1 + test.correlation) / (1 - test.correlation)
    noise = test.deviation * sqrt(values.size / count * inflation)
    return _Drift(test, batches, edges[:-1] + offset, noise)


def _judged(
    values: Array, times: Array | None, drift: _Drift, cut: int, requirement: Requirement, measure: Measure
) -> Convergence:
    test = drift.test
    finite = test.high < inf
    needed = _length(drift.noise, requirement) + cut
    return replace(
        unjudged(values.size, requirement, METHOD, _reason(test, requirement, needed)),
        converged=test.verdict == "steady",
        slope=test.drift,
        low=test.low if finite else None,
        high=test.high if finite else None,
        verdict=test.verdict,
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


def _reason(test: DriftTest, requirement: Requirement, needed: int) -> str:
    if test.verdict == "steady":
        return ""
    tolerance = percent(requirement.tolerance)
    if test.verdict == "drifting":
        return f"the measure drifts by {about(100 * test.drift)} %, beyond {tolerance}; run longer and cut the start"
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
