"""Whether intervals with control variates hold, with the fluid engine and with one that is wrong on purpose.

Run with `.venv/bin/python benches/controls.py`; the result is kept in `benches/results/controls.json`. For each workload a pool of
flow lists is simulated packet by packet and by the fluid model. It is the population: an experiment draws its trials and the lists of
the known means from it with replacement, and the truth is the metric of the whole pool. The wrong engine gives each flow the time that
the fluid model gave a flow of another list. Nominal 95 %; a repetition counts by the interval with controls, whether or not the
product would use it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from measuring import write
from trialwise import _core
from trialwise import statistics as st
from trialwise.statistics.pooled.control_quantile import effective_number

Array = npt.NDArray[np.float64]
POOL, TRIALS, LISTS, REPETITIONS = 2000, 200, 2000, 1000
WORKLOADS = {
    "websearch over a dumbbell, dctcp": (
        "dumbbell:10x10,100Gbit/s,1us", "dctcp",
        {"sizes": "websearch", "pattern": "one-way", "load": 0.4, "load_of": "bottleneck", "duration_ps": 4 * 10**9},
    ),
    "hadoop in a leaf-spine, dcqcn": (
        "leaf-spine:4x2x4,25Gbit/s,1us", "dcqcn",
        {"sizes": "facebook_hadoop", "pattern": "all-to-all", "load": 0.4, "load_of": "host", "duration_ps": 2 * 10**8},
    ),
    "incast in a leaf-spine, hpcc": (
        "leaf-spine:4x2x4,25Gbit/s,1us", "hpcc",
        {"sizes": "fixed:50kB", "pattern": "incast:4", "load": 0.2, "load_of": "host", "duration_ps": 10**8},
    ),
}  # fmt: skip
METRICS = (("fct", None), ("slowdown", 90.0))


@dataclass(frozen=True)
class Pool:
    """Of each list, by engine: completion times, and those over the times alone."""

    packets: dict[str, list[Array]]
    fluid: dict[str, list[Array]]


def pool(topology: str, controller: str, workload: dict[str, Any]) -> Pool:
    fabric = _core.Fabric(topology)
    found = Pool({"fct": [], "slowdown": []}, {"fct": [], "slowdown": []})
    seed = 0
    while len(found.packets["fct"]) < POOL:
        flows = _core.generate_flows(fabric, seed=seed, arrivals="poisson", **workload)
        seed += 1
        if not len(flows["start_ps"]):
            continue
        simulated = _core.simulate(fabric, flows, controller=controller, seed=seed)
        shared = _core.fluid(fabric, flows, controller=controller)
        for side, times in ((found.packets, simulated.fct_ps), (found.fluid, shared)):
            side["fct"].append(times / 1e12)
            side["slowdown"].append(times / simulated.ideal_ps)
    return found


def shuffled(lists: list[Array], seed: int) -> list[Array]:
    """Give each flow what a flow of another list had."""
    everything = np.random.default_rng(seed).permutation(np.concatenate(lists))
    return np.split(everything, np.cumsum([len(each) for each in lists])[:-1])


def controls(lists: list[Array], percentile: float | None) -> Array:
    """Return what each list adds to the estimating equation at the engine's own quantile or mean: shape (lists,)."""
    everything = np.concatenate(lists)
    if percentile is None:
        return np.array([each.sum() - everything.mean() * len(each) for each in lists])
    level = np.quantile(everything, percentile / 100, method="inverted_cdf")
    return np.array([np.sum(each > level) - (1 - percentile / 100) * len(each) for each in lists])


def repeated(samples: list[Array], x: Array, percentile: float | None) -> dict[str, Any]:
    everything = np.concatenate(samples)
    if percentile is None:
        truth = float(everything.mean())
    else:
        truth = float(np.quantile(everything, percentile / 100, method="inverted_cdf"))
    beyond = np.array([float(np.sum(each > truth)) for each in samples]) if percentile else np.ones(POOL)
    random = np.random.default_rng(1)
    held = plain = used = 0
    gains: list[float] = []
    off: list[float] = []
    for _ in range(REPETITIONS):
        chosen, known = random.integers(POOL, size=TRIALS), random.integers(POOL, size=LISTS)
        trials = [samples[place] for place in chosen]
        if percentile is None:
            y = st.pooled_influence(trials)
            found = st.control_variates(y, x[chosen], [x[known].mean()], surrogate_trials=LISTS)
        else:
            found = st.control_variates_quantile(
                trials, percentile, x[chosen], [x[known].mean()], surrogate_trials=LISTS
            )
        held += found.controlled.low <= truth <= found.controlled.high
        plain += found.plain.low <= truth <= found.plain.high
        used += found.low <= truth <= found.high
        gains.append(found.gain)
        off.append(found.controlled.estimate / truth - 1)
    return {
        "covers": held / REPETITIONS,
        "plain_covers": plain / REPETITIONS,
        "used_covers": used / REPETITIONS,
        "gain": float(np.median(gains)),
        "bias_percent": 100 * float(np.mean(off)),
        "trials_in_tail": TRIALS / POOL * effective_number(beyond),
    }


def main() -> None:
    rows: list[dict[str, Any]] = []
    for name, (topology, controller, workload) in WORKLOADS.items():
        found = pool(topology, controller, workload)
        for quantity, percentile in METRICS:
            for engine, lists in (
                ("fluid", found.fluid[quantity]),
                ("wrong", shuffled(found.fluid[quantity], 2)),
            ):
                row = repeated(found.packets[quantity], controls(lists, percentile), percentile)
                what = "mean" if percentile is None else f"p{percentile:g}"
                rows.append({"workload": name, "metric": f"{what} {quantity}", "engine": engine} | row)
                print(rows[-1], flush=True)
    write("controls", rows)
    for row in rows:
        if row["trials_in_tail"] >= 30:
            assert row["covers"] >= 0.93, row
        if row["engine"] == "wrong":
            assert 0.9 <= row["gain"] <= 1.1, row


if __name__ == "__main__":
    main()
