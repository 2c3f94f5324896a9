"""The section [trial] of an experiment file, written from the model."""

from __future__ import annotations

import shlex
from dataclasses import asdict

from trialwise.experiment import model, simulation, trials
from trialwise.experiment.tilts import Tilt
from trialwise.experiment.toml_writing import Table, Value, changed, toml_key


def trial_table(experiment: model.Experiment) -> Table:
    """The section [trial] of an experiment."""
    trial = experiment.trial
    if isinstance(trial, trials.PathTrial):
        return _path_trial(trial, experiment)
    if isinstance(trial, simulation.SimulationTrial):
        return _simulation_trial(trial, experiment)
    table: dict[str, Value | None] = {"kind": trial.kind}
    if isinstance(trial, trials.CommandTrial):
        table |= {
            "command": shlex.join(trial.command),
            "prepare": None if trial.prepare is None else shlex.join(trial.prepare),
            "conclude": None if trial.conclude is None else shlex.join(trial.conclude),
            "exit_codes": trial.exit_codes,
            "output_limit": trial.output_limit,
            "keep": trial.keep or None,
            "leftovers": trial.leftovers,
        }
    else:
        table |= {"call": trial.call, "process": trial.process}
    table |= {
        "directory": trial.directory,
        "environment": dict(trial.environment) or None,
        "timeout": trial.timeout,
        "isolate": trial.isolate or None,
        "runtime": experiment.runtime,
        "warmup": experiment.warmup,
    }
    plain = trials.CommandTrial(command=())
    defaults = {
        "exit_codes": plain.exit_codes,
        "output_limit": plain.output_limit,
        "leftovers": "fail",
        "process": "trial",
        "directory": ".",
        "warmup": 0.0,
    }
    return changed(table, defaults)


def _path_trial(trial: trials.PathTrial, experiment: model.Experiment) -> Table:
    table: dict[str, Value | None] = {
        "kind": trial.kind,
        "flows": [_flow(flow) for flow in trial.flows],
        "runtime": trial.runtime,
        "path": trial.path if isinstance(trial.path, str) else _path(trial.path),
        "packets": trial.packets,
        "lateness": trial.lateness,
        "engine": trial.engine,
        "environment": dict(trial.environment) or None,
        "warmup": experiment.warmup,
    }
    defaults = {"packets": "keep", "lateness": 0.001, "engine": "emulated", "warmup": 0.0}
    return changed(table, defaults)


def _simulation_trial(trial: simulation.SimulationTrial, experiment: model.Experiment) -> Table:
    table: dict[str, Value | None] = {
        "kind": trial.kind,
        "scheme": trial.scheme,
        "topology": trial.topology,
        "routes": trial.routes or None,
        "workload": dict(trial.workload.texts)
        | ({} if trial.workload.sampling == "random" else {"sampling": trial.workload.sampling})
        if not trial.workload.flows
        else {"flows": trial.workload.flows},
        "network": dict(trial.network) or None,
        "controller": dict(trial.controller) or None,
        "mode": trial.mode,
        "engine": trial.engine,
        "warmup": trial.warmup,
        "cooldown": trial.cooldown,
        "sampling": trial.sampling,
        "records": trial.records,
        "timeout": trial.timeout,
        "runtime": experiment.runtime,
    }
    defaults = {
        "mode": "clean",
        "engine": "trialwise",
        "warmup": 0.0,
        "cooldown": 0.0,
        "sampling": 1e-5,
        "records": "keep",
    }
    return changed(table, defaults)


def tilt_table(tilt: Tilt | None) -> Table:
    """A tilt as its table has it."""
    return {"method": "none"} if tilt is None else {"method": tilt.method} | asdict(tilt)


def path_tables(trial: trials.PathTrial) -> dict[str, Table]:
    """The sections [paths.NAME] and [schemes] of trials over paths, by their names."""
    tables = {f"paths.{toml_key(name)}": _path(settings) for name, settings in trial.named_paths}
    schemes: Table = {"folders": trial.scheme_folders} if trial.scheme_folders else {}
    return tables | ({"schemes": schemes} if schemes else {})


def _flow(flow: trials.PathFlow) -> Table:
    table: dict[str, Value | None] = {
        "scheme": flow.scheme,
        "start": flow.start,
        "stop": flow.stop,
        "direction": flow.direction,
        "load": flow.load,
    }
    return changed(table, {"start": 0.0, "direction": "uplink", "load": "bulk"})


def _path(settings: trials.PathSettings) -> Table:
    """A path as its table has it: one group of pairs for each direction."""
    (uplink,), (downlink,) = settings.uplink, settings.downlink
    table: Table = {"uplink": dict(uplink)} if uplink else {}
    table |= {"downlink": dict(downlink)} if downlink else {}
    return table | changed({"mtu": settings.mtu, "folder": settings.folder}, {"mtu": 1500, "folder": "."})
