"""The sequential tail quantile of trials under importance sampling, over all trials together."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, nan, sqrt

import numpy as np

from trialwise.errors import StatisticsError
from trialwise.statistics.checks import Array, as_percent
from trialwise.statistics.online_moments import RunningMoments
from trialwise.statistics.pooled.forecast import spacing_noise
from trialwise.statistics.sequential.sampling import lognormal_factors
from trialwise.statistics.sequential.states import Seen, Sequential
from trialwise.statistics.simulation.importance import (
    MIN_EFFECTIVE,
    ImportanceQuantile,
    importance_quantile,
    tail_weight,
)
from trialwise.statistics.sizing.switching import Cycle


@dataclass(frozen=True, slots=True, eq=False)
class WeightedTrial:
    """A trial under importance sampling, with its expected number of flows under the true distribution."""

    cycle: Cycle
    mean_flows: float
    """E[α]: mean number of flows of a trial under the true distribution, λT for Poisson arrivals."""


class SequentialImportance(Sequential[WeightedTrial]):
    """The tail quantile of all flows (`importance_quantile`), trial by trial, with the looks of the geometric rule.

    The interval covers all trials together, with four fifths of the reported error probability, as in `SequentialMean`. However
    narrow it is, the rule does not stop while the effective sample size of the weighted tail is below 50 trials: until the large
    weights arrive, an interval is narrow by chance.
    """

    def __init__(
        self,
        percentile: float,
        precision: float,
        *,
        relative: bool = True,
        confidence: float = 95,
        start: int | None = None,
    ) -> None:
        """Set the options: `percentile` in percent, the others as in `Sequential`.

        Raises
        ------
        StatisticsError
            An option is out of range.
        """
        super().__init__(precision, relative=relative, confidence=confidence, start=start)
        as_percent(percentile, "percentile")
        self._percentile = percentile
        self._cycles: list[Cycle] = []
        self._expected = 0.0

    def _take(self, trial: WeightedTrial, name: str) -> None:
        if not (np.isfinite(trial.cycle.responses).all() and np.isfinite(trial.cycle.weights).all()):
            raise StatisticsError(f"{name} has a response or a weight that is not finite")
        self._cycles.append(trial.cycle)
        self._expected += trial.mean_flows

    def _measured(self, reach: float) -> Seen:
        n, looks = len(self._cycles), self._looks
        estimand = f"p{self._percentile:g} of all samples, weighted"
        try:
            found = importance_quantile(
                self._cycles, self._percentile, self._expected / n, confidence=looks.inner
            )
        except StatisticsError as error:
            return Seen(n, nan, -inf, inf, nan, (1.0, 1.0), estimand, [str(error)], least=inf)
        half = (found.high - found.low) / 2
        warning = found.diagnostics.warning
        return Seen(
            n=n,
            estimate=found.estimate,
            low=found.low,
            high=found.high,
            deviation=half * sqrt(n) / reach,
            factors=lognormal_factors(self._spread(found, half / reach) if isfinite(half) else 0.0),
            estimand=estimand,
            warnings=[warning] if warning else [],
            least=n * MIN_EFFECTIVE / found.diagnostics.effective,
            method=found.method,
        )

    def _spread(self, found: ImportanceQuantile, error: float) -> float:
        """Return the standard deviation of the log forecast from tail-weight variance, slope and estimate (see `forecast_spread`)."""
        tails = RunningMoments.of(np.array([tail_weight(cycle, found.estimate) for cycle in self._cycles]))
        spread = 2 / tails.degrees_of_freedom + spacing_noise(self._inside(found))
        if self._looks.relative:
            spread += 4 * (error / found.estimate) ** 2
        return sqrt(spread)

    def _inside(self, found: ImportanceQuantile) -> Array:
        responses = np.concatenate([cycle.responses for cycle in self._cycles])
        return np.sort(responses[(found.low <= responses) & (responses <= found.high)])
