"""Samples of many trials pooled, each with its trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, Indices, as_many_values, as_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MIN_TRIALS = 2


class NoSamplesError(StatisticsError):
    """The trials have no samples at all."""

    def __init__(self) -> None:
        super().__init__("no trial has a sample; check what selects them (a size class, a phase)")


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """All samples in ascending order, each with its trial and its weight."""

    ordered: Array
    owners: Indices
    """The trial of each sample, from 0."""
    weights: Array
    """Weight of each sample; 1 if none were given."""
    sizes: Array
    """Number of samples of each trial."""

    @classmethod
    def of(cls, trials: Sequence[ArrayLike], weights: Sequence[ArrayLike] | None = None) -> Clusters:
        """Pool one array per trial; a trial may be empty.

        Raises
        ------
        StatisticsError
            Fewer than two trials, no samples, samples that are not finite, or weights that do not fit or are negative.
        """
        return cls.of_checked(as_many_values(trials, minimum=0), weights)

    @classmethod
    def of_checked(cls, checked: Sequence[Array], weights: Sequence[ArrayLike] | None = None) -> Clusters:
        """Pool samples that are already checked, such as those of a sequential estimate.

        Raises
        ------
        StatisticsError
            Fewer than two trials, invalid weights, or, as `NoSamplesError`, no samples at all.
        """
        sizes = np.array([trial.size for trial in checked], dtype=np.float64)
        samples = np.concatenate(checked) if len(checked) else np.empty(0)
        require_enough(sizes.size, samples.size)
        order = np.argsort(samples, kind="stable")
        owners = np.repeat(np.arange(sizes.size), sizes.astype(np.int64))
        weighed = ones(samples.size) if weights is None else _joined(weights, sizes)[order]
        return cls(samples[order], owners[order], weighed, sizes)

    def followed_by(self, others: Clusters) -> Clusters:
        """Append further trials, without weights, as if all had been sorted together; nothing is sorted again."""
        places = np.searchsorted(self.ordered, others.ordered, side="right")
        ordered = np.insert(self.ordered, places, others.ordered)
        owners = np.insert(self.owners, places, others.owners + self.trials)
        return Clusters(ordered, owners, ones(ordered.size), np.concatenate([self.sizes, others.sizes]))

    @property
    def trials(self) -> int:
        """Number of trials."""
        return self.sizes.size

    def above(self, rank: int) -> Array:
        """Return, per trial, the weight of its samples above the first `rank` of all."""
        return _by_trial(self.owners[rank:], self.weights[rank:], self.trials)

    def sums(self) -> Array:
        """Return the sum of the samples of each trial."""
        return _by_trial(self.owners, self.ordered, self.trials)


def require_enough(trials: int, samples: int) -> None:
    """Raise StatisticsError if there are fewer than two trials, or no samples."""
    if trials < MIN_TRIALS:
        raise StatisticsError(f"there are {trials} trials; at least {MIN_TRIALS} are needed for an interval")
    if not samples:
        raise NoSamplesError


def ones(count: int) -> Array:
    """Return unit weights that take no memory."""
    return np.broadcast_to(np.float64(1.0), count)


def _by_trial(owners: Indices, amounts: Array, trials: int) -> Array:
    return np.bincount(owners, weights=amounts, minlength=trials).astype(np.float64)


def _joined(weights: Sequence[ArrayLike], sizes: Array) -> Array:
    checked = [as_values(each, f"weights[{at}]", minimum=0) for at, each in enumerate(weights)]
    if [each.size for each in checked] != sizes.tolist():
        raise StatisticsError("the weights do not fit: expected one for each sample of each trial")
    joined = np.concatenate(checked)
    if joined.min() < 0:
        raise StatisticsError("a weight is negative; likelihood ratios are from 0")
    return joined


def ratio_standard_error(numerators: Array, denominators: Array) -> float:
    """Return the linearised standard error of a ratio of sums over trials (Cochran 1977, section 6.3); trials are the unit."""
    n, residuals = numerators.size, ratio_residuals(numerators, denominators)
    return float(np.sqrt(n / (n - 1) * np.sum(residuals**2))) / float(denominators.sum())


def ratio_residuals(numerators: Array, denominators: Array) -> Array:
    """Return each trial's excess of the numerator over the ratio of the sums; shape (trials,)."""
    return numerators - numerators.sum() / denominators.sum() * denominators


def resampled_counts(trials: int, resamples: int, seed: int) -> Array:
    """Return how often each trial occurs in each of many draws with replacement: shape (resamples, trials)."""
    random = np.random.Generator(np.random.PCG64DXSM(seed))
    return random.multinomial(trials, np.full(trials, 1 / trials), size=resamples).astype(np.float64)
