"""Release an allocation if the runner ended without doing so: a separate program, run by its path.

``watch.py RECORD FOLDER TOKEN COMMAND…`` sleeps until its standard input ends, which is when the runner ends, however it ends.
If RECORD then still has TOKEN, it runs COMMAND in FOLDER and removes RECORD. Standard library only, to be small.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

VARIABLE = "TRIALWISE_WORKERS"


@contextlib.contextmanager
def record_lock(record: Path) -> Generator[None]:
    """Lock a record against others who would release what it names; they wait."""
    with record.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(record: Path, folder: Path, token: str, words: Sequence[str]) -> None:
    """Wait for the end of the runner, and release what it left."""
    sys.stdin.buffer.read()
    with contextlib.suppress(OSError), record_lock(record):
        allocation = json.loads(record.read_text())
        if allocation["token"] == token:
            done = subprocess.run(
                words,
                cwd=folder,
                env={**os.environ, VARIABLE: " ".join(allocation["workers"])},
                stdin=subprocess.DEVNULL,
                check=False,
            )
            if done.returncode == 0:
                record.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
