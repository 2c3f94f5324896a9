"""Whether what a stranger packed as the outputs of trials gives the numbers of the ledger, read again in a process with limits.

The patterns and the files are those of a stranger: one may take forever, the other all memory. Nothing of the artifact is run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from trialwise.analysis.artifacts import KeptOutputs
from trialwise.numbers import ranges_text

SECONDS = 120
"""Processor time at most for all outputs of one experiment."""
PATIENCE = 600.0
"""Seconds after which it is ended on a machine that has little of that to spare."""
MEMORY = 4 << 30
"""Bytes at most of the process that reads them."""
_MOST = 20
"""Differences that are told, and reasons why numbers could not be compared; the others are counted."""
_SELF = "/proc/self/exe"
_APART = "trialwise.study.artifact.comparing_apart"
_THREADS = {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Each thread takes addresses, of which there are only so many."""


def kept_outputs(
    folder: Path, seconds: int = SECONDS, memory: int = MEMORY, patience: float = PATIENCE
) -> KeptOutputs | None:
    """Compare what the trials of an experiment directory left behind with their numbers in the ledger.

    Returns None if that cannot be told: the experiment cannot be read within the limits.
    """
    try:
        process = _started([str(folder), str(seconds), str(memory)])
    except OSError:
        return None
    watch = threading.Timer(patience, process.kill)
    watch.start()
    try:
        return _counted(process)
    finally:
        watch.cancel()
        process.kill()
        process.communicate()


def _started(words: list[str]) -> subprocess.Popen[bytes]:
    # -P: a module in the current folder, which may be the artifact, is none of ours. What runs us may lie where we may not look.
    return subprocess.Popen(
        [sys.executable, "-P", "-m", _APART, *words],
        executable=_SELF if os.access(_SELF, os.X_OK) else None,
        env={**os.environ, **_THREADS, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _counted(process: subprocess.Popen[bytes]) -> KeptOutputs | None:
    """Count what the process says, until it ends or is ended."""
    lines = iter(process.stdout or ())
    total = int(next(lines, b"-1"))
    if total < 0:
        return None
    agree, differ = 0, 0
    differences: list[str] = []
    reasons: dict[str, list[int]] = {}
    for line in lines:
        if not line.endswith(b"\n"):
            break  # it was ended within a line
        trial, outcome, text = json.loads(line)
        if outcome == "agrees":
            agree += 1
        elif outcome == "differs":
            differ += 1
            differences += [text] if differ <= _MOST else []
        else:
            known = text in reasons or len(reasons) < _MOST
            reasons.setdefault(text if known else "for other reasons", []).append(trial)
    return KeptOutputs(
        total=total,
        agree=agree,
        differ=differ,
        differences=tuple(differences),
        uncompared={reason: ranges_text(set(trials)) for reason, trials in reasons.items()},
        not_reached=total - agree - differ - sum(map(len, reasons.values())),
    )
