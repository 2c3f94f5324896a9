"""Start and measure a program in Python alone, if there is no supervisor for the machine.

The kernel's counters and namespaces are unavailable, the peak memory is never below Python's own, and the measured time includes the
delay until Python reads the clock after the end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

from trialwise.execution.workers.agent.runs import Run
from trialwise.execution.workers.agent.shutdown import end_marked
from trialwise.trials.marked import GRACE_SECONDS, MARKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]


class Unaided(Run):
    """One run of a program; "cpus" is the only setting that it honours."""

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self.why: str | None = None
        self.process = 0

    def run(self) -> Json:
        """Start the program, sleep until it ends, and end processes it left behind."""
        reader = threading.Thread(target=self.outputs.read, daemon=True)
        signal.signal(signal.SIGALRM, lambda number, stack: self.end("timed out"))
        reader.start()
        try:
            realtime, start = time.time(), time.monotonic_ns()
            self.process = self.spawn()
        finally:
            self.outputs.close_writers()
        status, usage, end = self.wait()
        leftover = end_marked(self.environment[MARKER], self.process)
        reader.join(GRACE_SECONDS)
        return self.told(realtime, end - start, status, usage, leftover)

    def spawn(self) -> int:
        actions: list[Any] = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, self.outputs.writers[0], 1),
            (os.POSIX_SPAWN_DUP2, self.outputs.writers[1], 2),
        ]
        ignored = [signal.SIGPIPE, signal.SIGXFSZ]  # Python ignores them; a program expects the default
        cpus: list[int] = self.settings.get("cpus") or []
        usual = os.sched_getaffinity(0)
        if cpus:
            os.sched_setaffinity(0, cpus)  # the program inherits it
        try:
            return os.posix_spawn(
                self.path, self.words, self.environment, file_actions=actions, setpgroup=0, setsigdef=ignored
            )
        finally:
            if cpus:
                os.sched_setaffinity(0, usual)

    def wait(self) -> tuple[int, Any, int]:
        """Sleep in wait4(2); the alarm and TERM interrupt it."""
        if self.why is not None:  # cancelled before there was a process
            self.end(self.why)
        elif self.timeout is not None:
            signal.setitimer(signal.ITIMER_REAL, self.timeout)
        _, status, usage = os.wait4(self.process, 0)
        end = time.monotonic_ns()
        signal.setitimer(signal.ITIMER_REAL, 0)
        return status, usage, end

    def end(self, why: str) -> None:
        """End the program: TERM, then KILL after the grace period."""
        number = signal.SIGTERM if self.why is None or not self.process else signal.SIGKILL
        self.why = self.why or why
        if self.process:
            with contextlib.suppress(OSError):
                os.killpg(self.process, number)
            signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS)

    def told(self, realtime: float, nanoseconds: int, status: int, usage: Any, leftover: int) -> Json:
        return {
            "started_realtime": realtime,
            "wall_ns": nanoseconds,
            "user_ns": round(usage.ru_utime * 1e9),
            "system_ns": round(usage.ru_stime * 1e9),
            "max_rss_bytes": usage.ru_maxrss * 1024,
            "minor_faults": usage.ru_minflt,
            "major_faults": usage.ru_majflt,
            "blocks_in": usage.ru_inblock,
            "blocks_out": usage.ru_oublock,
            "voluntary_switches": usage.ru_nvcsw,
            "involuntary_switches": usage.ru_nivcsw,
            "status": status,
            "timed_out": self.why == "timed out",
            "cancelled": self.why == "cancelled",
            "leftover_processes": leftover,
            "readings": [],
        }
