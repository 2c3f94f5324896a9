"""Error rates of change points where nothing changes, and where something does; and the table of the tail that they rest on.

    .venv/bin/python benches/changes.py          # rates, with seeds of their own, to benches/results/changes.json
    .venv/bin/python -m pip install ruptures apache-otava   # or on PYTHONPATH: compared where they are there
    .venv/bin/python benches/changes.py tails    # the table, to src/trialwise/statistics/tests/change_tails.py

The table is the upper envelope over AR(1) series, in which neighbours correlate by 0 to 0.8, of normal, heavy-tailed and
skewed values.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from measuring import write
from trialwise.statistics import change_points
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
COUNTS = ((12, 2000), (20, 2000), (50, 2000), (100, 1000), (300, 300), (400, 200))
"""Values of a series, and series."""
STEPS = ((20, 2.0), (20, 3.0), (20, 15.0), (40, 2.0), (40, 3.0), (100, 1.0), (100, 2.0))
OTHERS, LONGEST_OTHERS = 50, 100
"""Series that the other programs judge, the first of each cell; PELT takes seconds for longer ones."""


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
    """How often `change_points` finds a change or a drift; its first test decides quickly about most series."""
    n = series.shape[1]
    measured = n <= LONGEST_MEASURED
    loose = 1.1 * LEVEL
    beyond = largest(scores_of(series)) >= critical(RANKED, n, loose * (0.8 if measured else 1))
    if measured:
        beyond |= largest(as_measured(series), MEASURED) >= critical(MEASURED, n, loose * 0.2)
    found = [change_points(row) for row in series[beyond]]
    row: dict[str, object] = {"what": what, "kind": kind, "correlation": rho, "n": n, "series": len(series)}
    row["found"] = round(sum(bool(each.changes) or each.drift is not None for each in found) / len(series), 4)
    row |= {
        name: round(float(np.mean([of(one) for one in series[:OTHERS]])), 4) for name, of in others().items()
    }
    print(row, flush=True)
    return row


@cache
def others() -> dict[str, Callable[[np.ndarray], bool]]:
    """Whether ruptures and Otava find a change in a series, as far as they are installed.

    ruptures: PELT (Killick and others 2012) of means, at least 5 values a part, values divided by the deviation of the differences of
    neighbours, and Schwarz's penalty, 2 log n for each change. Otava: `compute_change_points` with its defaults.
    """
    found: dict[str, Callable[[np.ndarray], bool]] = {}
    with suppress(ImportError):
        import ruptures

        def pelt(values: np.ndarray) -> bool:
            apart = np.diff(values)
            deviation = (
                1.4826 * np.median(np.abs(apart - np.median(apart))) / np.sqrt(2) or values.std() or 1.0
            )
            search = ruptures.Pelt("l2", min_size=5, jump=1).fit(values / deviation)
            return len(search.predict(pen=2 * np.log(values.size))) > 1

        found["ruptures"] = pelt
    with suppress(ImportError):
        from otava.analysis import compute_change_points

        found["otava"] = lambda values: bool(compute_change_points(list(values))[0])
    return found


def long_series() -> dict[str, object]:
    """How long 200 series of 10,000 values take, a fifth of each kind, half of them with five steps; and the memory of all."""
    rng = np.random.default_rng(4)
    levels = 2.0 * (np.arange(10_000) // 2000)
    makers = [lambda values: values, *(partial(made, rng) for made in KINDS.values())]
    series = [makers[at % 5](rng.normal(size=10_000)) + levels * (at % 2) for at in range(200)]
    began = time.monotonic(), time.process_time()
    found = [change_points(values, alpha=LEVEL / 200) for values in series]
    with_steps = [bool(each.changes or each.drift) for each in found[1::2]]
    return {
        "what": "200 series of 10,000 values",
        "seconds": round(time.monotonic() - began[0], 1),
        "processor seconds": round(time.process_time() - began[1], 1),
        "peak memory in MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "load": round(os.getloadavg()[0], 1),
        "changed of 100 with steps": sum(with_steps),
        "changed of 100 without": sum(bool(each.changes or each.drift) for each in found[::2]),
    }


def scores_of(series: np.ndarray) -> np.ndarray:
    return np.array([normal_scores(row) for row in series])


def critical(view: View, n: int, level: float) -> float:
    return next(z for z in np.arange(0, 20, 0.005) if tail(float(z), n, view) <= level)


if __name__ == "__main__":
    if sys.argv[1:] == ["tails"]:
        tails()
    else:
        write("changes", [long_series(), *with_a_step(), *without_a_change()])
