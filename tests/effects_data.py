"""Made-up factorial experiments as sets of trials, with units they nest in."""

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
import polars as pl

from trialwise.analysis.trial_set import SCHEMA, MetricFacts, TrialSet


def trial_set(
    factors: dict[str, list],
    value: Callable[..., float],
    *,
    n: int = 5,
    boots: int = 1,
    metrics: Iterable[MetricFacts] = (MetricFacts("delay", unit="ms"),),
    skip: Callable[..., bool] = lambda levels, trial: False,
    in_process: int = 1,
) -> TrialSet:
    """`n` trials of each treatment in each boot; `value(levels, boot, trial, metric)` gives each its number.

    So many trials of a treatment run one after the other `in_process`.
    """
    metrics = list(metrics)
    rows, treatments = [], {}
    for started, (trial, boot, levels) in enumerate(
        product(range(n), range(boots), product(*factors.values()))
    ):
        known = dict(zip(factors, levels, strict=True))
        name = " ".join(f"{factor}={level}" for factor, level in known.items())
        treatments[name] = known
        if skip(known, trial):
            continue
        unit = f"h/{boot}"
        for metric in metrics:
            number = float(value(known, boot, trial, metric.name))
            process = f"{unit}/{name}/{trial // in_process}"
            place = "h", unit, unit, process, f"{unit}/{started}"
            rows.append((metric.name, name, number, *place, "1", f"1.{trial}", float(started), 2.0))
    return TrialSet(
        "made", {one.name: one for one in metrics}, treatments, pl.DataFrame(rows, SCHEMA, orient="row")
    )


def normal(seed: int, effect: Callable[[dict], float] = lambda levels: 0.0, *, boot_spread: float = 0.0):
    """Values around 100 with standard deviation 1, an effect of the treatment, and one of each boot."""
    generator = np.random.Generator(np.random.PCG64DXSM(seed))
    of_boots = boot_spread * generator.normal(size=1000)

    def value(levels, boot, trial, metric):
        return 100 + effect(levels) + of_boots[boot] + generator.normal()

    return value
