"""Processor time of `trialwise --help`, of `trialwise ab` until its first trial begins, and of a `trialwise simulate` of few flows.

Beside them, in turns: an empty Python program, and one that only imports the command-line library. Allowed for `--help` and `ab`:
120 ms.

Run: .venv/bin/python benches/startup.py [repetitions]. The result is kept in benches/results/startup.json.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measuring import write

TRIALWISE = str(Path(sys.executable).with_name("trialwise"))
SIMULATE = (
    "simulate --topology dumbbell:2x2,10Gbit/s,1us --cc dctcp --load 30% --sizes fixed:20kB --duration 100us"
)
NOTED = "first.txt"
FIRST = f"""\
import os, pathlib
noted = pathlib.Path({NOTED!r})
pid, ticks = os.getppid(), os.sysconf("SC_CLK_TCK")
while not noted.exists() and pid > 1:
    fields = pathlib.Path(f"/proc/{{pid}}/stat").read_text().rpartition(")")[2].split()
    if b"trialwise" in pathlib.Path(f"/proc/{{pid}}/cmdline").read_bytes().split(b"\\0")[1]:
        noted.write_text(str((int(fields[11]) + int(fields[12])) / ticks))
    pid = int(fields[1])
"""
"""A trial: notes the processor time in seconds of the Trialwise that started it, if it is the first."""
COMMANDS = {
    "trialwise --help": [TRIALWISE, "--help"],
    "trialwise ab --help": [TRIALWISE, "ab", "--help"],
    "trialwise simulate": [TRIALWISE, *SIMULATE.split()],
    "import cyclopts": [sys.executable, "-c", "import cyclopts"],
    "python -c pass": [sys.executable, "-c", "pass"],
}
AB = "trialwise ab, until its first trial"
ALLOWED_SECONDS = 0.12


def used_by(command: list[str]) -> float:
    """Seconds of processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def until_first_trial() -> float:
    """Seconds of processor time of `trialwise ab` when its first trial begins; to the hundredth, as the kernel tells it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "first.py").write_text(FIRST)
        sides = [f"{sys.executable} first.py {side}" for side in "ab"]
        words = [TRIALWISE, "ab", "--base", sides[0], "--head", sides[1], "--trials", "2", "--warmup", "0"]
        subprocess.run(words, cwd=folder, capture_output=True, check=False)
        return float((folder / NOTED).read_text())


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    times: dict[str, list[float]] = {name: [] for name in (*COMMANDS, AB)}
    for _ in range(repetitions):
        for name, command in COMMANDS.items():
            times[name].append(used_by(command))
        times[AB].append(until_first_trial())
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    write(
        "startup",
        [
            {
                "command": name,
                "median_ms": round(value * 1e3, 1),
                "least_ms": round(min(times[name]) * 1e3, 1),
                "ratio_to_pass": round(value / medians["python -c pass"], 1),
                "n": repetitions,
                "load": round(os.getloadavg()[0], 1),
            }
            for name, value in medians.items()
        ],
    )
    for name in ("trialwise --help", AB):
        print(f"{name}: {medians[name] / ALLOWED_SECONDS:.2f} of the {ALLOWED_SECONDS * 1e3:.0f} ms allowed")


main()
