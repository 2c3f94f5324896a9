"""An experiment directory with drawn values, written through the store as the runner writes it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from trialwise.analysis.directory import analyse_directory
from trialwise.analysis.results import Analysis
from trialwise.design.plan import make_plan
from trialwise.experiment.model import Experiment
from trialwise.experiment.reading import parse_experiment
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Event, Session, TrialRow
from trialwise.store.samples import file_name, write_samples
from trialwise.study import planned_row

BEGIN = 1_795_000_000.0

TEXT = """
[experiment]
name = "compressors"
seed = 7
description = "Ratio and speed of compressors on <the sources> of Python's library."

[factors]
algorithm = [{algorithms}]
level = [{levels}]
prefix = {{ draw = "prefixes.txt" }}

[trial]
command = ["compress", "{{algorithm}}", "-{{level}}", "{{prefix}}"]
runtime = "2s"

[metrics.speed]
json = "/speed"
unit = "MB/s"
better = "higher"
kpi = [{{ percentile = 25, confidence = 95 }}, {{ percentile = 50, confidence = 75 }}]
variability = {{ percentile = 50, confidence = 75 }}

[metrics.latency]
file = "latency.csv"
csv = "latency"
time = "t"
measure = 95
unit = "ms"
better = "lower"
convergence = {{ confidence = 95, tolerance = 10 }}
kpi = {{ percentile = 75, confidence = 75 }}
variability = {{ percentile = 25, confidence = 75 }}

[metrics.ratio]
json = "/ratio"
better = "higher"
kpi = {{ percentile = 95, confidence = 95 }}
{more}
[design]
rounds = {rounds}
series = {series}
span = "1d"
"""


def write_example(
    path: Path,
    *,
    algorithms: tuple[str, ...] = ("xz", "bz2", "<script>alert(1)</script>"),
    levels: tuple[int, ...] = (1, 6),
    rounds: int = 12,
    series: int = 3,
    more_metrics: int = 0,
    seed: int = 1,
) -> Path:
    """Write a directory in which trials fail, are abandoned, drift, and a program changes before the last series."""
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prefixes.txt").write_text("".join(f"prefix{number}\n" for number in range(40)))
    more = "".join(
        f'\n[metrics.m{place}]\njson = "/m{place}"\nkpi = {{ percentile = 50, confidence = 95 }}\n'
        for place in range(more_metrics)
    )
    text = TEXT.format(
        algorithms=", ".join(json.dumps(name) for name in algorithms),
        levels=", ".join(map(str, levels)),
        rounds=rounds,
        series=series,
        more=more,
    )
    source = folder / "experiment.toml"
    source.write_text(text)
    experiment = parse_experiment(text, source)
    directory = ExperimentDirectory(path)
    directory.make()
    directory.write_durably("experiment.toml", text.encode())
    (path / "prefixes.txt").write_bytes((folder / "prefixes.txt").read_bytes())
    _fill(directory, experiment, np.random.default_rng(seed))
    return path


def analyse_example(path: Path, method: str = "default", **options) -> Analysis:
    """Analyse a directory that `write_example` or `write_paths` wrote."""
    directory = ExperimentDirectory(path)
    experiment = parse_experiment(directory.experiment_file.read_text(), directory.experiment_file)
    ledger = directory.ledger()
    try:
        return analyse_directory(experiment, directory, ledger, method, **options)  # type: ignore[arg-type]
    finally:
        ledger.close()


def _fill(directory: ExperimentDirectory, experiment: Experiment, rng: np.random.Generator) -> None:
    plan = make_plan(experiment)
    rows = [planned_row(trial) for trial in plan.trials]
    meta = {
        "name": experiment.name,
        "identity": "x",
        "plan": plan.digest,
        "folder": str(directory.path),
        "version": "0",
    }
    ledger = Ledger.create(directory.ledger_file, meta, rows)
    sessions = [_session(directory, ledger, number) for number in (1, 2)]
    last = max(row.series for row in rows)
    for place, row in enumerate(rows):
        _carry_out(directory, experiment, ledger, row, place, sessions[row.series == last and last > 1], rng)
    ledger.add_event(Event(BEGIN + 9e4, "environment changed", "kernel: 6.1.0 → 6.1.2"))
    ledger.close()


def _session(directory: ExperimentDirectory, ledger: Ledger, number: int) -> Session:
    name = f"environments/{number:03d}.json"
    facts = {
        "cpu": {"model": "Example CPU", "cores": 2},
        "kernel": f"6.1.{2 * number - 2}",
        "governor": "performance",
        "programs": {"/usr/bin/compress": "sha256:0123"},
    }
    directory.write_durably(name, json.dumps(facts).encode())
    moment = BEGIN + 9e4 * (number - 1)
    session = Session(
        number, moment, moment + 8e4, "complete", number, "local", f"boot-{number}", "0.1.0", name
    )
    ledger.start_session(session)
    return session


def _carry_out(
    directory: ExperimentDirectory,
    experiment: Experiment,
    ledger: Ledger,
    row: TrialRow,
    place: int,
    session: Session,
    rng: np.random.Generator,
) -> None:
    started = BEGIN + 600.0 * place
    ledger.claim(row, session, started)
    status = "failed" if place % 37 == 30 else "finished"
    values: list[tuple[str, float | None, int, str | None]] = []
    if status == "failed":
        (directory.logs / f"{row.number:06d}-1.txt").write_text("began\nthe disk is <b>full</b> & gone\n")
    else:
        values = [_value(directory, row, metric, rng) for metric in experiment.metrics]
    ledger.finish(
        row,
        status,
        started=started,
        finished=started + 2.0,
        exit_code=1 if status == "failed" else 0,
        reason="exit code 1" if status == "failed" else None,
        values=values,
    )


def _value(directory: ExperimentDirectory, row: TrialRow, metric, rng: np.random.Generator):
    base = 2.0 + sum(map(ord, row.treatment)) % 17
    if metric.name != "latency":
        spread = 0.0 if metric.name == "m0" else 0.05
        return metric.source.key, float(base * (1 + spread * rng.standard_normal())), 1, None
    times = np.sort(rng.uniform(0, 2, 1000))
    values = base * (1 + 0.1 * rng.standard_normal(1000) + (times < 0.3) * (0.3 - times) * 2)
    if row.number % 11 == 3:
        values += base * 0.3 * times
    file = file_name(row.number, row.attempt, metric.source.key)
    write_samples(directory.path / file, values, times)
    return metric.source.key, None, len(values), file
