"""A permutation analysis of variance of 4 x 2 treatments of 600 samples, against a loop over NumPy's permutations.

Run with `.venv/bin/python benches/anova.py`; the result is kept in `benches/results/anova.json`. Allowed: 2 s on two
processors with 9,999 permutations. The loop takes 999 permutations of the responses, each for all three terms and by
sums over treatments, and its time is scaled; the residuals of Freedman and Lane are three permuted columns.
"""

import os
import time

import numpy as np
from numpy.typing import NDArray

from measuring import fastest, write
from trialwise import statistics as st

LIMIT_SECONDS = 2.0
PERMUTATIONS, LOOPED = 9_999, 999
LEVELS, SAMPLES, TREATMENTS, PAIRS = (4, 2), 600, 15, 105


def loop(values: NDArray[np.float64], generator: np.random.Generator) -> list[float]:
    """p-values of both factors and their interaction in a balanced design."""
    observed = statistics(values)
    reached = np.ones(3)
    for _ in range(LOOPED):
        reached += statistics(generator.permutation(values)) >= observed
    return list(reached / (LOOPED + 1))


def statistics(values: NDArray[np.float64]) -> NDArray[np.float64]:
    cells = values.reshape(*LEVELS, SAMPLES).mean(axis=2)
    centred = cells - cells.mean()
    a, b = centred.mean(axis=1), centred.mean(axis=0)
    squares = np.array([2 * (a**2).sum(), 4 * (b**2).sum(), ((centred - a[:, None] - b) ** 2).sum()])
    residual = ((values - values.mean()) ** 2).sum() / SAMPLES - (centred**2).sum()
    return squares / np.array([3, 1, 3]) / residual


def main() -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(size=8 * SAMPLES)
    a, b, _ = np.indices((*LEVELS, SAMPLES))
    table = {"a": a.ravel(), "b": b.ravel(), "y": values}
    found = st.anova(table, "y", ["a", "b"], method="raw_permutation", permutations=PERMUTATIONS)
    expected = loop(values, generator)
    assert np.allclose([row.p_value for row in found.rows], expected, atol=0.08)
    raw, residuals, looped = fastest(
        lambda: st.anova(table, "y", ["a", "b"], method="raw_permutation", permutations=PERMUTATIONS),
        lambda: st.anova(table, "y", ["a", "b"], method="freedman_lane", permutations=PERMUTATIONS),
        lambda: loop(values, generator),
        rounds=5,
    )
    looped *= PERMUTATIONS / LOOPED
    schemes = {"s": np.repeat(np.arange(TREATMENTS), 1000), "y": generator.normal(size=1000 * TREATMENTS)}
    begin = time.perf_counter()
    pairs = st.posthoc(schemes, "y", "s")
    first = time.perf_counter() - begin
    assert len(pairs.rows) == PAIRS
    rows: list[dict[str, object]] = [
        {"what": what, "seconds": round(seconds, 3), "NumPy loop / this": round(looped / seconds, 1)}
        for what, seconds in [
            ("raw_permutation", raw),
            ("freedman_lane, each term its own residuals", residuals),
        ]
    ]
    rows.append({"what": f"posthoc, {PAIRS} pairs, the first time", "seconds": round(first, 3)})
    write("anova", [row | {"processors": os.cpu_count()} for row in rows])
    assert max(raw, residuals) < LIMIT_SECONDS
    assert first < 1.0


if __name__ == "__main__":
    main()
