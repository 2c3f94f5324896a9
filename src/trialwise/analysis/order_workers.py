"""One worker against all others: whether what the order does is a property of the machine or of the test."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from math import sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import chdtrc, ndtr

from trialwise import statistics as st
from trialwise.analysis import order_sentences as say
from trialwise.analysis.order_results import WorkerDifference, WorkerSpread
from trialwise.analysis.order_trials import FIXED, RANDOM
from trialwise.statistics.order import kruskal_wallis

Array = npt.NDArray[np.float64]
_FEWEST = 6
"""Below, no interval of a median reaches 95 %."""
_Z = 1.959964
"""From a 95 % interval to its standard error."""


def worker_spread(table: pl.DataFrame, changed: AbstractSet[tuple[str, str, str]]) -> Iterator[WorkerSpread]:
    """For each treatment that order changes: on how many workers its median moves in the direction of all."""
    if table["worker"].n_unique() < 2:
        return
    keys = ["metric", "group", "treatment"]
    medians = [
        pl.col("value").filter(pl.col("order") == order).median().alias(order) for order in (FIXED, RANDOM)
    ]
    whole = table.group_by(keys, maintain_order=True).agg(medians)
    each = table.group_by(*keys, "worker").agg(medians)
    for row in whole.iter_rows(named=True):
        key = (row["metric"], row["group"], row["treatment"])
        if key not in changed:
            continue
        own = each.filter(*(pl.col(name) == value for name, value in zip(keys, key, strict=True)))
        moves = (own[FIXED] - own[RANDOM]).drop_nulls().to_numpy()
        alike = int((np.sign(moves) == np.sign(row[FIXED] - row[RANDOM])).sum())
        yield WorkerSpread(
            key[0], key[1] or None, key[2], moves.size, alike, say.spread(key[2], alike, moves.size)
        )


def worker_differences(table: pl.DataFrame, alpha: float) -> Iterator[WorkerDifference]:
    """Workers whose level, or whose order effect, differs from the others' in a treatment.

    The worker that differs most is named and left out before the others are compared, which it would make differ from
    it. p-values are corrected for all workers and treatments (Bonferroni).
    """
    workers = table["worker"].n_unique()
    if workers < 2:
        return
    parts = table.drop_nulls("value").partition_by("metric", "group", "treatment", maintain_order=True)
    for part in parts:
        for what in ("level", "order"):
            yield from _outliers(part, what, alpha, workers * len(parts))


def _outliers(
    part: pl.DataFrame, what: Literal["level", "order"], alpha: float, comparisons: int
) -> Iterator[WorkerDifference]:
    metric, group, treatment = part["metric"][0], part["group"][0] or None, part["treatment"][0]
    while part["worker"].n_unique() > 1:
        name, percent, p_value = _most_different(part, what)
        if p_value * comparisons >= alpha:
            return
        found = WorkerDifference(
            metric, group, name, treatment, what, percent, p_value * comparisons, sentence=""
        )
        yield say.worker(found)
        part = part.filter(pl.col("worker") != name)


def _most_different(part: pl.DataFrame, what: str) -> tuple[str, float | None, float]:
    """The worker with the smallest p-value against the others, its difference in percent, and that p-value."""
    worker, values = part["worker"].to_numpy(), part["value"].to_numpy()
    fixed = part["order"].to_numpy() == FIXED
    best: tuple[str, float | None, float] = ("", None, 1.0)
    for name in part["worker"].unique(maintain_order=True):
        own = worker == name
        result = _level(values, own) if what == "level" else _order(values, own, fixed)
        if result is not None and result[1] < best[2]:
            best = (name, *result)
    return best


def _level(values: Array, own: npt.NDArray[np.bool_]) -> tuple[float | None, float] | None:
    if min(own.sum(), (~own).sum()) < _FEWEST:
        return None
    base = float(np.median(values[~own]))
    h = kruskal_wallis(values[own], values[~own])
    return (100 * (float(np.median(values[own])) - base) / base if base else None), float(chdtrc(1, h))


def _order(
    values: Array, own: npt.NDArray[np.bool_], fixed: npt.NDArray[np.bool_]
) -> tuple[float | None, float] | None:
    """The difference of two differences of medians, normal with the errors that their intervals tell of."""
    parts = [values[mine & order] for mine in (own, ~own) for order in (fixed, ~fixed)]
    if min(part.size for part in parts) < _FEWEST:
        return None
    medians = [st.median_interval(part) for part in parts]
    difference = medians[0].median - medians[1].median - medians[2].median + medians[3].median
    error = sqrt(sum(((one.high - one.low) / (2 * _Z)) ** 2 for one in medians))
    base = medians[2].median
    if error <= 0:
        return None
    return (100 * difference / base if base else None), 2 * float(ndtr(-abs(difference) / error))
