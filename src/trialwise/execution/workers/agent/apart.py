"""Processes that outlive the connection: they hold a lock from their start on, and get secrets by standard input.

A task stands in a file, and so has no secrets.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trialwise.execution.workers.agent.folder import Folder


def start_apart(
    folder: Folder, archive: str, code: str, words: Sequence[str], lock: int, secrets: Mapping[str, str]
) -> None:
    """Start a process that runs `code` with the archive and `words`, and holds the lock as long as it lives."""
    with open(folder.at("agent.log"), "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-IS", "-c", code, archive, folder.path, *words, str(lock)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(lock,),
        )
    with contextlib.suppress(OSError), process.stdin:  # type: ignore[union-attr]
        process.stdin.write(json.dumps(secrets).encode())  # type: ignore[union-attr]


def secrets_given() -> dict[str, str]:
    """Return the secrets that the process was started with."""
    given: dict[str, str] = json.loads(sys.stdin.buffer.read() or b"{}")
    return given
