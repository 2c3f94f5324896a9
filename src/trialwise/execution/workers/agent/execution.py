"""Execute one trial in a separate process, which outlives the connection."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time

from trialwise.execution.services.keeper import problems_of, uses_of
from trialwise.execution.workers.agent.apart import secrets_given
from trialwise.execution.workers.agent.folder import Folder, note_hand, remove, write_durably
from trialwise.execution.workers.agent.frames import frame
from trialwise.execution.workers.agent.probe import boot_id, lines_of
from trialwise.execution.workers.agent.program import ERROR_LIMIT, LAST_ERRORS, Program, environment_of
from trialwise.measurement.followed import notes_of, seen
from trialwise.measurement.machine_counting import interrupts_by_cpu, machine_totals
from trialwise.measurement.masking import Masks
from trialwise.measurement.outliving import Watched
from trialwise.trials.beside import Beside
from trialwise.trials.container_cgroups import Cgroup, cgroup_of, used_in
from trialwise.trials.containers import end_container, labelled
from trialwise.trials.marked import MARKER, end_left, marker_beside, processes_beside
from trialwise.trials.removing import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from trialwise.measurement.keeping import Keeping
    from trialwise.measurement.outliving import Written

    Json = dict[str, Any]

UNMEASURED = ("wall_ns", "user_ns", "system_ns", "max_rss_bytes", "leftover_processes", "stdout_total")
"""Values reported as 0 for a command that is not measured."""
SUBREAPER = 36  # prctl(2)


class Execution:
    """A task: prepare, the measured program, conclude, and the files that it wrote."""

    def __init__(self, task: Json, folder: Folder) -> None:
        self.task = task
        self.masks = Masks(task.get("secrets", {}))
        self.folder = folder
        self.program: Program | None = None
        self.beside: Beside | None = None
        self.cancelled = False
        self.head: Json = {"boot": boot_id(), "runs": {}, "files": []}
        self.body = bytearray()
        self.notes: list[bytes] = []
        self.notes_beside = b""
        self.environment: dict[str, str] = {}
        self.kept = b""
        signal.signal(signal.SIGTERM, lambda number, stack: self.cancel())

    def cancel(self) -> None:
        self.cancelled = True
        for running in (self.program, self.beside):
            if running is not None:
                running.cancel()

    def run(self) -> bytes:
        """Carry out the task and return the frame with its result."""
        fresh, began = self.task.get("fresh"), time.time_ns()
        if fresh:
            os.makedirs(fresh)
        try:
            with contextlib.ExitStack() as stack:
                # Keep what the commands beside the program write, too.
                around = self.keeping(stack) if {"prepare", "conclude"} & self.task.keys() else None
                uses = uses_of(self.folder, self.task.get("measured_services", ()))
                self.steps()
                self.head["used"] = {name: use.so_far() for name, use in uses.items()}
                self.head["gone"] = problems_of(self.folder, self.task.get("services", ()))
                if around is not None:
                    self.kept, left_out = around.packed(self.kept)
                    self.head["left_out"] = list(dict.fromkeys([*self.head.get("left_out", ()), *left_out]))
            self.body += self.kept
            self.read_notes(began)
        finally:
            if self.task.get("prepare"):
                end_left(marker_beside(self.task["environment"][MARKER]))
            if fresh:
                remove_tree(fresh)
        self.head["masked"] = sorted(self.masks.met)
        return frame(self.head, bytes(self.body))

    def steps(self) -> None:
        task = self.task
        if task.get("prepare") and not succeeded(self.step("prepare", task["side_timeout"], ERROR_LIMIT)):
            return
        with contextlib.ExitStack() as stack:
            files = [
                stack.enter_context(contextlib.closing(Watched(os.path.expanduser(path))))
                for path in task["files"]
            ]
            keeping = self.keeping(stack)
            report = self.measured()
            if report.get("problem") is None and self.program is not None:
                outputs = self.program.outputs
                kept = [
                    self.masks.masked(bytes(data), cut=total > len(data))
                    for data, total in zip(outputs.kept, outputs.totals)
                ]
                if outputs.totals[0] <= len(outputs.kept[0]):  # a mask may be shorter than what it hides
                    report["stdout_total"] = min(report["stdout_total"], len(kept[0]))
                self.body += b"".join(kept)
                self.head["sizes"] = [len(output) for output in kept]
                self.head["files"] = [
                    self.taken(self.written(file, path), path) for file, path in zip(files, task["files"])
                ]
                if keeping is not None:
                    self.kept, self.head["left_out"] = keeping.packed()
        if self.follows:
            self.notes_beside = notes_of(processes_beside(task["environment"][MARKER]))
        if task.get("conclude") and not report.get("cancelled"):
            self.step("conclude", task["side_timeout"], ERROR_LIMIT, {"follow": self.follows})

    @property
    def follows(self) -> bool:
        """Whether to note which programs the task starts."""
        settings: Json = self.task.get("settings") or {}
        return bool(settings.get("follow"))

    def keeping(self, stack: contextlib.ExitStack) -> Keeping | None:
        """Watch the files that are to be kept of what the task writes; None if there are none."""
        if not self.task.get("keep"):
            return None
        from trialwise.measurement.keeping import Keeping

        return stack.enter_context(
            contextlib.closing(Keeping(self.task["keep"], self.task["keep_limit"], self.masks))
        )

    def measured(self) -> Json:
        """Run the measured program; if requested, with the machine's counts before and after."""
        task = self.task
        wanted: Json | None = task.get("machine")
        before = None if wanted is None else machine_counts(wanted["cpus"])
        words, marker = task["command"], task["environment"].get(MARKER, "")
        cgroup = cgroup_of(words, marker, environment_of(task), task["directory"])
        task["command"] = labelled(words, marker, cgroup.options if isinstance(cgroup, Cgroup) else ())
        report = self.step("command", task["timeout"], task["limit"], task.get("settings"))
        if self.program is not None:
            self.environment = dict(self.program.environment)
            self.head["container"] = end_container(words, marker, self.environment, task["directory"])
        self.head["inside"] = used_in(cgroup)
        if wanted is not None:
            self.head["machine"] = [before, machine_counts(wanted["cpus"])]
        return report

    def read_notes(self, began: int) -> None:
        """Add the files that the task ran and read to its program's report."""
        report = self.head["runs"].get("command")
        if not self.notes or report is None:
            return
        notes = b"".join(self.notes)
        found = seen(notes, self.environment, self.task.get("fresh"), began, self.notes_beside)
        files = [[os.fspath(file.path), file.role] for file in found.files]
        files = [each for each in files if not self.masks.hides(each[0])]
        report["seen"] = dict(found._asdict(), files=files)

    def step(self, what: str, timeout: float | None, limit: int, settings: Json | None = None) -> Json:
        if what in self.task.get("lasting", ()):
            self.head["runs"][what] = self.lasting(what, timeout)
            return self.head["runs"][what]
        self.program = Program(self.task[what], self.task, timeout, limit, settings or {})
        if self.cancelled:
            self.program.cancel()
        report = self.head["runs"][what] = self.program.run()
        if self.masks and "errors" in report:
            errors = self.masks.masked(bytes(self.program.outputs.kept[1]))
            report["errors"] = errors[-LAST_ERRORS:].decode(errors="replace")
        if "notes" in report:
            self.notes.append(report.pop("notes"))
        return report

    def lasting(self, what: str, timeout: float | None) -> Json:
        """Run a command whose processes live on; nothing of it is measured."""
        environment = environment_of(self.task)
        if what == "prepare":
            environment[MARKER] = marker_beside(environment[MARKER])
        self.beside = Beside(self.task[what], environment, self.task["directory"], timeout)
        self.beside.cancelled = self.cancelled
        began = time.time()
        try:
            run = self.beside.run()
        except (OSError, ValueError) as problem:
            return {"problem": getattr(problem, "strerror", None) or str(problem)}
        told: Json = {
            "started_realtime": began,
            "exit_code": run.exit_code,
            "signal": run.signal,
            "timed_out": run.timed_out,
            "cancelled": run.cancelled,
            "errors": self.masks.masked(run.stderr)[-LAST_ERRORS:].decode(errors="replace"),
            "readings": [],
        }
        return {**dict.fromkeys(UNMEASURED, 0), **told}

    def written(self, file: Watched, path: str) -> Written:
        """Return what was written to a file, or the content of a folder that may be one result."""
        if path not in self.task["folders"] or not os.path.isdir(file.path):
            return self.masks.written(file.written())
        from trialwise.measurement.keeping import packed_folder

        return packed_folder(file.path, self.masks)

    def taken(self, written: Written, path: str) -> Json:
        """Add what was written to a file to the body; "problem" says why none of it counts."""
        if written.problem is not None:
            return {"path": path, "problem": written.problem, "hint": written.hint}
        parts = written.data, written.heading, written.before
        for part in parts:
            self.body += part
        return {"path": path, "sizes": [len(part) for part in parts], "added": written.added}


