"""Whether intervals with control variates hold, with engines that are good and with some that are wrong on purpose.

Run with `.venv/bin/python benches/controls.py [repetitions [pool]]`; the result is kept in `benches/results/controls.json`. For
each workload a pool of flow lists is simulated packet by packet, by the fluid model, and packet by packet under another controller,
which stands for an engine that simulates list by list. It is the population: an experiment draws its trials and the lists of the known
means from it with replacement, and the truth is the metric of the whole pool. The wrong engines give each flow the time that the
engine gave a flow of another list. "levels" are the fluid model and the other controller together, the second with its mean from few
lists that the first corrects. Nominal 95 %; a repetition counts by the interval with controls, used or not.
"""

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from measuring import write
from trialwise import _core
from trialwise import statistics as st
from trialwise.statistics.pooled.control_quantile import effective_number

Array = npt.NDArray[np.float64]
TRIALS, LISTS, FEW_LISTS = 200, 2000, 400
OTHER = {"dctcp": "timely", "dcqcn": "dctcp", "hpcc": "dctcp"}
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
METRICS = (
    ("fct", None, True),
    ("slowdown", 90.0, True),
    ("slowdown", 99.0, True),
    ("fct", 99.0, True),
    ("slowdown", 90.0, False),
)
"""Quantity, percentile, and whether it is of all flows: the last is the mean over trials of each one's."""
SIDES = ("packets", "fluid", "other")


@dataclass(frozen=True)
class Pool:
    """Of each list, by engine and quantity: completion times, and those over the times alone."""

    lists: dict[tuple[str, str], list[Array]] = field(
        default_factory=lambda: {(side, quantity): [] for side in SIDES for quantity in ("fct", "slowdown")}
    )


def pool(topology: str, controller: str, workload: dict[str, Any], size: int) -> Pool:
    fabric = _core.Fabric(topology)
    found = Pool()
    seed = 0
    while len(found.lists["packets", "fct"]) < size:
        flows = _core.generate_flows(fabric, seed=seed, arrivals="poisson", **workload)
        seed += 1
        if not len(flows["start_ps"]):
            continue
        simulated = _core.simulate(fabric, flows, controller=controller, seed=seed)
        other = _core.simulate(fabric, flows, controller=OTHER[controller], seed=seed)
        shared = _core.fluid(fabric, flows, controller=controller)
        for side, times in (("packets", simulated.fct_ps), ("fluid", shared), ("other", other.fct_ps)):
            found.lists[side, "fct"].append(times / 1e12)
            found.lists[side, "slowdown"].append(times / simulated.ideal_ps)
    return found


def shuffled(lists: list[Array], seed: int) -> list[Array]:
    """Give each flow what a flow of another list had."""
    everything = np.random.default_rng(seed).permutation(np.concatenate(lists))
    return np.split(everything, np.cumsum([len(each) for each in lists])[:-1])


def controls(lists: list[Array], percentile: float | None, *, pooled: bool) -> Array:
    """Return what each list adds to the estimating equation at the engine's own quantile or mean, or its own: shape (lists,)."""
    if not pooled:
        return np.array([np.quantile(each, (percentile or 0) / 100, method="inverted_cdf") for each in lists])
    everything = np.concatenate(lists)
    if percentile is None:
        return np.array([each.sum() - everything.mean() * len(each) for each in lists])
    level = np.quantile(everything, percentile / 100, method="inverted_cdf")
    return np.array([np.sum(each > level) - (1 - percentile / 100) * len(each) for each in lists])


def truth_of(samples: list[Array], percentile: float | None, *, pooled: bool) -> float:
    if not pooled:
        return float(controls(samples, percentile, pooled=False).mean())
    everything = np.concatenate(samples)
    if percentile is None:
        return float(everything.mean())
    return float(np.quantile(everything, percentile / 100, method="inverted_cdf"))


