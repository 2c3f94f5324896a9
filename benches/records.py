"""What the files cost that a simulated trial's flows are kept in: written together, as the runner does, and one by one.

    .venv/bin/python benches/records.py [FOLDER]

In FOLDER (default: the folder for temporary files; it has to be on a disk), 4 kB for each of 200 trials, five times in turn.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measuring import processor
from trialwise.store.files import write_together, write_whole

RESULT = Path(__file__).parent / "results" / "records.json"
TRIALS, REPEATS = 200, 5
CONTENT = os.urandom(4096)


def one_by_one(folder: Path) -> None:
    for number in range(TRIALS):
        write_whole(folder / f"{number}.parquet", lambda file: file.write(CONTENT))


def together(folder: Path) -> None:
    write_together({folder / f"{number}.parquet": CONTENT for number in range(TRIALS)})


def main() -> None:
    parent = sys.argv[1] if len(sys.argv) > 1 else None
    ways = (one_by_one, together)
    found: dict[str, list[float]] = {way.__name__: [] for way in ways}
    for _ in range(REPEATS):
        for way in ways:
            with tempfile.TemporaryDirectory(dir=parent) as folder:
                begun = time.perf_counter()
                way(Path(folder))
                found[way.__name__].append((time.perf_counter() - begun) / TRIALS * 1e3)
    document = {
        "machine": {"processor": processor(), "cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 1)},
        "ms_per_trial": {
            name: {"median": round(statistics.median(values), 2), "all": [round(each, 2) for each in values]}
            for name, values in found.items()
        },
    }
    RESULT.write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
