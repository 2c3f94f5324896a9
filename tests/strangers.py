"""Another user on a clean machine: a home of its own, a network namespace without network, and nothing of this user's environment."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import artifacts

NOBODY = 65534
CLAIMS = artifacts.CLAIMS + 'tolerance = "20%"\n'
PROGRAM = """#!/bin/sh
noise=$(od -An -N2 -tu2 /dev/urandom)
echo "{\\"steps\\": $(($1 * 1000 + noise % 50))}"
"""


def can_be() -> bool:
    """Whether this process may become the stranger."""
    return os.geteuid() == 0 and bool(shutil.which("setpriv")) and bool(shutil.which("unshare"))


def ran(words: list[str], home: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in the stranger's home, as nobody in a fresh network namespace."""
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    around = {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return subprocess.run(
        ["unshare", "--net", *as_nobody, *words],
        cwd=home,
        env=around,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        umask=0o077,
    )


def packed_demo(home: Path, work: Path) -> None:
    """Measure and pack a demo in a folder that is removed again; only the archive is left, in the stranger's home."""
    from in_process import trialwise

    artifacts.measured(work, claims=CLAIMS, program=PROGRAM)
    done = trialwise("pack", "sums.results", "--licence", "CC-BY-4.0", cwd=work)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    shutil.move(work / "artifact.zip", home)
    shutil.rmtree(work)
