"""Writing an experiment as a file that reads back as the same experiment."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal

import tomlkit

from trialwise.experiment import model, simulation, sources, trials
from trialwise.experiment.estimands import default_convention, default_estimand
from trialwise.experiment.metric_building import default_bound, default_of, own_direction
from trialwise.experiment.placeholders import level_text
from trialwise.experiment.stopping import default_looks, default_most
from trialwise.experiment.tilts import Tilt

Value = str | int | float | bool | Sequence["Value"] | Mapping[str, "Value"]
Table = dict[str, Value]


def toml_value(value: Value) -> str:
    """A value as it is written in TOML, on one line."""
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(name)} = {toml_value(inner)}" for name, inner in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(toml_value(inner) for inner in value)}]"
    return str(tomlkit.item(value).as_string())


def toml_key(name: str) -> str:
    """A key as it is written in TOML, in quotes where it needs them."""
    return str(tomlkit.key(name).as_string())


def write_experiment(experiment: model.Experiment) -> str:
    """Write an experiment as the text of an `experiment.toml`.

    The folder is where the file will stand, so it is not written; a file that a factor is drawn from must stand there.
    """
    tables: dict[str, Table] = {
        "experiment": _experiment(experiment),
        "factors": {factor.name: _factor(factor) for factor in experiment.factors},
        "trial": _trial(experiment),
    }
    tables |= {f"metrics.{toml_key(metric.name)}": _metric(metric) for metric in experiment.metrics}
    tables["design"] = _design(experiment)
    if experiment.reset:
        tables["reset"] = _reset(experiment.reset)
    if experiment.measurement:
        # A section with nothing but defaults says that there is a collector; a metric's source says it too.
        tables["measurement"] = _measurement(experiment.measurement)
    tables["workers"] = _workers(experiment.workers)
    tables["instrumentation"] = _instrumentation(experiment.instrumentation)
    if isinstance(experiment.trial, trials.PathTrial):
        tables |= _path_tables(experiment.trial)
    if isinstance(experiment.trial, simulation.SimulationTrial):
        tables |= {f"tilts.{toml_key(name)}": tilt_table(tilt) for name, tilt in experiment.trial.tilts}
    # A metric with nothing but defaults is there all the same: what a function returns under its name.
    return "\n".join(
        _table(name, table) for name, table in tables.items() if table or name.startswith("metrics.")
    )


def table_lines(name: str, table: Mapping[str, Value]) -> list[str]:
    """A table as lines of TOML."""
    return [f"[{name}]", *(f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items())]


def _table(name: str, table: Table) -> str:
    return "\n".join([*table_lines(name, table), ""])


def with_looks(text: str, looks: model.Looks) -> str:
    """The text of an experiment file with other looks, all else as it was, comments too."""
    document = tomlkit.parse(text)
    if "design" not in document:
        document["design"] = tomlkit.table()
    document["design"]["looks"] = looks  # pyright: ignore[reportIndexIssue]
    return tomlkit.dumps(document)


def _changed(table: Mapping[str, Value | None], defaults: Mapping[str, Value]) -> Table:
    """What is given and is not the default."""
    return {
        key: value for key, value in table.items() if value is not None and value != defaults.get(key, ...)
    }


def _experiment(experiment: model.Experiment) -> Table:
    table: Table = {"name": experiment.name, "seed": experiment.seed}
    return table | ({"description": experiment.description} if experiment.description else {})


def _factor(factor: model.Factor) -> Value:
    if isinstance(factor, model.FixedFactor):
        return factor.levels
    if factor.origin == "list":
        return {"draw": factor.values}
    if factor.values:
        return {"draw": factor.origin}
    low, high = (int(end) if factor.integer else end for end in (factor.low, factor.high))
    scale: Table = {"scale": "log"} if factor.logarithmic else {}
    return {"draw": {"low": low, "high": high, **scale}}


def _trial(experiment: model.Experiment) -> Table:
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
    return _changed(table, defaults)


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
    return _changed(table, defaults)


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
    return _changed(table, defaults)


def tilt_table(tilt: Tilt | None) -> Table:
    """A tilt as its table has it."""
    return {"method": "none"} if tilt is None else {"method": tilt.method} | asdict(tilt)


def _path_tables(trial: trials.PathTrial) -> dict[str, Table]:
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
    return _changed(table, {"start": 0.0, "direction": "uplink", "load": "bulk"})


def _path(settings: trials.PathSettings) -> Table:
    """A path as its table has it: one group of pairs for each direction."""
    (uplink,), (downlink,) = settings.uplink, settings.downlink
    table: Table = {"uplink": dict(uplink)} if uplink else {}
    table |= {"downlink": dict(downlink)} if downlink else {}
    return table | _changed({"mtu": settings.mtu, "folder": settings.folder}, {"mtu": 1500, "folder": "."})


def _metric(metric: model.Metric) -> Table:
    own = own_direction(metric.source)
    table = _source(metric) | {
        "measure": metric.measure,
        "unit": metric.unit,
        "better": metric.better,
        "convergence": metric.convergence
        and {"confidence": metric.convergence.confidence, "tolerance": metric.convergence.tolerance},
        "kpi": [_kpi(kpi, metric) for kpi in metric.kpis] or None,
        "variability": metric.variability
        and {
            "percentile": metric.variability.percentile,
            "confidence": metric.variability.confidence,
            **_precision(metric.variability.stop),
        },
        "limits": metric.limits,
        "margin": metric.margin and _extent(metric.margin),
        "stop": metric.stop and _stop(metric, metric.stop),
        "estimand": metric.estimand,
        "convention": metric.convention,
        "few_samples": metric.few_samples,
    }
    defaults: dict[str, Value] = {
        "measure": "mean",
        "unit": "",
        "better": own or "",
        "estimand": default_estimand(metric.source, metric.measure),
        "convention": default_convention(metric.source),
        "few_samples": "refuse",
    }
    return _changed(table, defaults)


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


def _kpi(kpi: model.Kpi, metric: model.Metric) -> Value:
    table: Table = {"percentile": kpi.percentile, "confidence": kpi.confidence, **_precision(kpi.stop)}
    own = default_bound(kpi.percentile, metric.better)
    return table if kpi.bound == own else table | {"bound": kpi.bound}


def _precision(stop: model.Stop | None) -> Table:
    if stop is None:
        return {}
    return {"stop": {"precision": _extent(stop.precision), "confidence": stop.confidence}}


def _stop(metric: model.Metric, stop: model.Stop) -> Table:
    implied = metric.estimand == "pooled" or stop.of == default_of(metric.source)
    of: Table = {} if implied else {"of": stop.of}
    controls: Table = {} if stop.controls == "none" else {"controls": stop.controls}
    return {"precision": _extent(stop.precision), "confidence": stop.confidence} | of | controls


def _extent(extent: model.Extent) -> str | float:
    return f"{Decimal(repr(extent.value)):f}%" if extent.relative else extent.value


def _design(experiment: model.Experiment) -> Table:
    design = experiment.design
    table: dict[str, Value | None] = {
        "order": design.order,
        "series": design.series,
        "rounds": design.rounds,
        "span": design.span,
        "robustness": design.robustness,
        "warmup_trials": design.warmup_trials,
        "stop": design.stop,
        "looks": design.looks,
        "pilot": design.pilot,
        "max_trials": design.max_trials,
        "budget": design.budget,
        "unseen": design.unseen,
        "base": design.base and f"{design.base[0]}={level_text(design.base[1])}",
    }
    plain = model.Design()
    defaults = {name: getattr(plain, name) for name in table} | {
        "looks": default_looks(experiment.trial, design.stop, experiment.metrics),
        "max_trials": default_most(experiment.trial),
    }
    return _changed(table, defaults)


def _workers(workers: model.Workers) -> Table:
    table: dict[str, Value | None] = {
        "use": None if workers.allocate else workers.use,
        "files": workers.files,
        "exclude": workers.exclude,
        "git": workers.git and {"url": workers.git[0], "commit": workers.git[1]},
        "setup": None if workers.setup is None else shlex.join(workers.setup),
        "setup_timeout": workers.setup_timeout,
        "allocate": None if workers.allocate is None else shlex.join(workers.allocate),
        "release": None if workers.release is None else shlex.join(workers.release),
        "python": workers.python,
        "folder": workers.folder,
        "reconnect": workers.reconnect,
        "heartbeat": workers.heartbeat,
    }
    plain = model.Workers()
    return _changed(table, {name: getattr(plain, name) for name in table})


def _measurement(measurement: model.Measurement) -> Table:
    table: dict[str, Value | None] = {
        "config": measurement.config,
        "listen": measurement.listen,
        "patience": measurement.patience,
        "losses": measurement.losses,
    }
    return _changed(table, {"listen": "127.0.0.1", "patience": 5.0, "losses": "fail"})


def _instrumentation(instrumentation: model.Instrumentation) -> Table:
    table: dict[str, Value | None] = {
        "perf": instrumentation.perf or None,
        "cpus": instrumentation.cpus or None,
        "resources": instrumentation.resources,
        "interrupts": instrumentation.interrupts,
    }
    return _changed(table, {"resources": False, "interrupts": False})


def _reset(reset: model.Reset) -> Table:
    table: dict[str, Value | None] = {
        "directory": {"path": reset.directory, "template": reset.template}
        if reset.directory and reset.template
        else reset.directory,
        "service": reset.service,
        "namespace": reset.namespace,
        "command": None if reset.command is None else shlex.join(reset.command),
        "drop_caches": reset.drop_caches,
        "reboot": reset.reboot,
        "check": None if reset.check is None else shlex.join(reset.check),
        "every": reset.every,
        "timeout": reset.timeout,
        "settle": reset.settle,
    }
    defaults = {"drop_caches": False, "reboot": False, "every": "round", "timeout": 600.0, "settle": 0.0}
    return _changed(table, defaults)
