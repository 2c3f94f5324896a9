"""Ending processes that carry the marker of a trial."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from trialwise.execution.workers.agent.looking import text_of
from trialwise.trials.beside import MARKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

GRACE_SECONDS = 2.0


def end_marked(marker: str, group: int = 0) -> int:
    """End every process whose marker begins with `marker`, or that is in a process group; return how many there were."""
    found = marked(marker, group)
    for number in (signal.SIGTERM, signal.SIGKILL):
        left = marked(marker, group) if found else []
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, number)
        deadline = time.monotonic() + GRACE_SECONDS
        while left and time.monotonic() < deadline:
            reap()
            left = [process for process in left if alive(process)]
            time.sleep(0.005)
    reap()
    return len(found)


def reap() -> None:
    """Take the exit codes of processes that were handed to us."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def marked(marker: str, group: int) -> list[int]:
    """Processes that live and carry a marker, or are in a process group."""
    needle = (MARKER + "=" + marker).encode()
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    return [each for each in numbers if alive(each) and (carries(each, needle) or in_group(each, group))]


def carries(process: int, needle: bytes) -> bool:
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            return any(entry.startswith(needle) for entry in file.read().split(b"\0"))
    except OSError:
        return False


def in_group(process: int, group: int) -> bool:
    try:
        return group != 0 and os.getpgid(process) == group
    except OSError:
        return False


def alive(process: int) -> bool:
    """Whether a process runs: neither gone nor a zombie."""
    text = text_of(f"/proc/{process}/stat") or ""
    return text.rpartition(")")[2].split()[:1] not in ([], ["Z"], ["X"])
