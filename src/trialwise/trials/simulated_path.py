"""Trial kind `path` with engine "simulated": the links, controllers and loss recovery of an emulated path in simulated time."""

from __future__ import annotations

import shutil
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise import _core
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import Experiment, Level, PathSettings
from trialwise.experiment.placeholders import fill
from trialwise.measurement.packets import simulated_packets
from trialwise.schemes.library import read_file, scheme_files
from trialwise.schemes.scheme import Scheme
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.loads import load_words
from trialwise.trials.path import abandoned
from trialwise.trials.path_plan import (
    NOWHERE,
    FlowPlan,
    attachments_of,
    check_load,
    flow_plans,
    listed,
    settings_of,
)
from trialwise.trials.path_samples import PathRecord, kept_packets, metric_samples
from trialwise.trials.programs import readable

Flow = tuple[str | object, str, str, float, float]
"""Congestion control, load, direction, start and stop in seconds: what the core simulates."""


class SimulatedPathKind:
    """Simulates the flows of a path, and reads from the packets what the metrics ask for."""

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError where a path cannot be, or a scheme is unknown or exists only as real programs."""
        tried: set[PathSettings] = set()
        for values in factors:
            filled = dict(NOWHERE) | dict(values)
            settings = settings_of(experiment, filled)
            for plan in flow_plans(experiment, filled):
                _require_simulated(plan.scheme, experiment)
                check_load(plan, settings)
            if settings not in tried:
                _simulate(settings, (), 0)
                tried.add(settings)

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[Path]:
        """Name the files whose change makes trials incomparable: all attachments."""
        yield from (path for _, path in self.attachments(experiment, factors))

    def attachments(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[tuple[str, Path]]:
        """Name the files of the schemes, those that loads are read from, and the traces that paths name."""
        yield from attachments_of(experiment, factors)

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Simulate the flows of one trial for its runtime."""
        request.scratch.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f"{request.number}-{request.attempt}-", dir=request.scratch))
        started = time.time()
        try:
            return _Execution(request, scratch, started).run()
        except InterruptedError:
            return abandoned()
        except (TrialError, PlanError) as error:
            return TrialOutcome("failed", started, time.time(), reason=error.message)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Execution:
    """One trial; `started` is when it did, in seconds since the epoch."""

    request: TrialRequest
    scratch: Path
    started: float

    def run(self) -> TrialOutcome:
        request = self.request
        values = request.places | {"directory": str(self.scratch)}
        settings = settings_of(request.experiment, values)
        plans = flow_plans(request.experiment, values)
        flows = [_flow(plan, settings, request.seed, self.scratch) for plan in plans]
        try:
            done = _simulate(settings, flows, request.seed, request.cancel)
        except InterruptedError:
            raise
        except PlanError:
            raise
        except Exception as error:  # whatever a congestion control in Python raises
            return self._raised(error)
        return self._outcome(done, settings, plans)

    def _raised(self, error: Exception) -> TrialOutcome:
        """A congestion control in Python failed: the reason says where, the output has the whole traceback."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
        reason = f"the congestion control raised {type(error).__name__}: {error}{place}"
        text = "".join(traceback.format_exception(error)).encode()
        return TrialOutcome("failed", self.started, time.time(), reason=reason, errors=text)

    def _outcome(
        self, done: _core.PathSimulation, settings: PathSettings, plans: Sequence[FlowPlan]
    ) -> TrialOutcome:
        record = PathRecord(
            packets=simulated_packets(done.packets),
            settings=settings,
            plans=plans,
            reports=self._reports(done, plans),
            started_ns=0,
            stop=done.end,
            warmup=self.request.experiment.warmup,
        )
        problem = _unfinished(done, plans)
        samples = {}
        if problem is None:
            samples = metric_samples(self.request.experiment, record)
        return TrialOutcome(
            "finished" if problem is None else "failed",
            self.started,
            time.time(),
            reason=problem,
            samples=samples,
            record=kept_packets(self.request, record.packets),
        )

    def _reports(self, done: _core.PathSimulation, plans: Sequence[FlowPlan]) -> dict[int, Path]:
        paths = {plan.number: self.scratch / f"report-{plan.number}.jsonl" for plan in plans}
        for path, report in zip(paths.values(), done.reports, strict=True):
            path.write_bytes(report)
        return paths


def _unfinished(done: _core.PathSimulation, plans: Sequence[FlowPlan]) -> str | None:
    """What is wrong where a load that must not be cut off was."""
    for plan, completed in zip(plans, done.completed, strict=True):
        if not completed and not plan.lasts:
            return f"flow {plan.number} ({plan.scheme.name}) did not finish its load {plan.load.text} in time"
    return None


def _require_simulated(scheme: Scheme, experiment: Experiment) -> None:
    """Raise PlanError, with those that can be, where a scheme cannot be simulated."""
    if scheme.simulated is not None:
        return
    folders = [experiment.folder / folder for folder in getattr(experiment.trial, "scheme_folders", ())]
    able = [name for name, path in sorted(scheme_files(folders).items()) if _is_simulated(path)]
    hint = f'simulated can be: {", ".join(able)}, and python:module:Class; the others run with engine = "emulated"'
    raise PlanError(f"scheme {scheme.name} exists only as real programs", hint=hint)


def _is_simulated(path: Path) -> bool:
    try:
        return read_file(path).simulated is not None
    except PlanError:
        return False


def _flow(plan: FlowPlan, settings: PathSettings, seed: int, scratch: Path) -> Flow:
    simulated = plan.scheme.simulated
    if simulated is None:
        raise TrialError(f"scheme {plan.scheme.name} exists only as real programs")
    load = listed(plan, settings, seed, scratch / f"flows-{plan.number}.csv")
    words = {"load": " ".join(load_words(plan.scheme, load, {"seed": seed, "mtu": settings.mtu}))}
    congestion = simulated.congestion
    return (
        fill(congestion, words) if isinstance(congestion, str) else congestion,
        fill(simulated.load, words),
        plan.flow.direction,
        plan.flow.start,
        plan.stop,
    )


def _simulate(
    settings: PathSettings, flows: Sequence[Flow], seed: int, cancel: int | None = None
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
        )
    except _core.PathSimulationError as error:
        raise PlanError(f"trial.path: {error}") from error
