"""From a metric's section to the model: its source, what reduces it, and what is claimed about it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Literal, cast

from trialwise.experiment import model, simulation, sources
from trialwise.experiment.document_metrics import (
    ConvergenceSection,
    KpiSection,
    MetricSection,
    PrecisionSection,
    StopSection,
)
from trialwise.experiment.estimands import check_estimand, default_convention, default_estimand
from trialwise.experiment.instruments import instrument_unit
from trialwise.experiment.path_building import path_source
from trialwise.experiment.positions import Key
from trialwise.experiment.problems import Problems
from trialwise.experiment.quantities import QUANTITIES
from trialwise.experiment.simulation_building import simulation_source
from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES


def build_metric(name: str, section: MetricSection, kind: str, problems: Problems) -> model.Metric:
    """Build the metric of that name in an experiment whose trials are of that kind."""
    key: Key = ("metrics", name)
    sections = section.kpi if isinstance(section.kpi, list) else [section.kpi] if section.kpi else []
    if section.variability and not sections:
        hint = "add kpi = { percentile = 50, confidence = 95 }"
        problems.add((*key, "variability"), "a variability score needs a kpi", hint)
    source = _source(key, section, kind, problems)
    better = section.better or own_direction(source)
    kpis = tuple(_kpi(item, better) for item in sections)
    for index, kpi in enumerate(kpis):
        if kpi in kpis[:index]:
            problems.add((*key, "kpi", index), "the same KPI stands there already")
    measure = cast("model.Measure", section.measure)
    metric = model.Metric(
        name=name,
        source=source,
        measure=measure,
        unit=section.unit or _unit(source),
        better=better,
        convergence=_convergence(section.convergence),
        kpis=kpis,
        variability=section.variability
        and model.Variability(
            section.variability.percentile,
            section.variability.confidence,
            _stop(section.variability.stop, section.variability.percentile),
        ),
        limits=_limits((*key, "limits"), section.limits, problems),
        margin=section.margin and model.Extent(*section.margin),
        stop=section.stop
        and model.Stop(
            model.Extent(*section.stop.precision),
            section.stop.confidence,
            _of(section.stop, source),
            section.stop.controls,
        ),
        estimand=section.estimand or default_estimand(source, measure),
        convention=section.convention or default_convention(source),
        few_samples=section.few_samples,
    )
    check_estimand(key, metric, problems)
    if metric.estimand == "pooled" and section.stop and section.stop.of is not None:
        hint = 'leave "of" out, or write estimand = "per_trial"'
        problems.add((*key, "stop", "of"), "a pooled metric is one number for all trials", hint)
    return metric


def _of(section: StopSection, source: sources.Source) -> Literal["mean"] | float:
    return default_of(source) if section.of is None else 50.0 if section.of == "median" else section.of


def default_of(source: sources.Source) -> Literal["mean"] | float:
    """What of the trials is to be known where the file does not say: of simulated ones CCEval's mean, else the median."""
    return "mean" if isinstance(source, simulation.SimulationSource) else 50.0


def _limits(key: Key, limits: Sequence[float] | None, problems: Problems) -> tuple[float, float] | None:
    if limits is None:
        return None
    if not limits[0] < limits[1]:
        problems.add(key, f"the first must be less than the second; given: {limits[0]} and {limits[1]}")
    return float(limits[0]), float(limits[1])


def _convergence(section: ConvergenceSection | bool | None) -> model.Convergence | None:
    if section is True:
        return model.Convergence()
    if not section or not section.expected:
        return None
    return model.Convergence(section.confidence, section.tolerance)


def _kpi(section: KpiSection, better: model.Better | None) -> model.Kpi:
    bound = section.bound or default_bound(section.percentile, better)
    return model.Kpi(section.percentile, section.confidence, bound, _stop(section.stop, section.percentile))


def _stop(section: PrecisionSection | None, of: Literal["mean"] | float) -> model.Stop | None:
    return section and model.Stop(model.Extent(*section.precision), section.confidence, of)


