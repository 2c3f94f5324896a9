"""Tasks on a worker: executed at most once per key, with their results."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from trialwise.errors import TrialError
from trialwise.execution.workers.connection import Reply
from trialwise.execution.workers.remote import Remote
from trialwise.measurement.file_identity import NamedFile
from trialwise.measurement.followed import Seen
from trialwise.measurement.interrupts import MachineCounts
from trialwise.measurement.outliving import Written
from trialwise.trials.container_cgroups import Used
from trialwise.trials.marked import MARKER
from trialwise.trials.starting import ERROR_LIMIT
from trialwise.visible import visible

CountedRow = tuple[str, float | None, float, int | None]
"""A counter's name; its count, or None; the share of the time in which it counted; the error number if it did not."""


@dataclass(frozen=True, slots=True)
class RemoteRun:
    """Measurements of a program on a worker; its start time is on our clock."""

    started_realtime_ns: int
    wall_ns: int
    user_ns: int
    system_ns: int
    max_rss_bytes: int
    exit_code: int | None
    signal: int | None
    timed_out: bool
    cancelled: bool
    leftover_processes: int
    stdout_total: int
    minor_faults: int = 0
    major_faults: int = 0
    blocks_in: int = 0
    blocks_out: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    counted: tuple[CountedRow, ...] = ()
    seen: Seen | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a task: how its commands ran, and the files that it wrote. `lost` says why there is none.

    `machine` holds the whole worker's counts before and after, if requested. `kept` is an archive of the files to keep, and
    `left_out` says which are missing from it. `gone` says why services were not there at its end, by name,
    and `used` the CPU seconds and peak of memory of those that are measured. `container` says what was wrong with the trial's, and
    `inside` what ran in it used.
    """

    runs: Mapping[str, RemoteRun | str]
    files: Mapping[str, Written]
    lost: str | None = None
    skipped: bool = False
    machine: tuple[MachineCounts, MachineCounts] | None = None
    kept: bytes = b""
    left_out: Sequence[str] = ()
    masked: Sequence[str] = ()
    gone: Mapping[str, str] = field(default_factory=dict[str, str])
    used: Mapping[str, tuple[float, int]] = field(default_factory=dict[str, tuple[float, int]])
    container: str | None = None
    inside: Used | None = None


class Tasks:
    """Executes tasks on a worker; `session` distinguishes this run's resets and setups from those of another."""

    def __init__(self, remote: Remote, session: str) -> None:
        self._remote = remote
        self._session = session
        self._unacknowledged: list[str] = []

    def execute(
        self,
        key: str,
        task: dict[str, Any] | None,
        *,
        marker: str,
        cancel: int | None,
        counters: Sequence[str] = (),
        patience: float | None = None,
    ) -> Report | None:
        """Have a task executed, or only ask for its result if `task` is None; return None if the worker does not know it.

        `counters` are the names of those that the task requests. With `patience` the task may take the worker down: wait
        this many seconds, and do not ask again.

        Raises
        ------
        WorkerError
            The worker is lost.
        """
        self.acknowledge()
        if task is None or patience is None:
            reply = self._remote.run(key, task, marker=marker, cancel=cancel)
        else:
            reply = self._remote.order(key, task, marker=marker, cancel=cancel, patience=patience)
        self._unacknowledged.append(key)
        if reply is None or reply.head["state"] == "unknown":
            return None
        return _report(reply, self._remote.clock.shift, counters)

    def acknowledge(self) -> None:
        """Acknowledge all results received so far; called when they are in the ledger."""
        while self._unacknowledged:
            self._remote.forget(self._unacknowledged[-1])
            self._unacknowledged.pop()

    def command(
        self,
        what: str,
        words: Sequence[str],
        *,
        marker: str,
        timeout: float | None,
        cancel: int | None,
        directory: str | None = None,
        once: str | None = None,
        patience: float | None = None,
        lasting: bool = False,
    ) -> RemoteRun | str:
        """Run a command that is not a trial; return its run, or what went wrong before it started; `patience` as in `execute`.

        Processes that it leaves running are ended with it, unless it is `lasting`.
        """
        task = {
            "command": list(words),
            "directory": directory or self._remote.files,
            "environment": {MARKER: marker},
            "supervised": self._remote.supervised,
            "timeout": timeout,
            "side_timeout": None,
            "limit": ERROR_LIMIT,
            "files": [],
            "folders": [],
            "once": once,
            "lasting": ["command"] if lasting else [],
        }
        key = f"{what}-{self._session}"
        report = self.execute(key, task, marker=marker, cancel=cancel, patience=patience)
        if report is None or report.lost is not None:
            return (report and report.lost) or "the worker knows nothing of it"
        return _NOTHING if report.skipped else report.runs["command"]


_NOTHING = RemoteRun(
    0, 0, 0, 0, 0, 0, None, timed_out=False, cancelled=False, leftover_processes=0, stdout_total=0
)


