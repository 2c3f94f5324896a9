"""Processor time that the page of `trialwise serve` takes to read an experiment of many trials, for each of its levels.

While a run is at work, a level that took t seconds is read again after 300 t (`trialwise.serve.hub.REST`): `renewed_every_s`.
The trials are made up and written into the ledger at once.

Run: .venv/bin/python benches/serve_reading.py [trials]. The result is kept in benches/results/serve_reading.json.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from measuring import write
from trialwise.design.plan import make_plan
from trialwise.experiment.reading import parse_experiment
from trialwise.serve import parts
from trialwise.serve.hub import REST
from trialwise.serve.places import Place, places
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.study import planned_row

TRIALS = 100_000
EXPERIMENT = """
[experiment]
name = "many"
[factors]
flavour = ["a", "b", "c", "d"]
[trial]
kind = "python"
call = "work:work"
[metrics.time]
unit = "ms"
kpi = {{ percentile = 50, confidence = 95 }}
[design]
rounds = {rounds}
max_trials = 1000000
"""


def made(folder: Path, trials: int) -> Place:
    """Write an experiment directory whose trials have all finished."""
    text = EXPERIMENT.format(rounds=trials // 4)
    (folder / "work.py").write_text("def work(flavour): return {'time': 1}\n")
    (folder / "many.toml").write_text(text)
    experiment = parse_experiment(text, folder / "many.toml")
    directory = ExperimentDirectory(folder / "many.results")
    directory.make()
    directory.write_durably("experiment.toml", text.encode())
    plan = make_plan(experiment)
    meta = {"name": "many", "identity": "x", "plan": plan.digest, "folder": str(folder), "version": "0"}
    Ledger.create(directory.ledger_file, meta, map(planned_row, plan.trials)).close()
    values = 10 + np.random.default_rng(1).lognormal(0, 0.3, len(plan.trials))
    source = experiment.metrics[0].source.key
    with sqlite3.connect(directory.ledger_file) as ledger:
        ledger.execute(
            "UPDATE trial SET status = 'finished', epoch = 1, claimed = number, started = number, finished = number + 0.5"
        )
        rows = ((number, source, value) for number, value in enumerate(values.tolist(), start=1))
        ledger.executemany("INSERT INTO value (number, attempt, source, value) VALUES (?, 1, ?, ?)", rows)
    ledger.close()
    return next(iter(places((folder,)).values()))


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
    levels = {
        "quick": lambda place: parts.quick(place, None),
        "drawn": parts.drawn,
        "slow": parts.slow,
    }
    with tempfile.TemporaryDirectory() as name:
        place = made(Path(name), trials)
        rows: list[dict[str, object]] = []
        for level, read in levels.items():
            read(place)  # what is imported for it
            before = time.process_time()
            read(place)
            took = time.process_time() - before
            rows.append(
                {
                    "level": level,
                    "parts": " ".join(parts.PARTS[level]),
                    "trials": trials,
                    "processor_s": round(took, 2),
                    "renewed_every_s": round(REST * took),
                    "load": round(os.getloadavg()[0], 1),
                }
            )
    write("serve_reading", rows)


main()
