"""The estimand of a metric over several trials: what the file implies, and what is incompatible with it."""

from __future__ import annotations

from trialwise.experiment import model
from trialwise.experiment.file.positions import Key
from trialwise.experiment.problems import Problems


def measure_text(metric: model.Metric) -> str:
    """Describe the measure of a metric: "mean", "max", "p99"."""
    return f"p{metric.percentile:g}" if metric.percentile is not None else str(metric.measure)


def estimand_text(metric: model.Metric, estimand: model.Estimand) -> str:
    """Describe the estimand over several trials in words; empty for metrics whose trials have no samples to pool.

    The quantile of all samples and the mean of per-trial quantiles are different numbers, so every output names the one it shows.
    """
    what = measure_text(metric)
    if estimand == "pooled":
        return f"{what} of all samples"
    if not metric.source.traits.is_estimated:
        return ""
    return (
        f"mean over trials of each one's {what}"
        if metric.source.traits.samples != "one"
        else "mean over trials"
    )


def check_estimand(key: Key, metric: model.Metric, problems: Problems) -> None:
    """Note options that require another estimand or convention."""
    if metric.convergence and metric.convention != "linear":
        hint = 'write convention = "linear", or leave convergence out'
        problems.add((*key, "convergence"), "windows of a trial have linear percentiles", hint)
    if metric.estimand == "per_trial":
        return
    each = 'write estimand = "per_trial"'
    if metric.measure in ("min", "max"):
        hint = f"take the mean or a percentile, or {each}"
        problems.add((*key, "estimand"), f"the {metric.measure} of all samples grows with the trials", hint)
    one_number = (
        f"takes one number for each trial, and the metric is of all samples of all trials ({metric.estimand})"
    )
    for name, given in (("kpi", metric.kpis), ("convergence", metric.convergence)):
        if given:
            problems.add((*key, name), one_number, f"{each}, or leave {name} out")


def check_batches(experiment: model.Experiment, problems: Problems) -> None:
    """Note metrics of CCEval's batches if no trial is tilted."""
    for metric in experiment.metrics:
        if metric.estimand == "model_based" and not experiment.trial.traits.weighted:
            hint = 'write estimand = "pooled"; or name a tilt in trial.workload (`trialwise tilt`)'
            problems.add(("metrics", metric.name, "estimand"), "model_based takes a tilted workload", hint)
