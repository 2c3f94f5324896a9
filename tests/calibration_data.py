"""Trial sets as a bench would give them, with planted variances."""

import numpy as np
import polars as pl
from scipy.signal import lfilter

from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet

IN_SERIES = 5
"""Rounds of a series, where trials share processes."""


def normal(random, size):
    return random.normal(size=size)


def lognormal(random, size):
    values = np.exp(random.normal(size=size))
    return (values - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)


def autoregressive(random, size):
    """AR(1) with 0.7 along the rows: rounds follow each other, and trials within them."""
    shocks = random.normal(size=size[0] * size[1] + 200) * np.sqrt(1 - 0.49)
    return lfilter([1], [1, -0.7], shocks)[200:].reshape(size)


def bench(
    seed,
    *,
    rounds=20,
    hosts=1,
    boots=1,
    host=0.0,
    boot=0.0,
    round_=0.0,
    within=1.0,
    noise=normal,
    sides=True,
    shift=0.0,
    mean=100.0,
    treatments=("x=1",),
    metrics=("time",),
    process=None,
):
    """Trials of treatments against themselves: both sides in each round, in random order, or one trial in each round.

    With a standard deviation of a `process` the trials of a side share one in each series of 5 rounds.
    """
    random = np.random.default_rng(seed)
    names = ("A", "A'") if sides else (None,)
    rows, number = [], 0
    for treatment in treatments:
        for h in range(hosts):
            of_host = host * random.normal()
            for b in range(boots):
                of_boot = of_host + boot * random.normal()
                of_rounds = of_boot + round_ * random.normal(size=rounds)
                values = within * noise(random, (rounds, len(names)))
                of_processes = (process or 0.0) * random.normal(size=(rounds, len(names)))
                for r in range(rounds):
                    for place, side in enumerate(random.permutation(len(names))):
                        number += 1
                        series = r // IN_SERIES
                        value = (
                            mean
                            + of_rounds[r]
                            + of_processes[series, side]
                            + values[r, place]
                            + shift * (names[side] == "A'")
                        )
                        name = treatment + (f" side={names[side]}" if sides else "")
                        unit = f"h{h}b{b}"
                        place_of = (
                            f"h{h}",
                            unit,
                            unit,
                            f"t{number}" if process is None else f"{unit} {name} {series}",
                            f"t{number}",
                            "1" if process is None else f"{series}",
                            f"{unit}.{r}",
                            None,
                            1.0,
                        )
                        rows += [(metric, name, float(value), *place_of) for metric in metrics]
    levels = {
        treatment + (f" side={side}" if side else ""): {"x": int(treatment[2:])}
        | ({"side": side} if side else {})
        for treatment in treatments
        for side in names
    }
    facts = {metric: MetricFacts(metric, "s", "lower") for metric in metrics}
    return TrialSet("bench", facts, levels, pl.DataFrame(rows, schema=SCHEMA, orient="row"))
