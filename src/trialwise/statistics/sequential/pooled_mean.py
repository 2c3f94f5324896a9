"""The sequential mean of all samples of all trials."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from trialwise.arrays import Array
from trialwise.rules import RuleName
from trialwise.statistics.checks import as_values
from trialwise.statistics.online_moments import RunningMoments, tail_warnings
from trialwise.statistics.pooled.clusters import NoSamplesError, ratio_standard_error
from trialwise.statistics.sequential.sampling import chi_square_factors
from trialwise.statistics.sequential.states import Seen, SequentialState, SequentialUnweighted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class SequentialPooledMean(SequentialUnweighted["ArrayLike"]):
    """The mean of all samples (`pooled_mean`), trial by trial, with the rules and looks of `SequentialMean`.

    It is the total sum over the total count, with the linearised standard error over trials; two numbers are kept per trial.
    """

    def add_samples(self, samples: Array) -> bool:
        """Add all samples of a trial."""
        return self.add(samples)

    def _empty(self) -> None:
        self._sums: list[float] = []
        self._sizes: list[int] = []

    def _take(self, trial: ArrayLike, name: str) -> None:
        array = as_values(trial, name, minimum=0)
        self._sums.append(float(array.sum()))
        self._sizes.append(array.size)

    def _measured(self, reach: float) -> Seen:
        sums, sizes = np.array(self._sums), np.array(self._sizes, dtype=np.float64)
        n, total = sums.size, float(sizes.sum())
        if not total:
            raise NoSamplesError
        estimate = float(sums.sum()) / total
        error = ratio_standard_error(sums, sizes)
        residuals = RunningMoments.of(sums - estimate * sizes)
        return Seen(
            n=n,
            estimate=estimate,
            low=estimate - reach * error,
            high=estimate + reach * error,
            deviation=error * sqrt(n),
            factors=chi_square_factors(residuals.degrees_of_freedom),
            estimand="mean of all samples",
            warnings=tail_warnings(residuals),
            method="ratio estimator",
        )


def sequential_pooled_mean(
    trials: Iterable[ArrayLike],
    precision: float,
    *,
    relative: bool = True,
    confidence: float = 95,
    rule: RuleName = "geometric",
    start: int | None = None,
) -> SequentialState:
    """Feed the samples of trials in order to `SequentialPooledMean` until it stops or they end; the options are the same.

    Raises
    ------
    StatisticsError
        A sample is not finite, or an option is out of range.
    """
    course = SequentialPooledMean(precision, relative=relative, confidence=confidence, rule=rule, start=start)
    return course.until_known(trials)
