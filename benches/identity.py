"""What it costs to look before a trial whether the same thing is measured, beside a bare stat of each file; and what following adds.

    .venv/bin/python benches/identity.py [ROUNDS]

Looking: 200 files, medians. Following: `true`, followed and not, in random order; the last row has "not followed" twice, so that
it says what the difference of two equal things is on this machine.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measuring import processor
from trialwise._linux import run_command
from trialwise.execution.session import LocalWatch
from trialwise.measurement.file_identity import NamedFile

RESULT = Path(__file__).parent / "results" / "identity.json"
FILES = 200


def milliseconds(work: Callable[[], object], times: int) -> float:
    taken: list[float] = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        taken.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(taken)


def looking(rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"file{number}" for number in range(FILES)]
        for path in paths:
            path.write_bytes(b"x" * 10_000)
        watch = LocalWatch(map(NamedFile, paths), Path(folder))
        watch.look()
        look = milliseconds(watch.stats, rounds)
        bare = milliseconds(lambda: [os.stat(path) for path in paths], rounds)  # noqa: PTH116 the bare call
    return {"look_ms": look, "bare_stat_ms": bare, "look / bare stat": look / bare}


def wall_ms(*, follow: bool) -> float:
    run = run_command(["true"], environment=os.environ, working_directory="/", follow=follow)
    return run.wall_ns / 1e6


def following(rounds: int) -> dict[str, float]:
    order = random.Random(3)  # noqa: S311 an order of measurements
    walls: dict[str, list[float]] = {"plain": [], "followed": [], "plain again": []}
    for _ in range(rounds):
        for name in order.sample(list(walls), len(walls)):
            walls[name].append(wall_ms(follow=name == "followed"))
    medians = {name: statistics.median(values) for name, values in walls.items()}
    return {
        **{f"{name}_ms": value for name, value in medians.items()},
        "followed / plain": medians["followed"] / medians["plain"],
        "plain again / plain": medians["plain again"] / medians["plain"],
    }


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    results = {name: round(value, 4) for name, value in {**looking(rounds), **following(rounds)}.items()}
    machine = {"processor": processor(), "load": round(os.getloadavg()[0], 2)}
    RESULT.write_text(json.dumps({"machine": machine, "results": results}, indent=2) + "\n")
    for name, value in results.items():
        print(f"{value:10.4f}  {name}")


if __name__ == "__main__":
    main()
