"""The sequential quantile of all samples of all trials."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, sqrt
from typing import TYPE_CHECKING

from trialwise.rules import RuleName
from trialwise.statistics.checks import Array, as_percent, as_values
from trialwise.statistics.estimates.quantiles import Convention, as_convention
from trialwise.statistics.pooled.clusters import Clusters, NoSamplesError, require_enough
from trialwise.statistics.pooled.forecast import forecast_spread
from trialwise.statistics.pooled.quantile import clustered_quantile
from trialwise.statistics.pooled.trial_samples import TrialSamples
from trialwise.statistics.sequential.sampling import lognormal_factors
from trialwise.statistics.sequential.states import Seen, SequentialState, SequentialUnweighted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class SequentialQuantile(SequentialUnweighted["ArrayLike"]):
    """The quantile of all samples (`pooled_quantile`), trial by trial, with the rules and looks of `SequentialMean`.

    The interval comes from the clustered proportion, with the number of standard errors that the rule sets.
    """

    def __init__(
        self,
        percentile: float,
        precision: float,
        *,
        relative: bool = True,
        confidence: float = 95,
        rule: RuleName = "geometric",
        start: int | None = None,
        convention: Convention = "nearest_rank",
    ) -> None:
        """Set the options: `percentile` in percent, `convention` as in `trial_quantile`, the others as in `Sequential`.

        Raises
        ------
        StatisticsError
            An option is out of range.
        """
        super().__init__(precision, relative=relative, confidence=confidence, rule=rule, start=start)
        self._p = as_percent(percentile, "percentile")
        as_convention(convention)
        self._convention: Convention = convention
        self._known: Clusters | None = None
        self._new: list[Array] = []

    def add_samples(self, samples: Array) -> bool:
        """Add all samples of a trial."""
        return self.add(samples)

    def _take(self, trial: ArrayLike, name: str) -> None:
        self._new.append(as_values(trial, name, minimum=0))

    def _clusters(self) -> Clusters:
        """Return all trials so far, merging those that arrived since the last look."""
        if self._new:
            new = TrialSamples.of(self._new).in_order()
            self._known = new if self._known is None else self._known.followed_by(new)
            self._new = []
        if self._known is None:
            raise NoSamplesError
        require_enough(self._known.trials, self._known.ordered.size)
        return self._known

    def _measured(self, reach: float) -> Seen:
        level = as_percent(self._looks.inner, "confidence")
        clusters = self._clusters()
        found = clustered_quantile(clusters, self._p, level, reach, self._convention)
        half, n = (found.high - found.low) / 2, found.trials
        target = self._looks.target(found.estimate)
        spread = (
            forecast_spread(clusters, self._p, found, reach, target, relative=self._looks.relative)
            if isfinite(half) and target > 0
            else 0.0
        )
        return Seen(
            n=n,
            estimate=found.estimate,
            low=found.low,
            high=found.high,
            deviation=half * sqrt(n) / reach,
            factors=lognormal_factors(spread),
            estimand=found.estimand,
            warnings=[found.note] if found.note else [],
            method=found.method,
        )


def sequential_quantile(
    trials: Iterable[ArrayLike],
    percentile: float,
    precision: float,
    *,
    relative: bool = True,
    confidence: float = 95,
    rule: RuleName = "geometric",
    start: int | None = None,
    convention: Convention = "nearest_rank",
) -> SequentialState:
    """Feed the samples of trials in order to `SequentialQuantile` until it stops or they end; the options are the same.

    Raises
    ------
    StatisticsError
        A sample is not finite, or an option is out of range.
    """
    course = SequentialQuantile(
        percentile,
        precision,
        relative=relative,
        confidence=confidence,
        rule=rule,
        start=start,
        convention=convention,
    )
    return course.until_known(trials)
