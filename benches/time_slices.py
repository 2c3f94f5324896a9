"""How often intervals of one long run, or of four, from slices of its time hold.

Run with `.venv/bin/python benches/time_slices.py [repetitions]`; the result is kept in `benches/results/time_slices.json`. Truth is
theory where there is one (the mean of an autoregressive process; sojourns of an M/M/1 queue are exponential; the mean sojourn of M/G/1
by Pollaczek and Khinchine), else the value of all runs together. Packets are those of the simulator; the span is that of the product:
flows that begin after a p99 of completion times and as long before the end. Nominal 95 %; what is refused is counted apart.
"""

import sys
from collections.abc import Callable
from math import e, log
from typing import Any

import numpy as np
import numpy.typing as npt

from measuring import write
from trialwise import _core
from trialwise import statistics as st
from trialwise.errors import StatisticsError

Array = npt.NDArray[np.float64]
Run = tuple[Array, Array, float, float, float]
"""Times, values, begin and end of the span, and the least length of a slice."""
PERCENTILES = (None, 50.0, 90.0, 99.0)
POOL, FIRST = 1000, 200
"""Simulated runs of packets, of which repetitions draw; and runs of other inputs whose samples are the truth where theory has none."""


def regular(values: Array) -> Run:
    return np.arange(values.size) + 0.5, values, 0.0, float(values.size), 0.0


def autoregressive(share: float, count: int) -> Callable[[np.random.Generator], Run]:
    def made(random: np.random.Generator) -> Run:
        powers = share ** np.arange(min(count, int(40 / -log(share)) if share else 1))
        noise = random.standard_normal(count + powers.size)
        length = 2 ** int(np.ceil(np.log2(noise.size + powers.size)))
        whole = np.fft.irfft(np.fft.rfft(noise, length) * np.fft.rfft(powers, length), length)
        return regular(whole[powers.size : powers.size + count])

    return made


def queue(
    load: float, count: int, service: Callable[[np.random.Generator, int], Array]
) -> Callable[[Any], Run]:
    """Sojourns in a queue with Poisson arrivals, after 5,000 customers."""

    def made(random: np.random.Generator) -> Run:
        between, serving = random.exponential(1 / load, count + 5000), service(random, count + 5000)
        steps = np.cumsum(np.concatenate([[0.0], serving[:-1] - between[1:]]))
        waits = steps - np.minimum.accumulate(steps)
        times = np.cumsum(between)[5000:]
        return times, (waits + serving)[5000:], float(times[0]), float(times[-1]), 0.0

    return made


def packets(topology: str, controller: str, quantity: str, workload: dict[str, Any]) -> Callable[[Any], Run]:
    fabric = _core.Fabric(topology)
    duration = workload["duration_ps"] / 1e12

    def made(random: np.random.Generator) -> Run:
        seed = int(random.integers(2**31))
        flows = _core.generate_flows(fabric, seed=seed, arrivals="poisson", load_of="host", **workload)
        found = _core.simulate(fabric, flows, controller=controller, seed=seed)
        times = found.fct_ps / 1e12
        far = float(np.percentile(times, 99))
        values = times if quantity == "fct" else found.fct_ps / found.ideal_ps
        return np.asarray(flows["start_ps"]) / 1e12, values, far, duration - far, 5 * far

    return made


def exponential(random: np.random.Generator, count: int) -> Array:
    return random.exponential(1.0, count)


def lognormal(random: np.random.Generator, count: int) -> Array:
    return np.exp(random.standard_normal(count) - 0.5)


def pareto(random: np.random.Generator, count: int) -> Array:
    return (random.pareto(1.5, count) + 1) / 3


def sojourns(load: float) -> dict[float | None, float]:
    mean = 1 / (1 - load)
    return {None: mean, **{p: mean * log(100 / (100 - p)) for p in PERCENTILES if p is not None}}


