"""Control variates of a metric: their names, their known means, and their values in the flow lists of rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.estimation.estimates import trial_values
from trialwise.arrays import Array
from trialwise.errors import StatisticsError
from trialwise.experiment.model import Controls, Level, Metric
from trialwise.measurement.list_controls import KnownMeans, PilotLists

Round = tuple[int, int]


class KnownWorkloads(Protocol):
    """Facts about workloads from outside the trials: controls of the flow lists of rounds, and their means over many lists.

    Controls are the number of flows, their bytes and the largest flow, and with engines the same metric by each of them from the same
    flows, if it provides it.
    """

    def known_means(
        self,
        metric: Metric,
        kind: Controls,
        factors: Mapping[str, Level],
        lists: int = 0,
        trials: int | None = None,
    ) -> KnownMeans | None:
        """Return the controls with their means over lists drawn only for this; None if flows are not drawn at random.

        Engines that simulate list by list do so for at least `lists` lists. With a number of `trials` there are no more than these
        use.
        """
        ...

    def pilot(
        self, metric: Metric, kind: Controls, factors: Mapping[str, Level], trials: int | None = None
    ) -> PilotLists | None:
        """Return what all levels of a metric give for some lists drawn only for this, and their costs; None if there are no levels."""
        ...

    def of_rounds(
        self, metric: Metric, kind: Controls, factors: Mapping[str, Level], rounds: Sequence[Round]
    ) -> Array:
        """Return the controls of the lists of rounds, (series, round), that all have a value of the metric: (rounds, controls)."""
        ...

    def modelled(
        self, metric: Metric, factors: Mapping[str, Level], rounds: Sequence[Round], engine: str
    ) -> tuple[list[Array], float] | None:
        """Return the samples of a metric by an engine in the lists of rounds, and the seconds that a list takes.

        None if the trials are by a model themselves.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ControlColumns:
    """The controls of one metric and treatment: names, means over `lists` drawn flow lists, and the source of their values.

    `engines` and `drawn` are as of `KnownMeans`. With a `covariance` of the means, `lists` are the fewest behind one of them,
    `own` is the part of it that falls with more lists of the engines that simulate list by list, and `seconds` are those of such a
    list.
    """

    kind: Controls
    engines: tuple[str, ...]
    drawn: tuple[int, ...]
    names: tuple[str, ...]
    means: Array
    covariance: Array | None
    lists: int
    metric: Metric
    factors: Mapping[str, Level]
    known: KnownWorkloads
    own: Array | None = None
    seconds: float = 0.0

    def of_rounds(self, rounds: Sequence[Round]) -> Array:
        """Return their values in the flow lists of rounds that all have a value of the metric: shape (rounds, controls)."""
        return self.known.of_rounds(self.metric, self.kind, self.factors, rounds)

    def modelled(self, rounds: Sequence[Round], engine: str) -> tuple[list[Array], float] | None:
        """Return the samples by an engine in the flow lists of rounds, and the seconds that a list takes; None as there."""
        return self.known.modelled(self.metric, self.factors, rounds, engine)

    def fitted(
        self, trials: Sequence[Array], values: Array, confidence: float, precision: float | None
    ) -> st.ControlVariates:
        """Estimate the metric with these controls; `values` are the controls in the trials, `precision` is in percent.

        Raises
        ------
        StatisticsError
            As for `st.control_variates`.
        """
        metric, percentile = self.metric, self.metric.percentile
        kept = st.independent_controls(values)
        if not kept:
            raise StatisticsError("nothing of the workload varies")
        x, means = values[:, kept], self.means[kept]
        covariance = None if self.covariance is None else self.covariance[np.ix_(kept, kept)]
        if metric.estimand == "pooled" and percentile is not None:
            return st.control_variates_quantile(
                trials,
                percentile,
                x,
                means,
                confidence=confidence,
                precision=precision,
                surrogate_trials=self.lists,
                means_covariance=covariance,
            )
        pooled = metric.estimand == "pooled"
        y = st.pooled_influence(trials) if pooled else trial_values(metric, trials)
        return st.control_variates(
            y,
            x,
            means,
            confidence=confidence,
            precision=precision,
            surrogate_trials=self.lists,
            means_covariance=covariance,
        )


def control_columns(
    metric: Metric,
    kind: Controls,
    factors: Mapping[str, Level],
    known: KnownWorkloads,
    lists: int = 0,
    trials: int | None = None,
) -> ControlColumns | None:
    """Return the controls of a metric; None if the flows of the treatment are not drawn at random.

    Engines that do not provide the metric are left out; with none left, only workload controls are returned.
    """
    found = known.known_means(metric, kind, factors, lists, trials)
    if found is None:
        return None
    means, covariance, lists, own = np.array(found.means), None, found.lists, None
    if found.cheap is not None and found.dear is not None:
        base = st.LevelMeans.of(means, found.lists, np.cov(found.cheap.T))
        all_means = base.extended(found.cheap, found.dear)
        means, covariance, lists, own = all_means.means, all_means.covariance, all_means.lists, all_means.own
    return ControlColumns(
        kind=",".join(found.engines) or "workload",
        engines=found.engines,
        drawn=found.drawn,
        names=found.names,
        means=means,
        covariance=covariance,
        lists=lists,
        metric=metric,
        factors=factors,
        known=known,
        own=own,
        seconds=found.seconds,
    )
