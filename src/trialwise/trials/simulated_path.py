"""Trial kind `path` with engine "simulated": the links, controllers and loss recovery of an emulated path in simulated time."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path

from trialwise import _core
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.trials import PathSettings
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.packets import DIRECTIONS, Packets, packed_packets, simulated_packets
from trialwise.measurement.samples import Samples
from trialwise.schemes.library import read_file, scheme_files
from trialwise.schemes.scheme import Scheme
from trialwise.trials.base import Task, TrialOutcome, TrialRequest
from trialwise.trials.ecn_needs import unfit_path
from trialwise.trials.exceptions import raised
from trialwise.trials.held_files import HeldFiles
from trialwise.trials.loads import load_words
from trialwise.trials.path import abandoned
from trialwise.trials.path_plan import (
    NOWHERE,
    FlowPlan,
    attachments_of,
    check_load,
    describe,
    flow_plans,
    listed,
    settings_of,
    trial_of,
)
from trialwise.trials.path_samples import PathRecord, check_certificate, check_frames, metric_samples
from trialwise.trials.programs import readable

Flow = tuple[str | object, str, str, float, float]
"""Congestion control, load, direction, start and stop in seconds: the core's input for a flow."""


class SimulatedPathKind:
    """Simulates the flows of a path, and computes the metrics from the packets."""

    def __init__(self) -> None:
        self._files = HeldFiles()

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError if a path is invalid, or a scheme is unknown, exists only as real programs or names no controller."""
        tried: set[PathSettings | tuple[str, str]] = set()
        for values in factors:
            filled = dict(NOWHERE) | dict(values)
            settings = self._files.held(settings_of(experiment, filled))
            plans = flow_plans(experiment, filled)
            check_frames(experiment, plans)
            check_certificate(experiment, settings)
            for plan in plans:
                _require_simulated(plan.scheme, experiment)
                check_load(plan, settings)
            if settings not in tried:
                _simulate(settings, (), 0, self._files)
                _require_no_payload(settings)
                tried.add(settings)
            for plan in plans:
                if (carried := (plan.scheme.name, plan.load.text)) not in tried:
                    _try_controller(plan, settings, self._files)
                    tried.add(carried)

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[NamedFile]:
        """Name the files whose change makes trials incomparable: the simulator itself, and all attachments."""
        yield NamedFile(Path(str(_core.__file__)))
        yield from (NamedFile(path, "input") for _, path in attachments_of(experiment, factors))

    def attachments(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[tuple[str, Path]]:
        """Name the files of the schemes, those that loads are read from, and the traces that paths name, as they were read."""
        yield from ((name, self._files.as_held(path)) for name, path in attachments_of(experiment, factors))

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Simulate the flows of one trial for its runtime, and stop if cancelled."""
        return _computed(request, request.cancel, self._files)

    def compute(self, task: Task) -> TrialOutcome:
        """Simulate the flows of one trial for its runtime, in any process."""
        return _computed(task, None, self._files)


def _computed(task: Task, cancel: int | None, files: HeldFiles) -> TrialOutcome:
    """Simulate one trial; it writes nothing to disk, so that a killed one leaves nothing behind."""
    started = time.time()
    try:
        settings = files.held(settings_of(task.experiment, dict(NOWHERE) | task.places))
        plans = flow_plans(task.experiment, dict(NOWHERE) | task.places)
        done = _flows_over(settings, plans, task.seed, files, cancel)
    except InterruptedError:
        return abandoned()
    except (TrialError, PlanError) as error:
        return TrialOutcome("failed", started, time.time(), reason=error.message)
    except Exception as error:  # whatever a congestion control in Python raises
        return raised(error, started)
    return _outcome(task, done, settings, plans, started)


def packets_over(settings: PathSettings, plans: Sequence[FlowPlan], seed: int) -> Packets:
    """Simulate flows over a path, and return their packets alone, with times in seconds since the first flow's start.

    Raises
    ------
    PlanError, TrialError
        The path is invalid, a scheme cannot be simulated, or a load that must not be cut off was.
    """
    done = _flows_over(settings, plans, seed, HeldFiles(), None)
    if problem := _unfinished(done, plans):
        raise TrialError(problem)
    return simulated_packets(done.packets, [plan.number for plan in plans])


def _flows_over(
    settings: PathSettings, plans: Sequence[FlowPlan], seed: int, files: HeldFiles, cancel: int | None
) -> _core.PathSimulation:
    with contextlib.ExitStack() as lists:
        flows = [_flow(plan, settings, seed, lists) for plan in plans]
        delays = [(place, plan.delay) for place, plan in enumerate(plans) if plan.delay]
        return _simulate(settings, flows, seed, files, cancel, delays)


