"""The throughput-delay plane: every trial, and for each treatment a point with a region of stated confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trialwise import statistics as st
from trialwise.analysis.path.results import AxisRange, Plane, PlaneAxes, PlaneRegion, PlaneTrial
from trialwise.analysis.results import MetricAnalysis, SeriesKpi
from trialwise.analysis.trial_columns import TrialMetric
from trialwise.experiment.model import Experiment, Level, Metric
from trialwise.experiment.placeholders import level_text, names_in
from trialwise.experiment.sources import PathSource
from trialwise.experiment.traits import sources_of
from trialwise.experiment.trials import PathTrial
from trialwise.numbers import as_given, counted

THROUGHPUTS = ("throughput", "pantheon_throughput")
DELAYS = ("delay", "pantheon_delay", "queueing_delay")
JOINT = 95.0
"""Joint confidence, in percent, of both medians in their rectangle."""
EACH = 100 - (100 - JOINT) / 2
"""Confidence of each median's interval (Bonferroni)."""

Key = tuple[int, int]


def plane_axes(metrics: Sequence[Metric]) -> PlaneAxes | None:
    """Return the first throughput metric and the first delay metric; None unless both exist."""
    throughput, delay = _first(metrics, THROUGHPUTS), _first(metrics, DELAYS)
    return PlaneAxes(throughput, delay) if throughput and delay else None


def _first(metrics: Sequence[Metric], quantities: Sequence[str]) -> str | None:
    asked = sources_of(metrics, PathSource)
    return next((metric.name for metric, source in asked if source.quantity in quantities), None)


def planes(
    experiment: Experiment,
    treatments: Mapping[str, Mapping[str, Level]],
    delay: MetricAnalysis,
    throughput: MetricAnalysis,
    invalid: Sequence[PlaneTrial],
) -> tuple[Plane, ...]:
    """Return one plane for each combination of levels of the factors that do not define the schemes.

    `treatments` has the factors of each treatment in the order of the file, `invalid` the invalid trials.
    """
    shared = _shared_factors(experiment)
    groups: dict[tuple[Level, ...], list[str]] = {}
    for treatment, factors in treatments.items():
        groups.setdefault(tuple(factors[name] for name in shared), []).append(treatment)
    trials = [*_trials(delay, throughput), *invalid]
    return tuple(
        Plane(
            factors=dict(zip(shared, levels, strict=True)),
            treatments=tuple(members),
            names=tuple(_name(treatments[member], shared) for member in members),
            trials=tuple(trial for trial in trials if trial.treatment in members),
            regions=tuple(_regions(members, trials, delay, throughput)),
        )
        for levels, members in groups.items()
    )


def plane_of(names: Mapping[str, str], delay: MetricAnalysis, throughput: MetricAnalysis) -> Plane:
    """Return one plane of all treatments; `names` maps each to its name on the plane."""
    trials = _trials(delay, throughput)
    return Plane(
        {},
        tuple(names),
        tuple(names.values()),
        tuple(trials),
        tuple(_regions(list(names), trials, delay, throughput)),
    )


def _name(factors: Mapping[str, Level], shared: Sequence[str]) -> str:
    return (
        " · ".join(level_text(level) for name, level in factors.items() if name not in shared) or "all trials"
    )


def _shared_factors(experiment: Experiment) -> list[str]:
    """Return the factors that do not define the flows' schemes; none if no factor does, so that all share one plane."""
    trial = experiment.trial
    named = (
        {name for flow in trial.flows for name in names_in(flow.scheme)}
        if isinstance(trial, PathTrial)
        else set[str]()
    )
    names = [factor.name for factor in experiment.fixed_factors]
    return [name for name in names if name not in named] if named & set(names) else []


def _trials(delay: MetricAnalysis, throughput: MetricAnalysis) -> list[PlaneTrial]:
    """Return the valid trials that have both metrics, in plan order."""
    delays = {(trial.number, trial.attempt): trial.value for trial in delay.trials}
    found: list[PlaneTrial] = []
    for trial in throughput.trials:
        across = delays.get((trial.number, trial.attempt))
        if trial.value is not None and across is not None:
            found.append(
                PlaneTrial(
                    trial.number, trial.attempt, trial.treatment, trial.series, across, trial.value, None
                )
            )
    return found


# Regions


def _regions(
    treatments: Sequence[str],
    trials: Sequence[PlaneTrial],
    delay: MetricAnalysis,
    throughput: MetricAnalysis,
) -> list[PlaneRegion]:
    groups: dict[tuple[str, str], list[PlaneTrial]] = {}
    for trial in trials:
        if trial.reason is None and trial.treatment in treatments:
            groups.setdefault((trial.treatment, trial.series), []).append(trial)
    both = bool(delay.metric.kpis and throughput.metric.kpis)
    region = _kpi_region if both else _median_region
    ordered = sorted(groups, key=lambda key: treatments.index(key[0]))
    return [region(*key, groups[key], delay, throughput) for key in ordered]


