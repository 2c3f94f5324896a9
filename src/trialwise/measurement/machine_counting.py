"""Parse what the kernel counts for the whole machine from the lines of /proc/stat and /proc/interrupts (`proc(5)`).

Uses only the standard library and runs on Python 3.8, because it is also sent to workers.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_COUNTERS = {"intr": "interrupts", "softirq": "softirqs", "ctxt": "switches", "processes": "forks"}
_STEAL = 8
"""The column of steal time in the line `cpu` of /proc/stat; the name is column 0."""


def machine_totals(lines: Sequence[str]) -> dict[str, float]:
    """Return the counts of /proc/stat since boot, by name; `steal` in seconds. Absent values are left out."""
    rows = [line.split(None, _STEAL + 1) for line in lines]
    totals = {_COUNTERS[words[0]]: float(words[1]) for words in rows if words and words[0] in _COUNTERS}
    for words in rows:
        if words and words[0] == "cpu" and len(words) > _STEAL:
            totals["steal"] = int(words[_STEAL]) / os.sysconf("SC_CLK_TCK")
    return totals


def interrupts_by_cpu(lines: Sequence[str]) -> dict[int, int]:
    """Sum the columns of /proc/interrupts, without rows such as ERR that have one number for all CPUs."""
    rows = [line.split() for line in lines]
    if not rows:
        return {}
    cpus = [int(word[len("CPU") :]) for word in rows[0]]
    counted = [words[1 : len(cpus) + 1] for words in rows[1:] if len(words) > len(cpus)]
    numbers = [[int(word) for word in row] for row in counted if all(word.isdecimal() for word in row)]
    return {cpu: sum(row[column] for row in numbers) for column, cpu in enumerate(cpus)}
