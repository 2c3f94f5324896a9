"""TCP ports of this machine: who listens on them.

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LISTENS = "0A"
"""The state TCP_LISTEN in proc_pid_net(5)."""


def is_listened_on(port: int) -> bool:
    """Return True if a process of this network namespace listens on a TCP port, without connecting to it."""
    return any(True for _ in _sockets(port))


def holder_of(port: int) -> str | None:
    """Name a process that listens on a TCP port, as in "process 17 (memcached)"; None if it cannot be seen."""
    wanted = {f"socket:[{inode}]" for inode in _sockets(port)}
    for name in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
        if wanted.intersection(_links(f"/proc/{name}/fd")):
            return f"process {name} ({_name_of(name)})"
    return None


def _sockets(port: int) -> Iterator[str]:
    """Yield the inodes of the sockets that listen on a port."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as file:
                rows = [line.split() for line in file][1:]
        except OSError:
            continue
        for row in rows:
            if row[3] == _LISTENS and int(row[1].rpartition(":")[2], 16) == port:
                yield row[9]


def _links(folder: str) -> Iterator[str]:
    try:
        for name in os.listdir(folder):
            yield os.readlink(f"{folder}/{name}")
    except OSError:  # gone, or another user's
        return


def _name_of(process: str) -> str:
    try:
        with open(f"/proc/{process}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "gone"
