"""From the tables of a simulated trial to the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from trialwise.experiment import document as doc
from trialwise.experiment.document_simulation import WorkloadSection
from trialwise.experiment.engines import engine_of
from trialwise.experiment.metrics import MetricTable
from trialwise.experiment.model import Experiment
from trialwise.experiment.path_building import COMMAND_KEYS, PATH_KEYS
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.positions import Key
from trialwise.experiment.problems import Problems, nearest
from trialwise.experiment.sections import keys_of
from trialwise.experiment.simulation import (
    SIMULATION_ENGINES,
    SOBOL_BLOCK,
    Pairs,
    Phase,
    SimulationSource,
    SimulationTrial,
    Workload,
)
from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES, size_class
from trialwise.experiment.stopping import stops_by_itself, stops_with_controls
from trialwise.experiment.tilt_building import build_tilts
from trialwise.rules import RULES, judging

SIMULATION_KEYS = (
    "topology",
    "routes",
    "workload",
    "network",
    "controller",
    "mode",
    "cooldown",
    "sampling",
    "records",
)
SIMULATION_METRIC_KEYS = ("sizes", "phase")
_ELSEWHERE = ("environment", *COMMAND_KEYS, *(key for key in PATH_KEYS if key not in ("scheme", "engine")))
_NEEDED = {
    "scheme": 'name the controller, as in scheme = "hpcc" or scheme = "{scheme}"',
    "topology": 'write a shape, as in topology = "dumbbell:10x10,100Gbit/s,1us", or name a file',
    "workload": 'say which flows there are, as in workload = { sizes = "websearch", load = "30%", duration = "20ms" }',
}


def simulation_trial(document: doc.Document, problems: Problems) -> SimulationTrial:
    """The trial of a document whose kind is simulation; what is wrong is noted."""
    trial = document.trial
    for name in _ELSEWHERE:
        if name in trial.model_fields_set:
            problems.add(("trial", name), 'does not go with kind = "simulation"')
    for name in ("schemes", "paths", "reset", "measurement", "instrumentation"):
        if problems.given((name,)):
            problems.add((name,), 'does not go with kind = "simulation": nothing of this machine is measured')
    for name, hint in _NEEDED.items():
        if getattr(trial, name) is None:
            problems.add(("trial", name), "missing", hint)
    engine = engine_of(trial.engine, SIMULATION_ENGINES, "simulation", problems)
    if trial.timeout is not None and engine == SIMULATION_ENGINES[0]:
        problems.add(("trial", "timeout"), 'does not go with kind = "simulation" but for engine = "ns3"')
    workload = trial.workload or WorkloadSection.model_validate({})
    if trial.workload is not None:
        _check_workload(workload, problems)
    return SimulationTrial(
        scheme=trial.scheme or "",
        topology=trial.topology or "",
        workload=_workload(workload),
        network=_pairs(trial.network),
        controller=_pairs(trial.controller),
        mode=trial.mode,
        engine=engine,
        routes=trial.routes or "",
        warmup=trial.warmup,
        cooldown=trial.cooldown,
        sampling=trial.sampling,
        records=trial.records,
        tilts=build_tilts(document, problems),
        timeout=trial.timeout,
    )


def simulation_source(key: Key, section: MetricTable, problems: Problems) -> SimulationSource:
    """The source of a metric of a simulated trial: the quantity named, or the metric's own name."""
    for name, field in keys_of(MetricTable).items():
        own = name in ("quantity", *SIMULATION_METRIC_KEYS)
        if name in _OTHER_SOURCES and not own and getattr(section, name) is not None:
            problems.add((*key, field.name), 'does not go with kind = "simulation"')
    name = section.quantity or str(key[-1])
    quantity = SIMULATION_QUANTITIES.get(name)
    if quantity is None:
        meant = nearest(name, list(SIMULATION_QUANTITIES))
        did = f'; did you mean "{meant}"?' if meant else ""
        where = (*key, "quantity") if section.quantity else key
        problems.add(
            where,
            f'"{name}" is nothing that a simulated trial measures{did}',
            f"known: {', '.join(SIMULATION_QUANTITIES)}",
        )
    else:
        if section.unit not in ("", quantity.unit):
            problems.add(
                (*key, "unit"), f'{name} is in "{quantity.unit}"', "leave unit out, or write this one"
            )
        for part in SIMULATION_METRIC_KEYS if not quantity.per_flow else ():
            if getattr(section, part) is not None:
                problems.add((*key, part), f"{name} is of the whole network")
    if section.sizes is not None:
        try:
            size_class(section.sizes)
        except ValueError as error:
            problems.add((*key, "sizes"), str(error))
    return SimulationSource(name, section.sizes or "", section.phase or get_args(Phase)[0])


_OTHER_SOURCES = (
    "resource",
    "instrument",
    "stream",
    "stdout",
    "file",
    "json",
    "csv",
    "pattern",
    "time",
    "value",
    "flow",
    "bin",
)


def simulation_texts(document: doc.Document, problems: Problems) -> Iterator[tuple[Key, str]]:
    """The texts of a simulated trial in which placeholders are filled."""
    for key, text in simulation_trial(document, problems).texts:
        yield ("trial", *key), text


def _check_workload(section: WorkloadSection, problems: Problems) -> None:
    key: Key = ("trial", "workload")
    if section.flows is not None:
        for name in sorted(section.model_fields_set - {"flows"}):
            problems.add(
                (*key, name), "does not go with flows, which is the whole workload", "leave one of them out"
            )
        return
    if section.sampling == "sobol" and section.arrivals != "poisson":
        problems.add(
            (*key, "sampling"),
            'sobol takes arrivals = "poisson"',
            'leave arrivals out, or take sampling = "random"',
        )
    for name, example in (("sizes", "websearch"), ("load", "30%"), ("duration", "20ms")):
        if getattr(section, name) is None:
            problems.add(
                (*key, name), "missing", f'write it, as in {name} = "{example}", or give a file of flows'
            )


def _workload(section: WorkloadSection) -> Workload:
    if section.flows is not None:
        return Workload(flows=section.flows)
    given = {name: getattr(section, name) for name in WorkloadSection.model_fields if name != "sampling"}
    texts = {name: level_text(value) for name, value in given.items() if value is not None}
    return Workload(**texts, sampling=section.sampling)


def _pairs(table: Mapping[str, str | int | float | bool]) -> Pairs:
    return tuple((name, level_text(value)) for name, value in table.items())


def check_blocks(experiment: Experiment, problems: Problems) -> None:
    """Note where Sobol samples are no whole ones, or a single one, which does not say how an estimate varies."""
    trial, design = experiment.trial, experiment.design
    if not isinstance(trial, SimulationTrial) or trial.workload.sampling != "sobol":
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
    """Note what does not go with looks at whole blocks: coverage was measured for the geometric rule, of trials as they are."""
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
    if isinstance(experiment.trial, SimulationTrial) and experiment.trial.workload.tilt:
        problems.add(key, "blocks of tilted trials say nothing of when to stop", f"leave tilt out, {instead}")
