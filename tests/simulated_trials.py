"""Trials of kind path whose packets are simulated, as tests run them."""

from __future__ import annotations

import os
from pathlib import Path

from trialwise.experiment.reading import parse_experiment
from trialwise.measurement.packets import Packets, read_packets
from trialwise.trials.base import TrialOutcome, TrialRequest
from trialwise.trials.kinds import kind_of
from trialwise.trials.simulated_path import SimulatedPathKind

_FILE = """
[experiment]
name = "simulated"

[trial]
kind = "path"
engine = "simulated"
{trial}
runtime = "5s"
path = {path}

[metrics.throughput]
better = "higher"
measure = "mean"
{metrics}
"""


PATH = '{ rate = "12Mbit/s", delay = "28ms", queue = "droptail:packets=50" }'


def text_of(trial: str, metrics: str = "", path: str = PATH) -> str:
    """The text of an experiment with one trial."""
    return _FILE.format(trial=trial, metrics=metrics, path=path)


def experiment(folder: Path, trial: str, metrics: str = "", path: str = PATH):
    return parse_experiment(text_of(trial, metrics, path), folder / "experiment.toml")


def packets_of(folder: Path, outcome: TrialOutcome) -> Packets:
    assert outcome.record is not None
    what, packed = outcome.record
    assert what == "packets"
    assert isinstance(packed, bytes)
    file = folder / "packets.parquet"
    file.write_bytes(packed)
    return read_packets(file)


def execute(
    folder: Path, trial: str, metrics: str = "", seed: int = 7, *, cancel: bool = False, path: str = PATH
) -> TrialOutcome:
    found = experiment(folder, trial, metrics, path)
    kind = kind_of(found)
    assert isinstance(kind, SimulatedPathKind)
    kind.check(found, [{}])
    reader, writer = os.pipe()
    try:
        if cancel:
            os.write(writer, b"x")
        return kind.execute(
            TrialRequest(
                experiment=found,
                factors={},
                number=1,
                attempt=1,
                series=1,
                round=1,
                position=1,
                seed=seed,
                scratch=folder / "scratch",
                marker="m",
                cancel=reader,
            )
        )
    finally:
        os.close(reader)
        os.close(writer)
