"""Writing an experiment as a file that reads back as the same experiment."""

from __future__ import annotations

from dataclasses import replace

import tomlkit

from trialwise.experiment import model, simulation, sources, trials
from trialwise.experiment.defaults import default_bound, design_defaults, metric_defaults, stop_defaults
from trialwise.experiment.factors import factor_value
from trialwise.experiment.file.sections import table_of
from trialwise.experiment.tilts import Tilt
from trialwise.experiment.toml_writing import Table, Value, toml_key, written_table


def write_experiment(experiment: model.Experiment) -> str:
    """Write an experiment as the text of an `experiment.toml`.

    The folder is where the file will stand, so it is not written; a file that a factor is drawn from must stand there.
    """
    tables: dict[str, Table] = {
        "experiment": table_of(experiment, seed=None),  # always written
        "factors": {factor.name: factor_value(factor) for factor in experiment.factors},
        "trial": trial_table(experiment),
    }
    tables |= {f"metrics.{toml_key(metric.name)}": _metric(metric) for metric in experiment.metrics}
    design = experiment.design
    tables["design"] = table_of(design, **design_defaults(experiment.trial, design.stop, experiment.metrics))
    if experiment.reset:
        tables["reset"] = table_of(experiment.reset, namespace=None)  # always written, as ever
    if experiment.measurement:
        # A section with nothing but defaults says that there is a collector; a metric's source says it too.
        tables["measurement"] = table_of(experiment.measurement)
    tables["workers"] = _workers(experiment.workers)
    tables["instrumentation"] = table_of(experiment.instrumentation)
    if isinstance(experiment.trial, trials.PathTrial):
        tables |= path_tables(experiment.trial)
    if isinstance(experiment.trial, simulation.SimulationTrial):
        tables |= {f"tilts.{toml_key(name)}": tilt_table(tilt) for name, tilt in experiment.trial.tilts}
    # A metric with nothing but defaults is there all the same: what a function returns under its name.
    return "\n".join(
        written_table(name, table) for name, table in tables.items() if table or name.startswith("metrics.")
    )


def with_looks(text: str, looks: model.Looks) -> str:
    """The text of an experiment file with other looks, all else as it was, comments too."""
    document = tomlkit.parse(text)
    if "design" not in document:
        document["design"] = tomlkit.table()
    document["design"]["looks"] = looks  # pyright: ignore[reportIndexIssue]
    return tomlkit.dumps(document)


def _metric(metric: model.Metric) -> Table:
    source = {name: value for name, value in _source(metric).items() if value is not None}
    claims = table_of(metric, **metric_defaults(metric))
    for kpi, table in zip(metric.kpis, claims.get("kpi", ()), strict=True):
        bound = table.pop("bound")
        if bound != default_bound(kpi.percentile, metric.better):
            table["bound"] = bound
    if stop := metric.stop:
        of = {"of": stop.of} if metric.estimand == "pooled" else stop_defaults(metric.source)
        claims["stop"] = table_of(stop, confidence=None, **of)
    return source | claims


def _source(metric: model.Metric) -> dict[str, Value | None]:
    table: dict[str, Value | None]
    match metric.source:
        case sources.ResourceSource(resource):
            table = {"resource": resource}
        case sources.InstrumentSource(name):
            table = {"instrument": name}
        case sources.StreamSource(stream, name):
            table = {"source": f"{stream}.{name}"}
        case sources.ReturnSource(name):
            table = {"value": None if name == metric.name else name}
        case sources.TextSource(path, pattern, json, csv, time):
            reader = "stdout" if path is None else "pattern"
            table = {"file": path, reader: pattern, "json": json, "csv": csv, "time": time}
        case sources.PathSource(quantity, flow, width):
            name = None if quantity == metric.name else quantity
            table = {"quantity": name, "flow": flow, "bin": None if width == 0.1 else width}
        case simulation.SimulationSource(quantity, sizes, phase):
            name = None if quantity == metric.name else quantity
            table = {"quantity": name, "sizes": sizes or None, "phase": None if phase == "stable" else phase}
    return table


def _workers(workers: model.Workers) -> Table:
    return table_of(replace(workers, use=model.Workers().use) if workers.allocate else workers)


def trial_table(experiment: model.Experiment) -> Table:
    """The section [trial] of an experiment."""
    trial = experiment.trial
    table = table_of(trial)
    match trial:
        case trials.PathTrial():
            flows = [table_of(flow, load="bulk") for flow in trial.flows]
            first = {"flows": flows} | _taken(table, "runtime")
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
    return {"method": "none"} if tilt is None else table_of(tilt, whole=True)


def path_tables(trial: trials.PathTrial) -> dict[str, Table]:
    """The sections [paths.NAME] and [schemes] of trials over paths, by their names."""
    tables: dict[str, Table] = {
        f"paths.{toml_key(name)}": trials.path_table(settings) for name, settings in trial.named_paths
    }
    schemes = table_of(trials.Schemes(trial.scheme_folders))
    return tables | ({"schemes": schemes} if schemes else {})
