"""How fast independent trials are computed and recorded: by processes of this machine, and by a Dask cluster of two nodes.

    .venv/bin/python benches/tasks.py [REPEATS]
    .venv/bin/python benches/tasks.py chain [REPEATS]    the cost of the chain alone, into the same figures

The trials are planted: `empty` returns at once, `busy` runs a loop of Python of some 30 ms, and `waiting` sleeps 60 ms, so
that it shows how well processes are kept at work also where others use the machine. Rates are trials divided by the time
from the first to the end of the session, disk included. Each repeat runs all settings in an order drawn anew. What recording
costs is the processor time of the recording process for each empty trial; it bounds the rate. The model for more cores is
min(efficiency * cores / trial, 1 / recording) trials a second; the efficiency is that of two nodes with waiting trials.
The cost of the chain is the processor time of writing a trial with its value in the canonical form and hashing it; recording has it.
"""

from __future__ import annotations

import json
import os
import platform
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from measuring import processor
from trialwise import study
from trialwise.store.chain import TRIAL, VALUE, link_of, start_of, trial_text
from trialwise.study import sessions

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from task_trials import DrawnKind, write  # noqa: E402 the planted trials of the tests

RESULT = HERE / "results" / "tasks.json"
EMPTY, BUSY = 10_000, 120
LOOP = 2_000_000
WAITING = 0.06
CORES = (10, 100, 1000, 10_000)
TRIALS = (0.06, 1.0, 10.0)
"""Seconds of a trial that the model is worked out for; the first is the issue's WebSearch trial."""


@contextmanager
def nodes(number: int) -> Iterator[str]:
    """A scheduler and so many nodes of one core on this machine."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        started = [subprocess.Popen([*words, "--no-dashboard", "--scheduler-file", str(file)], **quiet)]
        while not file.exists():
            time.sleep(0.05)
        words = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file)]
        words += ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", folder]
        started += [subprocess.Popen(words, **quiet) for _ in range(number)]
        time.sleep(5)  # until all have registered
        try:
            yield json.loads(file.read_text())["address"]
        finally:
            for process in started:
                process.kill()
            for process in started:
                process.wait()


def rate(kind: DrawnKind, trials: int, **settings: str | int) -> tuple[float, float]:
    """Trials a second once the first is there, and the processor time of this process for each trial, in seconds."""
    sessions.kind_of = lambda _: kind
    with tempfile.TemporaryDirectory() as folder:
        file = write(Path(folder), rounds=trials // 2)
        clock = Clock()
        result = study.run(file, Path(folder) / "results", observers=[clock], **settings)
        assert result.counts == {"finished": trials}
        return (trials - 1) / (clock.wall[1] - clock.wall[0]), (clock.cpu[1] - clock.cpu[0]) / (trials - 1)


def chain_cost(repeats: int) -> list[float]:
    """Processor time of chaining a trial, in microseconds: of the empty trials, in each repeat over all of them."""
    sessions.kind_of = lambda _: DrawnKind()
    with tempfile.TemporaryDirectory() as folder:
        study.run(write(Path(folder), rounds=EMPTY // 2), Path(folder) / "results", jobs=1)
        with closing(sqlite3.connect(Path(folder) / "results" / "ledger.sqlite")) as ledger:
            columns = ", ".join(f'"{name}"' for name in TRIAL)
            rows = ledger.execute(f"SELECT {columns} FROM trial ORDER BY link").fetchall()  # noqa: S608 our own names
            values = {
                number: [tuple(value)]
                for number, *value in ledger.execute(f"SELECT number, {', '.join(VALUE)} FROM value")  # noqa: S608
            }
    found: list[float] = []
    for _ in range(repeats):
        head, begun = start_of(""), time.process_time()
        for link, row in enumerate(rows, 1):
            head = link_of(head, trial_text(link, row, values[row[0]]))
        found.append((time.process_time() - begun) / len(rows) * 1e6)
    return found


def chain_figures(repeats: int) -> dict[str, object]:
    """The figures of the chain, with the load beside which they were measured."""
    before, costs = os.getloadavg()[0], chain_cost(repeats)
    return {
        "median": round(statistics.median(costs), 1),
        "least": round(min(costs), 1),
        "n": repeats,
        "trials": EMPTY,
        "load_before": round(before, 2),
    }


class Clock:
    """Reads wall and processor time at the first trial, when all processes are there, and at the end of the session."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def notice(self, event: object) -> None:
        name = type(event).__name__
        if (name == "TrialEnded" and not self.wall) or name == "SessionEnded":
            used = resource.getrusage(resource.RUSAGE_SELF)
            self.wall.append(time.perf_counter())
            self.cpu.append(used.ru_utime + used.ru_stime)


def measure(repeats: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    rates: dict[str, list[float]] = defaultdict(list)
    costs: dict[str, list[float]] = defaultdict(list)
    with nodes(1) as one, nodes(2) as two:
        places = {
            "1 process": {"jobs": 1},
            "2 processes": {"jobs": 2},
            "1 node": {"cluster": one},
            "2 nodes": {"cluster": two},
        }
        kinds = {"empty": (DrawnKind(), EMPTY), "busy": (DrawnKind(loop=LOOP), BUSY)}
        kinds["waiting"] = DrawnKind(seconds=WAITING), BUSY
        ways = [(name, place) for name in kinds for place in places]
        order = random.Random(7)  # noqa: S311 an order of measurements
        for _ in range(repeats):
            for name, place in order.sample(ways, len(ways)):
                found, cost = rate(*kinds[name], **places[place])
                rates[f"{name}, {place}"].append(found)
                costs[f"{name}, {place}"].append(cost)
    return rates, costs


def model(recording: float, efficiency: float) -> list[dict[str, float]]:
    """Trials a second of so many cores, and the part of the cores that is used."""
    rows: list[dict[str, float]] = []
    for seconds in TRIALS:
        for cores in CORES:
            found = min(efficiency * cores / seconds, 1 / recording)
            rows.append(
                {"trial_s": seconds, "cores": cores, "trials_per_s": round(found, 1)}
                | {"used": round(found * seconds / cores, 3)}
            )
    return rows


def main() -> None:
    if sys.argv[1:2] == ["chain"]:
        document = json.loads(RESULT.read_text())
        document["chain_us"] = chain_figures(int(sys.argv[2]) if len(sys.argv) > 2 else 15)
        RESULT.write_text(json.dumps(document, indent=2) + "\n")
        print(document["chain_us"])
        return
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    before = os.getloadavg()[0]
    rates, costs = measure(repeats)
    median = {name: statistics.median(values) for name, values in rates.items()}
    recording = statistics.median(costs["empty, 2 nodes"])
    efficiency = median["waiting, 2 nodes"] * WAITING / 2
    document = {
        "machine": {
            "processor": processor(),
            "kernel": platform.release(),
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "load_before": round(before, 2),
        },
        "trials_per_s": {
            name: {"median": round(median[name], 1), "all": [round(each, 1) for each in values]}
            for name, values in sorted(rates.items())
        },
        "recording_ms": {
            name: round(statistics.median(values) * 1e3, 3) for name, values in sorted(costs.items())
        },
        "chain_us": chain_figures(3 * repeats),
        "speed_up": {
            f"{kind}, 2 {many} / 1": round(median[f"{kind}, 2 {many}"] / median[f"{kind}, 1 {one}"], 2)
            for kind in ("busy", "waiting")
            for many, one in (("processes", "process"), ("nodes", "node"))
        },
        "model": {
            "recording_s": round(recording, 6),
            "efficiency": round(efficiency, 2),
            "rows": model(recording, efficiency),
        },
    }
    RESULT.write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
