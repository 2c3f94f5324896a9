"""A directory of an experiment over paths with packets made by hand, written through the store as the runner writes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from example_directory import analyse_example
from trialwise.analysis.path.results import PathFacts
from trialwise.analysis.results import Analysis
from trialwise.design.plan import make_plan
from trialwise.experiment.model import Experiment
from trialwise.experiment.reading import parse_experiment
from trialwise.experiment.trials import PathTrial
from trialwise.measurement.packets import Packets, joined, write_packets
from trialwise.store.directory import ExperimentDirectory
from trialwise.store.ledger import Ledger
from trialwise.store.records import Session, TrialRow
from trialwise.store.samples import file_name, record_name, write_samples
from trialwise.study import planned_row

BEGIN = 1_795_000_000.0
LATE = "the emulator was late: <b>1 %</b> of packets by 2 ms or more"
TEXT = """
[experiment]
name = "paths"
seed = 7

[factors]
scheme = [{schemes}]
{rates}
[trial]
kind = "path"
scheme = "{{scheme}}"
flows = {flows}
interval = "{interval}"
runtime = "{runtime}"
path = {{ rate = "{rate}", delay = "30ms" }}
packets = "{packets}"

[metrics.throughput]
{kpi_throughput}
[metrics.delay]
measure = 95
{kpi_delay}
[design]
rounds = {rounds}
series = 1
"""

Maker = Callable[[TrialRow, int], Packets]


def steady(
    gap: float, delay: float, *, start: float = 0.0, stop: float = 2.0, flow: int = 1, lost: int = 0
) -> Packets:
    """Packets of 1500 bytes that arrive every `gap` seconds, each after `delay` seconds; the first `lost` are dropped."""
    times = np.arange(start, stop - 1e-9, gap) + gap / 2
    count = times.size
    return Packets(
        time=times,
        delay=np.full(count, delay),
        direction=np.zeros(count, np.uint8),
        flow=np.full(count, flow, np.uint16),
        size=np.full(count, 1500, np.uint32),
        event=np.where(np.arange(count) < lost, 5, 0).astype(np.uint8),
    )


def drawn(row: TrialRow, flows: int, *, stop: float = 2.0, gap: float = 0.002) -> Packets:
    """Packets whose delay depends on the treatment and is drawn from the trial's seed."""
    rng = np.random.default_rng(row.seed)
    place = sum(map(ord, row.treatment)) % 13
    parts: list[Packets] = []
    for flow in range(1, flows + 1):
        part = steady(gap, 0.0, stop=stop, flow=flow, lost=int(rng.integers(0, 20)))
        part.delay[:] = 0.03 * (1 + place * rng.random() / 3) + rng.exponential(
            0.004 * (1 + place), len(part)
        )
        parts.append(part)
    return joined(parts)


def write_paths(
    path: Path,
    *,
    schemes: tuple[str, ...] = ("cubic", "bbr"),
    rates: tuple[str, ...] = (),
    flows: int = 1,
    interval: str = "0s",
    runtime: str = "2s",
    rounds: int = 8,
    kpi: bool = True,
    packets: str = "keep",
    invalid: tuple[int, ...] = (),
    make: Maker = drawn,
    text: str = "",
) -> Path:
    """Write a directory, of the experiment file `text` if there is one; the trials numbered in `invalid` are not valid."""
    asked = "kpi = {{ percentile = {}, confidence = 75 }}"
    text = text or TEXT.format(
        schemes=", ".join(map(json.dumps, schemes)),
        rates=f"rate = [{', '.join(map(json.dumps, rates))}]" if rates else "",
        rate="{rate}" if rates else "12Mbit/s",
        flows=flows,
        interval=interval,
        runtime=runtime,
        packets=packets,
        rounds=rounds,
        kpi_throughput=asked.format(25) if kpi else "",
        kpi_delay=asked.format(75) if kpi else "",
    )
    experiment = parse_experiment(text, path.parent / "experiment.toml")
    directory = ExperimentDirectory(path)
    directory.make()
    directory.write_durably("experiment.toml", text.encode())
    rows = [planned_row(trial) for trial in make_plan(experiment).trials]
    meta = {"name": "paths", "identity": "x", "plan": "x", "folder": str(path), "version": "0"}
    ledger = Ledger.create(directory.ledger_file, meta, rows)
    session = _session(directory, ledger)
    for row in rows:
        status = "invalid" if row.number in invalid else "finished"
        _carry_out(directory, experiment, ledger, row, session, status, make(row, flows))
    ledger.close()
    return path


def analyse_paths(path: Path, facts: PathFacts | None = None, *, all_trials: bool = False) -> Analysis:
    """Analyse a directory that `write_paths` wrote."""
    return analyse_example(path, facts=facts, all_trials=all_trials)


def _session(directory: ExperimentDirectory, ledger: Ledger) -> Session:
    name = "environments/001.json"
    facts = {"processor": {"model": "Example CPU", "cpus": 2}, "kernel": {"release": "6.1.0"}}
    directory.write_durably(name, json.dumps(facts).encode())
    session = Session(1, BEGIN, BEGIN + 1e4, "complete", 1, "local", "boot-1", "0.1.0", name)
    ledger.start_session(session)
    return session


def _carry_out(
    directory: ExperimentDirectory,
    experiment: Experiment,
    ledger: Ledger,
    row: TrialRow,
    session: Session,
    status: str,
    packets: Packets,
) -> None:
    trial = experiment.trial
    assert isinstance(trial, PathTrial)
    started = BEGIN + 60.0 * row.number
    ledger.claim(row, session, started)
    if trial.packets == "keep":
        write_packets(directory.path / record_name(row.number, row.attempt, "packets"), packets)
    ledger.finish(
        row,
        status,  # type: ignore[arg-type]
        started=started,
        finished=started + trial.runtime,
        exit_code=None,
        reason=LATE if status == "invalid" else None,
        values=[*_values(directory, experiment, row, packets, trial.runtime), *_emulator(row)],
    )


def _values(
    directory: ExperimentDirectory, experiment: Experiment, row: TrialRow, packets: Packets, runtime: float
):
    there = packets.where(packets.delivered)
    megabits = float(there.size.sum()) * 8e-6 / runtime
    yield experiment.metric("throughput").source.key, megabits, 1, None
    key = experiment.metric("delay").source.key
    file = file_name(row.number, row.attempt, key)
    order = np.argsort(there.time, kind="stable")
    write_samples(directory.path / file, there.delay[order] * 1e3, there.time[order])
    yield key, None, len(there), file
    if any(metric.name == "loss" for metric in experiment.metrics):
        yield experiment.metric("loss").source.key, 100 * (1 - len(there) / len(packets)), 1, None


def _emulator(row: TrialRow):
    late = 0.0001 * (1 + row.number % 3)
    facts = {
        "processor_share": 0.1,
        "unseen_p99": 0.00005,
        "lateness_p99_uplink": late,
        "lateness_p99_downlink": late / 2,
        "lateness_max": 10 * late,
        "unlogged": 0.0,
    }
    for name, value in facts.items():
        yield f"emulator:{name}", value, 1, None
