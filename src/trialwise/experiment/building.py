"""From a checked document to the model, with the checks that span several keys."""

from __future__ import annotations

from pathlib import Path

from trialwise.experiment import document as doc
from trialwise.experiment import model
from trialwise.experiment.design_building import build_design
from trialwise.experiment.factor_building import build_factor, check_treatments
from trialwise.experiment.machine_building import build_reset, build_workers
from trialwise.experiment.measurement_building import build_instrumentation, build_measurement
from trialwise.experiment.metric_building import build_metric
from trialwise.experiment.placeholder_checking import check_placeholders
from trialwise.experiment.problems import Problems
from trialwise.experiment.shared_process import check_shared_process
from trialwise.experiment.simulation_building import check_blocks
from trialwise.experiment.stopping import check_stopping
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
    section, trial = document.trial, build_trial(document, problems)
    metrics = tuple(
        build_metric(name, item, section.kind, problems) for name, item in document.metrics.items()
    )
    experiment = model.Experiment(
        name=document.experiment.name,
        folder=path.resolve().parent,
        trial=trial,
        metrics=metrics,
        seed=document.experiment.seed,
        description=document.experiment.description,
        factors=factors,
        design=build_design(document, trial, metrics, factors, problems),
        reset=build_reset(document.reset, problems),
        workers=build_workers(document.workers, problems),
        measurement=build_measurement(document, problems),
        instrumentation=build_instrumentation(document, problems),
        runtime=section.runtime,
        warmup=0.0 if section.kind == "simulation" else section.warmup,
    )
    check_stopping(experiment, problems)
    check_blocks(experiment, problems)
    check_tilted(experiment, problems)
    check_shared_process(document, factors, problems)
    return experiment
