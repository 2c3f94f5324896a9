"""The goals that end an experiment, and checks of their compatibility."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from trialwise.experiment.file.positions import Key
from trialwise.experiment.model import Design, Experiment, Kpi, Metric, Stop
from trialwise.experiment.problems import Problems
from trialwise.experiment.results import claimed, key_of
from trialwise.rules import RULES, Judged, Rule, judging

GoalKind = Literal["metric", "kpi", "variability"]


@dataclass(frozen=True, slots=True)
class Goal:
    """An interval with a precision goal: of a metric's trials, of a KPI's percentile, or of a KPI over all series (`kpi`)."""

    kind: GoalKind
    metric: Metric
    stop: Stop
    kpi: Kpi | None = None


def goals(experiment: Experiment) -> tuple[Goal, ...]:
    """Return the intervals that decide when to stop, metric by metric."""
    return tuple(goal for metric in claimed(experiment) for goal in goals_of(metric))


def goals_of(metric: Metric) -> tuple[Goal, ...]:
    """Return the goals of one metric."""
    score = metric.variability and metric.variability.stop
    return (
        *([Goal("metric", metric, metric.stop)] if metric.stop else []),
        *(Goal("kpi", metric, kpi.stop, kpi) for kpi in metric.kpis if kpi.stop),
        *(Goal("variability", metric, score, kpi) for kpi in metric.kpis if score),
    )


def is_monitored(goal: Goal, design: Design) -> bool:
    """Return True if a goal is monitored while trials arrive, one by one: a mean over trials, or a pooled metric."""
    of_all = goal.metric.estimand == "pooled" or goal.stop.of == "mean"
    return not RULES[design.looks].judges_once and goal.kind == "metric" and of_all


def stops_with_controls(experiment: Experiment) -> bool:
    """Return True if an interval with control variates decides when to stop."""
    return any(goal.stop.controls != "none" for goal in goals(experiment))


def stops_by_itself(experiment: Experiment) -> bool:
    """Return True if anything besides the plan decides when to stop."""
    return experiment.design.stop == "verdict" or bool(goals(experiment))


def stops_by_series(experiment: Experiment) -> bool:
    """Return True if the number of series is to be found."""
    return any(goal.kind == "variability" for goal in goals(experiment))


def stops_by_trials(experiment: Experiment) -> bool:
    """Return True if the experiment may end after any round."""
    return experiment.design.stop == "verdict" or any(
        goal.kind != "variability" for goal in goals(experiment)
    )


def compared_metrics(experiment: Experiment) -> tuple[Metric, ...]:
    """Return the metrics whose comparisons are to be decided: those with a margin."""
    if experiment.design.stop != "verdict":
        return ()
    return tuple(metric for metric in claimed(experiment) if metric.margin)


def check_stopping(experiment: Experiment, problems: Problems) -> None:
    """Note incompatible options."""
    if not stops_by_itself(experiment):
        return
    design, by_trials = experiment.design, stops_by_trials(experiment)
    if by_trials:
        _check_ends_inside_a_series(experiment, problems)
    if stops_by_series(experiment) and design.series is not None:
        hint = 'leave series out: max_trials bounds it; or leave the "stop" of the variability score out'
        problems.add(("design", "series"), "is fixed, while a variability score says when to stop", hint)
    if design.stop == "verdict" and prod(len(factor.levels) for factor in experiment.fixed_factors) < 2:
        hint = "add a factor with two levels, or give a metric a stop of its own"
        problems.add(("design", "stop"), "a verdict compares treatments, and there is one", hint)
    for goal in goals(experiment):
        _check_goal(goal, experiment, problems)
    if design.stop == "verdict" and "verdict" not in RULES[design.looks].judges:
        problems.add(("design", "looks"), f"{design.looks} knows no verdicts", judging("verdict"))
    for metric in compared_metrics(experiment):
        if metric.estimand == "pooled":
            _check_pooled_verdict(metric, experiment, problems)
    most = design.max_trials if design.rounds is None else design.rounds * (design.series or 1)
    if RULES[design.looks].judges_once and by_trials and design.pilot >= most:
        hint = f"there are at most {most} trials of each treatment, the pilot included; take a shorter pilot or allow more"
        problems.add(("design", "pilot"), f"a pilot of {design.pilot} leaves no fresh trials to judge", hint)


def _check_pooled_verdict(metric: Metric, experiment: Experiment, problems: Problems) -> None:
    """Note options that a pooled metric excludes: it is compared once, by each trial's contribution to the statistic."""
    key, each = (*key_of(metric), "margin"), 'write estimand = "per_trial"'
    rule = RULES[experiment.design.looks]
    if "verdict" in rule.judges and "pooled verdict" not in rule.judges:
        hint = f"{judging('pooled verdict')}, or {each}"
        problems.add(key, f"{rule.name} knows no verdict of what is pooled", hint)
    if experiment.reset is not None and experiment.reset.reboot:
        problems.add(key, "boots are the units here, and the metric is pooled over trials", each)


