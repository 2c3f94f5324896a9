"""Steady state of a measure over a run: an equivalence test of its drift, and the end of the warm-up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.numbers import about
from trialwise.statistics.checks import Array, Indices, Limits, percent, times_at
from trialwise.statistics.estimates.measures import Measure, window_measures
from trialwise.statistics.scaling import is_constant
from trialwise.statistics.tests.drift import BATCHES, DriftTest, Verdict, batch_edges, drift_test, mser5

if TYPE_CHECKING:
    from fractions import Fraction

FEWEST = 10
"""Minimum number of batches, and so of samples, for a verdict."""
_MEANINGFUL_BATCH = 50
"""Samples per batch from which percentiles of batches are close enough to normal (simulated)."""
METHOD = "drift equivalence of 20 batches, MSER-5 warm-up; slope: total drift as a share of the reference"


@dataclass(frozen=True, slots=True)
class Convergence:
    """Result of a test that a measure has stopped changing within a run."""

    converged: bool
    """True if [low, high] lies within plus and minus the tolerance."""
    slope: float | None
    """Drift over the whole run (unit: see `method`); None if it cannot be judged."""
    low: float | None
    """Lower bound of the drift's interval."""
    high: float | None
    """Upper bound of the drift's interval."""
    verdict: Verdict
    """Interval within the tolerance, entirely beyond it, or neither."""
    warmup: int
    """Samples discarded at the start before the drift was judged."""
    batches: tuple[float, ...]
    """Values that the slope was fitted to: the measure of each batch (default) or window (paper)."""
    batch_starts: tuple[float, ...]
    """Time of the first sample of each batch or window."""
    tolerance: float
    """In percent."""
    length_needed: int | None
    """Samples with which a steady run like this is recognised four times in five; None if unknown."""
    n: int
    """Number of samples."""
    confidence: float
    """In percent."""
    method: str
    """Test and unit of the slope."""
    reason: str
    """Why it did not converge, and the remedy; empty if it did."""
    note: str
    """What weakens the verdict; empty if nothing does."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """Options of a convergence test: confidence and tolerance as shares, and limits of the measure."""

    level: Fraction
    tolerance: float
    limits: Limits


@dataclass(frozen=True, slots=True)
class _Drift:
    """The test of all batches, its inputs, and the noise around it."""

    test: DriftTest
    batches: Array
    starts: Indices
    noise: float
    """Standard deviation that one sample would have if it were independent of the others, as a share."""


def steadiness(values: Array, times: Array | None, measure: Measure, requirement: Requirement) -> Convergence:
    """Test that the drift of a measure over a run is small, by an equivalence test.

    A least-squares line through the measures of twenty batches gives the interval of the total drift at 2C-1 confidence, with
    degrees of freedom reduced for correlation of neighbouring residuals (Santer et al. 2000). The measure is steady if it lies
    within the tolerance (two one-sided tests, each at C). If not, the warm-up found by MSER-5 (White 1997) is discarded and the rest
    tested likewise.
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
    """Return the number of samples for 80 % power without drift: 12 (z_C + z_.90)^2 (noise/tolerance)^2."""
    quantiles = float(special.ndtri(float(requirement.level))) + float(special.ndtri(0.9))
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
    """Return the result for constant values."""
    if count < 2:
        return unjudged(count, requirement, method, "one sample says nothing about drift; take more")
    base = unjudged(count, requirement, method, "")
    return replace(base, converged=True, slope=0.0, low=0.0, high=0.0, verdict="steady")


def unjudged(count: int, requirement: Requirement, method: str, reason: str) -> Convergence:
    """Return the result for values from which no drift can be computed."""
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