SMALL = {"sizes": "google_rpc", "pattern": "all-to-all", "load": 0.4, "duration_ps": 10 * 10**9}
INCAST = {"sizes": "fixed:5kB", "pattern": "incast:4", "duration_ps": 7 * 10**9}
INPUTS: dict[str, tuple[Callable[[np.random.Generator], Run], dict[float | None, float]]] = {
    "independent, normal": (lambda random: regular(random.standard_normal(25_000)), {None: 0.0, 50.0: 0.0}),
    "autoregressive .9": (autoregressive(0.9, 25_000), {None: 0.0, 50.0: 0.0}),
    "M/M/1 .8": (queue(0.8, 110_000, exponential), sojourns(0.8)),
    "M/G/1 .5, lognormal": (queue(0.5, 40_000, lognormal), {None: 1 + 0.5 * e}),
    "independent, Pareto 1.5": (lambda random: regular(pareto(random, 25_000)), {None: 1.0}),
    "packets, RPCs at 40 %, dctcp: slowdown": (
        packets("leaf-spine:2x2x4,25Gbit/s,1us", "dctcp", "slowdown", SMALL), {}
    ),
    "packets, fixed 20 kB, hpcc: fct": (
        packets("leaf-spine:2x2x4,25Gbit/s,1us", "hpcc", "fct", SMALL | {"sizes": "fixed:20kB", "load": 0.3}), {}
    ),
    "packets, incasts of 4, dcqcn: slowdown": (
        packets("leaf-spine:2x2x4,25Gbit/s,1us", "dcqcn", "slowdown", SMALL | INCAST), {}
    ),
}  # fmt: skip


SEVERAL = [name for name in INPUTS if name.startswith("packets")]
"""Inputs of which four runs are taken together, too."""


def truths(known: dict[float | None, float], runs: list[Run]) -> dict[float | None, float]:
    """Return theory's values, and for the rest those of the samples of all runs."""
    everything = np.concatenate(
        [values[(times >= begin) & (times < end)] for times, values, begin, end, _ in runs]
    )
    found: dict[float | None, float] = {None: float(everything.mean())}
    ranks = [each for each in PERCENTILES if each is not None]
    found |= dict(
        zip(ranks, map(float, np.percentile(everything, ranks, method="inverted_cdf")), strict=True)
    )
    return found | known


def rows_of(name: str, repetitions: int) -> list[dict[str, Any]]:
    make, known = INPUTS[name]
    random = np.random.default_rng(1)
    pool = [make(random) for _ in range(POOL if name.startswith("packets") else FIRST)]
    truth = truths(known, pool)
    samples = int(np.mean([run[0].size for run in pool]))
    if not name.startswith("packets"):
        pool.clear()
    rows: list[dict[str, Any]] = []
    for number in (1, 4) if name in SEVERAL else (1,):
        for percentile in PERCENTILES:
            found: list[st.SlicedEstimate] = []
            for place in range(repetitions):
                chosen = [place % POOL] if number == 1 else random.choice(POOL, number)
                own = [pool[at] if pool else make(random) for at in chosen]
                span = (max(run[2] for run in own), min(run[3] for run in own))
                shortest = max(run[4] for run in own)
                try:
                    runs = [(times, values) for times, values, *_ in own]
                    found.append(st.sliced_estimate(runs, percentile, span=span, shortest=shortest))
                except StatisticsError:
                    continue
            widths = [50 * (each.found.high - each.found.low) / abs(each.found.estimate) for each in found]
            held = [each.found.low <= truth[percentile] <= each.found.high for each in found]
            rows.append({
                "input": name,
                "runs": number,
                "of": "mean" if percentile is None else f"p{percentile:g}",
                "covers": float(np.mean(held)) if held else None,
                "refused": 1 - len(found) / repetitions,
                "slices": float(np.mean([each.slices for each in found])) if found else None,
                "half_width_percent": float(np.median(widths)) if found else None,
                "samples": samples * number,
                "repetitions": repetitions,
            })  # fmt: skip
            print({key: value for key, value in rows[-1].items() if key != "repetitions"}, flush=True)
    return rows


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    chosen = sys.argv[2:] or list(INPUTS)
    rows = [
        row for name in INPUTS if any(each in name for each in chosen) for row in rows_of(name, repetitions)
    ]
    write("time_slices", rows)


if __name__ == "__main__":
    main()
