"""How long `trialwise --help` and a `trialwise simulate` of few flows take.

Beside them: an empty Python program, and one that only imports the command-line library.

Run: .venv/bin/python benches/startup.py [repetitions]. The result is kept in benches/results/startup.json.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from measuring import milliseconds, write

TRIALWISE = str(Path(sys.executable).with_name("trialwise"))
SIMULATE = (
    "simulate --topology dumbbell:2x2,10Gbit/s,1us --cc dctcp --load 30% --sizes fixed:20kB --duration 100us"
)
PEERS = {
    "trialwise --help": [TRIALWISE, "--help"],
    "trialwise simulate": [TRIALWISE, *SIMULATE.split()],
    "import cyclopts": [sys.executable, "-c", "import cyclopts"],
    "python -c pass": [sys.executable, "-c", "pass"],
}
ALLOWED_SECONDS = 0.3


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    times: dict[str, list[float]] = {name: [] for name in PEERS}
    for _ in range(repetitions):
        for name, command in PEERS.items():
            begun = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            times[name].append(time.perf_counter() - begun)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    floor = medians["import cyclopts"]
    write(
        "startup",
        [
            {
                "command": name,
                "median_ms": milliseconds(value),
                "ratio_to_import": round(value / floor, 2),
                "n": repetitions,
            }
            for name, value in medians.items()
        ],
    )
    for name in ("trialwise --help", "trialwise simulate"):
        print(f"{name}: {medians[name] / ALLOWED_SECONDS:.2f} of the {ALLOWED_SECONDS * 1e3:.0f} ms allowed")


main()
