"""The mean or quantile of all samples of a few long runs, with an interval from slices of their time (batch means)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.late import special
from trialwise.numbers import about
from trialwise.statistics.checks import Array, Indices, as_many_values, as_percent
from trialwise.statistics.estimates.quantiles import Convention, as_convention, quantile_of_ordered
from trialwise.statistics.online_moments import RunningMoments
from trialwise.statistics.pooled.clusters import Clusters, NoSamplesError, ones, ratio_standard_error
from trialwise.statistics.pooled.quantile import PooledEstimate, clustered_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FEWEST = 20
"""Fewest slices of all runs together."""
USUAL = 40
"""Slices of all runs together where they may be as short: more would gain little, as t's quantile then hardly falls."""
MISSED = 0.05
"""Most of the variance that slices may miss because what happens in one is felt in the next; it is added."""
BEYOND = 1000
"""Fewest samples on either side of a quantile: with some hundred in a few bursts, 92 to 94 % of intervals held."""
TAIL_INDEX = 3.0
"""Least tail index of samples for their mean: from 3 on, they have the third moment by which the interval is corrected."""
_TOP = (20, 200)
"""Fewest and most of the largest samples of which the tail index is taken: a fiftieth."""
_FINE = 1024
"""Parts of all runs together by which dependence is measured."""
_ALIKE = 0.01
"""Probability of refusing runs that differ by chance only."""


@dataclass(frozen=True, slots=True)
class SlicedEstimate:
    """An estimate from slices of time.

    `found` has the estimate and its interval, `slices` is their number in all runs together and `length` the time of one, in the unit
    of the given times. `missed` is the estimated share of the variance that dependence between neighbouring slices hides.
    """

    found: PooledEstimate
    slices: int
    length: float
    missed: float


class DependentSlicesError(StatisticsError):
    """Slices are too few or too dependent; `times` is how many times as long the runs would have to be, None if that lifts nothing."""

    def __init__(self, message: str, times: float | None = None) -> None:
        super().__init__(message)
        self.times = times


def sliced_estimate(
    runs: Sequence[tuple[ArrayLike, ArrayLike]],
    percentile: float | None,
    *,
    span: tuple[float, float],
    shortest: float = 0.0,
    confidence: float = 95,
    convention: Convention = "nearest_rank",
) -> SlicedEstimate:
    """Estimate the mean or quantile of all samples of a few long runs by batch means over slices of their time.

    Each run is cut into equally long slices, which are the clusters of `pooled_mean` and `pooled_quantile`: 20 to 40, with one degree
    of freedom less for each run (Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30, 1982).
    Autocovariances of what 1,024 fine parts add to the estimating equation, summed while pairs of neighbours are positive (Geyer,
    "Practical Markov chain Monte Carlo", Statistical Science 7, 1992), give the share of the variance that slices of a length miss;
    slices are so long that it is 5 % at most, and it is added. There must be as many by what is above the median, too: a tail seldom
    occurs, and does not show by itself how long a network remembers. The interval of a mean is that of Student's t corrected for the
    skewness of slices (Willink, "A confidence interval and test for the mean of an asymmetric distribution", Communications in
    Statistics 34, 2005).

    Parameters
    ----------
    runs
        The times and values of the samples of each run.
    percentile
        In percent, between 0 and 100, exclusive; None for the mean.
    span
        Beginning and end of the part of each run that is used: after what its start disturbs. Samples outside are left out.
    shortest
        Slices are at least as long.
    confidence
        In percent.
    convention
        Of a quantile, as in `trial_quantile`.

    Raises
    ------
    DependentSlicesError
        Fewer than 20 slices are long enough, few samples lie beyond the quantile, the samples of a mean have a heavy tail (by Hill's
        estimate), or runs differ by more than their slices.
    StatisticsError
        No samples, samples that are not finite, or an option out of range.
    """
    level = as_percent(confidence, "confidence")
    p = None if percentile is None else as_percent(percentile, "percentile")
    as_convention(convention)
    begin, end = span
    if not end > begin:
        raise StatisticsError("the span of the runs has no length")
    samples = _Timed.of(runs, begin, end)
    count = samples.ordered.size
    if not count:
        raise NoSamplesError
    if p is not None and (beyond := count * float(min(p, 1 - p))) < BEYOND:
        raise DependentSlicesError(
            f"{about(beyond)} samples lie beyond p{float(p) * 100:g}, and slices of time take {BEYOND}",
            BEYOND / beyond,
        )
    fine = samples.cut(ceil(_FINE / len(runs)))
    dependence = _dependence(_parts(fine, p, convention), len(runs))
    median = _dependence(_parts(fine, Fraction(1, 2), convention), len(runs))
    _slices_of_a_run(median, len(runs), shortest / (end - begin))
    each, missed = _slices_of_a_run(dependence, len(runs), shortest / (end - begin))
    clusters = samples.cut(each)
    added = _parts(clusters, p, convention)
    _require_alike(added, len(runs))
    freedom = clusters.trials - len(runs)
    widening = (1 - missed) ** -0.5
    reach = float(special.stdtrit(freedom, float((1 + level) / 2)))
    if p is None:
        _require_light(clusters.ordered)
        found = _mean(clusters, added, reach, widening, float(level))
    else:
        found = replace(
            clustered_quantile(clusters, p, level, reach * widening, convention), method=METHOD, note=""
        )
    return SlicedEstimate(found, clusters.trials, (end - begin) / each, missed)


