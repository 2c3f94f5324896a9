"""Building of a simulated trial from its tables."""

from __future__ import annotations

from collections.abc import Iterator

from trialwise.experiment import model, simulation
from trialwise.experiment.engines import ENGINES, engines_in, owner
from trialwise.experiment.file import document as doc
from trialwise.experiment.file.positions import Key
from trialwise.experiment.file.sections import keys_of, made_of
from trialwise.experiment.model import Experiment
from trialwise.experiment.placeholders import names_in
from trialwise.experiment.problems import Problems, nearest
from trialwise.experiment.simulation import (
    SOBOL_BLOCK,
    SimulationTable,
    SimulationTrial,
    Workload,
)
from trialwise.experiment.stopping import stops_by_itself, stops_with_controls
from trialwise.experiment.tilts import check_ranks
from trialwise.experiment.traits import assumed
from trialwise.rules import RULES, judging


def simulation_trial(table: SimulationTable, document: doc.Document, problems: Problems) -> SimulationTrial:
    """Build the trial of a document with the kind simulation; problems are noted."""
    engine = table.engine
    if not names_in(engine) and engine not in ENGINES:
        problems.add(
            ("trial", "engine"),
            f'"{engine}" is not an engine of kind = "simulation"',
            f"it has {', '.join(ENGINES)}",
        )
    for option in (option for each in ENGINES.values() for option in each.options):
        own = owner(option)
        is_used = names_in(engine) or engine == own or own in _control_engines(document)
        if problems.given(("trial", option)) and not is_used:
            problems.add(
                ("trial", option),
                f'does not go with engine = "{engine}", without controls = "{own}" in a stop',
                f'write engine = "{own}", or leave it out',
            )
    _check_workload(table.workload, problems)
    check_ranks(tuple(document.tilts.items()), problems)
    return made_of(SimulationTrial, table, tilts=tuple(document.tilts.items()))


def _control_engines(document: doc.Document) -> set[str]:
    """Return the engines among the controls of the metrics' stops."""
    stops = (metric.stop for metric in document.metrics.values() if metric.stop is not None)
    return {engine for stop in stops for engine in engines_in(stop.controls)}


def estimate_notes(engine: str, experiment: Experiment) -> Iterator[str]:
    """Yield a sentence for each engine whose numbers are estimates, with the trials that it computes."""
    named = names_in(engine)
    levels = {
        str(level)
        for factor in experiment.factors
        if factor.name in named
        for level in getattr(factor, "levels", ())
    }
    for name, each in ENGINES.items():
        if each.estimate and name == engine:
            yield f'engine = "{name}": {each.estimate}'
        elif each.estimate and name in levels:
            yield f'trials with engine = "{name}": {each.estimate}'


def _check_workload(workload: Workload, problems: Problems) -> None:
    key: Key = ("trial", "workload")
    if workload.flows:
        for name in sorted(keys_of(Workload)):
            if name != "flows" and problems.given((*key, name)):
                problems.add(
                    (*key, name),
                    "does not go with flows, which is the whole workload",
                    "leave one of them out",
                )
        return
    if workload.beside:
        _check_single(key, "beside", "other flows beside", problems)
    if workload.job:
        _check_single(key, "a job", "flows that wait for others", problems)
        _check_phases(problems)
        if not any(problems.given((*key, name)) for name in _OF_ARRIVALS):
            return
    if workload.sampling == "sobol" and workload.arrivals != "poisson":
        problems.add(
            (*key, "sampling"),
            'sobol takes arrivals = "poisson"',
            'leave arrivals out, or take sampling = "random"',
        )
    for name, example in (("sizes", "websearch"), ("load", "30%"), ("duration", "20ms")):
        if not getattr(workload, name):
            problems.add(
                (*key, name), "missing", f'write it, as in {name} = "{example}", or give a file of flows'
            )


_OF_ARRIVALS = ("sizes", "load", "load_of", "pattern", "arrivals", "duration", "beside")
"""Keys of flows that are drawn at random arrivals."""


def _check_single(key: Key, what: str, but: str, problems: Problems) -> None:
    """Note what takes flows that are drawn by one pattern alone."""
    for name in ("sampling", "tilt"):
        if problems.given((*key, name)):
            problems.add(
                (*key, name),
                f"does not go with {what}: it is of one pattern's drawn flows, and there are {but}",
                "leave one of them out",
            )


def _check_phases(problems: Problems) -> None:
    for name in ("warmup", "cooldown"):
        if problems.given(("trial", name)):
            why = "does not go with a job, whose flows start when others are over"
            problems.add(("trial", name), why, "leave it out")


def check_blocks(experiment: Experiment, problems: Problems) -> None:
    """Note Sobol samples that are incomplete, or a single one, which does not show the variance of an estimate."""
    design = experiment.design
    if not experiment.trial.traits.in_blocks:
        return
    rounds, hint = design.rounds, f"write rounds = {4 * SOBOL_BLOCK}, or another multiple of {SOBOL_BLOCK}"
    if stops_by_itself(experiment):
        _check_stop_of_blocks(experiment, problems)
        if rounds is not None and rounds % SOBOL_BLOCK:
            problems.add(("design", "rounds"), f"sobol takes whole blocks of {SOBOL_BLOCK} rounds", hint)
    elif rounds is None or rounds % SOBOL_BLOCK:
        problems.add(("design", "rounds"), f"sobol takes whole blocks of {SOBOL_BLOCK} rounds", hint)
    elif rounds // SOBOL_BLOCK * (design.series or 1) < 2:
        problems.add(("design", "rounds"), "an interval takes two blocks or more, and this is one", hint)


def _check_stop_of_blocks(experiment: Experiment, problems: Problems) -> None:
    """Note options incompatible with looks at complete blocks; coverage was measured for the geometric rule on untilted trials."""
    key, instead = ("trial", "workload", "sampling"), 'or take sampling = "random"'
    rule = RULES[experiment.design.looks]
    if experiment.design.stop == "verdict" or "blocks" not in rule.judges:
        hint = f"stop by the precision of metrics and {judging('blocks')}, {instead}"
        problems.add(key, f"{rule.possessive} rule judges no blocks of {SOBOL_BLOCK} rounds", hint)
    if stops_with_controls(experiment):
        problems.add(
            key,
            "control variates take trials that are drawn each by itself",
            f"leave controls out, {instead}",
        )
    if experiment.trial.traits.weighted:
        problems.add(key, "blocks of tilted trials say nothing of when to stop", f"leave tilt out, {instead}")


def check_tilted(experiment: model.Experiment, problems: Problems) -> None:
    """Note an unknown tilt, and what tilted trials cannot provide."""
    trial = assumed(experiment.trial, SimulationTrial)
    if not trial.workload.tilt:
        return
    _check_name(trial.workload.tilt, trial, problems)
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
    """Note metrics other than a tail quantile of all completion times, because weights correct a tilt in the tail only."""
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
            "is not a tail quantile, and the workload is tilted",
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
