"""One run of a service on this machine, under the supervisor that measures trials: started, watched, ended.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import os
import select
import threading
import time

from trialwise.execution.services.output import LogFile, Printed
from trialwise.execution.services.ports import holder_of, is_listened_on
from trialwise.execution.services.processes import Use, child_of, goes_on
from trialwise.execution.services.readiness import Readiness
from trialwise.execution.workers.agent.outputs import Outputs
from trialwise.execution.workers.agent.probe import which
from trialwise.execution.workers.agent.program import environment_of
from trialwise.execution.workers.agent.shutdown import in_group
from trialwise.execution.workers.agent.supervision import Supervised
from trialwise.measurement.masking import Masks
from trialwise.trials.containers import end_container, labelled
from trialwise.trials.marked import GRACE_SECONDS, MARKER, carries, end_processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Json = dict[str, Any]

STOP_SECONDS = 30.0
"""Time that the command `stop` has, and then the service to end by itself."""
_IN_DIRECTORY = ("/bin/sh", "-c", 'cd -- "$0" && exec "$@"')
VERSION_SECONDS = 10.0
"""Time that the command `version` has."""
_ERROR_LIMIT = 4096
_LONGEST_VERSION = 200
_PAUSES = (0.005, 0.1)
_IN_FOREGROUND = "it has to stay in the foreground (memcached without -d, nginx with 'daemon off;', postgres instead of pg_ctl)"


class Program:
    """A program in a thread of its own, under the supervisor."""

    def __init__(
        self, words: Sequence[str], directory: str, environment: Json, timeout: float | None, outputs: Outputs
    ) -> None:
        line = [*_IN_DIRECTORY, directory, *words]
        self.run = Supervised(line[0], line, environment, {}, timeout, outputs)
        self.report: Json | None = None
        self._lock = threading.Lock()
        self.ended, self._end = os.pipe()
        self._thread = threading.Thread(target=self._work, name=f"service {words[0]}", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self.report = self.run.run()
        except OSError as problem:
            self.report = {"problem": problem.strerror or str(problem)}
        finally:
            if self.run.process:
                os.waitpid(self.run.process, 0)
            os.close(self._end)

    def end(self) -> None:
        """Have it ended: SIGTERM, then SIGKILL."""
        with self._lock:
            if self.report is None:
                self.run.end("cancelled")

    def wait(self, seconds: float | None, cancel: int | None = None) -> bool:
        """Wait until it has ended, at most so long or until `cancel` is readable; return True if it has."""
        watched = [self.ended] if cancel is None else [self.ended, cancel]
        return self.ended in select.select(watched, [], [], seconds)[0]

    def close(self) -> None:
        """Release the descriptors of a program that has ended."""
        self._thread.join()
        with self._lock:
            self.run.close()
            os.close(self.ended)


class ServiceProcess:
    """One run of a service, which is started from the same environment as trials; what is told of it has no secrets.

    `task` has its "words", "directory", "passed", "environment" and "secrets" (see `environment_of`), "ready" (see `Readiness`)
    with "timeout", "stop", "version" and "log" (None for none).
    """

    def __init__(self, task: Json) -> None:
        self._task = task
        self._environment = environment_of(task)
        self._masks = Masks(task.get("secrets", {}))
        self._readiness = Readiness(task["ready"], self._succeeds)
        self._printed = Printed(self._readiness.search)
        log: str | None = task.get("log")
        path = None if log is None else os.path.join(task["directory"], log)
        self._log = LogFile(path, self._readiness.search)
        self._program: Program | None = None
        self.main: tuple[int, str] | None = None
        self._cancel: int | None = None
        self._use: Use | None = None
        self._is_asked = False
        self.version: str | None = None
        """The first line that its command "version" prints, if it has one."""

    @property
    def masked(self) -> set[str]:
        """The names of the secrets that were masked in what has been told of it."""
        return self._masks.met

    @property
    def port(self) -> int | None:
        """The port that it listens on, if its check says so."""
        return self._readiness.port

    @property
    def supervisor(self) -> int:
        """The process of its supervisor, below which all its processes are; 0 before it was started."""
        return 0 if self._program is None else self._program.run.process

    @property
    def ended(self) -> int:
        """A descriptor that is readable once it has ended; only while it runs."""
        return -1 if self._program is None else self._program.ended

    def start(self, cancel: int | None = None) -> str | None:
        """Start it, and wait until it is ready; return what went wrong, None if it is ready.

        When `cancel` becomes readable, it is given up. One that is not ready is ended.
        """
        problem = self._why_not()
        if problem is None:
            self._cancel = cancel
            began = time.monotonic()
            task = self._task
            words = labelled(task["words"], self._environment[MARKER])
            self._program = Program(words, task["directory"], self._environment, None, self._printed)
            problem = self._await_ready(began + task["ready"]["timeout"], cancel)
            if problem is not None:
                self.stop()
            elif task.get("version"):
                self.version = self._first_line(task["version"])
        return None if problem is None else self._masks.text(problem)

    def problem(self) -> str | None:
        """Return why it is not there any more, None if it is: it runs, is not being ended, and listens on its port."""
        program = self._program
        if program is None:
            return "does not run"
        gone = why_gone(self.main, self.port)
        if gone is not None or program.wait(0):
            program.wait(GRACE_SECONDS)
            return self._how_it_ended() or gone
        return None

    def begin_use(self) -> None:
        """Measure from now on what it uses."""
        self._use = None if self._program is None else Use(self.supervisor)

    def use(self) -> tuple[float, int] | None:
        """Return the CPU seconds since `begin_use`, and the peak of resident memory in bytes; None if it was not measured."""
        return None if self._use is None else self._use.so_far()

    def stop(self) -> None:
        """End it with everything that it started, by its command if it has one."""
        program = self._program
        if program is None:
            return
        self._cancel = None  # it asked for the end, and must not cut short the command that ends it
        if self._task.get("stop") and not program.wait(0):
            self._is_asked = True
            self._succeeds(self._task["stop"], STOP_SECONDS)
            program.wait(STOP_SECONDS)
        if not program.wait(0):
            self._is_asked = True
            program.end()
        program.wait(None)
        self._end_orphans(program)
        end_container(
            self._task["words"], self._environment[MARKER], self._environment, self._task["directory"]
        )
        self._log.read(to_its_end=True)
        program.close()
        self._program = None

    def printed(self) -> bytes:
        """Return what it printed and wrote to its log, as far as that is kept."""
        self._log.read(to_its_end=True)
        log = self._log.kept.text(self._masks)
        return self._printed.both.text(self._masks) + (b"\n--- log\n" + log if log else b"")

    def _why_not(self) -> str | None:
        """Say what keeps it from being started."""
        task, port = self._task, self.port
        if not os.path.isdir(task["directory"]):
            return f"{task['directory']} is not a directory"
        if which(task["words"][0], task["directory"], self._environment.get("PATH")) is None:
            return f"there is no program {task['words'][0]!r}"
        if port is not None and is_listened_on(port):
            holder = holder_of(port) or "a process of another user"
            return f"port {port} is in use by {holder}: end that, or take another port"
        return None

    def _await_ready(self, deadline: float, cancel: int | None) -> str | None:
        pause, program = _PAUSES[0], self._program
        while program is not None:
            left = deadline - time.monotonic()
            self._log.read()
            self._look_for_main(program)
            missing = self._readiness.problem(max(left, 0.001))
            if program.wait(0):
                return f"{self._how_it_ended()} before it was ready"
            if missing is None and self.main is not None:
                return None
            if left <= 0:
                return f"was not ready within {self._task['ready']['timeout']:g} s: {missing}"
            watched = [program.ended] if cancel is None else [program.ended, cancel]
            if cancel in select.select(watched, [], [], min(pause, left))[0]:
                return "was not waited for on request"
            pause = min(2 * pause, _PAUSES[1])
        return None

    def _look_for_main(self, program: Program) -> None:
        if self.main is None and program.run.process:
            self.main = child_of(program.run.process)

    def _how_it_ended(self) -> str | None:
        """Say how it ended; None if it has not."""
        report = self._program.report if self._program is not None else None
        if report is None:
            return None
        return str(report["problem"]) if "problem" in report else _ending(report)

    def _first_line(self, words: Sequence[str]) -> str | None:
        """Return the first line that a command prints, on standard output or else on standard error."""
        _, said = self._run(words, VERSION_SECONDS, Outputs(_ERROR_LIMIT, _ERROR_LIMIT))
        lines = "\n".join(said).split("\n")
        return next((line.strip()[:_LONGEST_VERSION] for line in lines if line.strip()), None)

    def _succeeds(self, words: Sequence[str], seconds: float) -> str | None:
        """Run a command of the service; return what went wrong, or None."""
        report, (_, errors) = self._run(words, seconds, Outputs(0, _ERROR_LIMIT))
        if report.get("status") == 0 and not report["timed_out"]:
            return None
        said = errors.strip().splitlines()[-1:]
        return f"{words[0]!r} does not succeed" + "".join(f": {line}" for line in said)

    def _run(self, words: Sequence[str], seconds: float, outputs: Outputs) -> tuple[Json, list[str]]:
        """Run a command of the service to its end; return how it went, and what is kept of what it printed, without secrets."""
        program = Program(words, self._task["directory"], self._environment, seconds, outputs)
        if not program.wait(None, self._cancel):
            program.end()
            program.wait(None)
        program.close()
        said = [self._masks.masked(bytes(kept), cut=True) for kept in outputs.kept]
        return program.report or {}, [text.decode(errors="replace") for text in said]

    def _end_orphans(self, program: Program) -> None:
        """End what the supervisor could not, if somebody killed it."""
        if "problem" not in (program.report or {}):
            return
        marker = self._environment[MARKER]
        group = self.main[0] if self.main else 0
        end_processes(lambda each: carries(each, marker) or in_group(each, group))


def why_gone(main: tuple[int, str] | None, port: int | None) -> str | None:
    """Say why a service is not there any more, None if it is: it runs, nothing has begun to end it, and it listens on its port."""
    if main is None or not goes_on(main):
        return "is being ended"
    return None if port is None or is_listened_on(port) else f"does not listen on port {port} any more"


def _ending(report: Json) -> str:
    """Say how a service ended by itself."""
    status: int | None = report["status"]
    if status is None:
        return "could not be ended, not even by SIGKILL"
    if os.WIFSIGNALED(status):
        return f"was ended by signal {os.WTERMSIG(status)}"
    said = f"ended with exit code {os.WEXITSTATUS(status)}"
    left: int = report["leftover_processes"]
    if left and not os.WEXITSTATUS(status):
        return f"{said} and left {left} in the background, which were ended ({_IN_FOREGROUND})"
    return said