def machine_counts(cpus: Sequence[int]) -> Json:
    """Return the whole machine's counts; the interrupts of each CPU if any CPUs are given."""
    by_cpu = interrupts_by_cpu(lines_of("/proc/interrupts")) if cpus else {}
    return {
        "totals": machine_totals(lines_of("/proc/stat")),
        "by_cpu": [[cpu, by_cpu[cpu]] for cpu in cpus if cpu in by_cpu],
    }


def succeeded(report: Json) -> bool:
    """Return True if a command beside the measured one succeeded."""
    return report.get("exit_code") == 0 and not (report["cancelled"] or report["timed_out"])


def keep_result(folder: Folder, key: str, content: bytes) -> None:
    """Write the result of a trial; if the disk is full, use the space reserved before."""
    try:
        write_durably(folder.result(key), content)
    except OSError:
        os.truncate(folder.started(key), 0)
        remove(folder.result(key) + ".tmp")
        try:
            write_durably(folder.result(key), content)
        except OSError as problem:
            remove(folder.result(key) + ".tmp")
            write_durably(folder.result(key), frame({"unkept": problem.strerror, "bytes_lost": len(content)}))


def execute(folder: Folder, key: str, size: int, lock: int) -> None:
    """Execute one trial; the process that starts this one has locked the folder, and the lock ends with this process.

    Secrets come by standard input, since the task stands in a file.
    """
    os.set_inheritable(lock, False)
    with open(folder.started(key), "rb") as file:
        task = dict(json.loads(file.read(size)), secrets=secrets_given())
    if not task.get("supervised"):
        stand_in()
    if "path" in task:
        from trialwise.execution.workers.agent.path_end import PathEnd
        from trialwise.execution.workers.agent.path_settings import Settings

        end = PathEnd(task, folder.lease(), folder.listening(key), Settings(folder.settings()))
        note_hand(lock, key, os.getpid())
        keep_result(folder, key, frame(*end.run()))
        return
    once = task.get("once")
    if once and os.path.exists(folder.at("setup", once)):
        keep_result(folder, key, frame({"skipped": True}))
        return
    execution = Execution(task, folder)
    note_hand(lock, key, os.getpid())  # from here on TERM is caught
    content = execution.run()
    if once and succeeded(execution.head["runs"]["command"]):
        write_durably(folder.at("setup", once), b"")
    keep_result(folder, key, content)


def stand_in() -> None:
    """Prepare to do ourselves what the supervisor would do."""
    sys.setswitchinterval(1e-5)  # the clock must be read immediately after wait4(2) returns
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def main(words: Sequence[str]) -> None:
    """``FOLDER KEY SIZE LOCK``: the folder, the trial, the length of its task, and the descriptor of the lock."""
    folder, key, size, lock = words
    execute(Folder(folder), key, int(size), int(lock))
