"""Of the processor: its caches, and what moves its frequency and its sleep (kernel: admin-guide/pm/cpufreq, cpuidle)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from trialwise.measurement.tree import Tree

_CPUS = "sys/devices/system/cpu"
_MOST_CPUS = 64
"""CPUs whose settings are read."""
_OF_EACH = {
    "frequency_min": "cpufreq/scaling_min_freq",
    "frequency_max": "cpufreq/scaling_max_freq",
    "frequency_hardware": "cpufreq/cpuinfo_max_freq",
    "energy_preference": "cpufreq/energy_performance_preference",
    "energy_bias": "power/energy_perf_bias",
    "capacity": "cpu_capacity",
}
"""Settings that CPUs of one machine may have each its own of; frequencies in kHz."""


def processor_details(tree: Tree) -> Iterator[tuple[str, str | None]]:
    """Yield facts of the processor."""
    cpus = [name for name in tree.names(_CPUS) if name[:3] == "cpu" and name[3:].isdigit()][:_MOST_CPUS]
    for name, file in _OF_EACH.items():
        texts = {tree.text(f"{_CPUS}/{cpu}/{file}") for cpu in cpus}
        yield f"processor.{name}", ", ".join(sorted(filter(None, texts)))
    yield "processor.caches", ", ".join(_caches(tree))
    yield "processor.idle_driver", tree.text(f"{_CPUS}/cpuidle/current_driver")
    yield "processor.idle_governor", tree.text(f"{_CPUS}/cpuidle/current_governor")
    yield "processor.idle_states", ", ".join(_idle_states(tree))
    throttled = [tree.integer(f"{_CPUS}/{cpu}/thermal_throttle/core_throttle_count") for cpu in cpus]
    known = [count for count in throttled if count is not None]
    yield "processor.throttled", None if not known else "since boot" if any(known) else "never since boot"


def _caches(tree: Tree) -> Iterator[str]:
    folder = f"{_CPUS}/cpu0/cache"
    for index in tree.names(folder):
        level, size = (tree.text(f"{folder}/{index}/{part}") for part in ("level", "size"))
        kind = {"Data": "d", "Instruction": "i"}.get(tree.text(f"{folder}/{index}/type") or "", "")
        if level and size:
            yield f"L{level}{kind} {size}"


def _idle_states(tree: Tree) -> Iterator[str]:
    folder = f"{_CPUS}/cpu0/cpuidle"
    for state in tree.names(folder):
        name = tree.text(f"{folder}/{state}/name")
        if name:
            yield f"{name} off" if tree.integer(f"{folder}/{state}/disable") else name
