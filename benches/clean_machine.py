"""How long another user on a clean machine takes for the two commands that verify a packed demo and measure it again.

The user has an empty home and a network namespace without network. Every repetition is in a new home, so nothing is there from
the one before. The demo's 14 trials end at once: what is measured is Trialwise. Allowed: five minutes for both.

Run as root: .venv/bin/python benches/clean_machine.py [repetitions]. The result is kept in benches/results/clean_machine.json.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measuring import write

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import artifacts
import strangers

COMMANDS = {
    "verify artifact.zip": [],
    "verify artifact.zip --kick --report ae.md": ["--kick", "--report", "ae.md"],
}
ALLOWED_SECONDS = 300.0


def in_a_new_home() -> list[tuple[float, float]]:
    """Seconds, and seconds of processor time, that each command takes."""
    with tempfile.TemporaryDirectory(prefix="stranger-") as name, tempfile.TemporaryDirectory() as work:
        home = Path(name)
        os.chown(home, strangers.NOBODY, strangers.NOBODY)
        strangers.packed_demo(home, Path(work) / "demo")
        return [taken(more, home) for more in COMMANDS.values()]


def taken(more: list[str], home: Path) -> tuple[float, float]:
    """Run one command, which has to succeed."""
    begun, used = time.perf_counter(), processor_time()
    done = strangers.ran([sys.executable, "-c", artifacts.RUN, "verify", "artifact.zip", *more], home)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return time.perf_counter() - begun, processor_time() - used


def processor_time() -> float:
    """Of all processes that this one has started and that have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    before = os.getloadavg()[0]
    found = [in_a_new_home() for _ in range(repetitions)]
    rows: list[dict[str, object]] = [
        {
            "command": command,
            "median_s": round(statistics.median(wall for wall, _ in times), 2),
            "longest_s": round(max(wall for wall, _ in times), 2),
            "median_processor_s": round(statistics.median(used for _, used in times), 2),
            "n": repetitions,
        }
        for command, times in zip(COMMANDS, zip(*found, strict=True), strict=True)
    ]
    both = max(sum(wall for wall, _ in each) for each in found)
    rows.append(
        {
            "both_longest_s": round(both, 2),
            "of_allowed": round(both / ALLOWED_SECONDS, 3),
            "load_before": round(before, 2),
        }
    )
    write("clean_machine", rows)
    sys.exit(0 if both <= ALLOWED_SECONDS else 1)


if __name__ == "__main__":
    main()
