"""Bounds of 10 000 values and sizes of samples, beside SciPy and a sum of binomial probabilities.

Allowed: value, rank and interval 1 ms; with all default tests 20 ms;
`samples_needed(1, 99.99, robustness=10)` 1 ms.
"""

import sys

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from measuring import fastest, milliseconds, write
from trialwise import statistics as st

Array = NDArray[np.float64]


def rank_by_summing(count: int, share: float, level: float) -> int | None:
    """The rank of an upper bound as the paper has it: adding up Eq. 1 from the first value on."""
    total = 0.0
    for rank in range(1, count + 1):
        total += stats.binom.pmf(rank - 1, count, share)
        if total >= level:
            return rank
    return None


def bounds(values: Array) -> tuple[st.PercentileInterval, st.PercentileInterval]:
    return st.percentile_interval(values, 95, 95, bound="upper"), st.percentile_interval(values, 95, 95)


def main() -> None:
    values = np.random.default_rng(1).normal(size=10_000)
    assert bounds(values)[0].high_rank == rank_by_summing(10_000, 0.95, 0.95)
    bound, whole, quantile, size = fastest(
        lambda: bounds(values),
        lambda: st.kpi(values, 95, 95),
        lambda: stats.quantile_test(values, p=0.95).confidence_interval(0.95),
        lambda: st.samples_needed(1, 99.99, robustness=10),
        rounds=25,
    )
    (summing,) = fastest(lambda: rank_by_summing(10_000, 0.95, 0.95), rounds=1)
    rows = [
        {"what": "value, rank, interval", "ms": milliseconds(bound), "of_allowed": round(bound / 1e-3, 3)},
        {"what": "kpi with tests", "ms": milliseconds(whole), "of_allowed": round(whole / 20e-3, 3)},
        {"what": "samples_needed", "ms": milliseconds(size), "of_allowed": round(size / 1e-3, 3)},
        {
            "what": "scipy.stats.quantile_test",
            "ms": milliseconds(quantile),
            "ratio": round(quantile / bound, 1),
        },
        {"what": "summing Eq. 1", "ms": milliseconds(summing), "ratio": round(summing / bound, 1)},
    ]
    write("claims", rows)
    sys.exit(0 if all(row.get("of_allowed", 0) <= 1 for row in rows) else 1)


if __name__ == "__main__":
    main()
