"""ns-3 as it is installed for programs in C++ (Debian's libns3-dev): a trial of `engine = "ns3"` by a program compiled here."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trialwise import _core
from trialwise.experiment.simulation import SimulationTrial
from trialwise.trials.ns3.installation import DRIVER
from trialwise.trials.ns3.request import ns3_request, ns3_settings

MODULES = ("core", "network", "internet", "point-to-point", "traffic-control")
SOURCE = Path(__file__).with_name("ns3_trial.cpp")


@dataclass(frozen=True, eq=False)
class Answer:
    """Processor time of Simulator::Run in seconds, packets that ports sent, and completion times, shape (flows,), -1 for none."""

    seconds: float
    hops: int
    fct_ps: np.ndarray


def version() -> str | None:
    """Which ns-3 is installed so, None for none."""
    try:
        asked = subprocess.run(
            ["pkg-config", "--modversion", "ns3-core"], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return asked.stdout.strip() or None


def simulate(
    trial: SimulationTrial, fabric: _core.Fabric, flows: Mapping[str, np.ndarray], seed: int
) -> Answer:
    """Compile the program, and have it simulate a flow list."""
    request = ns3_request(ns3_settings(trial, fabric), fabric, flows, seed)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "ns3_trial"
        libraries = [f"-lns3-{module}" for module in MODULES]
        subprocess.run(
            ["c++", "-std=c++17", "-O2", "-I", DRIVER.parent, SOURCE, "-o", program, *libraries], check=True
        )
        done = subprocess.run(
            [program], input=" ".join(words(request)), capture_output=True, text=True, check=True
        )
    seconds, hops, *completion = done.stdout.split()
    return Answer(float(seconds), int(hops), np.array(completion, dtype=np.int64))


def words(request: Mapping[str, object]) -> Iterator[str]:
    """The request (driver.py says what is in it) as the program reads it."""
    attributes, links, flows = request["attributes"], request["links"], request["flows"]
    yield from (str(request["seed"]), str(len(attributes)))
    for name, text in attributes.items():
        yield from (name, text)
    yield from (str(request["nodes"]), str(len(links)))
    for link, *queue in zip(links, request["buffers"], request["thresholds"], strict=True):
        yield from map(str, (*link, *queue))
    yield from (str(len(flows)), str(request["hops"]))
    for ports in (request["routes"], request["replies"]):
        yield from map(str, (len(ports), *ports))
    for number, (*flow, start) in enumerate(flows):
        yield from map(str, (*flow, number * request["apart"], request["lead"] + start))
