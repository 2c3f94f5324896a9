"""What the kernel counts for the whole machine: interrupts, context switches, steal time (`proc(5)`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.measurement.machine_counting import interrupts_by_cpu, machine_totals
from trialwise.measurement.tree import Tree


@dataclass(frozen=True, slots=True)
class MachineCounts:
    """Counts since boot; `by_cpu` holds the interrupts of each CPU, `steal` is in seconds."""

    totals: Mapping[str, float]
    by_cpu: Mapping[int, int]

    def since(self, before: MachineCounts, cpus: Sequence[int]) -> dict[str, float]:
        """Return the counts since `before`, by the names of `INTERRUPTS`; with `cpus`, also those CPUs' interrupts."""
        found = {
            f"machine_{name}": value - before.totals[name]
            for name, value in self.totals.items()
            if name in before.totals
        }
        if cpus and set(cpus) <= self.by_cpu.keys() & before.by_cpu.keys():
            found["cpus_interrupts"] = float(sum(self.by_cpu[cpu] - before.by_cpu[cpu] for cpu in cpus))
        return found


def read_machine_counts(root: Path = Path("/")) -> MachineCounts:
    """Read /proc/stat and /proc/interrupts; absent values are left out."""
    tree = Tree(root)
    return MachineCounts(
        machine_totals(tree.lines("proc/stat")), interrupts_by_cpu(tree.lines("proc/interrupts"))
    )
