"""Probe a real path for minutes to days: stretches of probes both ways, one after another, whose rows are kept as they come.

A stretch is a trial without flows, with the meeting, the lease and the silences of one. What interrupts it costs what was not yet
kept: a connection that is gone is waited for, records that ends kept meanwhile are fetched when they are reached again, also by
a later run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trialwise.errors import AnalysisError, PlanError, TrialError, WorkerError
from trialwise.execution.ends.connections import Connections, kept_keys
from trialwise.execution.ends.pair import Pair
from trialwise.execution.ends.records import EndRecord, record_of
from trialwise.execution.ends.results import require_well, seen_by_both
from trialwise.execution.ends.tasks import EndTasks
from trialwise.execution.workers.agent.path_programs import LINGER
from trialwise.experiment.model import Experiment
from trialwise.experiment.trials import PathFlow, PathSettings, RealEnds
from trialwise.measurement.condition_files import About, ConditionFile
from trialwise.measurement.condition_rows import Condition, conditions_of, rates_of
from trialwise.measurement.joining import join_sightings
from trialwise.temporary import vanishing_folder
from trialwise.trials.base import TrialRequest
from trialwise.trials.path_plan import NOWHERE, flow_plans, trial_of
from trialwise.trials.programs import readable

STRETCH = 300.0
"""Seconds of probes between two collections: what is lost at most when an end is killed."""
QUIET = 1.0
"""Seconds in which an end says that it is ready, and at last that it is done, often enough for the other to hear it."""
SHORTEST = 5.0
"""Seconds below which no further stretch begins."""
RATE_SECONDS, RATE_SCHEME = 5.0, "udp-bbr3"
"""For how long a trial fills the path in each direction, one after the other, and with what."""
RATE_LEAST = 60.0
"""Seconds between two such trials at least."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_RATES, _STRETCH = "rates", "stretch"


@dataclass(frozen=True, slots=True)
class Told:
    """How far probing has come: rows that were kept, and why the last stretch was not whole, if it was not."""

    rows: int
    problem: str | None = None


def about(path: str, ends: RealEnds, every: float) -> About:
    """Return what a new file of the condition of a path says first; its ends by a digest only, as it may be shared."""
    told = f"{ends.sending}\n{ends.receiving}\n{ends.address}\n{ends.port}"
    return About(secrets.token_hex(16), path, hashlib.sha256(told.encode()).hexdigest()[:16], every)


def probe_path(
    experiment: Experiment,
    settings: PathSettings,
    file: ConditionFile,
    *,
    seconds: float,
    rate_every: float | None = None,
    cancel: int,
    tell: Callable[[Told], None],
) -> int:
    """Probe the path between two ends for so long, and add the rows to a file; return how many were added.

    Parameters
    ----------
    experiment
        Whose trials are to run over the path; its workers say how ends are reached.
    settings
        A real path.
    file
        Where rows are added as they come.
    seconds
        For how long, by a clock that goes on while this machine sleeps.
    rate_every
        Seconds between trials that fill the path for `RATE_SECONDS` each way; None for none.
    cancel
        A descriptor that becomes readable to stop; what there is until then is kept.
    tell
        Called after every stretch.

    Raises
    ------
    WorkerError, PlanError
        An end cannot be reached or used, before anything was kept.
    TrialError
        The ends do not hear each other, or cannot capture, before anything was kept.
    StoreError
        The file cannot be written.
    """
    with vanishing_folder("trialwise-profile-") as scratch:
        probing = _Probing(experiment, settings, file, rate_every, cancel, scratch)
        try:
            return probing.run(time.clock_gettime(time.CLOCK_BOOTTIME) + seconds, tell)
        finally:
            probing.connections.close()


