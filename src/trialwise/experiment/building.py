"""From a checked document to the model, with the checks that span several keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trialwise.experiment import document as doc
from trialwise.experiment import model, trials
from trialwise.experiment.design import completed
from trialwise.experiment.factors import build_factor, check_treatments
from trialwise.experiment.machines import check_reset, check_workers
from trialwise.experiment.measurement_building import build_measurement, check_instruments
from trialwise.experiment.metric_building import build_metric
from trialwise.experiment.placeholder_checking import check_placeholders
from trialwise.experiment.problems import Problems
from trialwise.experiment.shared_process import check_shared_process
from trialwise.experiment.simulation import SimulationTable
from trialwise.experiment.simulation_building import check_blocks
from trialwise.experiment.stopping import check_stopping, default_looks, default_most
from trialwise.experiment.tilt_building import check_tilted
from trialwise.experiment.trial_building import build_trial


def build(
    document: doc.Document, path: Path, problems: Problems, within: Path | None = None
) -> model.Experiment:
    """Turn a checked document into the model; `path` is where the file stands.

    `within` is the experiment directory where the file is the frozen one there: the files that it draws from stand in it.

    Every problem is noted; the experiment is only of use where none was.
    """
    factors = tuple(
        build_factor(name, section, path, problems, within) for name, section in document.factors.items()
    )
    check_treatments(factors, problems)
    check_placeholders(document, path, problems)
    trial = build_trial(document, problems)
    metrics = tuple(build_metric(name, item, trial.kind, problems) for name, item in document.metrics.items())
    experiment = model.Experiment(
        name=document.experiment.name,
        folder=path.resolve().parent,
        trial=trial,
        metrics=metrics,
        seed=document.experiment.seed,
        description=document.experiment.description,
        factors=factors,
        design=_design(document, trial, metrics, factors, problems),
        reset=document.reset,
        workers=document.workers,
        measurement=build_measurement(document),
        instrumentation=document.instrumentation,
        runtime=document.trial.runtime,
        warmup=0.0 if isinstance(document.trial, SimulationTable) else document.trial.warmup,
    )
    if experiment.reset is not None:
        check_reset(experiment.reset, problems)
    check_workers(experiment.workers, problems)
    check_instruments(document, problems)
    check_stopping(experiment, problems)
    check_blocks(experiment, problems)
    check_tilted(experiment, problems)
    check_shared_process(document, factors, problems)
    return experiment


def _design(
    document: doc.Document,
    trial: trials.Trial,
    metrics: Sequence[model.Metric],
    factors: Sequence[model.Factor],
    problems: Problems,
) -> model.Design:
    """The design, with the defaults that depend on trials and metrics."""
    design = completed(document.design, factors, problems)
    if design.stop == "verdict" and not any(metric.margin for metric in metrics):
        hint = 'add margin = "3%" to a metric: the difference that would matter'
        problems.add(("design", "stop"), "a verdict is judged by a margin, and no metric has one", hint)
    if not problems.given(("design", "looks")):
        design = replace(design, looks=default_looks(trial, design.stop, metrics))
    if not problems.given(("design", "max_trials")):
        design = replace(design, max_trials=default_most(trial))
    return design
