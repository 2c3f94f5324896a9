"""Trial kind `simulation`: flows under one controller over a simulated network."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from trialwise import _core
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.engines import ENGINES
from trialwise.experiment.model import Experiment, Level, Metric
from trialwise.experiment.placeholders import BUILT_IN
from trialwise.experiment.seeds import seed_of
from trialwise.experiment.simulation import OfferedLoad, SimulationSource, SimulationTrial, files_named
from trialwise.experiment.simulation_quantities import SIMULATION_QUANTITIES
from trialwise.experiment.text import frozen_or_named
from trialwise.experiment.traits import assumed, sources_of
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.samples import Samples
from trialwise.schemes.python_class import PREFIX, class_named, files_of, module_file
from trialwise.trials.base import Task, TrialOutcome, TrialRequest
from trialwise.trials.drawn_flows import Flows, duration_of, expected_flows, flow_list, offered_load
from trialwise.trials.exceptions import OverdueError, raised
from trialwise.trials.execution_traces import names_trace, trace_files
from trialwise.trials.fabrics import open_fabric, switch_ports
from trialwise.trials.fluid_simulating import check_told_apart
from trialwise.trials.ns3.installation import NS3_FILES, ns3_installation
from trialwise.trials.ns3.process import ns3_process
from trialwise.trials.programs import readable
from trialwise.trials.simulating import (
    Sampling,
    Simulated,
    cautions_of,
    check_settings,
    engine_of,
    filled,
    simulate,
)
from trialwise.trials.simulation_cost import cost_cautions
from trialwise.trials.simulation_samples import (
    chosen_flows,
    counted,
    flow_records,
    metric_samples,
    nobody,
    weights_kept,
)
from trialwise.trials.sobol import sobol_point
from trialwise.trials.tilting import tilt_of

_Found = TypeVar("_Found")

_NOWHERE: Mapping[str, Level] = dict.fromkeys(BUILT_IN, 0)
"""Stand-ins for the built-in placeholders when no trial runs."""
_TRIED_LISTS, _TRIED_FLOWS = 20, 1000
"""A metric without a single flow in this many lists, or this many flows, is a mistake in the file."""


class _AbandonedError(Exception):
    """The trial is to end early."""


class SimulationKind:
    """Samples the flows of a round, has them simulated, and computes the metrics from them."""

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError if a treatment cannot be simulated as written, or has no flow for a metric."""
        for trial in _different(experiment, factors):
            _check(trial, experiment, executes=True)
        _check_told_apart(experiment, factors)

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[NamedFile]:
        """Name the files whose change makes trials incomparable: the simulator itself, and all attachments."""
        yield NamedFile(Path(str(_core.__file__)))
        if any(engine_of(trial) == "ns3" for trial in _different(experiment, factors)):
            yield from (NamedFile(path, "library") for path in ns3_installation().libraries)
            yield from (NamedFile(path) for path in NS3_FILES)
        yield from (NamedFile(path, "input") for _, path in self.attachments(experiment, factors))

    def attachments(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[tuple[str, Path]]:
        """Name the files of topologies, routes, sizes and flows, and classes of congestion control with what they read."""
        trials = _different(experiment, factors)
        for name in dict.fromkeys(name for trial in trials for name in files_named(trial)):
            if names_trace(name):
                yield from _ranks(experiment.folder, name)
            else:
                yield name, frozen_or_named(experiment.folder, name)
        for scheme in dict.fromkeys(trial.scheme for trial in trials if trial.scheme.startswith(PREFIX)):
            read = files_of(class_named(scheme, experiment.folder), scheme, experiment.folder)
            for path in (module_file(scheme, experiment.folder), *read):
                yield f"schemes/{path.name}", path

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Simulate one trial, and stop if cancelled."""
        return _computed(request, request.cancel)

    def compute(self, task: Task) -> TrialOutcome:
        """Simulate one trial, in any process."""
        return _computed(task, None)

    def computes_elsewhere(self, task: Task) -> bool:
        """Return True for trials that ns-3 simulates: in a process of its own."""
        return engine_of(filled(trial_of(task.experiment), task.places | {"directory": "."})) == "ns3"

    def close(self) -> None:
        """End ns-3 if this thread has started it."""
        ns3_process().end()


def _ranks(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Name the files of an execution trace; none if they are not there, which the check says."""
    with contextlib.suppress(ValueError):
        for path in trace_files(folder, name):
            yield str(path.relative_to(folder)), path


def _computed(task: Task, cancel: int | None) -> TrialOutcome:
    """Simulate one trial.

    The round's seed determines the flow list, so that all treatments of a round meet the same flows (common random
    numbers); the trial's own seed determines marks and losses.
    """
    experiment = task.experiment
    trial = filled(trial_of(experiment), task.places | {"directory": "."})
    started = time.time()
    try:
        found = simulate(
            trial,
            experiment.folder,
            flow_seed=seed_of(experiment.seed, "flows", task.series, task.round),
            coordinates=round_coordinates(experiment, trial, task.series, task.round),
            seed=task.seed,
            sampling=_sampling(experiment, trial),
            progress=_Watch(cancel, trial.timeout),
            cancel=cancel,
        )
    except (_AbandonedError, InterruptedError):
        return TrialOutcome("abandoned", None, time.time(), reason="abandoned on request")
    except OverdueError as error:
        return TrialOutcome("failed", started, time.time(), reason=error.message, cause="timeout")
    except (PlanError, TrialError) as error:
        return TrialOutcome("failed", started, time.time(), reason=error.message)
    except Exception as error:  # whatever a congestion control in Python raises
        return raised(error, started)
    return _outcome(task, trial, found, started)


def round_coordinates(
    experiment: Experiment, trial: SimulationTrial, series: int, round_: int
) -> npt.NDArray[np.float64] | None:
    """Return the Sobol point of a round, if flow lists are sampled that way."""
    if trial.workload.sampling != "sobol":
        return None
    expected = expected_flows(trial.workload, open_fabric(trial, experiment.folder), experiment.folder)
    return sobol_point(experiment.seed, series, round_, expected)


def trial_of(experiment: Experiment) -> SimulationTrial:
    """Return the trial of an experiment whose kind is simulation."""
    return assumed(experiment.trial, SimulationTrial)


def flows_by_treatment(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> list[float]:
    """Return the mean number of flows of a trial of each treatment; raise PlanError if one cannot be simulated.

    No congestion control in Python is executed.
    """
    _check_told_apart(experiment, factors)

    def flows(trial: SimulationTrial, fabric: _core.Fabric) -> float:
        _check(trial, experiment, executes=False)
        return expected_flows(trial.workload, fabric, experiment.folder)

    return _of_each(experiment, factors, flows)


def loads_by_treatment(
    experiment: Experiment, factors: Sequence[Mapping[str, Level]]
) -> list[OfferedLoad | None]:
    """Return the load that each treatment's flows offer, None for listed ones; raise PlanError if a workload is invalid."""

    def load(trial: SimulationTrial, fabric: _core.Fabric) -> OfferedLoad | None:
        return offered_load(trial, fabric, experiment.folder, _tried_lists(trial, experiment.folder))

    return _of_each(experiment, factors, load)


def cautions_by_treatment(
    experiment: Experiment, factors: Sequence[Mapping[str, Level]]
) -> list[tuple[str, ...]]:
    """Return the cautions about each treatment's network, before anything runs; raise PlanError if one cannot be simulated."""

    def cautions(trial: SimulationTrial, fabric: _core.Fabric) -> tuple[str, ...]:
        found = cautions_of(trial, fabric, experiment.folder)
        expected = expected_flows(trial.workload, fabric, experiment.folder)
        lists = _tried_lists(trial, experiment.folder)
        return (*found, *cost_cautions(trial, fabric, lists, expected))

    return _of_each(experiment, factors, cautions)


def _of_each(
    experiment: Experiment,
    factors: Sequence[Mapping[str, Level]],
    find: Callable[[SimulationTrial, _core.Fabric], _Found],
) -> list[_Found]:
    """Return the result of `find` for each treatment, computed once for trials that are the same."""
    found = {
        trial: find(trial, open_fabric(trial, experiment.folder)) for trial in _different(experiment, factors)
    }
    return [found[filled(trial_of(experiment), {**_NOWHERE, **values})] for values in factors]


def samples_by_metric(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> dict[str, float]:
    """Return the mean number of a trial's flows that each metric of flows covers, for the treatment with the fewest."""
    found: dict[str, float] = {}
    for trial in _different(experiment, factors):
        fabric = open_fabric(trial, experiment.folder)
        tried = _tried_lists(trial, experiment.folder)
        number = expected_flows(trial.workload, fabric, experiment.folder)
        if "sampled_paths" in ENGINES[engine_of(trial)].options:
            number = min(number, trial.sampled_paths)
        drawn = sum(len(flows["start_ps"]) for flows in tried)
        for metric, source in _of_flows(experiment):
            part = sum(chosen.sum() for chosen in _chosen_of(source, trial, tried)) / max(drawn, 1)
            found[metric.name] = min(found.get(metric.name, math.inf), number * float(part))
    return found


def _of_flows(experiment: Experiment) -> Iterator[tuple[Metric, SimulationSource]]:
    """Yield the metrics that concern flows."""
    for metric, source in sources_of(experiment.metrics, SimulationSource):
        if SIMULATION_QUANTITIES[source.quantity].per_flow:
            yield metric, source


def _tried_lists(trial: SimulationTrial, folder: Path) -> list[Flows]:
    """Return some lists of flows, as trials will have them; files are read again, since they may have changed."""
    return (_lists if any(files_named(trial)) else _last_lists)(_flows_alone(trial), folder)


def _lists(trial: SimulationTrial, folder: Path) -> list[Flows]:
    fabric = open_fabric(trial, folder)
    lists = _TRIED_LISTS if trial.workload.is_random else 1
    tried: list[Flows] = []
    while len(tried) < lists and sum(len(flows["start_ps"]) for flows in tried) < _TRIED_FLOWS:
        tried.append(flow_list(trial.workload, fabric, folder, len(tried)))
    return tried


_last_lists = lru_cache(maxsize=1)(_lists)
"""Cached, because a list of a million flows takes half a second, and treatments often differ only in other things."""


def _flows_alone(trial: SimulationTrial) -> SimulationTrial:
    """Return the trial without what its flows do not depend on."""
    return dataclasses.replace(trial, scheme="", network=(), controller=(), mode="clean", engine="trialwise")


def _chosen_of(
    source: SimulationSource, trial: SimulationTrial, tried: Sequence[Flows]
) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield which flows of each list a source covers."""
    return (chosen_flows(source, trial, flows, duration_of(trial.workload, flows)) for flows in tried)


def _different(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> dict[SimulationTrial, None]:
    """Return the trials of these treatments, each once, those with the same flows next to each other."""
    found = dict.fromkeys(filled(trial_of(experiment), {**_NOWHERE, **values}) for values in factors)
    place = {flows: number for number, flows in enumerate(dict.fromkeys(map(_flows_alone, found)))}
    return dict.fromkeys(sorted(found, key=lambda trial: place[_flows_alone(trial)]))


def _check_told_apart(experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
    """Raise PlanError for treatments that their engine does not tell apart."""
    check_told_apart(
        trial for trial in _different(experiment, factors) if not ENGINES[engine_of(trial)].tells_controllers
    )


class _Watch:
    """Ends a simulation when the descriptor becomes readable, and after the timeout (seconds)."""

    def __init__(self, cancel: int | None, timeout: float | None) -> None:
        self._cancel, self._timeout = cancel, timeout
        self._began = time.monotonic()

    def __call__(self, _now: int, _unsent: int, _unfinished: int) -> None:
        if self._cancel is not None and readable(self._cancel, 0):
            raise _AbandonedError
        if self._timeout is not None and time.monotonic() - self._began > self._timeout:
            raise OverdueError(f"took longer than the timeout of {self._timeout:g} s and was ended")


def _check(trial: SimulationTrial, experiment: Experiment, *, executes: bool) -> None:
    fabric = open_fabric(trial, experiment.folder)
    expected_flows(trial.workload, fabric, experiment.folder)
    tried = _tried_lists(trial, experiment.folder)
    check_settings(trial, fabric, experiment.folder, tried[0], executes=executes)
    tilt_of(trial)
    _check_jobs(experiment, trial, tried[0])
    if engine_of(trial) == "ns3":
        ns3_installation()
    _check_quantities(experiment, trial.engine)
    for metric, source in _of_flows(experiment):
        if not any(chosen.any() for chosen in _chosen_of(source, trial, tried)):
            raise PlanError(
                f"metric {metric.name}: {nobody(source)}",
                hint="choose another class of sizes, a longer duration, or a shorter warmup and cooldown",
            )


def _check_jobs(experiment: Experiment, trial: SimulationTrial, flows: Flows) -> None:
    """Raise PlanError for a metric of jobs without any, and for phases of flows that start when others are over."""
    if "job" not in flows:
        for metric, source in sources_of(experiment.metrics, SimulationSource):
            if source.quantity == "jct":
                raise PlanError(
                    f"metric {metric.name}: the workload has no jobs",
                    hint='write workload.job = "ring-all-reduce:8MB", or a flow list with a column job or after',
                )
    elif trial.warmup or trial.cooldown:
        raise PlanError("warmup and cooldown go with flows whose starts are given", hint="leave them out")


def _check_quantities(experiment: Experiment, engine: str) -> None:
    """Raise PlanError for a metric that an engine does not answer."""
    answers = ENGINES[engine].answers
    for metric, source in sources_of(experiment.metrics, SimulationSource):
        if source.quantity not in answers:
            has = ", ".join(name for name in SIMULATION_QUANTITIES if name in answers)
            raise PlanError(
                f'metric {metric.name}: engine = "{engine}" does not say {source.quantity}',
                hint=f'have it in an experiment with engine = "trialwise" alone; {engine} says {has}',
            )


def _sampling(
    experiment: Experiment, trial: SimulationTrial
) -> Callable[[_core.Fabric, Flows], Sampling] | None:
    """Return what is sampled while a trial runs: every port of a switch, if a metric needs queues."""
    asked = {source.quantity for _, source in sources_of(experiment.metrics, SimulationSource)}
    if "queue" not in asked:
        return None
    return lambda fabric, _: Sampling(trial.sampling, switch_ports(fabric))


def _engine(trial: SimulationTrial) -> tuple[str, ...]:
    """Say which ns-3 simulated a trial, or that it is an estimate; nothing for our own simulator."""
    if engine_of(trial) == "ns3":
        return (f"ns-3 {ns3_installation().version} of {ns3_installation().python}",)
    if not ENGINES[trial.engine].estimate:
        return ()
    every = f", rates every {trial.rate_interval:g} s" if trial.rate_interval else ""
    return (f"an estimate by engine {trial.engine}{every}",)


def _outcome(task: Task, trial: SimulationTrial, found: Simulated, started: float) -> TrialOutcome:
    samples: dict[str, Samples] = {}
    missing: list[str] = []
    for metric in task.experiment.metrics:
        try:
            samples[metric.source.key] = metric_samples(metric, trial, found)
        except TrialError as error:
            missing.append(error.message)
    # A metric without a value does not take the trial's other metrics with it.
    problem = None if samples else "; ".join(missing)
    if samples:
        lacking = (metric.source.key for metric in task.experiment.metrics)
        samples |= {key: Samples(np.array([])) for key in lacking if key not in samples}
    return TrialOutcome(
        "finished" if problem is None else "invalid",
        started,
        time.time(),
        reason=problem,
        samples=samples | counted(found) | weights_kept(found.weights),
        record=("flows", flow_records(found)) if trial.records == "keep" else None,
        remarks=(*_engine(trial), *([] if problem else missing)),
    )
