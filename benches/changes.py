"""Error rates of change points where nothing changes, and where something does; and the table of the tail that they rest on.

    .venv/bin/python benches/changes.py          # rates, with seeds of their own, to benches/results/changes.json
    .venv/bin/python benches/changes.py tails    # the table, to src/trialwise/statistics/tests/change_tails.py

The table is the upper envelope over AR(1) series, in which neighbours correlate by 0 to 0.8, of normal, heavy-tailed and
skewed values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from measuring import write
from trialwise.statistics.pooled.phase_randomization import normal_scores
from trialwise.statistics.tests.change_scan import LONGEST_MEASURED, MEASURED, RANKED, View, largest, tail

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
TABLE = Path(__file__).parents[1] / "src" / "trialwise" / "statistics" / "tests" / "change_tails.py"
SIZES = (10, 12, 15, 20, 30, 50, 100, 200, 500, 1000, 3000, 10_000)
LEVELS = (0.5, 0.2, 0.05, 0.01, 0.001, 0.0001)
VALUES = {RANKED: 4_000_000, MEASURED: 800_000}
"""In all series of one length and one process."""
PORTION = 500_000
WARM_UP = 100
LEVEL = 0.05
FEW = 8
"""Series beyond a quantile that it rests on; the quantiles farther out lie on the line through the last two, in log(level)."""


def heavy(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.standard_t(3, size=shape)


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.normal(size=shape)


def heaviest(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.standard_cauchy(size=shape)


RANKED_PROCESSES = (*((normal, rho) for rho in (0.0, 0.4, 0.6, 0.7, 0.8)), (heavy, 0.8))
"""Of scores: the distribution of one value does not matter, that of shocks does."""
MEASURED_PROCESSES = tuple((draw, rho) for draw in (normal, heavy, heaviest) for rho in (0.6, 0.8))
"""Of values; normal series are made skewed as well, by the exponential function."""


def autoregressive(rng: np.random.Generator, draw: Draw, rho: float, rows: int, n: int) -> np.ndarray:
    """Stationary AR(1) series, one in each row; its variance is that of the shocks divided by 1 - rho^2."""
    return lfilter([1], [1, -rho], draw(rng, (rows, n + WARM_UP)), axis=1)[:, WARM_UP:]


def as_scores(series: np.ndarray) -> np.ndarray:
    return normal_scores(np.arange(float(series.shape[1])))[series.argsort(axis=1).argsort(axis=1)]


def as_measured(series: np.ndarray) -> np.ndarray:
    apart = series - np.median(series, axis=1, keepdims=True)
    return apart / np.abs(apart).max(axis=1, keepdims=True)


def maxima(view: View, n: int) -> Iterator[np.ndarray]:
    """The largest deviates of all series of each process."""
    for number, (draw, rho) in enumerate(RANKED_PROCESSES if view is RANKED else MEASURED_PROCESSES):
        rng = np.random.default_rng([1, n, number])
        rows = max(1, PORTION // n)
        portions = [autoregressive(rng, draw, rho, rows, n) for _ in range(-(-VALUES[view] // n // rows))]
        if view is RANKED:
            yield np.concatenate([largest(as_scores(series)) for series in portions])
            continue
        yield np.concatenate([largest(as_measured(series), MEASURED) for series in portions])
        if draw is normal:
            skewed = (np.exp(series * np.sqrt(1 - rho**2)) for series in portions)
            yield np.concatenate([largest(as_measured(series), MEASURED) for series in skewed])


def quantiles(view: View, n: int) -> np.ndarray:
    """The largest upper quantile of the statistic over all processes, for each level."""
    envelope = np.max([np.quantile(found, 1 - np.array(LEVELS)) for found in maxima(view, n)], axis=0)
    seen = int(np.sum(np.array(LEVELS) * (VALUES[view] / n) >= FEW))
    slope = (envelope[seen - 1] - envelope[seen - 2]) / np.log(LEVELS[seen - 2] / LEVELS[seen - 1])
    for number in range(seen, len(LEVELS)):
        envelope[number] = envelope[seen - 1] + slope * np.log(LEVELS[seen - 1] / LEVELS[number])
    return np.maximum.accumulate(envelope)


def table(view: View, sizes: tuple[int, ...]) -> str:
    columns: list[np.ndarray] = []
    for n in sizes:
        columns.append(quantiles(view, n))
        print(n, np.round(columns[-1], 2), flush=True)
    return "\n".join(f"    ({', '.join(f'{q:.2f}' for q in row)})," for row in np.transpose(columns))


def tails() -> None:
    """Write the table."""
    values = table(MEASURED, tuple(n for n in SIZES if n <= LONGEST_MEASURED))
    scores = table(RANKED, SIZES)
    TABLE.write_text(
        '"""Upper quantiles of the largest |Z| of series without a change, written by `benches/changes.py tails`."""\n\n'
        "from __future__ import annotations\n\n"
        f"SIZES = {SIZES}\n"
        f"LEVELS = {LEVELS}\n"
        '"""Chances that are exceeded at most, whatever the correlation of neighbours, 0 to 0.8."""\n'
        f"SCORES = (\n{scores}\n)\n"
        '"""Of normal scores: a row for each level, a column for each number of values."""\n'
        f"VALUES = (\n{values}\n)\n"
        '"""Of the values themselves, likewise, up to 100 of them."""\n'
    )


KINDS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "normal": lambda _, values: values,
    "rounded to standard deviations": lambda _, values: np.round(values),
    "two values, 80 and 20 %": lambda _, values: 100.0 + (values > 0.84),
    "5 % outliers of 20 standard deviations": lambda rng, values: (
        values + 20 * (rng.random(values.shape) < 0.05)
    ),
}
"""What is made of normal series, whose neighbours may correlate."""
CORRELATIONS = (0.0, 0.3, 0.5, 0.8)
COUNTS = ((12, 4000), (20, 4000), (50, 2000), (100, 2000), (300, 500))
"""Values of a series, and series."""
STEPS = ((20, 2.0), (20, 3.0), (20, 15.0), (40, 2.0), (40, 3.0), (100, 1.0), (100, 2.0))


def without_a_change() -> Iterator[dict[str, object]]:
    """How often something is found in series that do not change."""
    for n, rows in COUNTS:
        for rho in CORRELATIONS:
            for number, (kind, made) in enumerate(KINDS.items()):
                rng = np.random.default_rng([2, n, int(10 * rho), number])
                series = autoregressive(rng, normal, rho, rows, n) * np.sqrt(1 - rho**2)
                yield rated("no change", kind, rho, made(rng, series))
            rng = np.random.default_rng([2, n, int(10 * rho), len(KINDS)])
            yield rated(
                "no change", "heavy-tailed shocks (t, 3)", rho, autoregressive(rng, heavy, rho, rows, n)
            )


def with_a_step() -> Iterator[dict[str, object]]:
    """How often a step in the middle is found; its height is in standard deviations of the noise."""
    for n, height in STEPS:
        rng = np.random.default_rng([3, n, int(height)])
        step = height * (np.arange(n) >= n // 2)
        yield rated(f"step of {height:g}", "normal", 0.0, rng.normal(size=(2000, n)) + step)


def rated(what: str, kind: str, rho: float, series: np.ndarray) -> dict[str, object]:
    """How often the first test of `change_points` rejects, which decides about anything at all; with ties, shuffles reject less."""
    n = series.shape[1]
    measured = n <= LONGEST_MEASURED
    beyond = largest(scores_of(series)) >= critical(RANKED, n, LEVEL * (0.8 if measured else 1))
    if measured:
        beyond |= largest(as_measured(series), MEASURED) >= critical(MEASURED, n, LEVEL * 0.2)
    row: dict[str, object] = {"what": what, "kind": kind, "correlation": rho, "n": n, "series": len(series)}
    row["found"] = round(float(np.mean(beyond)), 4)
    print(row, flush=True)
    return row


def scores_of(series: np.ndarray) -> np.ndarray:
    return np.array([normal_scores(row) for row in series])


def critical(view: View, n: int, level: float) -> float:
    return next(z for z in np.arange(0, 20, 0.005) if tail(float(z), n, view) <= level)


if __name__ == "__main__":
    if sys.argv[1:] == ["tails"]:
        tails()
    else:
        write("changes", [*with_a_step(), *without_a_change()])