def run_of(report: Report, what: str) -> RemoteRun:
    """Return the run of one of the commands of a trial.

    Raises
    ------
    TrialError
        It could not be started.
    """
    run = report.runs[what]
    if isinstance(run, str):
        raise TrialError(run)
    return run


def counted_rows(names: Sequence[str], readings: Sequence[Sequence[int]]) -> tuple[CountedRow, ...]:
    """Return the counters in the form of `CommandResult.counted`; if none were counted, each with the error "no such call"."""
    if not readings:
        return tuple((name, None, 0.0, errno.ENOSYS) for name in names)
    return tuple(_counted(name, *reading) for name, reading in zip(names, readings, strict=True))


def _counted(name: str, value: int, enabled: int, running: int, error: int) -> CountedRow:
    """Scale a count to the whole time if counters took turns; one that never got its turn is busy."""
    share = running / enabled if enabled else 1.0
    if error or share <= 0:
        return name, None, 0.0, error or errno.EBUSY
    return name, value / share, share, None


def _report(reply: Reply, offset: float, counters: Sequence[str]) -> Report:
    head = reply.head
    if head["state"] == "lost":
        return Report({}, {}, "the worker was restarted, or the process that executed it was killed")
    if head.get("skipped"):
        return Report({}, {}, skipped=True)
    if "unkept" in head:
        return Report({}, {}, f"its result could not be kept there: {head['unkept']}")
    outputs, files, kept = _contents(head, reply.body)
    runs = {
        what: _run(run, offset, *((outputs, counters) if what == "command" else ((b"", b""), ())))
        for what, run in cast("dict[str, dict[str, Any]]", head["runs"]).items()
    }
    left_out = tuple(map(str, head.get("left_out", ())))
    machine, gone = _machine(head.get("machine")), _gone(head.get("gone"))
    used = {str(name): (float(cpu), int(memory)) for name, (cpu, memory) in head.get("used", {}).items()}
    masked = tuple(map(str, head.get("masked", ())))
    return Report(
        runs,
        files,
        machine=machine,
        kept=kept,
        left_out=left_out,
        gone=gone,
        used=used,
        masked=masked,
        container=None if head.get("container") is None else visible(str(head["container"]))[:1000],
        inside=_inside(head.get("inside")),
    )


def _inside(told: Sequence[Any] | None) -> Used | None:
    """Return what a worker says of a container, made harmless to read."""
    if told is None:
        return None
    user, system, peak, problem = told
    return Used(
        float(user),
        float(system),
        None if peak is None else int(peak),
        None if problem is None else visible(str(problem))[:1000],
    )


def _gone(told: object) -> dict[str, str]:
    """Return what a worker says of services that did not last, made harmless to read."""
    found = cast("dict[object, object]", told) if isinstance(told, dict) else {}
    return {visible(str(name)): visible(str(problem))[:1000] for name, problem in found.items()}


def _machine(told: list[dict[str, Any]] | None) -> tuple[MachineCounts, MachineCounts] | None:
    if told is None:
        return None
    before, after = (MachineCounts(each["totals"], dict(each["by_cpu"])) for each in told)
    return before, after


def _contents(head: dict[str, Any], body: bytes) -> tuple[tuple[bytes, bytes], dict[str, Written], bytes]:
    """Split what followed the frame's line into the outputs, the files that are read, and the archive of those that are kept."""
    sizes: list[int] = head.get("sizes") or [0, 0]
    place = sizes[0] + sizes[1]
    found: dict[str, Written] = {}
    for entry in head["files"]:
        parts: list[bytes] = []
        for size in entry.get("sizes") or [int(entry.get("size", 0)), 0, 0]:
            parts.append(body[place : place + size])
            place += size
        data, heading, before = parts
        found[entry["path"]] = Written(
            data,
            added=bool(entry.get("added")),
            heading=heading,
            before=before,
            problem=entry.get("problem"),
            hint=entry.get("hint"),
        )
    return (body[: sizes[0]], body[sizes[0] : sizes[0] + sizes[1]]), found, body[place:]


def _run(
    run: dict[str, Any], offset: float, outputs: tuple[bytes, bytes], counters: Sequence[str]
) -> RemoteRun | str:
    if (problem := run.get("problem")) is not None:
        return str(problem)
    names = [name for name in RemoteRun.__slots__ if name in run and name != "seen"]
    return RemoteRun(
        started_realtime_ns=round((run["started_realtime"] - offset) * 1e9),
        stdout=outputs[0],
        stderr=outputs[1] or str(run["errors"]).encode(),
        counted=counted_rows(counters, run["readings"]),
        seen=_seen(run.get("seen")),
        **{name: run[name] for name in names},
    )


def _seen(told: dict[str, Any] | None) -> Seen | None:
    if told is None:
        return None
    files = [NamedFile(Path(path), role) for path, role in told["files"]]
    return Seen(files, told["stops"], told["problem"], told["spoiled"])