def _outcome(
    task: Task, done: _core.PathSimulation, settings: PathSettings, plans: Sequence[FlowPlan], started: float
) -> TrialOutcome:
    record = PathRecord(
        packets=simulated_packets(done.packets, [plan.number for plan in plans]),
        settings=settings,
        plans=plans,
        reports={plan.number: report for plan, report in zip(plans, done.reports, strict=True)},
        started_ns=0,
        stop=done.end,
        warmup=task.experiment.warmup,
    )
    samples: dict[str, Samples] = {}
    problem = _unfinished(done, plans)
    if problem is None:
        try:
            samples = metric_samples(task.experiment, record)
        except TrialError as error:
            problem = error.message
    keeps = trial_of(task.experiment).packets != "drop"
    judged = problem or unfit_path(plans, settings)
    return TrialOutcome(
        "finished" if judged is None else "failed" if problem else "invalid",
        started,
        time.time(),
        reason=judged,
        samples=samples,
        record=("packets", packed_packets(record.packets)) if keeps else None,
    )


def _unfinished(done: _core.PathSimulation, plans: Sequence[FlowPlan]) -> str | None:
    """Return what is wrong if a load that must not be cut off was."""
    for plan, completed in zip(plans, done.completed, strict=True):
        if not completed and not plan.lasts:
            return f"flow {plan.number} ({plan.scheme.name}) did not finish its load {plan.load.text} in time"
    return None


def _require_no_payload(settings: PathSettings) -> None:
    """Raise PlanError if the path changes payloads, which simulated packets do not have."""
    if any(describe(settings, way).changes_payloads for way in DIRECTIONS):
        raise PlanError(
            "trial.path: corrupt with checksum=fix changes payloads, and simulated packets have none",
            hint='run it with engine = "emulated", or leave checksum=fix out',
        )


def _require_simulated(scheme: Scheme, experiment: Experiment) -> None:
    """Raise PlanError, with the possible schemes, if a scheme cannot be simulated."""
    if scheme.simulated is not None:
        return
    folders = [experiment.folder / folder for folder in getattr(experiment.trial, "scheme_folders", ())]
    able = [name for name, path in sorted(scheme_files(folders).items()) if _is_simulated(path)]
    hint = f'simulated can be: {", ".join(able)}, and python:module:Class; the others run with engine = "emulated"'
    raise PlanError(f"scheme {scheme.name} exists only as real programs", hint=hint)


def _try_controller(plan: FlowPlan, settings: PathSettings, files: HeldFiles) -> None:
    """Simulate no time of a flow; raise PlanError if the core knows no such controller, or not the words of its load."""
    with contextlib.ExitStack() as lists:
        try:
            congestion, load, direction, _, _ = _flow(plan, settings, 0, lists)
        except TrialError:
            return  # no flow of a list arrives with this seed; each trial has another
        if isinstance(congestion, str):
            flow = (congestion, load, direction, 0.0, 0.0)
            _simulate(settings, [flow], 0, files, where=f"scheme {plan.scheme.name}")


def _is_simulated(path: Path) -> bool:
    try:
        return read_file(path).simulated is not None
    except PlanError:
        return False


def _flow(plan: FlowPlan, settings: PathSettings, seed: int, lists: contextlib.ExitStack) -> Flow:
    """Return a flow as the core takes it; a sampled list exists until `lists` is closed."""
    simulated = plan.scheme.simulated
    if simulated is None:
        raise TrialError(f"scheme {plan.scheme.name} exists only as real programs")
    load = listed(plan, settings, seed, lists.enter_context(_file_in_memory()))
    words = {"load": " ".join(load_words(plan.scheme, load, {"seed": seed, "mtu": settings.mtu}))}
    congestion = simulated.congestion
    folder = {"folder": str(plan.scheme.source.resolve().parent)}
    return (
        fill(congestion, words | folder) if isinstance(congestion, str) else congestion,
        fill(simulated.load, words),
        plan.flow.direction,
        plan.flow.start,
        plan.stop,
    )


@contextlib.contextmanager
def _file_in_memory() -> Generator[Path]:
    """Yield a file that this process can name, and that ends with it."""
    descriptor = os.memfd_create("flows")
    try:
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _simulate(
    settings: PathSettings,
    flows: Sequence[Flow],
    seed: int,
    files: HeldFiles,
    cancel: int | None = None,
    delays: Sequence[tuple[int, float]] = (),
    where: str = "trial.path",
) -> _core.PathSimulation:
    try:
        return _core.simulate_path(
            settings.uplink,
            settings.downlink,
            flows,
            directory=settings.folder,
            seed=seed,
            mtu=settings.mtu,
            cancelled=None if cancel is None else lambda: readable(cancel, 0),
            flow_delays=delays,
        )
    except _core.PathSimulationError as error:
        raise PlanError(f"{where}: {files.in_own_words(str(error))}") from error