def known(x: Array, random: np.random.Generator, levels: int) -> dict[str, Any]:
    """Return the known means of controls, from lists that are drawn: of all columns together, or the last from few of its own."""
    many = x[random.integers(len(x), size=LISTS)]
    if levels == 1:
        return {"known_means": many.mean(axis=0), "surrogate_trials": LISTS}
    few = x[random.integers(len(x), size=FEW_LISTS)]
    cheap = st.LevelMeans.of(many[:, :-1].mean(axis=0), LISTS, np.cov(few[:, :-1].T))
    found = cheap.extended(few[:, :-1], few[:, -1])
    return {"known_means": found.means, "means_covariance": found.covariance, "surrogate_trials": found.lists}


def repeated(
    samples: list[Array], x: Array, percentile: float | None, repetitions: int, *, pooled: bool
) -> dict[str, Any]:
    truth = truth_of(samples, percentile, pooled=pooled)
    own = controls(samples, percentile, pooled=pooled)
    tail = pooled and percentile is not None
    beyond = np.array([float(np.sum(each > truth)) for each in samples]) if tail else np.ones(len(samples))
    random = np.random.default_rng(1)
    held = plain = used = 0
    gains: list[float] = []
    off: list[float] = []
    for _ in range(repetitions):
        chosen = random.integers(len(samples), size=TRIALS)
        kept = st.independent_controls(x[chosen])  # as the product does
        columns = x[:, kept]
        means = known(columns, random, len(kept))
        trials = [samples[place] for place in chosen]
        if tail:
            found = st.control_variates_quantile(trials, percentile, columns[chosen], **means)
        else:
            y = st.pooled_influence(trials) if pooled else own[chosen]
            found = st.control_variates(y, columns[chosen], **means)
        held += found.controlled.low <= truth <= found.controlled.high
        plain += found.plain.low <= truth <= found.plain.high
        used += found.low <= truth <= found.high
        gains.append(found.gain)
        off.append(found.controlled.estimate / truth - 1)
    return {
        "covers": held / repetitions,
        "plain_covers": plain / repetitions,
        "used_covers": used / repetitions,
        "gain": float(np.median(gains)),
        "bias_percent": 100 * float(np.mean(off)),
        "trials_in_tail": TRIALS / len(samples) * effective_number(beyond),
        "repetitions": repetitions,
        "pool": len(samples),
    }


def rows_of(name: str, found: Pool, repetitions: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for quantity, percentile, pooled in METRICS:
        fluid, other = (found.lists[side, quantity] for side in ("fluid", "other"))
        wrong, wrong_other = shuffled(fluid, 2), shuffled(other, 3)
        for engine, engines in (
            ("fluid", [fluid]),
            ("wrong", [wrong]),
            ("levels", [fluid, other]),
            ("wrong levels", [wrong, wrong_other]),
        ):
            x = np.column_stack([controls(each, percentile, pooled=pooled) for each in engines])
            row = repeated(found.lists["packets", quantity], x, percentile, repetitions, pooled=pooled)
            what = "mean" if percentile is None else f"p{percentile:g}"
            whose = "" if pooled else " of each trial"
            rows.append({"workload": name, "metric": f"{what} {quantity}{whose}", "engine": engine} | row)
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    given = [int(each) for each in sys.argv[1:3]]
    repetitions, size = (*given, *(1000, 2000)[len(given) :])
    rows = [
        row
        for name, (topology, controller, workload) in WORKLOADS.items()
        for row in rows_of(name, pool(topology, controller, workload, size), repetitions)
    ]
    write("controls", rows)
    for row in rows:
        noise = 3 * (0.95 * 0.05 / row["repetitions"]) ** 0.5
        if row["trials_in_tail"] >= 30:
            assert row["covers"] >= min(0.93, 0.95 - noise), row
        if "wrong" in row["engine"]:
            assert 0.9 <= row["gain"] <= 1.1, row


if __name__ == "__main__":
    main()
