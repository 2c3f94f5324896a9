"""Writing an experiment as a file that reads back as the same experiment."""

from __future__ import annotations

from dataclasses import replace

import tomlkit

from trialwise.experiment import model
from trialwise.experiment.defaults import default_bound, design_defaults, metric_defaults, stop_defaults
from trialwise.experiment.factors import factor_value
from trialwise.experiment.file.sections import table_of
from trialwise.experiment.results import Claim, declared
from trialwise.experiment.toml_writing import Table, toml_key, written_table


def write_experiment(experiment: model.Experiment) -> str:
    """Write an experiment as the text of an `experiment.toml`.

    The folder is implied by the file's location and not written; a file that a factor is drawn from must be there.
    """
    tables: dict[str, Table] = {
        "experiment": table_of(experiment, seed=None),  # always written
        "factors": {factor.name: factor_value(factor) for factor in experiment.factors},
        "trial": trial_table(experiment),
    }
    tables |= {f"metrics.{toml_key(metric.name)}": _metric(metric) for metric in declared(experiment)}
    if experiment.results is not None:
        tables["results"] = table_of(experiment.results, metrics=experiment.results.metrics)
        tables |= {
            f"results.metrics.{toml_key(claim.pattern)}": _claims(claim)
            for claim in experiment.results.claims
        }
    design = experiment.design
    tables["design"] = table_of(design, **design_defaults(experiment.trial, design.stop, experiment.metrics))
    if experiment.reset:
        tables["reset"] = table_of(experiment.reset, namespace=None)  # always written, as ever
    tables |= {f"service.{toml_key(each.name)}": table_of(each) for each in experiment.services}
    if experiment.measurement:
        # An empty section enables the collector; a metric's source implies it too.
        tables["measurement"] = table_of(experiment.measurement)
    tables["workers"] = _workers(experiment.workers)
    tables["instrumentation"] = table_of(experiment.instrumentation)
    tables |= {".".join(map(toml_key, place)): table for place, table in experiment.trial.sections().items()}
    # A metric with only defaults is still written: it is what a function returns under its name.
    return "\n".join(
        written_table(name, table)
        for name, table in tables.items()
        if table or name.startswith(("metrics.", "results"))
    )


def with_looks(text: str, looks: model.Looks) -> str:
    """Replace the stopping rule in the text of an experiment file, keeping everything else, comments too."""
    document = tomlkit.parse(text)
    if "design" not in document:
        document["design"] = tomlkit.table()
    document["design"]["looks"] = looks  # pyright: ignore[reportIndexIssue]
    return tomlkit.dumps(document)


def _metric(metric: model.Metric) -> Table:
    source = {name: value for name, value in metric.source.written(metric.name).items() if value is not None}
    claims = table_of(metric, **metric_defaults(metric))
    for kpi, table in zip(metric.kpis, claims.get("kpi", ()), strict=True):
        bound = table.pop("bound")
        if bound != default_bound(kpi.percentile, metric.better):
            table["bound"] = bound
    if stop := metric.stop:
        of = {"of": stop.of} if metric.estimand == "pooled" else stop_defaults(metric.source)
        claims["stop"] = table_of(stop, confidence=None, **of)
    return source | claims


def _claims(claim: Claim) -> Table:
    """Return the table of a pattern; the bound of a median is written if it does not follow the direction."""
    table = _metric(claim.metric)
    if _metric(claim.by_direction["higher"]) == table:
        return table
    kpis = [table_of(kpi, whole=True) for kpi in claim.metric.kpis]
    return {**table, "kpi": kpis}


def _workers(workers: model.Workers) -> Table:
    return table_of(replace(workers, use=model.Workers().use) if workers.allocate else workers)


def trial_table(experiment: model.Experiment) -> Table:
    """Return the section [trial] of an experiment."""
    table: Table = {"kind": experiment.trial.kind, **experiment.trial.written()}
    if experiment.runtime is not None:
        table.setdefault("runtime", experiment.runtime)
    if experiment.warmup:
        table["warmup"] = experiment.warmup
    return table
