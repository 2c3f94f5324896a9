"""Of the file system that trials run in, and of the disk below it (proc_pid_mountinfo(5); kernel: block/queue-sysfs)."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialwise.measurement.tree import Tree

_MOUNTS = "proc/self/mountinfo"
_MAX_MOUNTS = 4 << 20
_HARMLESS = re.compile(r"\d{1,12}[kmgKMG%]?|[a-z-]{1,20}")
"""Values of mount options that name no place and nobody."""
_PRIVATE = frozenset({"user", "username", "name", "pass", "password", "domain", "subvol", "uid", "gid"})
_QUEUE = {
    "scheduler": "scheduler",
    "requests": "nr_requests",
    "read_ahead": "read_ahead_kb",
    "rotational": "rotational",
    "write_cache": "write_cache",
    "block": "logical_block_size",
}


def disk_details(tree: Tree, folder: str) -> Iterator[tuple[str, str | None]]:
    """Yield facts of the file system that holds a folder, and of its disk if it has one."""
    mount = _mount_of(tree, os.path.realpath(folder))
    if mount is None:
        return
    number, options, kind, source, more = mount
    yield "devices.file_system.type", kind
    yield "devices.file_system.options", _public(f"{options},{more}")
    device = f"sys/dev/block/{number}"
    if number.startswith("0:") and source.startswith("/dev/"):
        device = f"sys/class/block/{os.path.basename(source)}"
    if not tree.exists(device):
        return
    below = f"{device}/.." if tree.exists(f"{device}/partition") else device
    size = tree.integer(f"{below}/size")
    yield "devices.disk.model", tree.text(f"{below}/device/model")
    yield "devices.disk.driver", tree.linked(f"{below}/device/driver")
    yield "devices.disk.size", None if size is None else str(size * 512)
    parts = tree.names(f"{below}/slaves")
    yield "devices.disk.parts", str(len(parts)) if parts else None
    for name, file in _QUEUE.items():
        yield f"devices.disk.{name}", tree.chosen(f"{below}/queue/{file}")


def _mount_of(tree: Tree, folder: str) -> tuple[str, str, str, str, str] | None:
    """Return device number, options, type, source and more options of the mount that holds a folder: the last of the deepest."""
    found, depth = None, -1
    for line in tree.content(_MOUNTS, _MAX_MOUNTS).decode(errors="replace").splitlines():
        left, mark, right = line.partition(" - ")
        first, last = left.split(" "), right.split(" ")
        if not mark or len(first) < 6 or len(last) < 3:
            continue
        place = first[4].rstrip("/").replace("\\040", " ")
        if len(place) >= depth and f"{folder}/".startswith(f"{place}/"):
            found, depth = (first[2], first[5], last[0], last[1], last[2]), len(place)
    return found


def _public(options: str) -> str:
    """Return mount options, sorted, without those that name places, hosts or users."""
    found: set[str] = set()
    for option in options.split(","):
        name, mark, value = option.partition("=")
        if not mark or (_HARMLESS.fullmatch(value) and name not in _PRIVATE):
            found.add(option)
    return ",".join(sorted(found - {""}))
