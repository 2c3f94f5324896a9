"""Writing an experiment as a file that reads back as the same experiment."""

from __future__ import annotations

from decimal import Decimal

import tomlkit

from trialwise.experiment import model, simulation, sources, trials
from trialwise.experiment.estimands import default_convention, default_estimand
from trialwise.experiment.factors import factor_value
from trialwise.experiment.metric_building import default_bound, default_of, own_direction
from trialwise.experiment.sections import table_of
from trialwise.experiment.stopping import default_looks, default_most
from trialwise.experiment.toml_writing import Table, Value, changed, toml_key, written_table
from trialwise.experiment.trial_writing import path_tables, tilt_table, trial_table


def write_experiment(experiment: model.Experiment) -> str:
    """Write an experiment as the text of an `experiment.toml`.

    The folder is where the file will stand, so it is not written; a file that a factor is drawn from must stand there.
    """
    tables: dict[str, Table] = {
        "experiment": _experiment(experiment),
        "factors": {factor.name: factor_value(factor) for factor in experiment.factors},
        "trial": trial_table(experiment),
    }
    tables |= {f"metrics.{toml_key(metric.name)}": _metric(metric) for metric in experiment.metrics}
    tables["design"] = _design(experiment)
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


def _experiment(experiment: model.Experiment) -> Table:
    table: Table = {"name": experiment.name, "seed": experiment.seed}
    return table | ({"description": experiment.description} if experiment.description else {})


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
    return changed(table, defaults)


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
    looks = default_looks(experiment.trial, experiment.design.stop, experiment.metrics)
    return table_of(experiment.design, looks=looks, max_trials=default_most(experiment.trial))


def _workers(workers: model.Workers) -> Table:
    return table_of(workers, **({"use": workers.use} if workers.allocate else {}))