def _kpi_region(
    treatment: str,
    series: str,
    members: Sequence[PlaneTrial],
    delay: MetricAnalysis,
    throughput: MetricAnalysis,
) -> PlaneRegion:
    """Return the quadrant of the first KPI of each metric."""
    kpis = [_kpi(found, treatment, series) for found in (delay, throughput)]
    across, up = (_kpi_range(kpi) for kpi in kpis)
    needed = max(kpi.result.needed if kpi and kpi.result else 1 for kpi in kpis)
    said = dict.fromkeys(kpi.note for kpi in kpis if kpi and kpi.note)
    return _region(
        treatment, series, members, "kpi", needed, across, up,
        method="first KPI of each metric: one-sided bounds from exact binomial ranks",
        descriptive=any(kpi is None or kpi.descriptive for kpi in kpis),
        note="; ".join(said) or None,
    )  # fmt: skip


def _kpi(found: MetricAnalysis, treatment: str, series: str) -> SeriesKpi | None:
    first = found.metric.kpis[0]
    same = (kpi for kpi in found.kpis if (kpi.treatment, kpi.series) == (treatment, series))
    return next((kpi for kpi in same if kpi.objective == first), None)


def _kpi_range(kpi: SeriesKpi | None) -> AxisRange | None:
    if kpi is None or kpi.result is None or kpi.result.value is None:
        return None
    asked, value = kpi.objective, kpi.result.value
    low, high = (value, None) if asked.bound == "lower" else (None, value)
    side = "at least" if asked.bound == "lower" else "at most"
    return AxisRange(low, high, value, asked.confidence, f"p{as_given(asked.percentile)} is {side} this")


def _median_region(
    treatment: str,
    series: str,
    members: Sequence[PlaneTrial],
    delay: MetricAnalysis,
    throughput: MetricAnalysis,
) -> PlaneRegion:
    """Return the rectangle of both medians."""
    across = _median_range([trial.delay for trial in members])
    up = _median_range([trial.throughput for trial in members])
    needed = st.percentile_interval([0.0], 50, EACH).needed
    reasons = [_doubt(found, treatment, series) for found in (delay, throughput)]
    short = f"the region needs {needed} trials; there are {len(members)}" if len(members) < needed else ""
    said = dict.fromkeys(reason for reason in (short, *reasons) if reason)
    return _region(
        treatment, series, members, "median", needed, across, up,
        method=f"two-sided intervals of both medians from exact binomial ranks, {as_given(EACH)} % each (Bonferroni)",
        descriptive=any(reasons),
        note="; ".join(said) or None,
    )  # fmt: skip


def _median_range(values: Sequence[float]) -> AxisRange | None:
    found = st.percentile_interval(values, 50, EACH)
    if found.low is None or found.high is None:
        return None
    return AxisRange(found.low, found.high, float(np.median(values)), EACH, "the median lies between these")


def _doubt(found: MetricAnalysis, treatment: str, series: str) -> str:
    """Say why intervals of this metric are descriptive only; empty if nothing speaks against them."""
    for test in found.independence:
        here = (test.treatment, test.series) == (treatment, series)
        if here and test.result is not None and test.result.independent is False:
            return f"{found.metric.name}: {test.result.reason}"
    members = [trial for trial in found.trials if (trial.treatment, trial.series) == (treatment, series)]
    unsteady = sum(trial.converged is False for trial in members)
    return (
        f"{found.metric.name}: {unsteady} of {counted(len(members), 'trial')} did not converge"
        if unsteady
        else ""
    )


def _region(
    treatment: str,
    series: str,
    members: Sequence[PlaneTrial],
    kind: str,
    needed: int,
    across: AxisRange | None,
    up: AxisRange | None,
    *,
    method: str,
    descriptive: bool,
    note: str | None,
) -> PlaneRegion:
    delays = np.array([trial.delay for trial in members])
    throughputs = np.array([trial.throughput for trial in members])
    both = across is not None and up is not None
    joint = across.confidence + up.confidence - 100 if across and up else None
    return PlaneRegion(
        treatment=treatment,
        series=series,
        kind="kpi" if kind == "kpi" else "median",
        n=len(members),
        needed=needed,
        mean_delay=float(delays.mean()),
        mean_throughput=float(throughputs.mean()),
        median_delay=float(np.median(delays)),
        median_throughput=float(np.median(throughputs)),
        delay=across if both else None,
        throughput=up if both else None,
        joint=joint if joint is None or joint > 0 else 0.0,
        method=method,
        descriptive=descriptive,
        note=note,
    )


def invalid_trial(delay: TrialMetric, throughput: TrialMetric, reason: str) -> PlaneTrial | None:
    """Return an invalid trial as a point, if it gave both metrics."""
    if delay.value is None or throughput.value is None:
        return None
    return PlaneTrial(
        delay.number, delay.attempt, delay.treatment, delay.series, delay.value, throughput.value, reason
    )
