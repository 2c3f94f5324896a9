"""Building of the model from a checked document, with the checks that involve several keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from trialwise.experiment import model
from trialwise.experiment.defaults import design_defaults, put_in
from trialwise.experiment.design import completed
from trialwise.experiment.estimands import check_batches
from trialwise.experiment.factors import build_factor, check_treatments
from trialwise.experiment.file import document as doc
from trialwise.experiment.file.positions import Key
from trialwise.experiment.file.sections import keys_of, made_of
from trialwise.experiment.instruments import how_to_switch_on, instruments_of
from trialwise.experiment.machines import check_reset, check_workers
from trialwise.experiment.metric_building import build_metric
from trialwise.experiment.metrics import MetricTable
from trialwise.experiment.placeholder_checking import check_placeholders
from trialwise.experiment.problems import Problems, either, shown
from trialwise.experiment.results import templates
from trialwise.experiment.results_building import build_results
from trialwise.experiment.services import build_services, check_services
from trialwise.experiment.shared_process import check_shared_process
from trialwise.experiment.stopping import check_stopping
from trialwise.experiment.traits import Trial


def build(
    document: doc.Document, path: Path, problems: Problems, within: Path | None = None
) -> model.Experiment:
    """Convert a checked document to the model; `path` is the location of the file.

    `within` is the experiment directory if the file is the frozen copy in it; the files that it draws from are then there too.

    Every problem is noted; the experiment is usable only if there was none.
    """
    factors = tuple(
        build_factor(name, section, path, problems, within) for name, section in document.factors.items()
    )
    check_treatments(factors, problems)
    check_placeholders(document, path, problems)
    trial = build_trial(document, problems)
    metrics = tuple(build_metric(name, item, trial, problems) for name, item in document.metrics.items())
    results = build_results(document.results, problems)
    experiment = made_of(
        model.Experiment,
        document.experiment,
        folder=path.resolve().parent,
        trial=trial,
        metrics=metrics,
        factors=factors,
        design=_design(document, trial, (*metrics, *templates(results)), factors, problems),
        reset=document.reset,
        services=build_services(document.service, list(document.factors), problems),
        workers=document.workers,
        measurement=build_measurement(document),
        instrumentation=document.instrumentation,
        results=results,
        runtime=document.trial.stated_runtime,
        warmup=document.trial.cut,
    )
    if experiment.reset is not None:
        check_reset(experiment.reset, problems)
    check_services(experiment, problems)
    check_workers(experiment.workers, problems)
    check_instruments(document, problems)
    check_stopping(experiment, problems)
    check_batches(experiment, problems)
    trial.check(experiment, problems)
    check_shared_process(document, factors, problems)
    return experiment


def _design(
    document: doc.Document,
    trial: Trial,
    metrics: Sequence[model.Metric],
    factors: Sequence[model.Factor],
    problems: Problems,
) -> model.Design:
    """Build the design, with the defaults that depend on trials and metrics."""
    design = completed(document.design, factors, problems)
    if design.stop == "verdict" and not any(metric.margin for metric in metrics):
        hint = 'add margin = "3%" to a metric: the difference that would matter'
        problems.add(("design", "stop"), "a verdict is judged by a margin, and no metric has one", hint)
    if design.between is not None and trial.traits.computed:
        problems.add(
            ("design", "between"), "only valid for trials that measure: computed ones may run at any time"
        )
    return put_in(design, ("design",), design_defaults(trial, design.stop, metrics), problems)


def build_trial(document: doc.Document, problems: Problems) -> Trial:
    """Build the trial as the record of its kind, and note keys of other kinds."""
    for key, kinds in _keys_of_kinds(document):
        is_taken = document.trial.kind in kinds or key[-1] in document.trial.takes
        if problems.given(key) and not is_taken:
            problems.add(key, f"only valid with kind = {either(json.dumps(kind) for kind in kinds)}")
    return document.trial.record(document, problems)


def _keys_of_kinds(document: doc.Document) -> Iterator[tuple[Key, tuple[str, ...]]]:
    """Yield the keys of sections and metrics that are not valid for every kind, and the kinds they are valid for."""
    places: tuple[tuple[Key, type], ...] = (
        ((), doc.Document),
        *((("metrics", name), MetricTable) for name in document.metrics),
    )
    for place, table in places:
        for field in keys_of(table).values():
            if field.key.kinds:
                yield (*place, field.name), field.key.kinds


def build_measurement(document: doc.Document) -> model.Measurement | None:
    """Build the measurement section, which a metric's source implies too."""
    sources = [name for name, metric in document.metrics.items() if metric.stream is not None]
    return document.measurement or (model.Measurement() if sources else None)


def check_instruments(document: doc.Document, problems: Problems) -> None:
    """Note metrics whose instruments are not enabled."""
    known = list(instruments_of(document.instrumentation))
    for name, metric in document.metrics.items():
        if metric.instrument is not None and metric.instrument not in known:
            hint = how_to_switch_on(metric.instrument, known)
            problems.add(
                ("metrics", name, "instrument"), f"{shown(metric.instrument)} is not switched on", hint
            )
