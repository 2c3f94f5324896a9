"""From a metric's table to the model: its source, what reduces it, and what is claimed about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from trialwise.experiment import model, simulation, sources
from trialwise.experiment.defaults import (
    default_bound,
    default_unit,
    metric_defaults,
    put_in,
    stop_defaults,
)
from trialwise.experiment.estimands import check_estimand
from trialwise.experiment.file.positions import Key
from trialwise.experiment.file.sections import keys_of
from trialwise.experiment.metrics import MetricTable
from trialwise.experiment.problems import Problems, nearest
from trialwise.experiment.quantities import QUANTITIES, Quantity
from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES


def build_metric(name: str, table: MetricTable, kind: str, problems: Problems) -> model.Metric:
    """Build the metric of that name in an experiment whose trials are of that kind."""
    key: Key = ("metrics", name)
    if table.variability and not table.kpis:
        hint = "add kpi = { percentile = 50, confidence = 95 }"
        problems.add((*key, "variability"), "a variability score needs a kpi", hint)
    source = _source(key, table, kind, problems)
    given = {field: getattr(table, field) for field in keys_of(model.Metric)}
    metric = _completed(key, model.Metric(name, source, **given), problems)
    for index, kpi in enumerate(metric.kpis):
        if kpi in metric.kpis[:index]:
            problems.add((*key, "kpi", index), "the same KPI stands there already")
    check_estimand(key, metric, problems)
    if metric.estimand == "pooled" and problems.given((*key, "stop", "of")):
        hint = 'leave "of" out, or write estimand = "per_trial"'
        problems.add((*key, "stop", "of"), "a pooled metric is one number for all trials", hint)
    return metric


def _completed(key: Key, metric: model.Metric, problems: Problems) -> model.Metric:
    """Put in the defaults that depend on the source, the measure and the direction."""
    metric = put_in(metric, key, metric_defaults(metric), problems)
    stop, score = metric.stop, metric.variability
    return replace(
        metric,
        unit=metric.unit or default_unit(metric.source),
        kpis=tuple(
            _completed_kpi(key, index, kpi, metric.better, problems) for index, kpi in enumerate(metric.kpis)
        ),
        variability=score and replace(score, stop=score.stop and replace(score.stop, of=score.percentile)),
        stop=stop and put_in(stop, (*key, "stop"), stop_defaults(metric.source), problems),
    )


def _completed_kpi(
    key: Key, index: int, kpi: model.Kpi, better: model.Better | None, problems: Problems
) -> model.Kpi:
    is_listed = problems.given((*key, "kpi", index))
    place: Key = (*key, "kpi", index) if is_listed else (*key, "kpi")
    found = put_in(kpi, place, {"bound": default_bound(kpi.percentile, better)}, problems)
    return replace(found, stop=found.stop and replace(found.stop, of=found.percentile))


def _source(key: Key, table: MetricTable, kind: str, problems: Problems) -> sources.Source:
    if kind == "path":
        name = _quantity(key, table, QUANTITIES, "a path trial", "of all flows together", problems)
        return sources.PathSource(name, table.flow, table.bin or sources.PathSource(name).bin)
    if kind == "simulation":
        name = _quantity(
            key, table, SIMULATION_QUANTITIES, "a simulated trial", "of the whole network", problems
        )
        return simulation.SimulationSource(name, table.sizes or "", table.phase or "stable")
    readers = [
        reader
        for reader, given in (
            ("stdout", table.stdout),
            ("json", table.json),
            ("csv", table.csv),
            ("pattern", table.pattern),
        )
        if given is not None
    ]
    alone = [name for name in ("resource", "instrument", "stream") if getattr(table, name)]
    if alone:
        keys = keys_of(MetricTable)
        others = (
            *alone[1:],
            *readers,
            *(name for name in ("file", "time", "value") if getattr(table, name)),
        )
        for other in others:
            problems.add(
                (*key, keys[other].name),
                f"does not go with {keys[alone[0]].name}; give one source for {key[-1]}",
            )
        return _source_alone(table)
    if not readers and not table.file and kind == "python":
        return sources.ReturnSource(table.value or str(key[-1]))
    if table.value:
        problems.add((*key, "value"), 'goes with kind = "python" and no other source')
    return _text_source(key, table, readers, problems)


def _quantity(
    key: Key, table: MetricTable, known: Mapping[str, Quantity], trial: str, whole: str, problems: Problems
) -> str:
    """The quantity of a trial that is named, or the metric's own name."""
    name = table.quantity or str(key[-1])
    quantity = known.get(name)
    if quantity is None:
        meant = nearest(name, list(known))
        did = f'; did you mean "{meant}"?' if meant else ""
        where = (*key, "quantity") if table.quantity else key
        problems.add(where, f'"{name}" is nothing that {trial} measures{did}', f"known: {', '.join(known)}")
        return name
    if table.unit not in ("", quantity.unit):
        problems.add((*key, "unit"), f'{name} is in "{quantity.unit}"', "leave unit out, or write this one")
    for part in ("flow", "sizes", "phase"):
        if not quantity.per_flow and getattr(table, part) is not None:
            problems.add((*key, part), f"{name} is {whole}")
    return name


def _source_alone(table: MetricTable) -> sources.Source:
    """What nothing else is needed for."""
    if table.resource:
        return sources.ResourceSource(table.resource)
    if table.instrument:
        return sources.InstrumentSource(table.instrument)
    stream, _, field = (table.stream or "").partition(".")
    return sources.StreamSource(stream, field)


def _text_source(
    key: Key, table: MetricTable, readers: Sequence[str], problems: Problems
) -> sources.TextSource:
    if len(readers) != 1:
        have = f"{' and '.join(readers)} are {len(readers)} sources; give one" if readers else "no source"
        problems.add(
            key,
            have,
            "give one of resource, instrument, source, stdout, json, csv; or file with json, csv or pattern",
        )
    for reader in readers:
        if reader == "stdout" and table.file:
            problems.add((*key, "stdout"), "reads standard output; for a file write pattern")
        if reader == "pattern" and not table.file:
            problems.add((*key, "pattern"), "reads a file; add file, or write stdout")
        if table.time and reader not in {"csv", "json"}:
            problems.add((*key, "time"), "goes with csv or json")
    return sources.TextSource(table.file, table.pattern or table.stdout, table.json, table.csv, table.time)
