"""Analysis of trials that another tool recorded: one value per trial and metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trialwise.analysis.conditions.timescales import analyse_metric
from trialwise.analysis.nesting import treatment_means
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
from trialwise.analysis.trial_columns import Observed, Places
from trialwise.analysis.trial_set import TrialSet
from trialwise.experiment.model import Method, Metric
from trialwise.late import pl
from trialwise.readers.blocks import distinct, first_of

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
    numbers = ran.select("trial").unique(maintain_order=True).with_row_index("number", 1)
    known = [_with_facts(metric, trials) for metric in metrics]
    analysed = tuple(_analysed(found.trials, trials, metric, numbers, method) for metric in known)
    return Analysis(
        name=trials.name,
        description="",
        method=method,
        seed=None,
        treatments=tuple(trials.treatments),
        series=tuple(trials.table["series"].unique(maintain_order=True).to_list()),
        planned=numbers.height + len(found.lost),
        counts={"finished": numbers.height, **Counter(one.status for one in found.lost)},
        metrics=analysed,
        failures=tuple(_failure(number, one) for number, one in enumerate(found.lost, numbers.height + 1)),
        notes=trials.notes if found.is_ordered else (*trials.notes, _NO_ORDER),
        boots=(),
        path=_path(trials, analysed),
    )


def _analysed(
    recorded: TrialSet, units: TrialSet, metric: Metric, numbers: pl.DataFrame, method: Method
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


def _observations(trials: TrialSet, metric: Metric, numbers: pl.DataFrame) -> Observed:
    rows = trials.of(metric.name)
    own = rows.select("trial").join(numbers, on="trial", how="left", maintain_order="left")
    kind, label = (distinct([rows[name]], rows.height) for name in ("treatment", "series"))
    names = [rows["treatment"][place] for place in first_of(kind)]
    ones = np.broadcast_to(np.int64(1), rows.height)
    return Observed(
        Places(
            number=own["number"].to_numpy(),
            attempt=ones,
            kinds=[(name, trials.treatments[name]) for name in names],
            kind=kind,
            labels=[rows["series"][place] for place in first_of(label)],
            series=label,
            round=ones,
            position=ones,
            started=None
            if rows["started"].null_count() == rows.height
            else rows["started"].fill_null(np.nan).to_numpy(),
        ),
        values=rows["value"].to_numpy(),
        bounds=np.arange(rows.height + 1),
        times=None,
    )