@dataclass(frozen=True, slots=True, eq=False)
class _Timed:
    """The samples of all runs in a span, in ascending order, each with its run and when it was in the span, from 0 to 1."""

    ordered: Array
    runs: Indices
    places: Array
    number: int

    @classmethod
    def of(cls, runs: Sequence[tuple[ArrayLike, ArrayLike]], begin: float, end: float) -> _Timed:
        checked = [as_many_values(run, minimum=0) for run in runs]
        if any(times.size != values.size for times, values in checked):
            raise StatisticsError("each sample takes a time and a value")
        owners = np.repeat(np.arange(len(checked)), [times.size for times, _ in checked])
        times, values = (np.concatenate([each[side] for each in checked]) for side in (0, 1))
        inside = np.flatnonzero((times >= begin) & (times < end))
        order = inside[np.argsort(values[inside], kind="stable")]
        return cls(values[order], owners[order], (times[order] - begin) / (end - begin), len(checked))

    def cut(self, each: int) -> Clusters:
        """Cut each run into so many equal slices; one run after another."""
        owners = self.runs * each + np.minimum((self.places * each).astype(np.int64), each - 1)
        sizes = np.bincount(owners, minlength=self.number * each).astype(np.float64)
        return Clusters(self.ordered, owners, ones(owners.size), sizes)


def _parts(clusters: Clusters, p: Fraction | None, convention: Convention) -> Array:
    """Return what each slice adds to the estimating equation of the mean or quantile; sums to about 0."""
    if p is None:
        sums = clusters.sums()
        return np.asarray(sums - sums.sum() / clusters.sizes.sum() * clusters.sizes, dtype=np.float64)
    level = quantile_of_ordered(clusters.ordered, p, convention)
    above = clusters.above(int(np.searchsorted(clusters.ordered, level, side="right")))
    return np.asarray(above - above.sum() / clusters.sizes.sum() * clusters.sizes, dtype=np.float64)


