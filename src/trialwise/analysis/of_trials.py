"""Analysis of trials that another tool recorded: one value per trial and metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from trialwise.analysis.conditions.timescales import analyse_metric
from trialwise.analysis.nesting import treatment_means
from trialwise.analysis.observations import Observation
from trialwise.analysis.path.analysing import typical
from trialwise.analysis.path.plane import plane_of
from trialwise.analysis.path.results import (
    EmulatorFacts,
    FlowResult,
    PathAnalysis,
    PathScheme,
    PathTreatment,
    PlaneAxes,
)
from trialwise.analysis.recorded import Lost, Recorded
from trialwise.analysis.results import Analysis, MetricAnalysis, TrialFailure
from trialwise.analysis.trial_set import TrialSet
from trialwise.experiment.model import Method, Metric

_THROUGHPUT, _DELAY, _LOSS = "pantheon_throughput", "pantheon_delay", "pantheon_loss"


_NO_ORDER = "the order in which the trials ran is not in the files: tests of independence take that of the files for it"


def analyse_recorded(found: Recorded, metrics: Sequence[Metric], method: Method = "default") -> Analysis:
    """Analyse metrics of what other programs recorded; missing units and directions of metrics are taken from there.

    Trials have the same numbers for all metrics: in the order in which they began, or that of the set if this is not known of all.
    What one process measured again and again is one value: its mean.
    """
    trials = found.units()
    table = trials.table
    ran = table if table["started"].null_count() else table.sort("started", maintain_order=True)
    numbers = {trial: number for number, trial in enumerate(dict.fromkeys(ran["trial"].to_list()), start=1)}
    known = [_with_facts(metric, trials) for metric in metrics]
    analysed = tuple(_analysed(found.trials, trials, metric, numbers, method) for metric in known)
    return Analysis(
        name=trials.name,
        description="",
        method=method,
        seed=None,
        treatments=tuple(trials.treatments),
        series=tuple(dict.fromkeys(trials.table["series"].to_list())),
        planned=len(numbers) + len(found.lost),
        counts={"finished": len(numbers), **Counter(one.status for one in found.lost)},
        metrics=analysed,
        failures=tuple(_failure(number, one) for number, one in enumerate(found.lost, len(numbers) + 1)),
        notes=trials.notes if found.is_ordered else (*trials.notes, _NO_ORDER),
        boots=(),
        path=_path(trials, analysed),
    )


def _analysed(
    recorded: TrialSet, units: TrialSet, metric: Metric, numbers: Mapping[str, int], method: Method
) -> MetricAnalysis:
    """Analyse a metric of units; its means are over the highest level that varies, such as hosts."""
    one = analyse_metric(metric, _observations(units, metric, numbers), method)
    means = () if metric.kpis else tuple(treatment_means(recorded.of(metric.name)))
    return replace(one, means=means)


def _failure(number: int, lost: Lost) -> TrialFailure:
    return TrialFailure(
        number=number,
        attempt=1,
        treatment=lost.treatment,
        series="1",
        round=1,
        status=lost.status,
        exit_code=None,
        reason=lost.reason or None,
        log=None,
    )


def _path(trials: TrialSet, found: Sequence[MetricAnalysis]) -> PathAnalysis | None:
    """Return the plane of throughput and delay and a row for each scheme, if both are among the metrics; else None."""
    by_name = {one.metric.name: one for one in found}
    if not {_THROUGHPUT, _DELAY} <= by_name.keys():
        return None
    names = {name: str(levels.get("scheme", name)) for name, levels in trials.treatments.items()}
    seconds = trials.table["seconds"].max()
    return PathAnalysis(
        runtime=float(seconds) if isinstance(seconds, float) else 0.0,
        flows=0,
        lateness=0.0,
        schemes=tuple(PathScheme(name, name) for name in dict.fromkeys(names.values())),
        paths=(),
        axes=PlaneAxes(_THROUGHPUT, _DELAY),
        planes=(plane_of(names, by_name[_DELAY], by_name[_THROUGHPUT]),),
        treatments=tuple(_treatment(trials, treatment, name) for treatment, name in names.items()),
        distributions=(),
        series=(),
        recorded=0,
        notes=(
            "throughput, delay and loss are those of all flows of a run together, as Pantheon defines them",
        ),
    )


def _treatment(trials: TrialSet, treatment: str, scheme: str) -> PathTreatment:
    values = {name: trials.of(name, treatment)["value"].to_list() for name in (_THROUGHPUT, _DELAY, _LOSS)}
    throughput, delay, loss = (typical(each) for each in values.values())
    return PathTreatment(
        treatment=treatment,
        schemes=(scheme,),
        trials=len(values[_THROUGHPUT]),
        invalid=0,
        flows=(FlowResult(None, scheme, "uplink", throughput, delay, loss),),
        fairness=None,
        emulator=EmulatorFacts(None, None, None, None, None, None),
    )


def _with_facts(metric: Metric, trials: TrialSet) -> Metric:
    facts = trials.metrics[metric.name]
    return replace(metric, unit=metric.unit or facts.unit, better=metric.better or facts.better)


def _observations(trials: TrialSet, metric: Metric, numbers: Mapping[str, int]) -> list[Observation]:
    columns = ("trial", "treatment", "series", "started", "value")
    rows = trials.of(metric.name).select(columns).iter_rows()
    return [
        Observation(
            number=numbers[trial],
            attempt=1,
            treatment=treatment,
            factors=trials.treatments[treatment],
            series=series,
            round=1,
            position=1,
            started=started,
            values=np.array([value]),
            times=None,
        )
        for trial, treatment, series, started, value in rows
    ]
