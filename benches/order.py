"""Time and memory of `trialwise order` on 2.3 million trials of 1,880 treatments (the size of OrderSage's data set).

Run with `.venv/bin/python benches/order.py`; the result is kept in `benches/results/order.json`. The trials are made with
a seed: 13 hardware types, 144 or 145 tests each, fixed and random rounds in random turns on three workers. The ratio of
processor time is to `scipy.stats.kruskal` alone over the same treatments, in the same run.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from measuring import write

TREATMENTS, TYPES, TRIALS, WORKERS = 1880, 13, 2_300_000, 3
LIMIT_SECONDS, LIMIT_BYTES = 60.0, 4 * 2**30


def table(seed: int = 7) -> pl.DataFrame:
    """All trials; a tenth of the treatments has an effect of order, and one pair in each type carries over."""
    rng = np.random.Generator(np.random.PCG64DXSM(seed))
    parts = [
        _hardware(rng, place, TREATMENTS // TYPES + (place < TREATMENTS % TYPES)) for place in range(TYPES)
    ]
    return pl.concat(parts)


def _hardware(rng: np.random.Generator, place: int, tests: int) -> pl.DataFrame:
    rounds = round(TRIALS / TREATMENTS)
    fixed = rng.permutation(np.arange(rounds) % 2 == 0)
    orders = np.where(
        fixed[:, None], np.arange(tests), rng.permuted(np.tile(np.arange(tests), (rounds, 1)), axis=1)
    )
    values = rng.normal(size=orders.shape) + 0.002 * np.arange(tests)
    values[:, 1:][(orders[:, 1:] == 5) & (orders[:, :-1] == 3) & ~fixed[:, None]] += 5.0
    values += np.where(fixed[:, None] & (orders % 10 == 0), 0.6, 0.0)
    value = 20 * (1 + np.arange(tests) % 7)[orders] + values
    return pl.DataFrame(
        {
            "hardware": [f"type{place:02}"] * orders.size,
            "worker": np.repeat(np.char.add("w", (np.arange(rounds) % WORKERS).astype(str)), tests),
            "test": np.char.add("test", orders.ravel().astype(str)),
            "order": np.repeat(np.where(fixed, "fixed", "random"), tests),
            "run": np.repeat(np.arange(rounds), tests),
            "position": np.tile(np.arange(tests), rounds),
            "value": value.ravel(),
        }
    )


def kruskal_alone(data: pl.DataFrame) -> float:
    begin = time.process_time()
    of = [pl.col("value").filter(pl.col("order") == order).alias(order) for order in ("fixed", "random")]
    for row in data.group_by("hardware", "test").agg(of).iter_rows():
        stats.kruskal(row[2], row[3])
    return time.process_time() - begin


def main() -> None:
    data = table()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.csv"
        data.write_csv(path)
        reference = kruskal_alone(data)
        command = [Path(sys.executable).parent / "trialwise", "order", path, "--group", "hardware", "--json"]
        begin = time.perf_counter()
        done = subprocess.run(command, capture_output=True, check=False)
        seconds = time.perf_counter() - begin
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(done.stdout)
    named = [pair for group in found["carry_over"] for pair in group["pairs"]]
    right = sum((pair["treatment"], pair["predecessor"]) == ("test5", "test3") for pair in named)
    write(
        "order",
        [
            {
                "trials": data.height,
                "treatments": len(found["treatments"]),
                "seconds": round(seconds, 1),
                "processor seconds": round(usage.ru_utime + usage.ru_stime, 1),
                "GiB": round(usage.ru_maxrss / 2**20, 2),
                "ratio to kruskal alone": round((usage.ru_utime + usage.ru_stime) / reference, 1),
                "changed": sum(one["change"] == "location" for one in found["treatments"]),
                "pairs named": len(named),
                "of these right": right,
            }
        ],
    )
    assert done.returncode == 1, done.stderr.decode()
    assert seconds < LIMIT_SECONDS, f"{seconds:.1f} s by the clock"
    assert usage.ru_maxrss * 1024 < LIMIT_BYTES


if __name__ == "__main__":
    main()
