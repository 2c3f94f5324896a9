"""Find ns-3 on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from trialwise.errors import PlanError

PYTHON = "TRIALWISE_NS3_PYTHON"
"""Environment variable that names the interpreter with the package `ns3`."""
DRIVER = Path(__file__).with_name("driver.py")
NS3_FILES = (DRIVER, *map(DRIVER.with_name, ("routing.hpp", "hosts.hpp", "network.hpp")))
"""Our own files that run inside ns-3's process."""
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Ns3Installation:
    """ns-3's version, its interpreter, and the libraries that trials use."""

    version: str
    python: str
    libraries: tuple[Path, ...]


def driver_words(python: str, folder: str) -> Sequence[str]:
    """Return the command that serves trials through the pipes of a folder; PYTHONPATH belongs to our interpreter, not to that one."""
    return (python, "-E", str(DRIVER), folder)


def ns3_installation() -> Ns3Installation:
    """Look for ns-3 in the interpreter of `TRIALWISE_NS3_PYTHON`, else in this one, without loading it.

    Raises
    ------
    PlanError
        It is missing; the message says how to get it.
    """
    return _installation(os.environ.get(PYTHON) or sys.executable)


@lru_cache(maxsize=4)
def _installation(python: str) -> Ns3Installation:
    try:
        done = subprocess.run(
            driver_words(python, "-"), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlanError(
            f'engine = "ns3": the interpreter {python} cannot be started: {error}',
            hint=f"name in {PYTHON} the interpreter of an environment with ns3, or unset it where trialwise[ns3] is installed",
        ) from error
    if done.returncode != 0:
        raise PlanError(
            f'engine = "ns3": the interpreter {python} has no package ns3',
            hint=f"pip install 'trialwise[ns3]', or name in {PYTHON} the interpreter of an environment with ns3",
        )
    found = json.loads(done.stdout)
    return Ns3Installation(found["version"], python, tuple(map(Path, found["libraries"])))
