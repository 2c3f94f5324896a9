"""What the kernel counts for the whole machine: interrupts, context switches, stolen time (`proc(5)`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialwise.measurement.tree import Tree

_COUNTERS = {"intr": "interrupts", "softirq": "softirqs", "ctxt": "switches", "processes": "forks"}
_STEAL = 8
"""The column of stolen time in the line `cpu` of /proc/stat, its name counted."""


@dataclass(frozen=True, slots=True)
class MachineCounts:
    """What had been counted since boot; `by_cpu` holds the interrupts of each CPU, `steal` is in seconds."""

    totals: Mapping[str, float]
    by_cpu: Mapping[int, int]

    def since(self, before: MachineCounts, cpus: Sequence[int]) -> dict[str, float]:
        """What was counted between two moments, by the names of `INTERRUPTS`; of `cpus` where there are any."""
        found = {
            f"machine_{name}": value - before.totals[name]
            for name, value in self.totals.items()
            if name in before.totals
        }
        if cpus and set(cpus) <= self.by_cpu.keys() & before.by_cpu.keys():
            found["cpus_interrupts"] = float(sum(self.by_cpu[cpu] - before.by_cpu[cpu] for cpu in cpus))
        return found


def read_machine_counts(root: Path = Path("/")) -> MachineCounts:
    """Read /proc/stat and /proc/interrupts; what is absent is left out."""
    tree = Tree(root)
    lines = [line.split() for line in tree.lines("proc/stat")]
    totals = {_COUNTERS[words[0]]: float(words[1]) for words in lines if words and words[0] in _COUNTERS}
    for words in lines:
        if words and words[0] == "cpu" and len(words) > _STEAL:
            totals["steal"] = int(words[_STEAL]) / os.sysconf("SC_CLK_TCK")
    return MachineCounts(totals, _interrupts(tree))


def _interrupts(tree: Tree) -> dict[int, int]:
    """Sum the columns of /proc/interrupts; rows such as ERR have one number for all CPUs, and do not count."""
    lines = [line.split() for line in tree.lines("proc/interrupts")]
    if not lines:
        return {}
    cpus = [int(word.removeprefix("CPU")) for word in lines[0]]
    rows = [words[1 : len(cpus) + 1] for words in lines[1:] if len(words) > len(cpus)]
    numbers = [[int(word) for word in row] for row in rows if all(word.isdecimal() for word in row)]
    return {cpu: sum(row[column] for row in numbers) for column, cpu in enumerate(cpus)}
