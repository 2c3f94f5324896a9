"""CCEval's Algorithm 2: under importance sampling, average the quantiles of batches of trials until the interval is narrow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from trialwise.errors import StatisticsError
from trialwise.rules import RuleName
from trialwise.statistics.checks import as_percent
from trialwise.statistics.sequential.mean import SequentialMean
from trialwise.statistics.sequential.sampling import TrialForecast
from trialwise.statistics.sequential.states import SequentialState
from trialwise.statistics.sequential.weighted import WeightedTrial
from trialwise.statistics.simulation.importance import (
    BATCH,
    BIAS,
    importance_quantile,
    weighted_tail_quantile,
)
from trialwise.statistics.sizing.switching import Cycle


class SequentialBatches:
    """Sequential mean of the weighted quantiles of batches of 40 trials, by any rule, as in CCEval (line 24 and after).

    Rule "cceval" is the loop as printed: a look after every batch from the 20th. The quantile of a batch is biased and the interval
    of their mean ignores this bias, so each state warns of it, and of degenerate weights (`importance_quantile`, over all trials);
    `SequentialImportance` keeps its level. After a batch without a response at its quantile the rule never stops, since the mean of
    the others estimates something else.
    """

    def __init__(
        self,
        percentile: float,
        precision: float,
        *,
        relative: bool = True,
        confidence: float = 95,
        rule: RuleName = "cceval",
        start: int | None = None,
        batch: int = BATCH,
    ) -> None:
        """Set the options: `start` counts batches of `batch` trials, the others are as in `Sequential`.

        Raises
        ------
        StatisticsError
            An option is out of range.
        """
        if batch < 2 or batch != int(batch):
            raise StatisticsError(f"batch is {batch!r}; expected an integer ≥ 2")
        as_percent(percentile, "percentile")
        self._percentile = percentile
        self._batch = batch
        self._mean = SequentialMean(
            precision, relative=relative, confidence=confidence, rule=rule, start=start
        )
        self._cycles: list[Cycle] = []
        self._expected = 0.0
        self._lost = ""

    def add(self, trial: WeightedTrial) -> bool:
        """Add one trial and return True if the rule stops now.

        Raises
        ------
        StatisticsError
            The rule had stopped before.
        """
        stopped = self._mean.state
        if stopped.stopped:
            raise StatisticsError(
                f"the rule stopped after {self._batch * stopped.n} trials, and its interval holds for these"
            )
        self._cycles.append(trial.cycle)
        self._expected += trial.mean_flows
        if len(self._cycles) % self._batch or self._lost:
            return False
        return self._take_batch(self._cycles[-self._batch :])

    def _take_batch(self, cycles: list[Cycle]) -> bool:
        expected = self._expected / len(self._cycles) * self._batch
        number = len(self._cycles) // self._batch
        try:
            quantile = _quantile(cycles, self._percentile, expected)
        except StatisticsError as error:
            self._lost = f"batch {number} has no quantile, and the rule comes to no end: {error}"
            return False
        return self._mean.add(quantile)

    def until_known(self, trials: Iterable[WeightedTrial]) -> SequentialState:
        """Add trials until the rule stops or they end, and return the state."""
        for trial in trials:
            if self.add(trial):
                break
        return self.state

    @property
    def state(self) -> SequentialState:
        """Return the current state, with numbers of trials, not of batches."""
        seen, batch = self._mean.state, self._batch
        forecast = seen.forecast
        trials, low, high = (one and batch * one for one in (forecast.trials, forecast.low, forecast.high))
        next_look = batch * seen.next_look
        return replace(
            seen,
            n=batch * seen.n,
            next_look=max(next_look, len(self._cycles) + batch) if self._lost else next_look,
            forecast=TrialForecast(trials, low, high, forecast.factors),
            estimand=f"mean of the weighted p{self._percentile:g} of batches of {batch} trials",
            method=f"quantiles of batches of {batch} trials; {seen.method}",
            warnings=tuple(filter(None, (self._lost, BIAS, self._diagnosed(), *seen.warnings))),
        )

    def _diagnosed(self) -> str:
        """Return a warning about the weights of all trials; empty if there is none, or it is too early."""
        if len(self._cycles) < self._batch:
            return ""
        try:
            found = importance_quantile(self._cycles, self._percentile, self._expected / len(self._cycles))
        except StatisticsError as error:
            return str(error)
        return found.diagnostics.warning


def _quantile(cycles: list[Cycle], percentile: float, expected: float) -> float:
    responses = [response for cycle in cycles for response in cycle.responses]
    weights = [weight for cycle in cycles for weight in cycle.weights]
    return weighted_tail_quantile(responses, weights, percentile, expected)
