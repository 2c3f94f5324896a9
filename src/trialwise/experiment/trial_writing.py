"""The section [trial] of an experiment file, written from the model."""

from __future__ import annotations

from trialwise.experiment import model, simulation, trials
from trialwise.experiment.sections import table_of
from trialwise.experiment.tilts import Tilt
from trialwise.experiment.toml_writing import Table, toml_key


def trial_table(experiment: model.Experiment) -> Table:
    """The section [trial] of an experiment."""
    trial = experiment.trial
    table = table_of(trial)
    match trial:
        case trials.PathTrial():
            flows = [table_of(flow, load="bulk") for flow in trial.flows]
            first = {"flows": flows} | _taken(table, "runtime", "path", "packets", "lateness", "engine")
        case simulation.SimulationTrial():
            first = _taken(table, "scheme", "topology", "routes")
            table["workload"] = _workload(trial.workload)
        case _:
            first = {}
    further = {"runtime": experiment.runtime, "warmup": experiment.warmup or None}
    given = {name: value for name, value in further.items() if value is not None}
    return {"kind": trial.kind} | first | table | {name: given[name] for name in given if name not in first}


def _taken(table: Table, *names: str) -> Table:
    """These keys of a table, which are to stand before the others."""
    return {name: table.pop(name) for name in names if name in table}


def _workload(workload: simulation.Workload) -> Table:
    if workload.flows:
        return {"flows": workload.flows}
    table: Table = dict(workload.texts)
    return table if workload.sampling == "random" else table | {"sampling": workload.sampling}


def tilt_table(tilt: Tilt | None) -> Table:
    """A tilt as its table has it."""
    return {"method": "none"} if tilt is None else {"method": tilt.method} | table_of(tilt, whole=True)


def path_tables(trial: trials.PathTrial) -> dict[str, Table]:
    """The sections [paths.NAME] and [schemes] of trials over paths, by their names."""
    tables: dict[str, Table] = {
        f"paths.{toml_key(name)}": trials.path_table(settings) for name, settings in trial.named_paths
    }
    schemes = table_of(trials.Schemes(trial.scheme_folders))
    return tables | ({"schemes": schemes} if schemes else {})
