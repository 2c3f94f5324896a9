"""Processes that a killed runner has left behind: found by the marker in their environment, and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from trialwise.trials.beside import MARKER

GRACE_SECONDS = 2.0


def end_leftovers(identity: str) -> int:
    """End every process that carries a marker that begins with `identity`; return how many there were."""
    found = _carrying(identity)
    if not found:
        return 0
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in _carrying(identity):
            _signal(process, number)
        deadline = time.monotonic() + GRACE_SECONDS
        while _alive(found) and time.monotonic() < deadline:
            time.sleep(0.01)
    return len(found)


def _carrying(identity: str) -> list[int]:
    needle = f"{MARKER}={identity}:".encode()
    return [process for process in _processes() if needle in _environment(process)]


def _alive(processes: list[int]) -> bool:
    """Whether any of them still runs; what is only waited for has an empty environment."""
    return any(_environment(process) for process in processes)


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]  # noqa: PTH208


def _environment(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/environ").read_bytes()
    except OSError:
        return b""


def _signal(process: int, number: int) -> None:
    with contextlib.suppress(OSError):  # gone, or another user's
        os.kill(process, number)
