"""A fresh namespace: folders for temporary files, processes and shared memory that end with the next reset.

It lives as long as its first process, which sleeps until a pipe from us is closed: by us, or by the kernel when we are gone.
Then the kernel kills every process in it (`pid_namespaces(7)`), and with the last one its mounts and shared memory disappear.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

HIDDEN = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 they are mounted over, not written to
"""Folders that are fresh, in memory."""
KINDS = ("mnt", "pid", "ipc", "uts")
"""Names in /proc/PID/ns of the fresh namespaces; `trial.isolate` handles the network."""
END_SECONDS = 10.0

# /dev/shm comes first, because the others are built there. Kept folders stay where they are: they are bound into the fresh folder.
# The first process ignores its children, so that orphans leave no zombies.
_BUILD = """
mount -n -t tmpfs -o mode=1777,nosuid,nodev tmpfs /dev/shm || exit
for place in /tmp /var/tmp; do
    [ "$(realpath "$place")" = "$place" ] || continue
    mkdir /dev/shm/new && mount -n -t tmpfs -o mode=1777,nosuid,nodev tmpfs /dev/shm/new || exit
    for kept; do
        case "$kept" in "$place"/*)
            inner="/dev/shm/new${kept#"$place"}"
            mkdir -p "$inner" && mount -n --rbind "$kept" "$inner" || exit
        esac
    done
    mount -n --move /dev/shm/new "$place" && rmdir /dev/shm/new || exit
done
echo ready
trap '' CHLD
exec cat >/dev/null 2>&1
"""
NAMESPACE_HINT = (
    "run as root, or where unprivileged user namespaces are allowed (unshare --user --map-current-user true)"
)


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that was started here, and the first process inside as this machine numbers it."""

    started: subprocess.Popen[bytes]
    first: int

    def identity(self, kind: str) -> str:
        """Return the kernel's name for one of its namespaces, unique among existing ones."""
        return str(Path(f"/proc/{self.first}/ns/{kind}").readlink())


class FreshNamespace:
    """The namespace that trials run in from one reset to the next; `kept` folders stay visible even below a hidden one."""

    def __init__(self, kept: Sequence[Path]) -> None:
        self._kept = [os.path.realpath(path) for path in kept]
        self._holder: Holder | None = None

    @property
    def first(self) -> int | None:
        """A process to enter, or None if there has been no reset."""
        return None if self._holder is None else self._holder.first

    def renew(self, environment: Mapping[str, str], deadline: float, cancel: int) -> str | None:
        """Create another namespace, check that it is new, and end the one before; return what went wrong, or None.

        The new one is created while the old one lives, because the kernel reuses the names of ended ones.
        """
        found = _begin(self._kept, environment, deadline, cancel)
        if isinstance(found, str):
            return found
        before, self._holder = self._holder, found
        problem = _not_new(found, before)
        if before is not None and not _close(before.started):
            problem = f"the one before could not be ended within {END_SECONDS:g} s: a process of it is stuck in the kernel"
        return problem

    def end(self) -> None:
        """End it, and everything in it."""
        if self._holder is not None:
            _close(self._holder.started)
            self._holder = None


def hides(path: Path) -> str | None:
    """Return the hidden folder in which `path` cannot be kept, or None."""
    place = os.path.realpath(path)
    if place in HIDDEN:
        return place
    return "/dev/shm" if place.startswith("/dev/shm/") else None  # noqa: S108 as above


def _begin(kept: Sequence[str], environment: Mapping[str, str], deadline: float, cancel: int) -> Holder | str:
    """Start one and wait until it is ready; or return what went wrong."""
    as_user = [] if os.geteuid() == 0 else ["--map-current-user", "--keep-caps"]
    words = [
        "unshare",
        *as_user,
        "--mount",
        "--pid",
        "--ipc",
        "--uts",
        "--mount-proc",
        "--fork",
        "--kill-child",
    ]
    try:
        started = subprocess.Popen(
            [*words, "sh", "-c", _BUILD, "sh", *kept],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
            env=environment,
        )
    except OSError as error:
        return f"unshare (util-linux) cannot be started: {error.strerror}"
    said = _first_words(started, deadline, cancel)
    if said.endswith("ready"):
        return Holder(started, _only_child(started.pid))
    _close(started)
    told = said.splitlines()[-1] if said else "nothing came of it in time"
    return f"cannot create one: {told}"


def _first_words(started: subprocess.Popen[bytes], deadline: float, cancel: int) -> str:
    """Read its output until it is ready, has ended, or the deadline passes."""
    output, said = cast("IO[bytes]", started.stdout).fileno(), b""
    while not said.endswith(b"ready\n"):
        if output not in select.select([output, cancel], [], [], max(deadline - time.monotonic(), 0))[0]:
            break
        part = os.read(output, 4096)
        if not part:
            break
        said += part
    return said.decode(errors="replace").strip()


def _only_child(process: int) -> int:
    return int(Path(f"/proc/{process}/task/{process}/children").read_text().split()[0])


def _not_new(holder: Holder, before: Holder | None) -> str | None:
    """Describe what it shares with us or with the one before; None if everything is new."""
    for kind in KINDS:
        others = {str(Path(f"/proc/self/ns/{kind}").readlink())}
        if before is not None:
            with contextlib.suppress(OSError):  # it was killed and no longer exists
                others.add(before.identity(kind))
        if holder.identity(kind) in others:
            return f"{kind} is not a new one: {holder.identity(kind)}"
    return None


def _close(started: subprocess.Popen[bytes]) -> bool:
    """Close one; return True if it has ended."""
    for stream in (started.stdin, started.stdout):
        if stream is not None:
            stream.close()
    try:
        started.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        started.kill()
        return False
    return True
