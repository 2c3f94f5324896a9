"""Time of comparing 15 schemes in 3 metrics with 1,000 trials on each side: the library's call, and the whole command.

Run with `.venv/bin/python benches/compare.py`; the result is kept in `benches/results/compare.json`. The ratio is to a plain loop of
SciPy over the same rows in the same run: Welch's test with its interval, both one-sided tests, Fieller's interval by formula, and all
pairwise differences sorted for Hodges and Lehmann's; without bills and without the family.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from measuring import fastest, write
from trialwise.analysis.comparison.comparing import CompareOptions, compare
from trialwise.analysis.trial_set import TrialSet
from trialwise.exchange.result_files import read_trials
from trialwise.exchange.trials_table import TrialColumns
from trialwise.experiment.model import Extent

SCHEMES, TRIALS = 15, 1000
METRICS = ("throughput", "delay", "loss")
LIMIT_SECONDS = 2.0
MARGIN = Extent(3.0, relative=True)


def table(seed: int, factor: float) -> pl.DataFrame:
    """A row for each trial, a column for each metric; lognormal, every third scheme changed."""
    rng = np.random.default_rng(seed)
    schemes = np.repeat([f"scheme{place:02}" for place in range(SCHEMES)], TRIALS)
    change = np.where(np.repeat(np.arange(SCHEMES), TRIALS) % 3 == 0, factor, 1.0)
    values = {name: change * rng.lognormal(place, 0.3, schemes.size) for place, name in enumerate(METRICS)}
    return pl.DataFrame({"scheme": schemes, **values})


def naive(a: TrialSet, b: TrialSet) -> None:
    for metric in METRICS:
        for treatment in a.treatments:
            first, second = (side.of(metric, treatment)["value"].to_numpy() for side in (a, b))
            stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
            margin = 0.03 * first.mean()
            stats.ttest_ind(second - margin, first, equal_var=False, alternative="less")
            stats.ttest_ind(second + margin, first, equal_var=False, alternative="greater")
            differences = np.sort(np.subtract.outer(second, first).ravel())
            reach = 1.96 * np.sqrt(first.size * second.size * (first.size + second.size + 1) / 12)
            middle = differences.size // 2
            differences[[middle, int(middle - reach), int(middle + reach)]]
            fieller(first, second)


def fieller(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    t = stats.t.ppf(0.975, a.size + b.size - 2)
    va, vb = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    g = t**2 * va / a.mean() ** 2
    ratio = b.mean() / a.mean()
    reach = t / a.mean() * np.sqrt((1 - g) * vb + ratio**2 * va)
    return (ratio - reach) / (1 - g), (ratio + reach) / (1 - g)


def command(folder: Path) -> tuple[float, float]:
    """Seconds on the clock, and of processors."""
    values = [part for name in METRICS for part in ("--value", name)]
    arguments = ["a.parquet", "b.parquet", *values, "--group", "scheme", "--margin", "3%", "--json"]
    begin, before = time.perf_counter(), os.times()
    subprocess.run(
        [Path(sys.executable).parent / "trialwise", "compare", *arguments],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begin, spent


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side, seed, factor in (("a", 1, 1.0), ("b", 2, 1.1)):
            table(seed, factor).write_parquet(folder / f"{side}.parquet")
        columns = TrialColumns(METRICS, ("scheme",))
        a, b = (read_trials(folder / f"{side}.parquet", columns) for side in ("a", "b"))
        options = CompareOptions(margin=MARGIN)
        found = compare(a, b, options)
        assert len(found.rows) == SCHEMES * len(METRICS)
        assert all(row.units.a.size == TRIALS for row in found.rows)
        ours, plain = fastest(lambda: compare(a, b, options), lambda: naive(a, b), rounds=5)
        whole, spent = map(min, zip(*(command(folder) for _ in range(5)), strict=True))
    write(
        "compare",
        [
            {
                "rows": len(found.rows),
                "trials_on_each_side": TRIALS,
                "compare_seconds": round(ours, 3),
                "scipy_loop_seconds": round(plain, 3),
                "ratio": round(ours / plain, 3),
                "command_seconds": round(whole, 3),
                "command_processor_seconds": round(spent, 3),
                "limit_seconds": LIMIT_SECONDS,
            }
        ],
    )
    assert ours < LIMIT_SECONDS, f"{ours:.2f} s"


if __name__ == "__main__":
    main()
