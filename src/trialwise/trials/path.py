"""Trial kind `path`: real senders and receivers over an emulated path."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trialwise import _core, _linux
from trialwise.errors import PlanError, TrialError
from trialwise.experiment.model import Experiment, Level
from trialwise.experiment.placeholders import fill
from trialwise.experiment.trials import PathSettings
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.followed import notes_of, seen
from trialwise.measurement.samples import Samples
from trialwise.schemes.needs import missing, search_path
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.ecn_needs import unfit_path
from trialwise.trials.flows import RunningFlow, surroundings
from trialwise.trials.held_files import HeldFiles
from trialwise.trials.instrumenting import as_samples
from trialwise.trials.judging import with_seen
from trialwise.trials.marked import MARKER, processes_beside
from trialwise.trials.path_plan import (
    NOWHERE,
    FlowPlan,
    attachments_of,
    check_load,
    flow_plans,
    open_path,
    settings_of,
    trial_of,
)
from trialwise.trials.path_samples import (
    PathRecord,
    check_certificate,
    check_frames,
    kept_packets,
    metric_samples,
    packets_of,
)
from trialwise.trials.programs import ProgramEnd, readable
from trialwise.trials.removing import remove_tree

LATEST_START = 1.0
"""Seconds; a flow that would start later than this after its time makes the trial fail."""


class PathKind:
    """Opens the path, runs the flows over it, and computes the metrics from the packets."""

    def __init__(self) -> None:
        self._files = HeldFiles()

    def check(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> None:
        """Raise PlanError if a path is invalid, a scheme is unknown or lacks something, or paths are impossible here."""
        tried: set[PathSettings] = set()
        for values in factors:
            filled = dict(NOWHERE) | dict(values)
            settings = self._files.held(settings_of(experiment, filled))
            plans = flow_plans(experiment, filled)
            check_frames(experiment, plans)
            check_certificate(experiment, settings)
            for plan in plans:
                if not plan.scheme.has_programs:
                    hint = 'set trial.engine = "simulated"'
                    raise PlanError(
                        f"scheme {plan.scheme.name} runs where packets are simulated only", hint=hint
                    )
                if lacks := missing(plan.scheme):
                    hint = f"see `trialwise schemes`, or run the others with --only scheme=…; {lacks[0]}"
                    raise PlanError(
                        f"scheme {plan.scheme.name} cannot run here: {'; '.join(lacks)}", hint=hint
                    )
                check_load(plan, settings)
            if settings not in tried:
                open_path(settings, 0, None, trial_of(experiment).lateness, self._files).close()
                tried.add(settings)

    def programs(self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]) -> Iterator[NamedFile]:
        """Name the files whose change makes trials incomparable: the emulator, the programs of schemes, and all attachments."""
        yield NamedFile(Path(str(_core.__file__)), "library")
        known: set[Path] = set()
        for values in factors:
            for plan in flow_plans(experiment, dict(NOWHERE) | dict(values)):
                found = [shutil.which(name, path=search_path()) for name in plan.scheme.needs.programs]
                for path in (Path(name) for name in found if name):
                    if path not in known:
                        known.add(path)
                        yield NamedFile(path)
        yield from (NamedFile(path, "input") for _, path in attachments_of(experiment, factors))

    def attachments(
        self, experiment: Experiment, factors: Sequence[Mapping[str, Level]]
    ) -> Iterator[tuple[str, Path]]:
        """Name the files of the schemes, those that loads are read from, and the traces that paths name, as they were read."""
        yield from ((name, self._files.as_held(path)) for name, path in attachments_of(experiment, factors))

    def execute(self, request: TrialRequest) -> TrialOutcome:
        """Run the flows of one trial for its runtime."""
        request.scratch.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f"{request.number}-{request.attempt}-", dir=request.scratch))
        try:
            return _Execution(request, scratch, self._files).run()
        except (TrialError, PlanError) as error:
            if readable(request.cancel, 0):
                return abandoned()
            return TrialOutcome("failed", None, time.time(), reason=error.message)
        finally:
            remove_tree(scratch)


@dataclass(slots=True)
class _Clock:
    """When the first flow started: on the monotonic clock (nanoseconds) and since the epoch (seconds)."""

    monotonic: int
    realtime: float

    @property
    def elapsed(self) -> float:
        return (time.monotonic_ns() - self.monotonic) / 1e9


class _Execution:
    """One trial."""

    def __init__(self, request: TrialRequest, scratch: Path, files: HeldFiles) -> None:
        self.request = request
        self.files = files
        self.trial = trial_of(request.experiment)
        self.scratch = scratch
        self.values = request.places | {"directory": str(scratch)}
        self.plans = flow_plans(request.experiment, self.values)
        self.settings = files.held(settings_of(request.experiment, self.values))
        self.log = scratch / "packets.log"
        own = {name: fill(text, self.values) for name, text in self.trial.environment}
        self.environment = surroundings(own) | {MARKER: request.marker, "TRIALWISE_SEED": str(request.seed)}
        self.something = threading.Event()
        self.printed: list[tuple[bytes, bytes]] = []
        self.notes = b""
        self.used: Sequence[ProgramEnd] = ()

    def run(self) -> TrialOutcome:
        began = time.time_ns()
        outcome = self._run_on_path()
        if not self.request.follow:
            return outcome
        around = notes_of(processes_beside(self.request.marker))
        found = seen(self.notes, self.environment, os.fspath(self.scratch), began, around)
        return with_seen(outcome, found)

    def _run_on_path(self) -> TrialOutcome:
        with contextlib.ExitStack() as attached:
            for name in sorted({plan.scheme.attach for plan in self.plans if plan.scheme.attach}):
                attached.enter_context(_attached(name))
            path = open_path(
                self.settings, self.request.seed, self.log, self.trial.lateness, self.files, self.plans
            )
            try:
                clock, ended, problem = self._run([self._flow(plan, path) for plan in self.plans])
            finally:
                report = path.close()
        outcome = self._outcome(clock, ended, problem, report)
        output, errors = (
            (b"".join(parts) for parts in zip(*self.printed, strict=True)) if self.printed else (b"", b"")
        )
        return dataclasses.replace(outcome, output=output, errors=errors)

    def _flow(self, plan: FlowPlan, path: _linux.Path) -> RunningFlow:
        return RunningFlow(
            plan,
            path,
            settings=self.settings,
            directory=self.scratch / f"flow-{plan.number}",
            environment=self.environment,
            seed=self.request.seed,
            on_end=self.something.set,
            follow=self.request.follow,
        )

    def _run(self, flows: Sequence[RunningFlow]) -> tuple[_Clock | None, float, str | None]:
        """Begin, run and end all flows; return the trial's clock, its duration, and what went wrong."""
        try:
            for flow in flows:
                flow.begin()
            for flow in flows:
                flow.await_ready(lambda: self._abandoned)
            if self._abandoned:
                return None, 0.0, None
            clock = _Clock(time.monotonic_ns(), time.time())
            problem = self._conduct(flows, clock)
            return clock, min(clock.elapsed, self.trial.runtime), problem
        except TrialError as error:
            return None, 0.0, error.message
        finally:
            for flow in flows:
                flow.stop()
            for flow in flows:
                flow.wait()
            self.printed = [each for flow in flows for each in flow.printed()]
            self.notes = b"".join(flow.notes() for flow in flows)
            self.used = [end for flow in flows for end in flow.used()]

    def _conduct(self, flows: Sequence[RunningFlow], clock: _Clock) -> str | None:
        """Start and stop each flow at its time, until the last has stopped; return what went wrong."""
        waiting = sorted(flows, key=lambda flow: flow.plan.flow.start)
        running: list[RunningFlow] = []
        while (waiting or running) and not self._abandoned:
            if problem := _start_due(waiting, running, clock):
                return problem
            for flow in [flow for flow in running if flow.is_done]:
                running.remove(flow)
            if problem := next((said for flow in running if (said := flow.problem())), None):
                return f"{problem}, {clock.elapsed:.1f} s after the start"
            for flow in [flow for flow in running if flow.plan.stop <= clock.elapsed]:
                if not flow.plan.lasts:
                    return f"flow {flow.plan.number} ({flow.plan.scheme.name}) did not finish its load {flow.plan.load.text} in time"
                flow.stop()
                running.remove(flow)
            self._sleep(
                clock, [flow.plan.flow.start for flow in waiting] + [flow.plan.stop for flow in running]
            )
        return None

    def _sleep(self, clock: _Clock, moments: Sequence[float]) -> None:
        """Sleep until the next moment, the end of a program, or a request to abandon."""
        while moments and not self.something.is_set():
            left = min(moments) - clock.elapsed
            if left <= 0 or readable(self.request.cancel, min(left, 0.05)):
                break
        self.something.clear()

    @property
    def _abandoned(self) -> bool:
        return readable(self.request.cancel, 0)

    def _outcome(
        self, clock: _Clock | None, ended: float, problem: str | None, report: _linux.PathReport
    ) -> TrialOutcome:
        if self._abandoned:
            return abandoned()
        if clock is None:
            return TrialOutcome("failed", None, time.time(), reason=problem, samples=_of_emulator(report))
        record = self._record(clock, ended, report)
        samples = _of_emulator(report) | _cost(self.used, report)
        if problem is None:
            try:
                samples |= metric_samples(self.request.experiment, record)
            except TrialError as error:
                problem = error.message
        judged = problem or report.bottleneck or unfit_path(self.plans, self.settings)
        return TrialOutcome(
            "finished" if judged is None else "failed" if problem else "invalid",
            clock.realtime,
            clock.realtime + ended,
            reason=judged,
            samples=samples,
            record=kept_packets(self.request, record.packets),
        )

    def _record(self, clock: _Clock, ended: float, report: _linux.PathReport) -> PathRecord:
        offset = (clock.monotonic - report.started_ns) / 1e9
        return PathRecord(
            packets=packets_of(self.log, self.plans, offset),
            settings=self.settings,
            plans=self.plans,
            reports={
                plan.number: self.scratch / f"flow-{plan.number}" / "report.jsonl" for plan in self.plans
            },
            started_ns=clock.monotonic,
            stop=ended,
            warmup=self.request.experiment.warmup,
        )


