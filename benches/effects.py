"""Time of `trialwise effects` on 4 x 2 treatments of 600 values each with 9,999 permutations, reading and printing and all.

Run with `.venv/bin/python benches/effects.py`; the result is kept in `benches/results/effects.json`. The command runs in a
process of its own, three times for each method, and the fastest counts: the start of Python and of the libraries is in it, and
beside it as the time of `trialwise --version` and of an analysis without permutations.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from measuring import write

FLAVOURS, THREADS, SAMPLES, PERMUTATIONS = 4, 2, 600, 9_999
LIMIT_SECONDS = 2.0
"""Of processor time and by the clock on two processors, above what the same command takes without permutations."""


def table() -> pl.DataFrame:
    generator = np.random.Generator(np.random.PCG64DXSM(1))
    flavours, threads, _ = np.indices((FLAVOURS, THREADS, SAMPLES))
    # Skewed, so that the paper's procedure permutes as well.
    values = 100 + 0.3 * (flavours == 2) + generator.exponential(size=flavours.shape)
    return pl.DataFrame({"oml": flavours.ravel(), "threads": threads.ravel(), "rate": values.ravel()})


def seconds(path: Path, *options: str) -> tuple[float, float, dict[str, object]]:
    """By the clock and of the processor, and what was printed."""
    command = [
        Path(sys.executable).parent / "trialwise",
        "effects",
        path,
        "--factor",
        "oml",
        "--factor",
        "threads",
    ]
    found: list[tuple[float, float, dict[str, object]]] = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        done = subprocess.run(
            [*command, "--value", "rate", "--json", *options], capture_output=True, text=True, check=False
        )
        took = time.perf_counter() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        assert done.returncode == 1, done.stderr
        found.append((took, used, json.loads(done.stdout)))
    return min(found, key=lambda one: one[1])


def main() -> None:
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.csv"
        table().write_csv(path)
        took, plain, _ = seconds(path, "--method", "ordinary")
        rows.append({"method": "ordinary", "seconds": round(took, 2), "processor seconds": round(plain, 2)})
        for method in ("raw_permutation", "freedman_lane", "paper"):
            took, used, document = seconds(path, "--method", method, "--permutations", str(PERMUTATIONS))
            (result,) = document["results"]  # pyright: ignore[reportGeneralTypeIssues]
            rows.append(
                {
                    "method": method,
                    "permutations": result["permutations"],
                    "seconds": round(took, 2),
                    "processor seconds": round(used, 2),
                    "of these for permutations": round(used - plain, 2),
                }
            )
    write("effects", [row | {"processors": os.cpu_count()} for row in rows])
    for row in rows[1:3]:
        assert float(str(row["of these for permutations"])) < 2 * LIMIT_SECONDS, row


if __name__ == "__main__":
    main()
