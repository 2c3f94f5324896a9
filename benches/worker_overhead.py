"""What a worker that ssh reaches measures of `true`, beside what is measured here, in one experiment.

    .venv/bin/python benches/worker_overhead.py [ROUNDS]

A real sshd in a network namespace of this machine and the machine itself run the same experiment, once after the other and
alternately, so that drift of the machine meets both alike. `wall` is what is recorded as the program's wall time; `total`
is what passes from one claim of a trial to the next. The third way is the agent without our supervisor, as on a worker
of another architecture. Needs root, sshd, iproute2.
"""

from __future__ import annotations

import json
import os
import platform
import random
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.system.worker_machines import Machines, missing

from measuring import processor
from trialwise import study
from trialwise.execution.workers.remote import Remote
from trialwise.store.ledger import Ledger

RESULT = Path(__file__).parent / "results" / "worker_overhead.json"
TRIALS = 30
TRUE = shutil.which("true") or "/bin/true"
HERE, THERE, UNAIDED = "here", "over ssh", "over ssh, Python alone"


def experiment(home: Path) -> str:
    return (
        f'[experiment]\nname = "overhead"\n[factors]\n[trial]\ncommand = "{TRUE}"\n[metrics.wall]\nresource = "wall"\n'
        f'[metrics.memory]\nresource = "max_rss"\n[design]\nseries = 1\nrounds = {TRIALS}\n[workers]\nfolder = "{home}"\n'
    )


def run(machines: Machines, way: str) -> dict[str, list[float]]:
    """Walls and totals of the trials of an experiment, in milliseconds, and memory in MiB."""
    machine = machines[0]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "experiment.toml"
        file.write_text(experiment(machine.home))
        supervised = Remote.supervised
        if way == UNAIDED:
            Remote.supervised = property(lambda _: False)  # type: ignore[misc]
        try:
            result = study.run(
                file, Path(folder) / "results", workers=["local" if way == HERE else machine.name]
            )
        finally:
            Remote.supervised = supervised  # type: ignore[misc]
        assert result.counts == {"finished": TRIALS}
        ledger = Ledger.open(result.directory / "ledger.sqlite", read_only=True)
        rows, values = ledger.trials(), list(ledger.values())
        ledger.close()
    claims = [row.claimed or 0 for row in rows]
    return {
        "wall_ms": [value * 1e3 for _, _, source, value, _, _ in values if source.endswith("wall")],
        "memory_mib": [value / 2**20 for _, _, source, value, _, _ in values if source.endswith("max_rss")],
        "total_ms": [(after - before) * 1e3 for before, after in pairwise(claims)],
    }


def measure(rounds: int, folder: Path) -> dict[str, dict[str, list[float]]]:
    machines = Machines(folder, 1)
    os.environ["TRIALWISE_SSH_CONFIG"] = str(machines.configuration)
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    order = random.Random(7)  # noqa: S311 - an order of measurements
    try:
        for _ in range(rounds):
            for way in order.sample([HERE, THERE, UNAIDED], 3):
                for name, values in run(machines, way).items():
                    times[way][name] += values
    finally:
        machines.close()
    return times


def summary(values: list[float]) -> dict[str, object]:
    low, median, high = statistics.quantiles(values, n=4)
    return {"n": len(values), "median": round(median, 3), "quartiles": [round(low, 3), round(high, 3)]}


def main() -> None:
    if reason := missing():
        print(f"skipped: {reason}")
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        times = measure(rounds, Path(folder))
    ratios = {
        f"{way} / {HERE}, {name}": round(
            statistics.median(found[name]) / statistics.median(times[HERE][name]), 2
        )
        for way, found in times.items()
        if way != HERE
        for name in found
    }
    machine = {
        "processor": processor(),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": round(before, 2),
    }
    results = {way: {name: summary(values) for name, values in found.items()} for way, found in times.items()}
    document = {"machine": machine, "results": results, "ratios": ratios}
    RESULT.write_text(json.dumps(document, indent=2) + "\n")
    for way, found in results.items():
        for name, row in found.items():
            print(f"{way:24} {name:11} {row['median']:9}  quartiles {row['quartiles']}  n {row['n']}")
    for name, ratio in ratios.items():
        print(f"{ratio:6} = {name}")


if __name__ == "__main__":
    main()
