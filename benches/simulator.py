"""What the packet simulator and its fluid surrogate cost in processor time, and ns-3 on the same flow list.

    .venv/bin/python benches/simulator.py [--ns3]

WebSearch on the dumbbell (20 ms at 30 % of the bottleneck) with each controller, the k=8 fat-tree of 128 hosts (2 ms at 30 % of the
hosts), fat-trees of 1,024 and 8,192 hosts at 400 Gbit/s, the start of fat-trees of 8,192 and 27,648 hosts, two threads beside one,
surrogate trials. With --ns3 (docs/how-to/check-with-ns-3.md says how to have it) DCTCP on the dumbbell's list runs there too, once
more in the ns-3 of Debian's libns3-dev where that is installed, and Simulator::Run alone is counted. The result is kept in
benches/results/simulator.json. Bounds: 7 million packet-hops/s, 60 ms, 200 MB for the whole process, `STARTS`, two threads 1.8 times
one (which needs two idle cores: `load` is that of the machine), a fiftieth of the processor time of ns-3.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import ns3_installed
from measuring import milliseconds, write
from trialwise import _core
from trialwise.experiment.simulation import SimulationTrial, Workload
from trialwise.trials.ns3.installation import ns3_installation
from trialwise.trials.ns3.process import ns3_process
from trialwise.trials.ns3.simulating import simulate_ns3

CONTROLLERS = ("dctcp", "dcqcn", "timely", "hpcc")
SEED = 12
"""Gives about 66,000 data packets on the dumbbell."""
REPETITIONS = 9
HOPS_PER_SECOND, TRIAL_MS, MEMORY_MB, TWO_THREADS, NS3_RATIO = 7e6, 60, 200, 1.8, 50
LARGE = ((16, 200, 9e6), (32, 50, 6e6))
"""Fat-trees of so many ports at 400 Gbit/s, the microseconds for which flows begin, and the packet-hops/s that are asked for."""
STARTS = ((32, 0.6, 20), (48, 2, 150))
"""Fat-trees of so many ports, and the seconds and MB that their start may take."""
DUMBBELL, TREE = "dumbbell:10x10,100Gbit/s,1us", "fat-tree:8,100Gbit/s,1us"
ON_DUMBBELL = {"pattern": "one-way", "load": 0.3, "load_of": "bottleneck", "duration_ps": 20 * 10**9}
ON_TREE = {"pattern": "all-to-all", "load": 0.3, "load_of": "host", "duration_ps": 2 * 10**9}

Row = dict[str, object]


def flows(fabric: _core.Fabric, where: dict[str, object]) -> dict[str, np.ndarray]:
    return _core.generate_flows(fabric, sizes="websearch", arrivals="poisson", seed=SEED, **where)


def processor_time(function: Callable[[], object], repetitions: int = REPETITIONS) -> float:
    """Median processor time of this thread, in seconds."""
    times = []
    for _ in range(repetitions):
        begin = time.thread_time()
        function()
        times.append(time.thread_time() - begin)
    return statistics.median(times)


def load() -> float:
    return round(os.getloadavg()[0], 2)


def speed(
    figure: str,
    fabric: _core.Fabric,
    listed: dict[str, np.ndarray],
    controller: str,
    limit_ms: float | None = None,
    repetitions: int = REPETITIONS,
) -> Row:
    """Packet-hops and events for each second of processor time; the bound is of hops, since a hop is fewer than two events."""

    def run() -> _core.SimulationResult:
        return _core.simulate(fabric, listed, controller=controller)

    totals = run().totals
    seconds = processor_time(run, repetitions)
    hops, events = totals["hops"] / seconds, totals["events"] / seconds
    return {
        "figure": f"{figure}, {controller}",
        "trial_ms": milliseconds(seconds),
        "packet_hops_per_s": round(hops),
        "events_per_s": round(events),
        "flows": len(listed["flow_id"]),
        "data_packets": totals["data_sent"],
        "hops": totals["hops"],
        "required": f">= {HOPS_PER_SECOND:.0f} packet-hops/s" + (f", < {limit_ms} ms" if limit_ms else ""),
        "met": hops >= HOPS_PER_SECOND and (limit_ms is None or seconds * 1e3 < limit_ms),
        "load": load(),
    }


def on_tree() -> list[Row]:
    """The fat-tree in a process of its own: its speed, and the most memory that the process ever had."""
    printed = subprocess.run([sys.executable, __file__, "--tree"], check=True, capture_output=True, text=True)
    measured, memory = json.loads(printed.stdout)
    return [measured, memory | {"required": f"< {MEMORY_MB} MB", "met": memory["peak_mb"] < MEMORY_MB}]


def tree() -> None:
    """Print the rows of the fat-tree: run by `on_tree`."""
    fabric = _core.Fabric(TREE)
    measured = speed("fat-tree of 128 hosts, 2 ms, 30 %", fabric, flows(fabric, ON_TREE), "hpcc")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([measured, {"figure": "memory of it, with Python", "peak_mb": peak // 1000}]))


def on_large() -> Iterator[Row]:
    """Fat-trees of 1,024 and 8,192 hosts at 400 Gbit/s, each in a process of its own."""
    for k, microseconds, hops in LARGE:
        for controller in ("dctcp", "hpcc"):
            words = [sys.executable, __file__, "--large", str(k), str(microseconds), controller]
            row = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
            yield row | {"required": f">= {hops:.0f} packet-hops/s", "met": row["packet_hops_per_s"] >= hops}


def large(k: int, microseconds: int, controller: str) -> None:
    """Print the row of one large fat-tree: run by `on_large`."""
    fabric = _core.Fabric(f"fat-tree:{k},400Gbit/s,1us")
    listed = flows(fabric, ON_TREE | {"duration_ps": microseconds * 10**6})
    figure = f"fat-tree of {k**3 // 4} hosts at 400 Gbit/s, {microseconds} us, 30 %"
    row = speed(figure, fabric, listed, controller, repetitions=3)
    print(json.dumps(row | {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000}))


def on_starts() -> Iterator[Row]:
    """What comes before the first packet of large networks: routes, path lengths, shares of links, a flow list."""
    for k, seconds, megabytes in STARTS:
        printed = subprocess.run(
            [sys.executable, __file__, "--start", str(k)], check=True, capture_output=True, text=True
        )
        row = json.loads(printed.stdout)
        met = row["start_s"] < seconds and row["start_mb"] < megabytes
        yield row | {"required": f"< {seconds} s, < {megabytes} MB", "met": met, "load": load()}


def start(k: int) -> None:
    """Print the row of one start: run by `on_starts`."""
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    fabric = _core.Fabric(f"fat-tree:{k},100Gbit/s,1us")
    flows(fabric, ON_TREE | {"duration_ps": 10**6})
    seconds = time.process_time() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    figure = f"start of a fat-tree of {k**3 // 4} hosts"
    print(json.dumps({"figure": figure, "start_s": round(seconds, 3), "start_mb": grown // 1000}))


def two_threads(fabric: _core.Fabric, listed: dict[str, np.ndarray]) -> Row:
    """How much more is done by two threads, in the time of the clock: best of three turns."""

    def wall(threads: int, trials: int = 40) -> float:
        begin = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda _: _core.simulate(fabric, listed, controller="hpcc").end_ps, range(trials)))
        return time.perf_counter() - begin

    ratios = [wall(1) / wall(2) for _ in range(3)]
    return {
        "figure": "two threads over one",
        "ratio": round(max(ratios), 2),
        "all": [round(ratio, 2) for ratio in ratios],
        "required": TWO_THREADS,
        "met": max(ratios) >= TWO_THREADS,
        "cores": os.cpu_count(),
        "load": load(),
    }


def surrogate(figure: str, topology: str, where: dict[str, object], trials: int) -> Row:
    """Processor time of a surrogate trial with its flows, its mean and two quantiles."""
    fabric, seeds = _core.Fabric(topology), np.arange(trials, dtype=np.uint64)
    everything = ((0, 2**63), (0, 2**63))
    wanted = [("fct", quantile, *everything) for quantile in (None, 0.5, 0.99)]
    features = np.empty(0)

    def run() -> None:
        nonlocal features
        _, features = _core.surrogate_batch(
            fabric, seeds, statistics=wanted, sizes="websearch", arrivals="poisson", threads=1, **where
        )

    begin = time.process_time()
    run()
    seconds = time.process_time() - begin
    return {
        "figure": f"fluid surrogate, {figure}",
        "us_per_trial": round(seconds / trials * 1e6, 2),
        "flows_per_trial": round(float(features[:, 0].mean()), 1),
        "trials": trials,
        "load": load(),
    }


def beside_ns3(listed: dict[str, np.ndarray], ours: Row) -> Iterator[Row]:
    """DCTCP on the same list: the processor time of Simulator::Run alone, without beginning ns-3 and building its network."""
    trial, fabric = SimulationTrial("dctcp", DUMBBELL, Workload(), engine="ns3"), _core.Fabric(DUMBBELL)
    own = simulate_ns3(trial, fabric, listed, SEED)
    ns3_process().end()
    yield over_ours(
        ns3_installation().version, ns3_installed.Answer(own.seconds, own.totals["hops"], own.fct_ps), ours
    )
    if found := ns3_installed.version():
        yield over_ours(found, ns3_installed.simulate(trial, fabric, listed, SEED), ours)


def over_ours(version: str, answer: ns3_installed.Answer, ours: Row) -> Row:
    """Its processor time over ours."""
    ratio = answer.seconds * 1e3 / float(str(ours["trial_ms"]))
    return {
        "figure": f"ns-3 {version} over Trialwise, DCTCP, the dumbbell's list",
        "cpu_ratio": round(ratio, 1),
        "ns3": {
            "unfinished": int((answer.fct_ps < 0).sum()),
            "run_s": round(answer.seconds, 3),
            "packet_hops": answer.hops,
            "ns_per_hop": round(answer.seconds / answer.hops * 1e9),
            "mean_fct_us": round(float(answer.fct_ps.mean()) / 1e6, 1),
        },
        "required": f">= {NS3_RATIO}",
        "met": ratio >= NS3_RATIO,
        "load": load(),
    }


def main() -> None:
    fabric = _core.Fabric(DUMBBELL)
    listed = flows(fabric, ON_DUMBBELL)
    rows = [speed("WebSearch, 20 ms, 30 %", fabric, listed, name, TRIAL_MS) for name in CONTROLLERS]
    dctcp = rows[0]
    rows += [*on_tree(), *on_large(), *on_starts(), two_threads(fabric, listed)]
    rows.append(surrogate("dumbbell, 20 ms", DUMBBELL, ON_DUMBBELL, 100_000))
    rows.append(surrogate("fat-tree of 16 hosts, 2 ms", "fat-tree:4,100Gbit/s,1us", ON_TREE, 2000))
    rows.append(surrogate("fat-tree of 128 hosts, 2 ms", TREE, ON_TREE, 40))
    if "--ns3" in sys.argv[1:]:
        rows += beside_ns3(listed, dctcp)
    write("simulator", rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["--tree"]:
        tree()
    elif sys.argv[1:2] == ["--large"]:
        large(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    elif sys.argv[1:2] == ["--start"]:
        start(int(sys.argv[2]))
    else:
        main()
