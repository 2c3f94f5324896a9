"""How often `trialwise ab` calls a suite of benchmarks worse than itself, and how often it finds a benchmark that is 5 % slower.

    .venv/bin/python benches/suites.py go|pytest|criterion|planted|simulated RUNS FOLDER
    .venv/bin/python benches/suites.py figures FOLDER

The first runs `ab` again and again in FOLDER, outside of the repository: on two byte-identical copies of a real suite; `planted`, on
50 loops of go, one of them 5 % longer in head; `simulated`, on 200 benchmarks with the noise of `tests/suite_trials.py`, at most 50
fresh rounds. It adds a line for each run to FOLDER/NAME.jsonl, and goes on where it was stopped. An identical pair with a verdict
keeps its trials. The second writes the rates to benches/results/suites.json, with their intervals of 95 % (Clopper and Pearson 1934).
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from measuring import processor, show
from suite_recipes import PLANTED, SUITES, planted_name
from suite_trials import KINDS, identical, suite
from trialwise import study
from trialwise.analysis.versions.suites import SuitePlan, confirmed, rounds_of, screened
from trialwise.experiment.model import Extent

RESULT = Path(__file__).parent / "results" / "suites.json"
TRIALWISE = str(Path(sys.executable).parent / "trialwise")
BUDGETS = {"go": "12s", "criterion": "12s", "pytest": "20s", "planted": "2m"}
FEWEST = 5
"""Fresh rounds without which no benchmark is called worse."""
PILOT, MOST_FRESH, BENCHMARKS = 10, 50, 200
Run = dict[str, Any]


def real(folder: Path, name: str, number: int) -> Run:
    """Compare once, with trials of its own, and return what is kept of it."""
    directory = folder / f"{name}.ab"
    shutil.rmtree(directory, ignore_errors=True)
    options = ("--directory", str(directory), "--seed", str(number), "--budget", BUDGETS[name])
    began, load = time.monotonic(), os.getloadavg()[0]
    done = subprocess.run(
        [TRIALWISE, "ab", *SUITES[name](folder, number), *options, "--json", "--quiet"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1, 3):
        sys.exit(f"exit code {done.returncode}: {done.stderr[-2000:]}")
    told = json.loads(done.stdout)
    rows = told["comparison"]["rows"] if told["comparison"] else []
    judged = [
        (row["metric"]["name"], row["verdict"], outcome)
        for row, outcome in zip(rows, told["outcomes"], strict=True)
    ]
    facts = ("crossed", "rounds", "wanted", "ending")
    found = {
        "run": number,
        **_verdicts(judged),
        **{key: told[key] for key in facts},
        "seconds": round(time.monotonic() - began, 1),
        "load": round(load, 1),
        "budget": BUDGETS[name],
    }
    keep_values(Path(told["directory"]), values_of(folder, name, number))
    if name != "planted" and (found["worse"] or found["better"]):
        directory.rename(folder / f"{name}.{number}.kept")
    return found


def values_of(folder: Path, name: str, number: int) -> Path:
    """Return where the values of a run are kept, so that another way of judging needs no other trials."""
    return folder / f"{name}.values" / f"{number}.parquet"


def keep_values(directory: Path, path: Path) -> None:
    """Write what each trial measured, without its warm-up."""
    path.parent.mkdir(exist_ok=True)
    number = pl.col("round").str.split(".").list.last().cast(pl.Int64)
    version = pl.col("treatment").str.split("=").list.last()
    table = study.trial_set(directory).table
    table.select(number.alias("round"), version.alias("version"), "metric", "value").write_parquet(path)


def simulated(folder: Path, name: str, number: int) -> Run:  # noqa: ARG001 as for a real suite
    """Judge simulated trials of an identical pair; the kinds of noise take turns."""
    began, kind = time.monotonic(), KINDS[number % len(KINDS)]
    random = np.random.default_rng(number)
    trials = suite(*identical(random, PILOT + MOST_FRESH, BENCHMARKS, kind))
    plan = SuitePlan(PILOT, 10_000, 95.0, Extent(3.0, relative=True))
    first = screened(rounds_of(trials, 1, PILOT), plan)
    later = rounds_of(trials, PILOT + 1, PILOT + min(first.fresh, MOST_FRESH))
    found = confirmed(first, later, plan)
    rows = zip(found.comparison.rows, found.outcomes, strict=True)
    judged = [(row.metric.name, row.verdict, outcome) for row, outcome in rows]
    return {
        "run": number,
        "kind": kind,
        **_verdicts(judged),
        "crossed": found.crossed,
        "rounds": found.rounds,
        "wanted": first.fresh,
        "seconds": round(time.monotonic() - began, 1),
    }


def _verdicts(judged: Sequence[tuple[str, str, str]]) -> Run:
    return {
        "worse": [name for name, _, outcome in judged if outcome == "worse"],
        "better": [name for name, verdict, outcome in judged if (verdict, outcome) == ("different", "fine")],
        "open": sum(outcome == "undecided" for _, _, outcome in judged),
        "rows": len(judged),
    }


def kept(folder: Path, name: str) -> list[Run]:
    """Return the runs that are there."""
    path = folder / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def figures(name: str, runs: Sequence[Run]) -> Run:
    """Return the rates of these runs: red ones, or those that found what was planted."""
    if name == "planted":
        hits = {"found": sum(planted_name(run["run"]) in run["worse"] for run in runs)}
        others = sum(bool(set(run["worse"]) - {planted_name(run["run"])}) for run in runs)
        more = {"red for another benchmark": others, "benchmarks": PLANTED}
    else:
        hits = {"red": sum(bool(run["worse"]) for run in runs)}
        more = {
            "better": sum(bool(run["better"]) for run in runs),
            "benchmarks": max(run["rows"] for run in runs),
        }
    interval = binomtest(next(iter(hits.values())), len(runs)).proportion_ci(0.95, "exact")
    loads = [run["load"] for run in runs if "load" in run]
    return {
        "suite": name,
        "budgets": sorted({run["budget"] for run in runs if run.get("budget")}),
        "runs": len(runs),
        **hits,
        "interval in %": [round(100 * interval.low, 1), round(100 * interval.high, 1)],
        **more,
        "crossed": sum(bool(run["crossed"]) for run in runs),
        "crossed and judged again": sum(bool(run["crossed"]) and run["rounds"][1] >= FEWEST for run in runs),
        "decided": sum(not run["open"] for run in runs),
        "median rounds": [statistics.median(run["rounds"][look] for run in runs) for look in (0, 1)],
        "median seconds": statistics.median(run["seconds"] for run in runs),
        "load": [round(of(loads), 1) for of in (min, statistics.median, max)] if loads else None,
    }


def main() -> None:
    """Run what is missing, or write the rates."""
    name, folder = sys.argv[1], Path(sys.argv[-1]).resolve()
    if name == "figures":
        rows = [figures(each, runs) for each in (*SUITES, "simulated") if (runs := kept(folder, each))]
        machine = {"processor": processor(), "cpus": os.cpu_count()}
        RESULT.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
        show(rows)
        return
    one: Callable[[Path, str, int], Run] = simulated if name == "simulated" else real
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(len(kept(folder, name)) + 1, int(sys.argv[2]) + 1):
        line = json.dumps(one(folder, name, number))
        with (folder / f"{name}.jsonl").open("a") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
