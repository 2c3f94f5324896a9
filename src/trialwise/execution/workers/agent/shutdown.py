"""End processes that carry the marker of a trial."""

from __future__ import annotations

import contextlib
import os

from trialwise.execution.workers.agent.probe import text_of
from trialwise.trials.marked import carries, end_processes


def end_marked(marker: str, group: int = 0) -> int:
    """End every process whose marker begins with `marker`, or that is in a process group; return their number."""
    ended = end_processes(lambda each: carries(each, marker) or (in_group(each, group) and alive(each)), reap)
    reap()
    return ended


def reap() -> None:
    """Collect the exit codes of processes that were reparented to us."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def in_group(process: int, group: int) -> bool:
    try:
        return group != 0 and os.getpgid(process) == group
    except OSError:
        return False


def alive(process: int) -> bool:
    """Return True if a process runs, neither gone nor a zombie."""
    text = text_of(f"/proc/{process}/stat") or ""
    return text.rpartition(")")[2].split()[:1] not in ([], ["Z"], ["X"])
