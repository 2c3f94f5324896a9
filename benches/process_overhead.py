"""What starting `true` costs through Trialwise, Python and hyperfine, beside posix_spawn and wait4 in C.

    .venv/bin/python benches/process_overhead.py [ROUNDS]

Every round measures each way, in an order drawn anew, so that drift of the machine meets all alike. `call` is
the time of the whole call, `measured` what it reports as the program's wall time; with "500 MB" the caller
has that much resident.
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
from pathlib import Path
from typing import TYPE_CHECKING

from trialwise._linux import run_command

if TYPE_CHECKING:
    from collections.abc import Callable

RESULT = Path(__file__).parent / "results" / "process_overhead.json"
RUNS_PER_ROUND = 25
BALLAST = 500_000_000
TRUE = shutil.which("true") or "/bin/true"

FLOOR = r"""
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
extern char **environ;
static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}
int main(int count, char **arguments) {
    char *command[] = {arguments[1], NULL};
    for (int run = 0; count > 2 && run < atoi(arguments[2]); run++) {
        pid_t process;
        int status;
        struct rusage usage;
        long long start = now();
        if (posix_spawn(&process, command[0], NULL, NULL, command, environ)) return 1;
        if (wait4(process, &status, 0, &usage) != process || status) return 1;
        printf("%lld\n", now() - start);
    }
}
"""


def compile_floor(folder: Path) -> Path:
    source, program = folder / "floor.c", folder / "floor"
    source.write_text(FLOOR)
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return program


def floor_times(program: Path) -> dict[str, list[float]]:
    printed = subprocess.run([program, TRUE, str(RUNS_PER_ROUND)], check=True, capture_output=True, text=True)
    return {"C posix_spawn + wait4": [float(line) for line in printed.stdout.split()]}


def trialwise_times(suffix: str) -> dict[str, list[float]]:
    calls, measured = [], []
    environment = dict(os.environ)
    for _ in range(RUNS_PER_ROUND):
        start = time.perf_counter_ns()
        result = run_command([TRUE], environment=environment, working_directory="/")
        calls.append(float(time.perf_counter_ns() - start))
        measured.append(float(result.wall_ns))
        assert result.exit_code == 0
    return {f"run_command, measured{suffix}": measured, f"run_command, call{suffix}": calls}


def subprocess_times(suffix: str) -> dict[str, list[float]]:
    calls = []
    for _ in range(RUNS_PER_ROUND):
        start = time.perf_counter_ns()
        subprocess.run([TRUE], check=True, capture_output=True)
        calls.append(float(time.perf_counter_ns() - start))
    return {f"subprocess.run, call{suffix}": calls}


def with_ballast(measure: Callable[[str], dict[str, list[float]]]) -> dict[str, list[float]]:
    ballast = b"x" * BALLAST
    times = measure(", 500 MB")
    assert len(ballast) == BALLAST
    return times


def hyperfine_times(hyperfine: str, folder: Path) -> dict[str, list[float]]:
    report = folder / "hyperfine.json"
    settings = ["--shell=none", "--warmup", "0", "--runs", str(RUNS_PER_ROUND), "--export-json", str(report)]
    subprocess.run([hyperfine, *settings, TRUE], check=True, capture_output=True)
    return {
        "hyperfine, measured": [
            seconds * 1e9 for seconds in json.loads(report.read_text())["results"][0]["times"]
        ]
    }


def measure(rounds: int, folder: Path) -> dict[str, list[float]]:
    program = compile_floor(folder)
    ways = [
        lambda: floor_times(program),
        lambda: trialwise_times(""),
        lambda: subprocess_times(""),
        lambda: with_ballast(trialwise_times),
        lambda: with_ballast(subprocess_times),
    ]
    if hyperfine := shutil.which("hyperfine"):
        ways.append(lambda: hyperfine_times(hyperfine, folder))
    times = defaultdict(list)
    order = random.Random(7)  # noqa: S311 - an order of measurements
    for _ in range(rounds):
        for way in order.sample(ways, len(ways)):
            for name, values in way().items():
                times[name] += values
    return times


def summarise(times: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    floor = statistics.median(times["C posix_spawn + wait4"])
    rows = {}
    for name, values in sorted(times.items(), key=lambda item: statistics.median(item[1])):
        median = statistics.median(values)
        low, _, high = statistics.quantiles(values, n=4)
        rows[name] = {
            "runs": len(values),
            "median_us": round(median / 1e3, 1),
            "quartiles_us": [round(low / 1e3, 1), round(high / 1e3, 1)],
            "added_us": round((median - floor) / 1e3, 1),
            "ratio_to_floor": round(median / floor, 3),
        }
    return rows


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as folder:
        rows = summarise(measure(rounds, Path(folder)))
    skipped = {} if "hyperfine, measured" in rows else {"hyperfine": "not installed"}
    machine = {
        "machine": platform.machine(),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
    }
    RESULT.write_text(json.dumps({"machine": machine, "results": rows, "skipped": skipped}, indent=2) + "\n")
    for name, row in rows.items():
        print(
            f"{name:36} {row['median_us']:8.1f} us  {row['added_us']:+8.1f} us  x{row['ratio_to_floor']:.2f}"
        )
    for name, reason in skipped.items():
        print(f"{name:36} skipped: {reason}")


if __name__ == "__main__":
    main()
