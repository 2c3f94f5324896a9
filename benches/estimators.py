"""What the engines that simulate parts of the network say beside packets: bias with its interval, packet-hops and time.

Run with `.venv/bin/python benches/estimators.py`; the result is kept in `benches/results/estimators.json`. Each list of flows
is simulated by the packet engine (dcqcn, Hadoop sizes, 30 % of the hosts' links) and estimated by `paths`, `links` (each link by
itself, and like links once) and `fluid`, in one run on one thread. The bias of p99 slowdown pooled over lists is the ratio of the
estimate to packets with a 95 % interval over lists, paired by list. Seconds (of the processor) and hops are of all lists together, as
a part of what packets took.
"""

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from measuring import write
from trialwise import _core
from trialwise import statistics as st

Array = npt.NDArray[np.float64]
PERCENTILE = 99.0
NETWORKS = {
    "leaf-spine, 12 hosts": ("leaf-spine:3x4x4,100Gbit/s,1us", 100, 2 * 10**8),
    "leaf-spine, 256 hosts": ("leaf-spine:16x16x16,100Gbit/s,1us", 6, 5 * 10**7),
}
"""Topology, lists, and picoseconds in which flows begin."""
CONTROLLER = "dcqcn"
WORKLOAD = {
    "sizes": "facebook_hadoop",
    "arrivals": "poisson",
    "pattern": "all-to-all",
    "load": 0.3,
    "load_of": "host",
}
PATHS = 100
DISTANCE = 0.3


class Side:
    """Slowdowns of each list by one engine, and what they took."""

    def __init__(self) -> None:
        self.slowdowns: list[Array] = []
        self.seconds = 0.0
        self.hops = 0
        self.networks = 0

    def take(
        self,
        fct: npt.NDArray[np.int64],
        ideal: npt.NDArray[np.int64],
        began: float,
        hops: int = 0,
        networks: int = 0,
    ) -> None:
        self.seconds += clock() - began
        self.slowdowns.append(fct / ideal)
        self.hops += hops
        self.networks += networks


def simulated(topology: str, lists: int, duration: int) -> dict[str, Side]:
    fabric = _core.Fabric(topology)
    workload: Any = {**WORKLOAD, "duration_ps": duration}
    expected = _core.expected_flows(fabric, **workload)
    parts: dict[str, tuple[str, dict[str, Any]]] = {
        "paths": ("paths", {"paths": PATHS, "expected": expected}),
        "links": ("links", {}),
        "links, like ones once": ("links", {"distance": DISTANCE}),
    }
    found = {name: Side() for name in ("packets", *parts, "fluid")}
    for seed in range(lists):
        flows = _core.generate_flows(fabric, seed=seed, **workload)
        began = clock()
        whole = _core.simulate(fabric, flows, controller=CONTROLLER, seed=seed)
        found["packets"].take(whole.fct_ps, whole.ideal_ps, began, whole.totals["hops"], 1)
        for name, (part, options) in parts.items():
            began = clock()
            places, fct, (_, networks, hops) = _core.estimate(
                part, fabric, flows, controller=CONTROLLER, seed=seed, **options
            )
            found[name].take(fct, whole.ideal_ps[places], began, hops, networks)
        began = clock()
        found["fluid"].take(_core.fluid(fabric, flows, controller=CONTROLLER), whole.ideal_ps, began)
    return found


def rows(name: str, found: dict[str, Side]) -> list[dict[str, Any]]:
    packets = found["packets"]
    own = st.pooled_influence(packets.slowdowns, PERCENTILE)
    made: list[dict[str, Any]] = []
    for engine, side in found.items():
        level = float(np.quantile(np.concatenate(side.slowdowns), PERCENTILE / 100, method="inverted_cdf"))
        bias = st.paired_ratio(
            own, st.pooled_influence(side.slowdowns, PERCENTILE), confidence=95
        ).in_percent()
        made.append(
            {
                "network": name,
                "engine": engine,
                "lists": len(side.slowdowns),
                "flows": sum(map(len, side.slowdowns)),
                "p99_slowdown": level,
                "bias_percent": [bias.low, bias.estimate, bias.high] if engine != "packets" else None,
                "seconds": side.seconds,
                "seconds_of_packets": side.seconds / packets.seconds,
                "hops_of_packets": side.hops / packets.hops,
                "networks_a_list": side.networks / len(side.slowdowns),
            }
        )
    return made


def main() -> None:
    made: list[dict[str, Any]] = []
    for name, (topology, lists, duration) in NETWORKS.items():
        made.extend(rows(name, simulated(topology, lists, duration)))
    write("estimators", made)


def clock() -> float:
    return time.process_time()


if __name__ == "__main__":
    main()
