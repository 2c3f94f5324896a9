"""What in an experiment determines its trials, in a form that never changes: its hash identifies directories."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from trialwise.experiment import model, results, simulation, sources, tilts, trials
from trialwise.experiment.model import Experiment
from trialwise.experiment.results import declared
from trialwise.experiment.traits import Trial

_KEYS: Mapping[type, str] = {
    model.Experiment: "name trial metrics seed description factors design reset measurement instrumentation runtime warmup",
    model.FixedFactor: "name levels",
    model.DrawnFactor: "name values low high integer logarithmic origin",
    model.Metric: "name source measure unit better convergence kpis variability limits",
    model.Convergence: "confidence tolerance",
    model.Kpi: "percentile confidence bound",
    model.Variability: "percentile confidence",
    model.Design: "order span robustness warmup_trials",
    model.Reset: "command every timeout settle service directory drop_caches reboot check namespace",
    model.FreshDirectory: "path template",
    model.Measurement: "config listen patience losses",
    model.Instrumentation: "perf cpus resources interrupts",
    sources.ResourceSource: "resource",
    sources.TextSource: "path pattern json csv time",
    sources.ReturnSource: "name",
    sources.PathSource: "quantity flow bin",
    sources.InstrumentSource: "name",
    sources.StreamSource: "stream field",
    sources.ResultSource: "name",
    results.Results: "format place keep claims",
    results.Claim: "pattern metric",
    simulation.SimulationSource: "quantity sizes phase",
    trials.CommandTrial: "command environment directory prepare conclude timeout exit_codes output_limit leftovers isolate kind",
    trials.PythonTrial: "call environment directory timeout isolate kind",
    trials.PathTrial: "flows path runtime named_paths scheme_folders environment packets lateness engine kind",
    trials.PathFlow: "scheme start stop direction load",
    trials.PathSettings: "uplink downlink mtu folder source",
    simulation.SimulationTrial: "scheme topology workload network controller mode engine routes warmup cooldown sampling records "
    "tilts timeout kind",
    simulation.Workload: "sizes load load_of pattern arrivals duration flows sampling tilt",
    tilts.SwitchingTilt: "mu sigma tilted_mu tilted_sigma threshold method",
    tilts.DefensiveTilt: "edges density most method",
}
"""The keys of each record that are part of every plan's record."""
_LEFT_OUT: Mapping[type, str] = {
    model.Experiment: "folder workers",
    model.Design: "series rounds stop looks pilot max_trials budget unseen base",
    model.Metric: "margin stop estimand convention few_samples",
    model.Kpi: "stop",
    model.Variability: "stop",
    trials.PathSettings: "shells",
    sources.ResultSource: "unit better",
    results.Results: "metrics",
    results.Claim: "by_direction",
}
"""Keys that affect no trial. A key in neither list was added later: it counts if it is not at its default."""


def plan_record(experiment: Experiment) -> dict[str, Any]:
    """Return what determines the trials: without the folder, the workers, the numbers of rounds and series, and what ends them."""
    record = _plain(dataclasses.replace(experiment, metrics=declared(experiment)))
    if reset := record["reset"]:
        directory = reset["directory"] or {"path": None, "template": None}
        reset |= {"directory": directory["path"], "template": directory["template"]}
    return record


def _plain(value: Any) -> Any:  # noqa: ANN401 any record, and what stands in it
    if isinstance(value, tuple):
        return [_plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if value is None or isinstance(value, str | int | float):
        return value
    return {name: _plain(getattr(value, name)) for name in _names(value)}


def _names(record: object) -> Iterator[str]:
    kind = type(record)
    unknown = "kind" if isinstance(record, Trial) else ""
    always, never = _KEYS.get(kind, unknown).split(), _LEFT_OUT.get(kind, "").split()
    yield from always
    for field in dataclasses.fields(record):  # pyright: ignore[reportArgumentType] whatever is none of the above
        if field.name not in always + never and getattr(record, field.name) != field.default:
            yield field.name
