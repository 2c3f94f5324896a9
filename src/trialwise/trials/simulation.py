"""Trial kind `simulation`: flows under one controller over a simulated network."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import Experiment, Level, Metric
from trialwise.experiment.placeholders import BUILT_IN
from trialwise.experiment.seeds import seed_of
from trialwise.experiment.simulation import SimulationSource, SimulationTrial, files_named
from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES, size_class
from trialwise.measurement.samples import Samples
from trialwise.trials.base import Task, TrialOutcome, TrialRequest
from trialwise.trials.programs import readable
from trialwise.trials.simulating import (
    Flows,
    NoFlowsError,
    Sampling,
    Simulated,
    check_settings,
    duration_of,
    expected_flows,
    filled,
    flow_list,
    open_fabric,
    simulate,
    switch_ports,
)

_NOWHERE: Mapping[str, Level] = dict.fromkeys(BUILT_IN, 0)
"""Stand-ins for the built-in placeholders, while no trial runs."""
_TRIED_LISTS, _TRIED_FLOWS = 20, 1000
"""A metric that no flow of so many lists, or of so many flows, has is a mistake in the file."""


class _AbandonedError(Exception):
    """The trial is to end early."""


class SimulationKind:
    """Draws the flows of a round, simulates them, and reads from them what the metrics ask for."""

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError where a treatment cannot be simulated as it is written, or has no flow for a metric."""
        for trial in _different(experiment, factors):
            _check(trial, experiment)

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[Path]:
        """Name the files whose change makes trials incomparable: the simulator itself, and all attachments."""
        yield Path(str(_core.__file__))
        yield from (path for _, path in self.attachments(experiment, factors))

    def attachments(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[tuple[str, Path]]:
        """Name the files of topologies, routes, sizes and flows."""
        names = (name for trial in _different(experiment, factors) for name in files_named(trial))
        for name in dict.fromkeys(names):
            yield name, experiment.folder / name

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Simulate one trial, and give it up when that is asked for."""
        return _computed(request, _Watch(request.cancel))

    def compute(self, task: Task) -> TrialOutcome:
        """Simulate one trial, wherever that is."""
        return _computed(task, None)


def _computed(task: Task, watch: _Watch | None) -> TrialOutcome:
    """Simulate one trial.

    The flow list comes from the seed of the round, so that all treatments of a round meet the same flows (common random
    numbers); marks and losses from the trial's own.
    """
    experiment = task.experiment
    trial = filled(trial_of(experiment), task.places | {"directory": "."})
    started = time.time()
    try:
        found = simulate(
            trial,
            experiment.folder,
            flow_seed=seed_of(experiment.seed, "flows", task.series, task.round),
            seed=task.seed,
            sampling=_sampling(experiment, trial),
            progress=watch,
        )
    except _AbandonedError:
        return TrialOutcome("abandoned", None, time.time(), reason="abandoned on request")
    except NoFlowsError as error:
        return TrialOutcome("invalid", started, time.time(), reason=error.message)
    except PlanError as error:
        return TrialOutcome("failed", started, time.time(), reason=error.message)
    return _outcome(task, trial, found, started)


def trial_of(experiment: Experiment) -> SimulationTrial:
    """The trial of an experiment whose kind is simulation."""
    if not isinstance(experiment.trial, SimulationTrial):
        raise TypeError(experiment.trial)
    return experiment.trial


def flows_by_treatment(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> list[float]:
    """How many flows a trial of each treatment has in the mean; PlanError where one cannot be simulated."""
    found: dict[SimulationTrial, float] = {}
    for trial in _different(experiment, factors):
        _check(trial, experiment)
        found[trial] = expected_flows(
            trial.workload, open_fabric(trial, experiment.folder), experiment.folder
        )
    return [found[filled(trial_of(experiment), {**_NOWHERE, **values})] for values in factors]


def samples_by_metric(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> dict[str, float]:
    """How many flows each metric of flows has of a trial in the mean, of the treatment with the fewest."""
    found: dict[str, float] = {}
    for trial in _different(experiment, factors):
        fabric = open_fabric(trial, experiment.folder)
        tried = _tried_lists(trial, fabric, experiment.folder)
        number = expected_flows(trial.workload, fabric, experiment.folder)
        drawn = sum(len(flows["start_ps"]) for flows in tried)
        for metric, source in _of_flows(experiment):
            part = sum(chosen.sum() for chosen in _chosen_of(source, trial, tried)) / max(drawn, 1)
            found[metric.name] = min(found.get(metric.name, math.inf), number * float(part))
    return found


def _of_flows(experiment: Experiment) -> Iterator[tuple[Metric, SimulationSource]]:
    """The metrics with something of flows."""
    for metric in experiment.metrics:
        source = metric.source
        if isinstance(source, SimulationSource) and SIMULATION_QUANTITIES[source.quantity].per_flow:
            yield metric, source


def _tried_lists(trial: SimulationTrial, fabric: _core.Fabric, folder: Path) -> list[Flows]:
    """Some lists of flows, as trials will have them."""
    lists = 1 if trial.workload.flows else _TRIED_LISTS
    tried: list[Flows] = []
    while len(tried) < lists and sum(len(flows["start_ps"]) for flows in tried) < _TRIED_FLOWS:
        tried.append(flow_list(trial.workload, fabric, folder, len(tried)))
    return tried


def _chosen_of(
    source: SimulationSource, trial: SimulationTrial, tried: Sequence[Flows]
) -> Iterator[npt.NDArray[np.bool_]]:
    """Which flows of each list a source is about."""
    return (chosen_flows(source, trial, flows, duration_of(trial.workload, flows)) for flows in tried)


def _different(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> dict[SimulationTrial, None]:
    """The trials of these treatments, each once."""
    return dict.fromkeys(filled(trial_of(experiment), {**_NOWHERE, **values}) for values in factors)


class _Watch:
    """Ends a simulation when the descriptor becomes readable."""

    def __init__(self, cancel: int) -> None:
        self._cancel = cancel

    def __call__(self, _now: int, _events: int, _unfinished: int) -> None:
        if readable(self._cancel, 0):
            raise _AbandonedError


def _check(trial: SimulationTrial, experiment: Experiment) -> None:
    fabric = open_fabric(trial, experiment.folder)
    expected_flows(trial.workload, fabric, experiment.folder)
    tried = _tried_lists(trial, fabric, experiment.folder)
    check_settings(trial, fabric, tried[0] if trial.workload.flows else None)
    for metric, source in _of_flows(experiment):
        if not any(chosen.any() for chosen in _chosen_of(source, trial, tried)):
            raise PlanError(
                f"metric {metric.name}: {_nobody(source)}",
                hint="choose another class of sizes, a longer duration, or a shorter warmup and cooldown",
            )


def _nobody(source: SimulationSource) -> str:
    whose = f"no flow of {source.sizes}" if source.sizes else "no flow"
    return f"{whose} starts in the stable phase" if source.phase == "stable" else f"there is {whose}"


def chosen_flows(
    source: SimulationSource, trial: SimulationTrial, flows: Flows, duration: float
) -> npt.NDArray[np.bool_]:
    """Which flows a source is about, shape (flows,).

    Warm-up and cool-down are the flows that start before `warmup` and in the last `cooldown` of the duration (CCEval, figure 13).
    """
    sizes, start = flows["size_bytes"], flows["start_ps"] / 1e12
    chosen = np.ones(len(sizes), dtype=np.bool_)
    if source.sizes:
        ends = size_class(source.sizes)
        chosen &= (sizes >= ends.low) & (sizes < (math.inf if ends.high is None else ends.high))
    if source.phase == "stable":
        chosen &= start >= trial.warmup
        chosen &= (start < duration - trial.cooldown) | (trial.cooldown == 0)
    return chosen


def _sampling(
    experiment: Experiment, trial: SimulationTrial
) -> Callable[[_core.Fabric, Flows], Sampling] | None:
    """What is looked at while a trial runs: every port of a switch, where a metric asks for queues."""
    asked = {
        metric.source.quantity for metric in experiment.metrics if isinstance(metric.source, SimulationSource)
    }
    if "queue" not in asked:
        return None
    return lambda fabric, _: Sampling(trial.sampling, switch_ports(fabric))


# What came of it


def _outcome(task: Task, trial: SimulationTrial, found: Simulated, started: float) -> TrialOutcome:
    samples: dict[str, Samples] = {}
    problem = None
    try:
        for metric in task.experiment.metrics:
            samples[metric.source.key] = _samples(metric, trial, found)
    except TrialError as error:
        problem = error.message
    return TrialOutcome(
        "finished" if problem is None else "invalid",
        started,
        time.time(),
        reason=problem,
        samples=samples | _totals(found),
        record=("flows", flow_records(found)) if trial.records == "keep" else None,
    )


def _samples(metric: Metric, trial: SimulationTrial, found: Simulated) -> Samples:
    """The samples of one metric; TrialError where the trial has none."""
    source = metric.source
    if not isinstance(source, SimulationSource):
        raise TypeError(source)
    if not SIMULATION_QUANTITIES[source.quantity].per_flow:
        return Samples(_of_network(source.quantity, found))
    chosen = chosen_flows(source, trial, found.flows, found.duration)
    sizes = found.flows["size_bytes"][chosen]
    if source.quantity == "flows":
        return Samples(np.array([chosen.sum()]))
    if not chosen.any():
        raise TrialError(f"metric {metric.name}: {_nobody(source)}")
    if source.quantity in ("bytes", "largest_flow"):
        return Samples(np.array([sizes.sum() if source.quantity == "bytes" else sizes.max()]))
    values = getattr(found, source.quantity)[chosen]
    if unfinished := int(np.isnan(values).sum()):
        raise TrialError(f"metric {metric.name}: {unfinished} of {len(values)} flows did not finish")
    return Samples(values)


def _of_network(quantity: str, found: Simulated) -> npt.NDArray[np.float64]:
    totals, ports = found.result.totals, switch_ports(found.fabric)
    if quantity == "queue" and found.result.series is not None:
        return found.result.series.queue.max(axis=1).astype(np.float64)
    if quantity == "peak_queue":
        return np.array([found.result.port_peak_queue[ports].max(initial=0)], dtype=np.float64)
    dropped = sum(totals[name] for name in ("dropped_buffer", "dropped_link", "dropped_fault"))
    counts = {"drops": dropped, "resent": totals["data_resent"]} | totals
    return np.array([counts[quantity]], dtype=np.float64)


def _totals(found: Simulated) -> dict[str, Samples]:
    """What the simulator counted, beside what the metrics ask for."""
    return {
        f"simulator:{name}": Samples(np.array([float(count)])) for name, count in found.result.totals.items()
    }


def flow_records(found: Simulated) -> bytes:
    """A Parquet file with a row for each flow: its specification, `fct_ps` (null where it did not finish), `ideal_ps`."""
    import polars as pl  # a tenth of a second that trials without records need not wait for

    fct = pl.Series("fct_ps", found.result.fct_ps)
    frame = pl.DataFrame({**found.flows, "ideal_ps": found.result.ideal_ps})
    packed = io.BytesIO()
    frame.with_columns(fct_ps=fct.set(fct < 0, None)).write_parquet(packed, compression="zstd")
    return packed.getvalue()