def _dependence(parts: Array, runs: int) -> float:
    """Return Σ 2kγ(k) / Σγ(k) in parts of a run of length 1: batches of length L miss that over L of the variance.

    Sums are over Geyer's initial monotone sequence: pairs of neighbouring covariances while positive, none above those before.
    """
    series = parts.reshape(runs, -1)
    series = series - series.mean(axis=1, keepdims=True)
    count = series.shape[1]
    longest = count // 4 * 2
    spectrum = np.abs(np.fft.rfft(series, 2 * count, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :longest].sum(axis=0)
    pairs = np.minimum.accumulate(covariance.reshape(-1, 2).sum(axis=1))
    kept = np.maximum(pairs, 0.0)
    whole = 2 * kept.sum() - covariance[0]
    if not whole > 0:
        return 0.0
    lags = 2 * np.arange(kept.size) + 0.5
    lags[0] = covariance[1] / pairs[0] if pairs[0] > 0 else 0.0
    return max(float(2 * np.sum(lags * kept) / whole / count), 0.0)


def _slices_of_a_run(dependence: float, runs: int, shortest: float) -> tuple[int, float]:
    """Return how many slices a run has, and what share of the variance they miss."""
    length = max(dependence / MISSED, shortest)
    fewest, usual = ceil(FEWEST / runs), max(ceil(USUAL / runs), 2)
    allowed = usual if length * usual <= 1 else int(1 / length)
    if allowed < fewest:
        raise DependentSlicesError(
            f"{allowed * runs} slices of time are long enough to be nearly independent, and {FEWEST} are needed",
            length * fewest,
        )
    return allowed, dependence * allowed


def _require_alike(added: Array, runs: int) -> None:
    """Raise if runs differ by more than their slices do (F test)."""
    if runs < 2:
        return
    series = added.reshape(runs, -1)
    each = series.shape[1]
    between = each * float(series.mean(axis=1).var(ddof=1))
    within = float(series.var(axis=1, ddof=1).mean())
    if between == 0:
        return
    a, b = (runs - 1) / 2, runs * (each - 1) / 2
    chance = float(special.betainc(b, a, within * b / (within * b + between * a)))
    if chance < _ALIKE:
        raise DependentSlicesError(
            "runs differ by more than slices of one run do, so that slices do not show all that varies: take 20 runs or more"
        )


def _require_light(ordered: Array) -> None:
    """Raise if the largest samples fall off too slowly for an interval of their mean (Hill, Annals of Statistics 3, 1975)."""
    if ordered[0] == ordered[-1]:
        return
    top = min(ordered.size // 50, _TOP[1])
    if top < _TOP[0]:
        least = 50 * _TOP[0]
        raise DependentSlicesError(
            f"{ordered.size} samples do not show their tail, and {least} do", least / ordered.size
        )
    above = ordered[-top - 1 :] - ordered[ordered.size // 2]
    logarithms: Array = np.log(above[1:] / above[0]) if above[0] > 0 else np.full(top, np.inf)
    spread = float(logarithms.mean())
    index = 1 / spread if spread else np.inf
    if index < TAIL_INDEX:
        raise DependentSlicesError(
            f"the tail of the samples is heavy (index {index:.1f}, where a mean takes {TAIL_INDEX:g}): rare large ones decide the "
            "mean, and an interval from runs without them would miss it"
        )


def _mean(clusters: Clusters, added: Array, reach: float, widening: float, level: float) -> PooledEstimate:
    sums, count = clusters.sums(), clusters.ordered.size
    estimate = float(sums.sum()) / count
    error = ratio_standard_error(sums, clusters.sizes) * widening
    independent = float(clusters.ordered.var()) / count
    n = added.size
    skewness = RunningMoments.of(added).skewness * (n * (n - 1)) ** 0.5 / (n - 2)
    lower, upper = (_unskewed(each, skewness / 6 / n**0.5) for each in (reach, -reach))
    return PooledEstimate(
        estimate=estimate,
        low=estimate - lower * error,
        high=estimate - upper * error,
        estimand="mean of all samples",
        trials=clusters.trials,
        samples=count,
        confidence=level * 100,
        design_effect=error**2 / independent if independent else float("nan"),
        convention="",
        method=METHOD,
        note="",
    )


def _unskewed(t: float, a: float) -> float:
    """Return the value of Student's t statistic of a skewed sample that has the probability of `t` (Willink 2005, equation 5)."""
    return t if abs(a) < 1e-9 else float(np.cbrt(1 + 6 * a * (t - a)) - 1) / (2 * a)


METHOD = "batch means over slices of time, Student's t"
