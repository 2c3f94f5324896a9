"""Use Pantheon wrappers as schemes: one executable with sub-commands (Yan et al., USENIX ATC 2018, section 3.2).

`deps` prints Debian packages, `run_first` prints which side starts first, `setup` installs, `setup_after_reboot` redoes what a boot
undoes. The side that starts first is given its port, the other one address and port.
"""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

from trialwise.errors import PlanError
from trialwise.schemes.scheme import End, Needs, Ready, Scheme, Side

START_SECONDS = 3.0
"""Seconds that Pantheon waits between the first side and the second (`src/experiments/test.py`)."""
_ANSWER_SECONDS = 30.0
_AFTER_REBOOT = "setup_after_reboot"


def is_wrapper(path: Path) -> bool:
    """Return True if a file is a wrapper: an executable Python script."""
    return path.suffix == ".py" and not path.name.startswith("_") and os.access(path, os.X_OK)


def read_wrapper(path: Path) -> Scheme:
    """Ask a wrapper for its properties.

    Raises
    ------
    PlanError
        It cannot be run, or does not answer as a wrapper should.
    """
    status = path.stat()
    first, packages = _answers(path, (status.st_mtime_ns, status.st_size, status.st_ino))
    program = os.fspath(path.resolve())
    waiting = Side((program, first, "{port}"), ready=Ready(after=START_SECONDS))
    other = "receiver" if first == "sender" else "sender"
    calling = Side((program, other, "{peer}", "{port}"))
    return Scheme(
        name=path.stem,
        title=f"{path.stem} (Pantheon wrapper)",
        sender=waiting if first == "sender" else calling,
        receiver=calling if first == "sender" else waiting,
        source=path,
        first=first,
        needs=Needs(packages=packages),
        setup=(program, "setup"),
        each_boot=(program, _AFTER_REBOOT) if _AFTER_REBOOT in path.read_text(errors="replace") else None,
    )


@functools.cache
def _answers(path: Path, version: tuple[int, ...]) -> tuple[End, tuple[str, ...]]:  # noqa: ARG001 of this version
    """Return the side that starts first, and the packages; cached for each version of the file."""
    first = _ask(path, "run_first")
    if first not in ("sender", "receiver"):
        raise PlanError(f"{path} run_first: printed {first!r}; a Pantheon wrapper prints sender or receiver")
    return first, tuple(_ask(path, "deps").split())


def _ask(path: Path, command: str) -> str:
    try:
        done = subprocess.run(
            [path.resolve(), command],
            cwd=path.parent,
            capture_output=True,
            text=True,
            timeout=_ANSWER_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr or "").strip().splitlines()[-1:] or ["it said nothing"]
        raise PlanError(f"{path} {command}: ended with exit code {error.returncode}: {last[0]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlanError(
            f"{path} {command}: {error}", hint="is its interpreter (Pantheon's is Python 2.7) installed?"
        ) from error
    return done.stdout.strip()