@dataclass(slots=True)
class _Probing:
    experiment: Experiment
    settings: PathSettings
    file: ConditionFile
    rate_every: float | None
    cancel: int
    scratch: Path
    token: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    waiting: dict[str, dict[int, EndRecord]] = field(default_factory=dict[str, "dict[int, EndRecord]"])
    connections: Connections = field(init=False)
    stretches: int = 0
    rows: int = 0
    have_met: bool = False
    next_rates: float = field(init=False)

    def __post_init__(self) -> None:
        self.connections = Connections(self.experiment.workers, self.cancel)
        self.next_rates = _now() if self.rate_every else math.inf

    @property
    def ends(self) -> RealEnds:
        return real_ends(self.settings)

    def run(self, deadline: float, tell: Callable[[Told], None]) -> int:
        pause = _FIRST_PAUSE
        while (left := deadline - _now()) >= SHORTEST or not self.stretches:
            problem = self.attempt(max(left, SHORTEST))
            tell(Told(self.rows, problem))
            pause = min(pause * 2, _LONGEST_PAUSE) if problem else _FIRST_PAUSE
            waits = min(pause, max(deadline - _now(), 0.0)) if problem else 0.0
            if readable(self.cancel, waits):
                break
        return self.rows

    def attempt(self, left: float) -> str | None:
        """Collect what ends kept, and probe for one stretch; return why it was not whole, None if it was."""
        try:
            tasks = self.connections.tasks(dataclasses.replace(self.ends, quiet=QUIET), self.file.about.id)
            self.collect(tasks)
            self.stretches += 1
            if self.rate_every and self.next_rates <= _now() and left >= 4 * RATE_SECONDS:
                self.next_rates = _now() + self.rate_every
                return self.trial(tasks, _RATES, self.request(2 * RATE_SECONDS, _filling()))
            length = min(left, STRETCH, max(self.next_rates - _now(), SHORTEST))
            return self.trial(tasks, _STRETCH, self.request(max(length - LINGER - 2 * QUIET, 1.0)))
        except (WorkerError, TrialError, PlanError) as error:
            self.connections.close()
            has_begun = self.rows or (self.have_met and isinstance(error, WorkerError))
            if not has_begun and not readable(self.cancel, 0):
                raise
            return error.line

    def trial(self, tasks: EndTasks, what: str, request: TrialRequest) -> str | None:
        """Run one trial, and keep its rows; raise TrialError or WorkerError if nothing came of it."""
        key = f"{what}-{time.time_ns()}-{self.stretches}"
        plans = flow_plans(request.experiment, NOWHERE)
        secret = hmac.new(self.token, key.encode(), hashlib.sha256).digest()
        pair = Pair(tasks, key, tasks.orders(request, self.settings, plans, key, secret), request)
        pair.run()
        found = {place: one for place, one in pair.found.items() if isinstance(one, EndRecord)}
        self.have_met |= any(len(record.probes) for record in found.values())
        if len(found) < len(tasks.remotes):
            return self.missed(key, pair, found)
        self.waiting[key] = found
        rows = self.keep(key)
        if not rows:
            require_well(self.ends, (pair.record(0), pair.record(1)))
        problems = [(name, found[place].problem) for place, name in enumerate(tasks.names)]
        told = [f"{name}: {problem}" for name, problem in problems if problem]
        return "; ".join(told) or (None if rows else "too little was seen")

    def missed(self, key: str, pair: Pair, found: dict[int, EndRecord]) -> str:
        """Return why an end has no record; it is fetched later if only the connection is gone."""
        problem = next(one for one in pair.found.values() if not isinstance(one, EndRecord))
        if isinstance(problem, WorkerError):
            self.waiting[key] = found
        if isinstance(problem, TrialError) and self.have_met:
            return problem.line
        raise problem

    def request(self, runtime: float, flows: tuple[PathFlow, ...] = ()) -> TrialRequest:
        """Return a trial, without flows unless they are given."""
        trial = dataclasses.replace(trial_of(self.experiment), flows=flows, runtime=runtime, environment=())
        return TrialRequest(
            experiment=dataclasses.replace(self.experiment, trial=trial),
            factors={},
            number=self.stretches,
            attempt=1,
            series=1,
            round=1,
            position=1,
            seed=0,
            scratch=self.scratch,
            marker=f"{self.file.about.id}:{self.stretches}",
            cancel=self.cancel,
        )

    def collect(self, tasks: EndTasks) -> None:
        """Fetch what the ends still have of stretches that were interrupted, and keep it where both have a record."""
        for place, remote in enumerate(tasks.remotes):
            for key in kept_keys(remote):
                reply = remote.run(key, None, marker=f"{self.file.about.id}:{key}/{place}", cancel=None)
                with contextlib.suppress(TrialError):  # it was killed before it had one
                    self.waiting.setdefault(key, {})[place] = record_of(reply, tasks.names[place])
                remote.forget(key)
        for key in list(self.waiting):
            if len(self.waiting[key]) == len(tasks.remotes):
                self.keep(key)
        self.waiting.clear()

    def keep(self, key: str) -> int:
        """Add the rows of a stretch of which both records are there; return how many it had."""
        records = self.waiting.pop(key)
        added = self.file.add(self.rows_of(key, (records[0], records[1])))
        self.rows += added
        return added

    def rows_of(self, key: str, records: tuple[EndRecord, EndRecord]) -> list[Condition]:
        """Return the rows of a stretch; none if the ends did not see each other's probes."""
        if not all(record.sightings for record in records):
            return []
        try:
            one, other = seen_by_both(self.scratch, key, records)
            joined = join_sightings(one, other, seed=0)
            if key.startswith(_RATES):
                row = rates_of(joined, one)
                return [] if row is None else [row]
            return list(conditions_of(joined, one, other, self.file.about.every))
        except (AnalysisError, TrialError):
            return []


def real_ends(settings: PathSettings) -> RealEnds:
    """Return the ends of a real path; raise PlanError if it is an emulated one."""
    if settings.ends is None:
        raise PlanError("an emulated path has no ends on other machines")
    return settings.ends


def _filling() -> tuple[PathFlow, PathFlow]:
    """Return a flow that fills the path there, and then one that fills it back."""
    return (
        PathFlow(scheme=RATE_SCHEME, stop=RATE_SECONDS),
        PathFlow(scheme=RATE_SCHEME, start=RATE_SECONDS, direction="downlink"),
    )


def _now() -> float:
    """Return seconds of a clock that goes on while this machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
