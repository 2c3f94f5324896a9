"""What the runner adds to a trial of `true`, everything on disk included, beside hyperfine on the same command.

    .venv/bin/python benches/runner_overhead.py [ROUNDS] [FOLDER]

Each round runs, in an order drawn anew: an experiment in FOLDER (default: where temporary files go, which has to be a disk),
the same in memory (/dev/shm), hyperfine, and bare syncs of as many bytes as a trial leaves. Overhead is what passes from one
claim to the next less the program's own wall time; the total is with it. Of hyperfine, which keeps nothing on disk before its end,
the total is its elapsed time for many runs less that for two.
"""

from __future__ import annotations

import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import processor
from trialwise import study
from trialwise.store.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

RESULT = Path(__file__).parent / "results" / "runner_overhead.json"
TRIALS = 60
BYTES = 7 * 4096
MEMORY = Path("/dev/shm")  # noqa: S108
TRUE = shutil.which("true") or "/bin/true"
EXPERIMENT = f"""
[experiment]
name = "overhead"
[factors]
x = [1, 2, 3]
[trial]
command = "{TRUE}"
environment = {{ X = "{{x}}" }}
[metrics.wall]
resource = "wall"
[design]
series = 1
rounds = {TRIALS // 3}
"""


def runner_times(place: Path) -> tuple[list[float], list[float]]:
    """Overheads and totals of the trials of an experiment, seconds."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        file = Path(folder) / "experiment.toml"
        file.write_text(EXPERIMENT)
        result = study.run(file, Path(folder) / "results")
        assert result.counts == {"finished": TRIALS}
        ledger = Ledger.open(result.directory / "ledger.sqlite", read_only=True)
        rows = ledger.trials()
        ledger.close()
    totals = [(after.claimed or 0) - (row.claimed or 0) for row, after in pairwise(rows)]
    walls = [(row.finished or 0) - (row.started or 0) for row in rows]
    return [total - wall for total, wall in zip(totals, walls, strict=False)], totals


def hyperfine_totals(hyperfine: str, place: Path) -> list[float]:
    def elapsed(runs: int) -> float:
        report = str(place / "trialwise-hyperfine.json")
        settings = ["--shell=none", "--warmup", "0", "--runs", str(runs), "--export-json", report]
        begin = time.perf_counter()
        subprocess.run([hyperfine, *settings, TRUE], check=True, capture_output=True)
        return time.perf_counter() - begin

    few = elapsed(2)
    return [(elapsed(TRIALS + 2) - few) / TRIALS]


def sync_times(place: Path) -> list[float]:
    times: list[float] = []
    with tempfile.TemporaryFile(dir=place) as file:
        file.write(bytes(BYTES * TRIALS))
        file.flush()
        os.fsync(file.fileno())
        for trial in range(TRIALS):
            begin = time.perf_counter()
            os.pwrite(file.fileno(), b"x" * BYTES, trial * BYTES)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begin)
    return times


def measure(rounds: int, place: Path) -> dict[str, list[float]]:
    times: dict[str, list[float]] = defaultdict(list)

    def runner(name: str, where: Path) -> None:
        overheads, totals = runner_times(where)
        times[f"runner, {name}: overhead"] += overheads
        times[f"runner, {name}: total"] += totals

    ways: list[Callable[[], None]] = [
        lambda: runner("disk", place),
        lambda: times["bare sync"].extend(sync_times(place)),
    ]
    if os.access(MEMORY, os.W_OK):
        ways.append(lambda: runner("memory", MEMORY))
    if hyperfine := shutil.which("hyperfine"):
        ways.append(lambda: times["hyperfine: total"].extend(hyperfine_totals(hyperfine, place)))
    order = random.Random(7)  # noqa: S311 - an order of measurements
    for _ in range(rounds):
        for way in order.sample(ways, len(ways)):
            way()
    return times


def summarise(times: dict[str, list[float]]) -> dict[str, dict[str, object]]:
    rows: dict[str, dict[str, object]] = {}
    for name, values in sorted(times.items()):
        low, median, high = statistics.quantiles(values, n=4)
        rows[name] = {
            "n": len(values),
            "median_ms": round(median * 1e3, 3),
            "quartiles_ms": [round(low * 1e3, 3), round(high * 1e3, 3)],
        }
    return rows


def ratios(times: dict[str, list[float]]) -> dict[str, float]:
    medians = {name: statistics.median(values) for name, values in times.items()}
    pairs = [
        ("runner, disk: overhead", "bare sync"),
        ("runner, memory: total", "hyperfine: total"),
        ("runner, disk: total", "hyperfine: total"),
    ]
    return {
        f"{above} / {below}": round(medians[above] / medians[below], 2)
        for above, below in pairs
        if above in medians and below in medians
    }


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    place = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.gettempdir())
    before = os.getloadavg()[0]
    times = measure(rounds, place)
    rows = summarise(times)
    machine = {
        "processor": processor(),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": round(before, 2),
    }
    skipped = {} if shutil.which("hyperfine") else {"hyperfine": "not installed"}
    document = {"machine": machine, "results": rows, "ratios": ratios(times), "skipped": skipped}
    RESULT.write_text(json.dumps(document, indent=2) + "\n")
    for name, row in rows.items():
        print(f"{name:24} {row['median_ms']:8} ms  quartiles {row['quartiles_ms']}  n {row['n']}")
    for name, ratio in document["ratios"].items():
        print(f"{ratio:6} = {name}")


if __name__ == "__main__":
    main()
