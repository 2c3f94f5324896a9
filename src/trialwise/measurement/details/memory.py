"""Of the memory: its modules (DMTF DSP0134, SMBIOS 3.7, structure 17), channels, nodes, and how the kernel gives pages."""

from __future__ import annotations

import struct
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialwise.measurement.tree import Tree

_TABLES = "sys/firmware/dmi/tables/DMI"
_MAX_TABLES = 1 << 20
_DEVICE = 17
_UNKNOWN_SIZE, _IN_EXTENDED = 0xFFFF, 0x7FFF
_KINDS = {0x18: "DDR3", 0x1A: "DDR4", 0x1E: "LPDDR4", 0x22: "DDR5", 0x23: "LPDDR5", 0x20: "HBM", 0x21: "HBM2"}
_NODES = "sys/devices/system/node"
_MOST_NODES = 16
_CHANNELS = "sys/devices/system/edac/mc"
_PAGES = "sys/kernel/mm"


def memory_details(tree: Tree) -> Iterator[tuple[str, str | None]]:
    """Yield facts of the memory; its modules can be read by root alone."""
    yield "machine.memory_modules", modules_text(tree.content(_TABLES, _MAX_TABLES))
    yield "machine.memory_channels", _channels(tree)
    nodes = [name for name in tree.names(_NODES) if name[:4] == "node" and name[4:].isdigit()][:_MOST_NODES]
    yield "machine.numa_nodes", str(len(nodes)) if nodes else None
    for part, file in (("cpus", "cpulist"), ("distances", "distance")):
        texts = [" ".join((tree.text(f"{_NODES}/{node}/{file}") or "").split()) for node in nodes]
        yield f"machine.numa_{part}", "; ".join(texts) if any(texts) else None
    sizes = tree.names(f"{_PAGES}/hugepages")
    counts = {size: tree.integer(f"{_PAGES}/hugepages/{size}/nr_hugepages") for size in sizes}
    yield "machine.huge_pages", ", ".join(f"{counts[size]} of {size[10:]}" for size in sizes) or None
    yield "machine.huge_pages_defrag", tree.chosen(f"{_PAGES}/transparent_hugepage/defrag")
    yield "machine.huge_pages_shared", tree.chosen(f"{_PAGES}/transparent_hugepage/shmem_enabled")
    yield "machine.pages_merged", tree.text(f"{_PAGES}/ksm/run")
    yield "machine.swap_compressed", tree.text("sys/module/zswap/parameters/enabled")
    kinds = [line.split()[0].rpartition("/")[2].rstrip("0123456789") for line in tree.lines("proc/swaps")[1:]]
    yield "machine.swap_kinds", ", ".join(sorted(set(kinds)))


def _channels(tree: Tree) -> str | None:
    """Return the number of channels with modules, by the kernel's error detection (admin-guide/RAS)."""
    found: set[tuple[str, str]] = set()
    for controller in tree.names(_CHANNELS):
        for module in tree.names(f"{_CHANNELS}/{controller}"):
            place = tree.text(f"{_CHANNELS}/{controller}/{module}/dimm_location") or ""
            words = place.split()
            if "channel" in words[:-1]:
                found.add((controller, words[words.index("channel") + 1]))
    return str(len(found)) if found else None


def modules_text(tables: bytes) -> str | None:
    """Return the modules of memory that a machine's tables list, such as ``4 x 16 GiB DDR4 3200 MT/s``; None without any."""
    found = Counter(filter(None, (_module(each) for each in _structures(tables) if each[0] == _DEVICE)))
    return ", ".join(f"{number} x {text}" for text, number in sorted(found.items())) or None


def _structures(tables: bytes) -> Iterator[bytes]:
    """Yield the formatted parts of structures, which begin with type and length; texts follow each, and two zero bytes."""
    place = 0
    while place + 4 <= len(tables):
        length = tables[place + 1]
        end = tables.find(b"\0\0", place + length)
        if length < 4 or end < 0:
            return
        yield tables[place : place + length]
        place = end + 2


def _module(part: bytes) -> str | None:
    if len(part) < 0x17:
        return None
    size, kind, speed = struct.unpack_from("<H", part, 0x0C)[0], part[0x12], _word(part, 0x15)
    mebibytes = (size & 0x7FFF) / (1024 if size & 0x8000 else 1)
    if size == _IN_EXTENDED and len(part) >= 0x20:
        mebibytes = struct.unpack_from("<I", part, 0x1C)[0] & 0x7FFFFFFF
    if size in (0, _UNKNOWN_SIZE):
        return None
    speed = _word(part, 0x20) or speed
    words = (f"{mebibytes / 1024:g} GiB", _KINDS.get(kind, ""), f"{speed} MT/s" if speed else "")
    return " ".join(filter(None, words))


def _word(part: bytes, place: int) -> int:
    return int(struct.unpack_from("<H", part, place)[0]) if len(part) >= place + 2 else 0
