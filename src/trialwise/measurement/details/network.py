"""Of the network interfaces: the one of the default route first, then others with a device, and the loopback."""

from __future__ import annotations

import os

from trialwise.measurement.details.interfaces import features, interface_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialwise.measurement.tree import Tree

_INTERFACES = "sys/class/net"
_MOST = 4
_FILES = {
    "mtu": "mtu",
    "speed": "speed",
    "duplex": "duplex",
    "queue_length": "tx_queue_len",
    "gro_flush_timeout": "gro_flush_timeout",
    "interrupts_deferred": "napi_defer_hard_irqs",
    "threaded": "threaded",
    "receive_cpus": "queues/rx-0/rps_cpus",
}
"""Settings by name, with their files; `speed` in Mbit/s, -1 if it has none."""


def network_details(tree: Tree) -> Iterator[tuple[str, str | None]]:
    """Yield facts of interfaces, numbered because machines name theirs differently; addresses are never read."""
    for number, name in enumerate(_chosen(tree), start=1):
        yield from _of_interface(tree, name, f"devices.network.{number}")
    if tree.exists(f"{_INTERFACES}/lo"):
        yield from _of_interface(tree, "lo", "devices.network.loopback")


def _chosen(tree: Tree) -> list[str]:
    """Return the interface of the default route, and others that have a device and are up."""
    routes = [line.split() for line in tree.lines("proc/net/route")[1:]]
    default = [words[0] for words in routes if len(words) > 7 and words[1] == words[7] == "00000000"]
    others = [
        name
        for name in tree.names(_INTERFACES)
        if tree.exists(f"{_INTERFACES}/{name}/device")
        and tree.text(f"{_INTERFACES}/{name}/operstate") == "up"
    ]
    return list(dict.fromkeys((*default, *others)))[:_MOST]


def _of_interface(tree: Tree, name: str, label: str) -> Iterator[tuple[str, str | None]]:
    folder = f"{_INTERFACES}/{name}"
    if label != "devices.network.loopback":
        yield f"{label}.interface", name
        yield f"{label}.driver", tree.linked(f"{folder}/device/driver")
        yield f"{label}.identifiers", tree.identifiers(f"{folder}/device")
    for fact, file in _FILES.items():
        yield f"{label}.{fact}", tree.text(f"{folder}/{file}")
    queues = [queue[:2] for queue in tree.names(f"{folder}/queues")]
    yield f"{label}.queues", f"{queues.count('rx')} in, {queues.count('tx')} out" if queues else None
    if os.fspath(tree.root) == "/":
        yield f"{label}.qdisc", str(interface_facts(name).get("qdisc", ""))
        for fact, text in features(name).items():
            yield f"{label}.{fact}", text
