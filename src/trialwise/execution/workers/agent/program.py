"""Run one program of a task, from start to end."""

from __future__ import annotations

import os

from trialwise.execution.workers.agent.fallback_supervisor import Unaided
from trialwise.execution.workers.agent.outputs import Outputs
from trialwise.execution.workers.agent.probe import which
from trialwise.execution.workers.agent.supervision import Supervised
from trialwise.measurement.inherited import EVERYTHING, passed_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Json = dict[str, Any]

ERROR_LIMIT = 1024 * 1024
LAST_ERRORS = 4096


def environment_of(task: Json) -> dict[str, str]:
    """Return the environment of a task's programs: what is passed on of this machine's, what the task sets, and secrets."""
    inherited = passed_on(os.environ, task.get("passed", EVERYTHING))
    return dict(inherited, **task["environment"], **task.get("secrets", {}))


class Program:
    """A program in its own process group; `settings` are those of the measured one."""

    def __init__(
        self, words: Sequence[str], task: Json, timeout: float | None, limit: int, settings: Mapping[str, Any]
    ) -> None:
        self.words = words
        self.task = task
        self.timeout = timeout
        self.settings = settings
        self.environment = environment_of(task)
        self.outputs = Outputs(limit, ERROR_LIMIT)
        self.running: Supervised | Unaided | None = None
        self.cancelled = False

    def run(self) -> Json:
        """Start the program, sleep until it ends, and end processes it left behind."""
        try:
            os.chdir(self.task["directory"])
            path = which(self.words[0], self.task["directory"], self.environment.get("PATH"))
            if path is None:
                return {"problem": "No such file or directory"}
            return self.told(self.run_file(path))
        except (OSError, ValueError) as problem:
            return {"problem": getattr(problem, "strerror", None) or str(problem)}

    def run_file(self, path: str) -> Json:
        way = Supervised if self.task.get("supervised") else Unaided
        made = way(path, self.words, self.environment, self.settings, self.timeout, self.outputs)
        self.running = made
        if self.cancelled:
            made.end("cancelled")
        return made.run()

    def cancel(self) -> None:
        """Abandon the run, whether it has begun or not."""
        self.cancelled = True
        if self.running is not None:
            self.running.end("cancelled")

    def told(self, report: Json) -> Json:
        if "problem" in report:
            return report
        status: int | None = report.pop("status")
        exited, signalled = (
            status is not None and os.WIFEXITED(status),
            status is not None and os.WIFSIGNALED(status),
        )
        return dict(
            report,
            exit_code=os.WEXITSTATUS(status or 0) if exited else None,
            signal=os.WTERMSIG(status or 0) if signalled else None,
            stdout_total=self.outputs.totals[0],
            errors=self.outputs.kept[1][-LAST_ERRORS:].decode(errors="replace"),
        )