def _check_ends_inside_a_series(experiment: Experiment, problems: Problems) -> None:
    """Note options that need whole series or a known number of rounds, if the experiment may end after any round."""
    design = experiment.design
    if design.span is not None:
        hint = (
            "leave span out, or let a variability score alone say when to stop: each series then has its span"
        )
        problems.add(
            ("design", "span"), "spreads a known number of rounds, and the end may come after any", hint
        )
    scored = [metric for metric in claimed(experiment) if metric.variability and not metric.variability.stop]
    if design.rounds is None and (scored or (design.series or 1) > 1):
        key = (*key_of(scored[0]), "variability") if scored else ("design", "series")
        hint = "give design.rounds, the most for each series; or let the variability score say when to stop"
        problems.add(key, "takes several series, and the end may come inside the first", hint)
    reset = experiment.reset
    if reset is not None and reset.reboot and reset.every == "series":
        hint = 'reboot every = "round"; or let a variability score say when to stop'
        problems.add(("reset", "every"), "a series is one boot: its trials say nothing of other boots", hint)
    if experiment.trial.traits.shares_processes:
        hint = "leave it out: each trial has a process of its own then; or let a variability score say when to stop"
        problems.add(
            ("trial", "process"),
            "a series is one process of each treatment: its trials say nothing of other processes",
            hint,
        )


def _check_goal(goal: Goal, experiment: Experiment, problems: Problems) -> None:
    key = (*key_of(goal.metric), *(() if goal.kind == "metric" else (goal.kind,)), "stop")
    rule, asked = RULES[experiment.design.looks], _asked_of(goal, experiment)
    if asked not in rule.judges:
        said, instead = _REFUSALS[asked]
        problems.add(key, said.format(rule=rule), f"{judging(asked)}, or {instead}")
    if experiment.trial.traits.weighted:
        _check_tilted(key, goal, rule, problems)
    elif goal.metric.estimand == "pooled" and experiment.reset is not None and experiment.reset.reboot:
        problems.add(
            key,
            "boots are the units here, and the metric is pooled over trials",
            'take estimand = "per_trial"',
        )
    if goal.stop.controls != "none" and not experiment.trial.traits.weighted:
        _check_controls(key, experiment, problems)
    if rule.relative_only and not goal.stop.precision.relative:
        problems.add(
            key, f"{rule.possessive} rule knows a precision in percent only", 'as in precision = "3%"'
        )


def _asked_of(goal: Goal, experiment: Experiment) -> Judged:
    """Return what a rule has to judge."""
    if experiment.trial.traits.weighted:
        return "batches" if goal.metric.estimand == "model_based" else "weighted"
    if goal.metric.estimand == "pooled":
        return "pooled"
    return "mean" if goal.kind == "metric" and goal.stop.of == "mean" else "percentile"


_REFUSALS: Mapping[Judged, tuple[str, str]] = {
    "mean": ("{rule.name} judges no mean", 'write of = "median"'),
    "percentile": (
        "{rule.possessive} rule knows a mean only",
        'write stop = { precision = "3%", of = "mean" } into the metric',
    ),
    "pooled": (
        "{rule.name} judges one number for each trial, and the metric is pooled",
        'write estimand = "per_trial"',
    ),
    "batches": ("{rule.name} judges no batches of tilted trials", 'write estimand = "pooled"'),
    "weighted": (
        "{rule.name} judges no weighted quantile of all trials",
        'write estimand = "model_based" for CCEval\'s batches',
    ),
}
"""Messages for a rule that cannot judge what it is asked for, and remedies other than another rule."""


def _check_tilted(key: Key, goal: Goal, rule: Rule, problems: Problems) -> None:
    """Note rules that tilted trials exclude: weighted quantiles are over all trials together, or in CCEval's batches."""
    if goal.stop.controls != "none":
        hint = "leave controls out, or take the tilt out of trial.workload"
        problems.add((*key, "controls"), "controls are of workloads as they are, and these are tilted", hint)
    if goal.metric.estimand == "model_based" and "batches" in rule.judges and goal.stop.of != "mean":
        problems.add((*key, "of"), "of batches the mean is known", 'leave "of" out')


def _check_controls(key: Key, experiment: Experiment, problems: Problems) -> None:
    """Note what control variates exclude: they need drawn flow lists, and are validated for the geometric rule only."""
    at, none = (*key, "controls"), 'leave it out, or write controls = "none"'
    workload = experiment.trial.traits.workload
    if workload is None:
        problems.add(at, "is for simulated trials, whose workloads are known", none)
    elif workload == "given":
        problems.add(
            at,
            "takes flows that are drawn by one pattern, and these are of a file, a job or several patterns",
            none,
        )
    elif "controls" not in RULES[experiment.design.looks].judges:
        problems.add(at, f"does not go with looks = {experiment.design.looks!r}", judging("controls"))