def default_bound(percentile: float, better: model.Better | None) -> model.Bound:
    """The percentile's own side; for the median the side on which a metric disappoints."""
    if percentile == 50:
        return "lower" if better == "higher" else "upper"
    return "lower" if percentile < 50 else "upper"


def _unit(source: sources.Source) -> str:
    match source:
        case sources.ResourceSource(resource):
            return "B" if resource == "max_rss" else "s"
        case sources.InstrumentSource(name):
            return instrument_unit(name)
        case sources.PathSource(quantity) if quantity in QUANTITIES:
            return QUANTITIES[quantity].unit
        case simulation.SimulationSource(quantity) if quantity in SIMULATION_QUANTITIES:
            return SIMULATION_QUANTITIES[quantity].unit
        case _:
            return ""


def own_direction(source: sources.Source) -> model.Better | None:
    """Which way is better by the nature of what is read; None where that is for the file to say."""
    match source:
        case sources.ResourceSource():
            return "lower"
        case sources.PathSource(quantity) if quantity in QUANTITIES:
            return QUANTITIES[quantity].better
        case simulation.SimulationSource(quantity) if quantity in SIMULATION_QUANTITIES:
            return SIMULATION_QUANTITIES[quantity].better
        case _:
            return None


# Sources


def _source(key: Key, section: MetricSection, kind: str, problems: Problems) -> sources.Source:
    if kind == "path":
        return path_source(key, section, problems)
    if kind == "simulation":
        return simulation_source(key, section, problems)
    readers = [
        reader
        for reader, given in (
            ("stdout", section.stdout),
            ("json", section.json_),
            ("csv", section.csv),
            ("pattern", section.pattern),
        )
        if given is not None
    ]
    alone = [name for name in ("resource", "instrument", "source") if getattr(section, name)]
    if alone:
        others = (
            *alone[1:],
            *readers,
            *(name for name in ("file", "time", "value") if getattr(section, name)),
        )
        for other in others:
            problems.add((*key, other), f"does not go with {alone[0]}; give one source for {key[-1]}")
        return _source_alone(section)
    if not readers and not section.file and kind == "python":
        return sources.ReturnSource(section.value or str(key[-1]))
    if section.value:
        problems.add((*key, "value"), 'goes with kind = "python" and no other source')
    return _text_source(key, section, readers, problems)


def _source_alone(section: MetricSection) -> sources.Source:
    """What nothing else is needed for."""
    if section.resource:
        return sources.ResourceSource(section.resource)
    if section.instrument:
        return sources.InstrumentSource(section.instrument)
    stream, _, field = (section.source or "").partition(".")
    return sources.StreamSource(stream, field)


def _text_source(
    key: Key, section: MetricSection, readers: Sequence[str], problems: Problems
) -> sources.TextSource:
    if len(readers) != 1:
        have = f"{' and '.join(readers)} are {len(readers)} sources; give one" if readers else "no source"
        problems.add(
            key,
            have,
            "give one of resource, instrument, source, stdout, json, csv; or file with json, csv or pattern",
        )
    for reader in readers:
        if reader == "stdout" and section.file:
            problems.add((*key, "stdout"), "reads standard output; for a file write pattern")
        if reader == "pattern" and not section.file:
            problems.add((*key, "pattern"), "reads a file; add file, or write stdout")
        if section.time and reader not in {"csv", "json"}:
            problems.add((*key, "time"), "goes with csv or json")
    for name, pattern in (("stdout", section.stdout), ("pattern", section.pattern)):
        if pattern is not None:
            _check_pattern((*key, name), pattern, problems)
    return sources.TextSource(
        section.file, section.pattern or section.stdout, section.json_, section.csv, section.time
    )


def _check_pattern(key: Key, pattern: str, problems: Problems) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        problems.add(key, f"not a regular expression: {error}")
        return
    if groups != 1:
        problems.add(
            key,
            f"must have exactly one group ( ) around the number; it has {groups}",
            "(?:…) groups without counting" if groups > 1 else r"as in time: ([0-9.]+) s",
        )
