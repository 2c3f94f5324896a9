"""Of the kernel: mitigations, scheduler, microcode, control groups of version 1, interrupts, steal, time zone."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialwise.measurement.tree import Tree

_WEAKNESSES = "sys/devices/system/cpu/vulnerabilities"
_DEBUG = "sys/kernel/debug/sched"
_SETTINGS = "proc/sys/kernel"
_ELSEWHERE = ("sched_domain", "sched_rt_runtime_us")
"""A folder, and what is recorded among the settings of every kernel (`trialwise.measurement.environment`)."""
_GROUPS = "sys/fs/cgroup"
_OF_GROUPS = {
    "cpu": ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares"),
    "cpuset": ("cpuset.cpus", "cpuset.mems"),
    "memory": ("memory.limit_in_bytes",),
    "blkio": ("blkio.weight",),
}
_STOLEN = (0.0, 0.001, 0.01)
"""Shares of time that a hypervisor took, between which machines count as equal."""


def kernel_details(tree: Tree) -> Iterator[tuple[str, str | None]]:
    """Yield facts of the kernel and of what it gives to trials."""
    for name in tree.names(_WEAKNESSES):
        yield f"kernel.mitigations.{name}", tree.text(f"{_WEAKNESSES}/{name}")
    yield "kernel.microcode", tree.fields("proc/cpuinfo").get("microcode")
    for name in tree.names(_SETTINGS):
        if name.startswith("sched_") and name not in _ELSEWHERE:
            yield f"kernel.sysctls.kernel.{name}", tree.text(f"{_SETTINGS}/{name}")
    yield "kernel.preemption", _chosen_of(tree.text(f"{_DEBUG}/preempt"))
    yield "kernel.slice", tree.text(f"{_DEBUG}/base_slice_ns")
    yield "kernel.scheduler_extension", tree.text("sys/kernel/sched_ext/state")
    yield "kernel.lockdown", tree.chosen("sys/kernel/security/lockdown")
    yield "machine.steal", _steal(tree)
    yield "machine.interrupts_cpus", tree.text("proc/irq/default_smp_affinity")
    yield from _control_groups(tree)
    yield "clock.time_zone", tree.text("etc/timezone") or _zone(tree)
    if os.fspath(tree.root) == "/":
        yield "clock.resolution", f"{time.clock_getres(time.CLOCK_MONOTONIC):g}"


def _chosen_of(text: str | None) -> str | None:
    """Return the word in parentheses, as in ``none (voluntary) full``."""
    return text.partition("(")[2].partition(")")[0] if text and "(" in text else text


def _steal(tree: Tree) -> str | None:
    """Return the class of the share of time since boot that a hypervisor gave to others (proc_stat(5))."""
    words = next(iter(tree.lines("proc/stat")), "").split()[1:9]
    if len(words) < 8 or not all(map(str.isdigit, words)):
        return None
    times = [int(word) for word in words]
    share = times[7] / (sum(times) or 1)
    bound = next((bound for bound in _STOLEN if share <= bound), None)
    if bound is None:
        return f"above {_STOLEN[-1]:.1%}"
    return f"at most {bound:.1%}" if bound else "none"


def _control_groups(tree: Tree) -> Iterator[tuple[str, str | None]]:
    """Yield what the control groups of version 1 of this process allow; those of version 2 are among its limits."""
    for line in tree.lines("proc/self/cgroup")[:32]:
        _, _, rest = line.partition(":")
        controllers, _, place = rest.partition(":")
        for controller in controllers.split(","):
            for file in _OF_GROUPS.get(controller, ()):
                text = tree.text(f"{_GROUPS}/{controllers}{place}/{file}")
                yield f"limit.group_{file}", text


def _zone(tree: Tree) -> str | None:
    target = tree.target("etc/localtime") or ""
    return target.partition("zoneinfo/")[2] or None
