"""A PostgreSQL server of a test's own: in a folder of its own, on a Unix socket there. Debian's own cluster is not touched."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE = 120.0
_SETTINGS = ("listen_addresses=", "fsync=off", "shared_buffers=16MB")


def programs() -> Path | None:
    """The folder with the newest server's programs, as Debian has them; None where there is none."""
    found = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in found), key=lambda path: float(path.parent.name), default=None)


class Server:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        # A server refuses root.
        self._user = (
            {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        )
        if self._user:
            shutil.chown(folder, "postgres", "postgres")
        words = ["-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(
            [*self._program("initdb"), *words],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            check=True,
            **self._user,
        )

    @property
    def url(self) -> str:
        return f"postgresql://postgres:not-asked@/postgres?host={self._folder}"

    def start(self) -> None:
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        words = [*self._program("postgres"), "-D", "data", *settings, "-k", str(self._folder)]
        self._process = subprocess.Popen(words, cwd=self._folder, stderr=subprocess.DEVNULL, **self._user)
        deadline = time.monotonic() + _PATIENCE
        while self._ask("SELECT 1").returncode:
            assert time.monotonic() < deadline, "PostgreSQL does not start"
            time.sleep(0.1)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=_PATIENCE)
            self._process = None

    def select(self, sql: str) -> list[str]:
        """The rows of a query, values apart by `|`."""
        done = self._ask(sql)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def _ask(self, sql: str) -> subprocess.CompletedProcess[str]:
        words = [
            *self._program("psql"),
            "--no-psqlrc",
            "--tuples-only",
            "--no-align",
            "--command",
            sql,
            self.url,
        ]
        return subprocess.run(words, cwd="/", capture_output=True, text=True, check=False)

    @staticmethod
    def _program(name: str) -> list[str]:
        folder = programs()
        assert folder is not None
        return [str(folder / name)]


@contextmanager
def server() -> Iterator[Server]:
    """A running one; nothing of it is left."""
    # The folders of pytest are closed to other users, and longer than the path of a socket may be.
    with tempfile.TemporaryDirectory(prefix="trialwise-pg-") as folder:
        running = Server(Path(folder))
        try:
            running.start()
            yield running
        finally:
            running.stop()
