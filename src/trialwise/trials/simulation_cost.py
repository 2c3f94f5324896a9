"""About how long a simulated trial takes and how much memory, before it starts."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import numpy as np

from trialwise import _core
from trialwise.experiment.engines import ENGINES
from trialwise.experiment.quantity import duration_text
from trialwise.experiment.simulation import SimulationTrial
from trialwise.trials.drawn_flows import Flows

_LONG, _LARGE = 600.0, 0.25
"""Seconds, and the share of the machine's memory, from which a trial is worth a word."""
_BYTES_PER_FLOW = 400
"""Measured: 86 MB for 125,000 flows of one packet, 44 MB for 6,000."""
_ROUTED = 200
"""Flows whose routes are looked at for the mean number of links."""


def cost_cautions(
    trial: SimulationTrial, fabric: _core.Fabric, lists: Sequence[Flows], expected: float
) -> list[str]:
    """Return what `cost_caution` and `paths_caution` say."""
    found = (each(trial, fabric, lists, expected) for each in (cost_caution, paths_caution))
    return [said for said in found if said]


def cost_caution(
    trial: SimulationTrial, fabric: _core.Fabric, lists: Sequence[Flows], expected: float
) -> str | None:
    """Say about how long a trial of packets takes and how much memory if that is much; None otherwise.

    `lists` are some of its flow lists, `expected` the mean number of flows.
    """
    sizes = np.concatenate([flows["size_bytes"] for flows in lists])
    if not len(sizes) or ENGINES[trial.engine].estimate:
        return None
    try:
        segment = _core.parse_size(dict(trial.network).get("segment", "1000B"))
        links = _links(fabric, next(flows for flows in lists if len(flows["size_bytes"])))
    except ValueError:  # a list or a size that the trial refuses, and says why
        return None
    hops = expected * float((-(-sizes // max(segment, 1))).mean()) * links
    seconds, memory = hops * _seconds_per_hop(len(fabric.hosts)), expected * _BYTES_PER_FLOW
    if seconds < _LONG and memory < _LARGE * _memory():
        return None
    return (
        f"a trial has about {_spelled(expected)} flows and {_spelled(hops)} packet-hops: some {duration_text(round(seconds))} of "
        f"one processor and {memory / 1e9:.2g} GB of memory; a shorter duration, a lower load, fewer hosts or a larger "
        "network.segment take less"
    )


def paths_caution(
    trial: SimulationTrial, fabric: _core.Fabric, lists: Sequence[Flows], expected: float
) -> str | None:
    """Say by how much packets of sampled paths are more than those of the whole network; None if they are not.

    Each path is simulated with all flows that cross one of its links, so that in a small network each path is most of it.
    """
    drawn = [flows for flows in lists if len(flows["size_bytes"])]
    if "sampled_paths" not in ENGINES[trial.engine].options or not drawn:
        return None
    try:
        times = _paths_over_packets(fabric, drawn[0], min(expected, trial.sampled_paths))
    except ValueError:  # a list that the trial refuses, and says why
        return None
    if times <= 1:
        return None
    most = trial.sampled_paths / times
    fewer = f"sampled_paths = {most:.0f}, a larger network, " if most >= 1 else "a larger network "
    return (
        f'engine = "paths" takes about {times:.2g} times the packet-hops of the whole network here: {trial.sampled_paths} paths at '
        f"most, with all flows that cross them, among {len(fabric.hosts)} hosts; {fewer}or "
        'engine = "trialwise" take less'
    )


def _paths_over_packets(fabric: _core.Fabric, flows: Flows, paths: float) -> float:
    """Return the hops of packets of so many sampled paths, over those of all, by the routes of some flows.

    A flow that crosses a path takes the links that both have, in either direction, and one more before or behind them.
    """
    chosen = {name: column[:_ROUTED] for name, column in flows.items()}
    data, replies = (
        [set(ports[ports >= 0].tolist()) for ports in side] for side in fabric.flow_routes(chosen)
    )
    parts = [
        min(len(own), shared + 1) / len(own)
        for path in (there | back for there, back in zip(data, replies, strict=True))
        for own in data
        if (shared := len(own & path))
    ]
    different = len({frozenset(own) for own in data}) / len(data)
    return paths * different * sum(parts) / len(data) ** 2


def _links(fabric: _core.Fabric, flows: Flows) -> float:
    """Return the mean number of links that a packet and its acknowledgement cross."""
    chosen = {name: column[:_ROUTED] for name, column in flows.items()}
    return sum(float((ports >= 0).sum(axis=1).mean()) for ports in fabric.flow_routes(chosen))


def _seconds_per_hop(hosts: int) -> float:
    """Return the seconds of a packet-hop: 60 ns at 16 hosts and 25 ns more for each doubling (measured up to 8,192 hosts)."""
    return 1e-9 * (60 + 25 * max(0.0, math.log2(max(hosts, 1) / 16)))


def _memory() -> float:
    """Return the bytes of memory of this machine."""
    return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")


def _spelled(number: float) -> str:
    """Return a number to two digits with thousands, as in 1,200,000."""
    digits = max(0, math.floor(math.log10(max(number, 1))) - 1)
    return f"{round(number, -digits):,.0f}"
