"""How often `trialwise ab` calls a suite of benchmarks worse than itself, and how often it finds a benchmark that is 5 % slower.

    .venv/bin/python benches/suites.py go|pytest|criterion|planted|simulated|drawn|drawn-planted RUNS FOLDER
    .venv/bin/python benches/suites.py figures FOLDER

The first runs `ab` again and again in FOLDER, outside of the repository: on two byte-identical copies of a real suite; `planted`, on
50 loops of go, one of them 5 % longer in head, in the budget that `ab` states for it. Without trials, it judges: `simulated`, 200
benchmarks with the noise of `tests/suite_trials.py`, at most 50 fresh rounds; `drawn`, 200 benchmarks of rounds that are drawn from
those of the real suites in FOLDER, 20 fresh ones; `drawn-planted`, rounds drawn from those of `planted`, where another loop takes 5 %
more, as many fresh ones as are said to find that. It adds a line for each run to FOLDER/NAME.jsonl, and goes on where it was stopped.
An identical pair with a verdict keeps its trials. The second writes the rates to benches/results/suites.json, with their intervals of
95 % (Clopper and Pearson 1934).
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from measuring import processor, show
from suite_recipes import SUITES, planted_name
from suite_trials import KINDS, identical, suite
from trialwise import study
from trialwise.analysis.versions.suites import SuitePlan, confirmed, reach_of, rounds_of, screened
from trialwise.errors import AnalysisError
from trialwise.experiment.model import Extent

RESULT = Path(__file__).parent / "results" / "suites.json"
TRIALWISE = str(Path(sys.executable).parent / "trialwise")
BUDGETS = {"go": "12s", "criterion": "12s", "pytest": "20s", "planted": "40s"}
FEWEST = 5
"""Fresh rounds without which no benchmark is called worse."""
PILOT, MOST_FRESH, FEW_FRESH, MOST_DRAWN, BENCHMARKS = 10, 50, 20, 500, 200
LONGEST = 360.0
"""The longest budget, in seconds, that a run of `planted` is given; where `ab` states a longer one, its first comparison counts."""
Run = dict[str, Any]


def real(folder: Path, name: str, number: int) -> Run:
    """Compare once, with trials of its own, and return what is kept of it; `planted`, in the budget that a first comparison states."""
    directory = folder / f"{name}.ab"
    options = (*SUITES[name](folder, number), "--directory", str(directory), "--seed", str(number))
    began, load, budget = time.monotonic(), os.getloadavg()[0], BUDGETS[name]
    told = compared(folder, directory, (*options, "--budget", budget))
    stated = told["reach"] and told["reach"]["budget"]
    if name == "planted" and told["outcome"] == "undecided" and stated and stated <= LONGEST:
        budget = f"{stated:.0f}s"
        told = compared(folder, directory, (*options, "--budget", budget))
    rows = told["comparison"]["rows"] if told["comparison"] else []
    judged = [
        (row["metric"]["name"], row["verdict"], outcome)
        for row, outcome in zip(rows, told["outcomes"], strict=True)
    ]
    facts = ("crossed", "rounds", "wanted", "ending", "reach")
    found = {
        "run": number,
        **_verdicts(judged),
        **{key: told[key] for key in facts},
        "seconds": round(time.monotonic() - began, 1),
        "load": round(load, 1),
        "budget": budget,
    }
    keep_values(Path(told["directory"]), values_of(folder, name, number))
    if name != "planted" and (found["worse"] or found["better"]):
        directory.rename(folder / f"{name}.{number}.kept")
    return found


def compared(folder: Path, directory: Path, options: Sequence[str]) -> Run:
    """Return what `ab` tells, with trials of its own."""
    shutil.rmtree(directory, ignore_errors=True)
    done = subprocess.run(
        [TRIALWISE, "ab", *options, "--json", "--quiet"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1, 3):
        sys.exit(f"exit code {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def values_of(folder: Path, name: str, number: int) -> Path:
    """Return where the values of a run are kept, so that another way of judging needs no other trials."""
    return folder / f"{name}.values" / f"{number}.parquet"


def keep_values(directory: Path, path: Path) -> None:
    """Write what each trial measured, without its warm-up."""
    path.parent.mkdir(exist_ok=True)
    number = pl.col("round").str.split(".").list.last().cast(pl.Int64)
    version = pl.col("treatment").str.split("=").list.last()
    try:
        table = study.trial_set(directory).table
    except AnalysisError:  # the budget ended before the first trial did
        return
    table.select(number.alias("round"), version.alias("version"), "metric", "value").write_parquet(path)


def simulated(folder: Path, name: str, number: int) -> Run:  # noqa: ARG001 as for a real suite
    """Judge simulated trials of an identical pair; the kinds of noise take turns."""
    kind = KINDS[number % len(KINDS)]
    tables = identical(np.random.default_rng(number), PILOT + MOST_FRESH, BENCHMARKS, kind)
    return judged(tables, number, kind)


def drawn(folder: Path, name: str, number: int) -> Run:  # noqa: ARG001
    """Judge rounds of real suites that were compared with themselves."""
    random = np.random.default_rng([2, number])
    pairs = recorded(folder, tuple(each for each in SUITES if each != "planted"))
    rounds = PILOT + FEW_FRESH
    columns = [
        drawn_rounds(random, pairs[random.integers(len(pairs))], rounds) for _ in range(BENCHMARKS // 10)
    ]
    return judged(np.concatenate(columns, axis=2), number, "recorded")


def drawn_planted(folder: Path, name: str, number: int) -> Run:  # noqa: ARG001
    """Judge rounds of the suite with a slowdown, which is taken out, and put into another benchmark."""
    random = np.random.default_rng([3, number])
    pairs = recorded(folder, ("planted",))
    tables = drawn_rounds(random, pairs[random.integers(len(pairs))], PILOT + MOST_DRAWN)
    at = random.integers(tables.shape[2])
    tables[1, :, at] *= 1.05
    return judged(tables, number, "recorded", planted=f"b{at}")


@cache
def recorded(folder: Path, names: tuple[str, ...]) -> list[np.ndarray]:
    """Return the values of each run with as many rounds as a pilot has, of shape (2 versions, rounds, benchmarks)."""
    found: list[np.ndarray] = []
    for path in sorted(path for name in names for path in folder.glob(f"{name}.values/*.parquet")):
        wide = (
            pl.read_parquet(path).pivot(on="metric", index=["round", "version"], values="value").drop_nulls()
        )
        if path.parent.name == "planted.values":
            wide = wide.drop(planted_name(int(path.stem)))
        sides = [wide.filter(pl.col("version") == version).drop("version") for version in ("base", "head")]
        rounds = sides[0].join(sides[1], on="round").select("round").sort("round")
        tables = [
            rounds.join(side, on="round", maintain_order="left").drop("round").to_numpy() for side in sides
        ]
        if len(tables[0]) >= PILOT:
            found.append(np.array(tables))
    return found


def drawn_rounds(random: np.random.Generator, pairs: np.ndarray, count: int) -> np.ndarray:
    """Draw rounds with both their versions, which are the same program, so that each is base as likely as head."""
    rounds = pairs[:, random.integers(pairs.shape[1], size=count)]
    return np.where(random.random((1, count, 1)) < 0.5, rounds, rounds[::-1])


def judged(tables: Iterable[np.ndarray], number: int, kind: str, planted: str | None = None) -> Run:
    """Judge trials of base and head, of shape (rounds, benchmarks), by both looks: as many fresh rounds as are asked for."""
    began = time.monotonic()
    trials = suite(*tables)
    plan = SuitePlan(PILOT, 10_000, 95.0, Extent(3.0, relative=True))
    first = screened(rounds_of(trials, 1, PILOT), plan)
    reach = reach_of(first, plan, 1.0, None) if planted else None
    fresh = first.fresh if reach is None else reach.rounds_needed or MOST_DRAWN
    found = confirmed(
        first, rounds_of(trials, PILOT + 1, PILOT + min(fresh, MOST_DRAWN if planted else MOST_FRESH)), plan
    )
    rows = zip(found.comparison.rows, found.outcomes, strict=True)
    verdicts = [(row.metric.name, row.verdict, outcome) for row, outcome in rows]
    return {
        "run": number,
        "kind": kind,
        **_verdicts(verdicts),
        "planted": planted,
        "crossed": found.crossed,
        "rounds": found.rounds,
        "wanted": fresh,
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
    if name.endswith("planted"):
        names = [run.get("planted") or planted_name(run["run"]) for run in runs]
        hits = {"found": sum(one in run["worse"] for one, run in zip(names, runs, strict=True))}
        others = sum(bool(set(run["worse"]) - {one}) for one, run in zip(names, runs, strict=True))
        more = {"red for another benchmark": others, "benchmarks": max(run["rows"] for run in runs)}
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
        before = {row["suite"]: row for row in json.loads(RESULT.read_text())["rows"]}
        rows = [
            figures(each, runs) if (runs := kept(folder, each)) else before[each]
            for each in (*SUITES, "simulated", "drawn", "drawn-planted")
            if kept(folder, each) or each in before
        ]
        machine = {"processor": processor(), "cpus": os.cpu_count()}
        RESULT.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
        show(rows)
        return
    one: Callable[[Path, str, int], Run] = {
        "simulated": simulated,
        "drawn": drawn,
        "drawn-planted": drawn_planted,
    }.get(name, real)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(len(kept(folder, name)) + 1, int(sys.argv[2]) + 1):
        line = json.dumps(one(folder, name, number))
        with (folder / f"{name}.jsonl").open("a") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
