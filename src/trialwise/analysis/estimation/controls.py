"""Estimation of simulated metrics with control variates: known properties of each trial's workload reduce the variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trialwise import statistics as st
from trialwise.analysis.estimation.control_columns import ControlColumns, KnownWorkloads, control_columns
from trialwise.analysis.estimation.estimates import trial_values
from trialwise.analysis.estimation.level_choice import chosen_columns, lists_that_pay
from trialwise.analysis.estimation.results import ControlledEstimate, EngineCheck
from trialwise.analysis.observations import Observation
from trialwise.arrays import Array
from trialwise.errors import PlanError, StatisticsError
from trialwise.experiment.model import Controls, Levels, Metric, Stop
from trialwise.store.records import TrialRow

FEWEST = 200
"""Default minimum number of trials of a treatment for workload controls; with fewer they could not be used."""


@dataclass(frozen=True, slots=True)
class Workloads:
    """Known facts about workloads, and the requested controls and levels.

    If `kind` is None, the controls of the metric's stopping rule are used, or else workload controls from `FEWEST` trials on.
    """

    known: KnownWorkloads
    kind: Controls | None = None
    levels: Levels | None = None

    def levels_for(self, metric: Metric) -> Levels | None:
        """Return how lists of a metric's engines are shared out: as asked, else as its stopping rule says; None for as many as pay."""
        stop = metric.stop
        return self.levels or (stop.levels if stop is not None and stop.controls != "none" else None)

    def kind_for(self, metric: Metric, trials: int) -> Controls:
        """Return the controls of a metric with this number of trials."""
        if self.kind is not None:
            return self.kind
        if metric.stop is not None and metric.stop.controls != "none":
            return metric.stop.controls
        return "workload" if trials >= FEWEST else "none"


def controlled(
    metric: Metric,
    observations: Sequence[Observation],
    samples: st.TrialSamples,
    rows: Mapping[int, TrialRow],
    workloads: Workloads | None,
    confidence: float,
) -> tuple[ControlledEstimate | None, str]:
    """Estimate a metric with control variates, or say why not (empty if none were requested).

    `observations` and their `samples` are of one treatment, `rows` its trials by number.
    """
    kind = "none" if workloads is None else workloads.kind_for(metric, len(observations))
    if workloads is None or kind == "none":
        return None, ""
    factors, known, shared = observations[0].factors, workloads.known, workloads.levels_for(metric)
    try:
        columns, levels = chosen_columns(metric, kind, factors, known, shared, len(observations))
    except StatisticsError as error:
        return None, f"no control variates: {error}"
    except PlanError as error:  # an engine that cannot simulate these trials
        lifts = f" ({error.hint})" if error.hint else ""
        return None, f"no control variates: {error.message}{lifts}"
    if columns is None:
        return None, "no control variates: the flows are not drawn at random, or hardly ever has a trial one"
    # A trial without a flow of the metric counts as an observation for pooled estimates, but not for per-trial ones.
    pooled = metric.estimand == "pooled"
    counted = [one for one in observations if pooled or len(one.values)]
    trials = samples if pooled else samples.with_samples()
    places = [rows[one.number] for one in counted]
    values = columns.of_rounds([(row.series, row.round) for row in places])
    try:
        if shared is None:
            wanted = _lists_that_pay(columns, trials, values, places)
            columns = control_columns(metric, kind, factors, known, wanted, len(observations)) or columns
        found = columns.fitted(trials, values, confidence, None)
        if metric.stop is not None:
            precision = precision_percent(metric.stop, found.plain.estimate)
            found = columns.fitted(trials, values, confidence, precision)
    except StatisticsError as error:
        return None, f"no control variates: {error}"
    kept = st.independent_controls(values)
    names = tuple(columns.names[place] for place in kept)
    dropped = tuple(name for name in columns.names if name not in names)
    first, *others = _engines(columns, places, trials, found, confidence) or (None,)
    rest = tuple(filter(None, others))
    return ControlledEstimate(columns.kind, names, columns.lists, found, first, rest, dropped, levels), ""


def _lists_that_pay(
    columns: ControlColumns, trials: st.TrialSamples, values: Array, rows: Sequence[TrialRow]
) -> int:
    """Return how many lists of engines pay, by what they leave of the variance; 0 for the least."""
    seconds = _trial_seconds(rows)
    if columns.own is None or columns.covariance is None or not seconds:
        return 0
    known = replace(columns, covariance=columns.covariance - columns.own)
    gains = [each.fitted(trials, values, 95.0, None).gain for each in (columns, known)]
    return lists_that_pay(
        (1 / gains[0], 1 / gains[1]), (len(rows), columns.lists), (seconds, columns.seconds)
    )


def _trial_seconds(rows: Sequence[TrialRow]) -> float | None:
    took = [
        row.finished - row.started for row in rows if row.started is not None and row.finished is not None
    ]
    return sum(took) / len(took) if took else None


COMPARED = 200
"""Most trials whose flow lists an engine that simulates list by list gets again, to tell what it is wrong by."""


def _engines(
    columns: ControlColumns,
    rows: Sequence[TrialRow],
    trials: st.TrialSamples,
    found: st.ControlVariates,
    confidence: float,
) -> list[EngineCheck]:
    """Compare engines with the trials on their own flow lists, and say what their lists cost and gain in time.

    Empty if the trials are by an engine of estimates themselves.
    """
    trial_seconds = _trial_seconds(rows)
    checks: list[EngineCheck] = []
    spent = 0.0
    for engine, lists in zip(columns.engines, columns.drawn, strict=True):
        several = len(rows) if columns.covariance is None else min(len(rows), COMPARED)
        own = columns.modelled([(row.series, row.round) for row in rows[:several]], engine)
        if own is None:
            return []
        modelled, seconds = own
        spent += (len(rows) + lists) * seconds
        compared = trials if several == len(rows) else st.TrialSamples.of(list(trials)[:several])
        bias = _bias(columns.metric, compared, modelled, confidence)
        checks.append(EngineCheck(engine, bias, seconds, trial_seconds, None))
    if not trial_seconds:
        return checks
    plain = len(rows) * trial_seconds
    gain = found.gain * plain / (plain + spent)
    return [replace(check, gain_in_time=gain) for check in checks]


def _bias(metric: Metric, trials: st.TrialSamples, modelled: Sequence[Array], confidence: float) -> st.Ratio:
    """Return the metric by an engine over that of the trials, in percent."""
    sides = (
        st.pooled_influence(each, metric.percentile)
        if metric.estimand == "pooled"
        else trial_values(metric, each)
        for each in (trials, modelled)
    )
    return st.paired_ratio(*sides, confidence=confidence).in_percent()


def precision_percent(stop: Stop, estimate: float) -> float | None:
    """Return the stopping precision of a metric in percent of an estimate; None if that is 0."""
    if stop.precision.relative:
        return stop.precision.value
    return 100 * stop.precision.value / abs(estimate) if estimate else None
