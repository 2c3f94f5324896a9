"""`trialwise` where no file can have more than 4 kB: what a command does when the disk is full."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TRIALWISE = str(Path(sys.executable).with_name("trialwise"))
_LIMITED = (
    "import os, resource, signal, sys;"
    "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


def trialwise(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`trialwise WORDS` in the folder `cwd`."""
    return subprocess.run(
        [sys.executable, "-c", _LIMITED, TRIALWISE, *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={
            "NO_COLOR": "1",
            "COLUMNS": "200",
            "PATH": "/usr/bin:/bin",
            "MPLCONFIGDIR": str(cwd.parent),
            "PYTHONDONTWRITEBYTECODE": "1",  # or halves of it would stay beside the modules
        },
    )