def _cost(programs: Sequence[ProgramEnd], report: _linux.PathReport) -> dict[str, Samples]:
    """Return what the programs of all flows used together, which run at the same time, with the CPU time of the emulator."""
    emulator = report.processor_share * report.duration
    return as_samples(
        {
            "user": sum(each.user for each in programs),
            "system": sum(each.system for each in programs) + emulator,
            "max_rss": sum(each.max_rss for each in programs),
        }
    )


_FIELDS = ("not_ect", "ect1", "ect0", "ce")


def abandoned() -> TrialOutcome:
    """Return the outcome of a trial that was abandoned on request."""
    return TrialOutcome("abandoned", None, time.time(), reason="abandoned on request")


def _attached(name: str) -> _linux.AttachedCongestion:
    try:
        return _linux.attach_congestion(name)
    except _linux.AttachError as error:
        raise TrialError(f"congestion control {name} cannot be attached to the kernel: {error}") from error


def _start_due(waiting: list[RunningFlow], running: list[RunningFlow], clock: _Clock) -> str | None:
    """Start the flows whose time has come; return what is wrong if one would start far too late."""
    while waiting and waiting[0].plan.flow.start <= clock.elapsed:
        flow = waiting.pop(0)
        late = clock.elapsed - flow.plan.flow.start
        if late > LATEST_START:
            return (
                f"flow {flow.plan.number} ({flow.plan.scheme.name}) would have started {late:.1f} s late: this machine "
                "starts no more programs at once; use fewer flows, or start them one after the other (interval)"
            )
        flow.start()
        running.append(flow)
    return None


def _of_emulator(report: _linux.PathReport) -> dict[str, Samples]:
    """Return what the emulator reports about itself, besides the metrics."""
    facts = {
        "processor_share": report.processor_share,
        "realtime": float(report.realtime),
        "unseen_p99": report.unseen.p99,
        "lateness_p99_uplink": report.uplink.lateness.p99,
        "lateness_p99_downlink": report.downlink.lateness.p99,
        "lateness_max": max(report.uplink.lateness.largest, report.downlink.lateness.largest),
        "unlogged": float(report.uplink.unlogged + report.downlink.unlogged),
    }
    for way, link in (("uplink", report.uplink), ("downlink", report.downlink)):
        facts |= {f"copied_{way}": float(link.copied), f"changed_{way}": float(link.changed)}
        for field, came, went in zip(_FIELDS, link.arrived_ecn, link.delivered_ecn, strict=True):
            facts |= {f"{field}_arrived_{way}": float(came), f"{field}_delivered_{way}": float(went)}
    return {f"emulator:{name}": Samples(np.array([value])) for name, value in facts.items()}
