"""Building of a metric from its table: its source, its measure, and its claims."""

from __future__ import annotations

from dataclasses import replace

from trialwise.experiment import model
from trialwise.experiment.defaults import default_bound, metric_defaults, put_in, stop_defaults
from trialwise.experiment.estimands import check_estimand
from trialwise.experiment.file.positions import Key
from trialwise.experiment.file.sections import keys_of
from trialwise.experiment.metrics import MetricTable
from trialwise.experiment.problems import Problems
from trialwise.experiment.traits import Trial


def build_metric(name: str, table: MetricTable, trial: Trial, problems: Problems) -> model.Metric:
    """Build the metric of that name for an experiment with such trials."""
    key: Key = ("metrics", name)
    source = trial.source(key, table, problems)
    given = {field: getattr(table, field) for field in keys_of(model.Metric)}
    metric = completed(key, model.Metric(name, source, **given), problems)
    check_claims(key, metric, problems)
    return metric


def check_claims(key: Key, metric: model.Metric, problems: Problems) -> None:
    """Note claims about a metric that do not go together."""
    if metric.variability and not metric.kpis:
        hint = "add kpi = { percentile = 50, confidence = 95 }"
        problems.add((*key, "variability"), "a variability score needs a kpi", hint)
    for index, kpi in enumerate(metric.kpis):
        if kpi in metric.kpis[:index]:
            problems.add((*key, "kpi", index), "the same KPI stands there already")
    check_estimand(key, metric, problems)
    if metric.estimand == "pooled" and problems.given((*key, "stop", "of")):
        hint = 'leave "of" out, or write estimand = "per_trial"'
        problems.add((*key, "stop", "of"), "a pooled metric is one number for all trials", hint)


def completed(key: Key, metric: model.Metric, problems: Problems) -> model.Metric:
    """Add the defaults that depend on the source, the measure and the direction."""
    metric = put_in(metric, key, metric_defaults(metric), problems)
    stop, score = metric.stop, metric.variability
    return replace(
        metric,
        unit=_unit(key, metric, problems),
        kpis=tuple(
            _completed_kpi(key, index, kpi, metric.better, problems) for index, kpi in enumerate(metric.kpis)
        ),
        variability=score and replace(score, stop=score.stop and replace(score.stop, of=score.percentile)),
        stop=stop and put_in(stop, (*key, "stop"), stop_defaults(metric.source), problems),
    )


def _unit(key: Key, metric: model.Metric, problems: Problems) -> str:
    """Return the unit of the numbers, which are never converted: what measures them knows it, or else the file says it."""
    measured = metric.source.traits.unit
    if measured and metric.unit not in ("", measured) and not problems.frozen:
        text = f'{key[-1]} is measured in "{measured}", and numbers are not converted'
        problems.add((*key, "unit"), text, "leave unit out, or write this one")
    return measured or metric.unit


def _completed_kpi(
    key: Key, index: int, kpi: model.Kpi, better: model.Better | None, problems: Problems
) -> model.Kpi:
    is_listed = problems.given((*key, "kpi", index))
    place: Key = (*key, "kpi", index) if is_listed else (*key, "kpi")
    found = put_in(kpi, place, {"bound": default_bound(kpi.percentile, better)}, problems)
    return replace(found, stop=found.stop and replace(found.stop, of=found.percentile))
