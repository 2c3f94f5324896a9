"""The metric of a trial of 1 000 000 samples with convergence test, beside NumPy window by window.

Allowed: 10 ms or 5 times one `np.partition`, whichever is more; and, on the shapes without order, a thirtieth
of the time of NumPy. (On walks and sorted samples NumPy's selection is itself several times faster.)
"""

import sys
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from measuring import fastest, milliseconds, write
from trialwise import statistics as st

Array = NDArray[np.float64]

COUNT = 1_000_000
PERCENTILE = 95
UNORDERED = ("noise", "heavy tail", "ties", "ramp")


def shapes() -> dict[str, Array]:
    random = np.random.default_rng(1)
    return {
        "noise": random.normal(100, 10, COUNT),
        "heavy tail": random.pareto(1.5, COUNT),
        "ties": random.integers(0, 5, COUNT).astype(float),
        "walk": random.normal(size=COUNT).cumsum(),
        "ramp": np.minimum(np.arange(COUNT) / 3e5, 1) + random.normal(0, 0.05, COUNT),
        "sorted": np.arange(COUNT, dtype=float),
        "constant": np.full(COUNT, 0.1),
    }


def naive(samples: Array) -> list[float]:
    length = samples.size // 2
    return [np.percentile(samples[int(i * length / 100) :][:length], PERCENTILE) for i in range(100)]


def metric(samples: Array, method: Literal["default", "paper"]) -> st.TrialMetric:
    return st.trial_metric(samples, PERCENTILE, convergence={}, method=method)


def measure(shape: str, samples: Array) -> dict[str, object]:
    windows = naive(samples)
    paper = metric(samples, "paper")
    assert list(paper.convergence.batches) == windows
    expected = np.median(windows) if paper.converged else np.percentile(samples, PERCENTILE)
    assert paper.value == expected
    rank = int(PERCENTILE / 100 * COUNT)
    (slow,) = fastest(lambda: naive(samples), rounds=1)
    paper_time, default_time, partition = fastest(
        lambda: metric(samples, "paper"),
        lambda: metric(samples, "default"),
        lambda: np.partition(samples, rank),
    )
    allowed = max(0.01, 5 * partition)
    return {
        "shape": shape,
        "naive_ms": milliseconds(slow),
        "partition_ms": milliseconds(partition),
        "paper_ms": milliseconds(paper_time),
        "default_ms": milliseconds(default_time),
        "paper_of_naive": round(paper_time / slow, 5),
        "default_of_naive": round(default_time / slow, 5),
        "paper_of_allowed": round(paper_time / allowed, 3),
        "default_of_allowed": round(default_time / allowed, 3),
        "identical": True,
    }


def main() -> None:
    rows = [measure(shape, samples) for shape, samples in shapes().items()]
    write("trial_metric", rows)
    names = ("paper", "default")
    quick = all(row[f"{name}_of_allowed"] <= 1 for row in rows for name in names)
    ratios = all(
        row[f"{name}_of_naive"] <= 1 / 30 for row in rows if row["shape"] in UNORDERED for name in names
    )
    sys.exit(0 if quick and ratios else 1)


if __name__ == "__main__":
    main()
