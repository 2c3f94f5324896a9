"""What `trialwise simulate --json` prints, and the table that people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

import numpy as np
import numpy.typing as npt

from trialwise.experiment.simulation import OfferedLoad
from trialwise.trials.drawn_flows import of_jobs
from trialwise.trials.simulating import Simulated

PERCENTILES = (50.0, 95.0, 99.0)
CLASSES: Sequence[tuple[str, float, float]] = (
    ("below 100 kB", 0, 1e5),
    ("100 kB to 1 MB", 1e5, 1e6),
    ("1 MB and more", 1e6, np.inf),
    ("all", 0, np.inf),
)


@dataclass(frozen=True, slots=True)
class QuantileDocument:
    """A percentile over the flows of a class (nearest rank, as in experiments): `fct` in seconds, and the slowdown."""

    percentile: float
    fct: float
    slowdown: float


@dataclass(frozen=True, slots=True)
class ClassDocument:
    """The flows of a size class: their number, the number that did not finish, and quantiles of those that did."""

    sizes: str
    flows: int
    unfinished: int
    quantiles: tuple[QuantileDocument, ...]


@dataclass(frozen=True, slots=True)
class JobDocument:
    """A job: its number of flows, and its completion time in seconds (null if it did not end)."""

    flows: int
    jct: float | None


@dataclass(frozen=True, slots=True)
class SimulateDocument:
    """One simulated trial by `engine`.

    `simulated` is its end in simulated seconds, `seconds` how long its packets took (for ns-3, the processor time of
    Simulator::Run), `start_seconds` how long the network and the flow list took before them.

    `offered` is the load that the workload offers, null if the flows were given; `cautions` are settings that are carried out
    but hardly intended.

    `totals` counts packets (created, consumed, held at the end, dropped, sent, retransmitted), the links they crossed (hops),
    events, marks, pauses, timeouts, and the most bytes that a switch held; for ns-3, some of
    them, for estimates by parts of the network the number of parts, of simulated networks, and hops, and none for the fluid model.
    """

    topology: str
    controller: str
    engine: str
    mode: str
    seed: int
    offered: OfferedLoad | None
    cautions: tuple[str, ...]
    simulated: float
    seconds: float
    hops_per_second: float
    totals: dict[str, int]
    classes: tuple[ClassDocument, ...]
    start_seconds: float
    jobs: tuple[JobDocument, ...] = ()
    format: Literal["trialwise.simulate/1"] = "trialwise.simulate/1"


def classes_of(found: Simulated) -> tuple[ClassDocument, ...]:
    """Return the flows by size class; classes without flows are left out."""
    sizes = found.flows["size_bytes"]
    masks = [(name, (sizes >= low) & (sizes < high)) for name, low, high in CLASSES]
    return tuple(_class(name, chosen, found) for name, chosen in masks if chosen.any())


def jobs_of(found: Simulated) -> tuple[JobDocument, ...]:
    """Return the jobs, in the order of their numbers."""
    times = found.jct.tolist()
    flows = np.bincount(of_jobs(found.flows) + 1, minlength=len(times) + 1)[1:].tolist()
    return tuple(
        JobDocument(count, None if isnan(jct) else jct) for count, jct in zip(flows, times, strict=True)
    )


def _class(name: str, chosen: npt.NDArray[np.bool_], found: Simulated) -> ClassDocument:
    finished = chosen & ~np.isnan(found.fct)
    unfinished = int(chosen.sum() - finished.sum())
    if not finished.any():
        return ClassDocument(name, int(chosen.sum()), unfinished, ())
    # By nearest rank, so that a trial has the same quantiles here and in an experiment.
    fct = np.percentile(found.fct[finished], PERCENTILES, method="inverted_cdf")
    slowdown = np.percentile(found.slowdown[finished], PERCENTILES, method="inverted_cdf")
    quantiles = (
        QuantileDocument(*map(float, numbers)) for numbers in zip(PERCENTILES, fct, slowdown, strict=True)
    )
    return ClassDocument(name, int(chosen.sum()), unfinished, tuple(quantiles))
