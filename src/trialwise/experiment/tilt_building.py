"""What does not go with a tilted workload."""

from __future__ import annotations

from trialwise.experiment import model, simulation
from trialwise.experiment.placeholders import names_in
from trialwise.experiment.problems import Problems, nearest


def check_tilted(experiment: model.Experiment, problems: Problems) -> None:
    """Note a tilt that is not there, and what cannot be had of tilted trials or without them."""
    trial = experiment.trial
    tilt = trial.workload.tilt if isinstance(trial, simulation.SimulationTrial) else ""
    if not isinstance(trial, simulation.SimulationTrial) or not tilt:
        for metric in experiment.metrics:
            if metric.estimand == "model_based":
                hint = 'write estimand = "pooled"; or name a tilt in trial.workload (`trialwise tilt`)'
                problems.add(
                    ("metrics", metric.name, "estimand"), "model_based takes a tilted workload", hint
                )
        return
    _check_name(tilt, trial, problems)
    for name in ("warmup", "cooldown"):
        if getattr(trial, name):
            problems.add(
                ("trial", name), f"does not go with a tilt: {_ALL_FLOWS}", "leave it out, or the tilt"
            )
    if not names_in(trial.workload.arrivals) and trial.workload.arrivals != "poisson":
        hint = 'write arrivals = "poisson", or leave the tilt out'
        problems.add(
            ("trial", "workload", "arrivals"), "a tilt takes Poisson arrivals: their number is known", hint
        )
    if trial.workload.sampling != "random":
        problems.add(
            ("trial", "workload", "sampling"),
            "does not go with a tilt: both change how sizes are drawn",
            'write sampling = "random", or leave the tilt out',
        )
    for metric in experiment.metrics:
        _check_metric(metric, problems)


_ALL_FLOWS = "the expected number of flows has to be known exactly, and it is that of all"


def _check_name(tilt: str, trial: simulation.SimulationTrial, problems: Problems) -> None:
    known = [name for name, _ in trial.tilts]
    if names_in(tilt) or tilt in known:
        return
    meant = nearest(tilt, known)
    did = f'; did you mean "{meant}"?' if meant else ""
    hint = f"describe it under [tilts.{tilt}]; `trialwise tilt` writes it"
    problems.add(("trial", "workload", "tilt"), f'no tilt is called "{tilt}"{did}', hint)


def _check_metric(metric: model.Metric, problems: Problems) -> None:
    """Weights make up for a tilt in the tail only: what is asked for has to be a tail quantile of all completion times."""
    key, source = ("metrics", metric.name), metric.source
    lifts = "leave the tilt out, or have another experiment for this metric"
    if not isinstance(source, simulation.SimulationSource) or source.quantity != "fct":
        problems.add(
            key, "is not of flow completion times, all that a tilted workload says something of", lifts
        )
        return
    if metric.percentile is None or metric.percentile <= _HALF:
        problems.add(
            (*key, "measure"),
            "is no tail quantile, and the workload is tilted",
            f'as in measure = "p99"; or {lifts}',
        )
    if source.sizes:
        problems.add((*key, "sizes"), f"does not go with a tilt: {_ALL_FLOWS}", lifts)
    if metric.estimand == "per_trial":
        hint = f'write estimand = "pooled" or "model_based"; or {lifts}'
        problems.add((*key, "estimand"), "quantiles of tilted trials are those of another workload", hint)
    if metric.margin is not None:
        problems.add(
            (*key, "margin"), "tilted trials are not compared: each treatment has its own tilt", lifts
        )


_HALF = 50.0
