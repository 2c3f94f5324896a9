"""Control variates of a simulated metric: what is known of the workload of each trial takes variance out of its estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trialwise import statistics as st
from trialwise.analysis.estimation.flow_records import FlowRecords
from trialwise.analysis.estimation.results import ControlledEstimate, Controls
from trialwise.analysis.estimation.surrogate import NAME as SURROGATE
from trialwise.analysis.estimation.surrogate import surrogate_controls, trial_value
from trialwise.analysis.observations import Observation
from trialwise.experiment.model import Level, Metric
from trialwise.experiment.simulation import SimulationSource
from trialwise.store.records import TrialRow

Array = npt.NDArray[np.float64]
FEATURES = ("flows", "offered bytes", "largest flow")
FEWEST = 200
"""Trials of a treatment from which on workload controls are used unless told otherwise; fewer could not use them."""


_DETERMINED = 1e-6


class KnownWorkloads(Protocol):
    """What is known of workloads beside the trials, from flow lists drawn for the purpose."""

    def features(self, factors: Mapping[str, Level]) -> Array | None:
        """Features (see `workload_features`) of many drawn flow lists, (lists, features); None where flows are not drawn."""
        ...

    def surrogate(
        self, factors: Mapping[str, Level], source: SimulationSource, rounds: Sequence[tuple[int, int]]
    ) -> tuple[list[Array], list[Array]]:
        """The samples of a source by the fluid model, for the flow lists of rounds and for the drawn ones."""
        ...


@dataclass(frozen=True, slots=True)
class Workloads:
    """What is known of workloads; `kind` is what was asked for, None for workload controls where there are trials enough."""

    known: KnownWorkloads
    kind: Controls | None = None


def controlled(
    metric: Metric,
    observations: Sequence[Observation],
    flows: FlowRecords | None,
    workloads: Workloads | None,
    confidence: float,
) -> tuple[ControlledEstimate | None, str]:
    """The estimate of a metric with control variates, or why there is none (empty where none was asked for)."""
    kind = _kind(workloads, len(observations))
    if workloads is None or kind == "none":
        return None, ""
    if flows is None:
        return None, "no control variates: flows were not recorded"
    drawn = workloads.known.features(flows.rows[0].factors) if flows.rows else None
    if drawn is None:
        return None, "no control variates: the flows are not drawn at random"
    places = {(row.number, row.attempt): place for place, row in enumerate(flows.rows)}
    here = [one for one in observations if (one.number, one.attempt) in places]
    chosen = [places[one.number, one.attempt] for one in here]
    columns = _Columns(FEATURES, workload_features(flows)[chosen], list(drawn.T))
    if kind == "fluid" and _has_surrogate(metric):
        columns = _with_surrogate(columns, metric, [flows.rows[place] for place in chosen], workloads.known)
    elif kind == "fluid":
        kind = "workload"
    columns = columns.independent()
    if not columns.names:
        return None, "no control variates: nothing of the workload varies"
    try:
        found = _with_controls(metric, [one.values for one in here], columns, confidence)
    except ValueError as error:
        return None, f"no control variates: {error}"
    return ControlledEstimate(kind, columns.names, len(drawn), found), ""


def _kind(workloads: Workloads | None, trials: int) -> Controls:
    if workloads is None:
        return "none"
    return workloads.kind or ("workload" if trials >= FEWEST else "none")


def _has_surrogate(metric: Metric) -> bool:
    """Whether the fluid model gives samples of a metric; it knows no flow's time alone, and slowdowns gain least from it."""
    return isinstance(metric.source, SimulationSource) and metric.source.quantity in ("fct", "throughput")


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Controls: their names, their values in the trials (trials, controls), and for each its values in drawn flow lists."""

    names: tuple[str, ...]
    trials: Array
    drawn: list[Array]

    def independent(self) -> _Columns:
        """Those that vary over trials and are not determined by the ones before: bytes by the number of flows of one size."""
        centred = self.trials - self.trials.mean(axis=0)
        kept: list[int] = []
        for at, column in enumerate(centred.T):
            known = centred[:, kept]
            fitted: Array = known @ np.asarray(np.linalg.pinv(known), dtype=np.float64) @ column
            rest: Array = column - fitted
            if np.linalg.norm(rest) > _DETERMINED * np.linalg.norm(self.trials[:, at]):
                kept.append(at)
        return _Columns(
            tuple(self.names[at] for at in kept), self.trials[:, kept], [self.drawn[at] for at in kept]
        )


def _with_surrogate(
    columns: _Columns, metric: Metric, rows: Sequence[TrialRow], known: KnownWorkloads
) -> _Columns:
    if not isinstance(metric.source, SimulationSource):
        raise TypeError(metric.source)
    rounds = [(row.series, row.round) for row in rows]
    own, drawn = surrogate_controls(metric, *known.surrogate(rows[0].factors, metric.source, rounds))
    return _Columns(
        (*columns.names, SURROGATE), np.column_stack([columns.trials, own]), [*columns.drawn, drawn]
    )


def workload_features(flows: FlowRecords) -> Array:
    """Number of flows, their bytes and the largest of them for each trial: shape (trials, features)."""
    trials = len(flows.rows)
    count = np.bincount(flows.trial, minlength=trials).astype(np.float64)
    offered = np.bincount(flows.trial, weights=flows.size, minlength=trials).astype(np.float64)
    largest = np.zeros(trials)
    np.maximum.at(largest, flows.trial, flows.size)
    return np.stack([count, offered, largest], axis=1)


def _with_controls(
    metric: Metric, trials: Sequence[Array], columns: _Columns, confidence: float
) -> st.ControlVariates:
    means = [float(each.mean()) for each in columns.drawn]
    lists = min(map(len, columns.drawn), default=0)
    percentile = metric.percentile
    if metric.estimand == "pooled" and percentile is not None:
        return st.control_variates_quantile(
            trials, percentile, columns.trials, means, confidence=confidence, surrogate_trials=lists
        )
    pooled = metric.estimand == "pooled"
    values = st.pooled_influence(trials) if pooled else [trial_value(metric, each) for each in trials]
    return st.control_variates(values, columns.trials, means, confidence=confidence, surrogate_trials=lists)
